// Measures a page: how long it loads, and the work of its main thread per interaction.

import { show } from "./support.mjs";

/**
 * Returns milliseconds from navigation to the first tab (`ready`) and to all tabs (`complete`), and the processor time of
 * the main thread until all tabs are complete (`work`).
 */
export async function loadTimes(browser, file) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.addInitScript(() => {
    const note = () => {
      for (const name of ["ready", "complete"])
        if (document.documentElement?.dataset[name]) (window.times ??= {})[name] ??= performance.now();
    };
    new window.MutationObserver(note).observe(document, { subtree: true, attributes: true });
  });
  const now = await clock(context, page);
  await page.goto(`file://${file}`);
  await page.waitForSelector("html[data-complete]", { timeout: 60_000 });
  const work = await now();
  const times = await page.evaluate(() => window.times);
  await context.close();
  return { ...times, work };
}

/** Returns a function that says how much processor time, in ms, the main thread has used. */
async function clock(context, page) {
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find((one) => one.name === "TaskDuration").value;
  };
}

const nextFrame = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/**
 * Returns median and 95th percentile of the cost of each action. `state` says what is highlighted; actions that leave it
 * as it is, such as moving the pointer over empty space, are not counted.
 */
async function costs(page, now, count, act, state = null) {
  const times = [];
  for (let i = 0; i < count; ++i) {
    await nextFrame(page);
    const shown = await state?.();
    const before = await now();
    await act(i);
    await nextFrame(page);
    const time = (await now()) - before;
    if (!state || (await state()) !== shown) times.push(time);
  }
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
  return { median: at(0.5), slow: at(0.95), counted: times.length };
}

/** Moves the pointer over a rectangle of a figure. Only moves that change what is under the pointer count. */
async function hover(page, now, selector, count) {
  const box = await page.locator(selector).boundingBox();
  const top = Math.max(box.y, 70);
  const bottom = Math.min(box.y + box.height, 880);
  // Steps by the golden ratio cover the rectangle evenly.
  const at = (i, by) => 0.06 + 0.88 * ((i * by) % 1);
  const move = (i) => page.mouse.move(box.x + box.width * at(i, 0.618), top + (bottom - top) * at(i, 0.755));
  const under = () => page.evaluate(() => document.querySelector(".tip:not([hidden])")?.textContent ?? "");
  return costs(page, now, count, move, under);
}

/** Returns the costs of hovering, dragging and zooming, in ms, by name. Figures that the page lacks are left out. */
export async function interactions(browser, file, count = 60) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.goto(`file://${file}`);
  await page.waitForSelector("html[data-complete]", { timeout: 60_000 });
  const now = await clock(context, page);
  const found = {};
  found.idle = await costs(page, now, 20, () => {});
  await show(page, "wiring");
  found.slider = await costs(page, now, count, (i) =>
    page.evaluate((step) => {
      const slider = document.querySelector("#figure-wiring input[type=range]");
      slider.value = String(1 + ((step * 37) % Number(slider.max)));
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }, i),
  );
  // All that follows is measured with all kept edges.
  await page.evaluate(() => {
    const slider = document.querySelector("#figure-wiring input[type=range]");
    slider.value = slider.max;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await show(page, "wiring");
  found.wiring = await hover(page, now, "#figure-wiring canvas", 3 * count);
  const box = await page.locator("#figure-wiring canvas").boundingBox();
  const [x, y] = [box.x + box.width / 2, Math.min(box.y + box.height / 2, 600)];
  await page.mouse.move(x, y);
  await page.keyboard.down("Control");
  found.zoom = await costs(page, now, 20, (i) => page.mouse.wheel(0, i < 14 ? -40 : 40));
  await page.keyboard.up("Control");
  await page.mouse.down();
  found.drag = await costs(page, now, count, (i) =>
    page.mouse.move(x + 120 * Math.sin(i / 5), y + 60 * Math.cos(i / 5)),
  );
  await page.mouse.up();
  if (await page.locator("#figure-matrix").count()) {
    await show(page, "matrix");
    found.matrix = await hover(page, now, "#figure-matrix canvas", count);
  }
  await page.evaluate(() => document.querySelector("nav.tabs a[data-tab=heads]").click());
  await page.waitForSelector(".head-grid canvas");
  await page.evaluate(() => document.querySelector(".head-grid").scrollIntoView({ block: "start" }));
  found.grid = await hover(page, now, ".head-grid", count);
  await context.close();
  return found;
}
