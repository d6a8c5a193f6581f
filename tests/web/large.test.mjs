// A page with 1,024 heads and 512 tokens must be small, open fast, and respond fast.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { after, test } from "node:test";
import { colorsOf, figureIds, launch, makePage, open, quit, show } from "./support.mjs";

after(quit);

let file;

test("a run of 1,024 heads gives a page that is usable", async (t) => {
  file = makePage("large");
  const megabytes = statSync(file).size / 1e6;
  t.diagnostic(`page: ${megabytes.toFixed(1)} MB`);
  assert.ok(megabytes < 25, `${megabytes} MB`);

  const context = await (await launch({ webgl: false })).newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.goto(`file://${file}`);
  await page.waitForSelector("#overview[data-ready]");
  const opened = await page.evaluate(() => performance.now());
  t.diagnostic(`open after ${Math.round(opened)} ms`);
  assert.ok(opened < 3000, `open after ${opened} ms`);
  await page.waitForSelector("html[data-ready]", { timeout: 60_000 });

  await show(page, "wiring");
  // Use the best of three rounds, because other programs may slow down one of them.
  const drag = () =>
    page.evaluate(async () => {
      const slider = document.querySelector("#figure-wiring input[type=range]");
      const times = [];
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      let last = await frame();
      for (let i = 0; i < 60; ++i) {
        slider.value = String(1 + ((i * 3) % Number(slider.max)));
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        const now = await frame();
        times.push(now - last);
        last = now;
      }
      return times.sort((a, b) => a - b);
    });
  const rounds = [await drag(), await drag(), await drag()].sort((a, b) => a[30] - b[30]);
  const frames = rounds[0];
  const median = frames[30];
  const slow = frames[56];
  t.diagnostic(`frames while dragging: median ${median.toFixed(1)} ms, 95th percentile ${slow.toFixed(1)} ms`);
  assert.ok(median < 50, `median frame ${median} ms`);
  assert.ok(slow < 150, `95th percentile ${slow} ms`);
  await context.close();
});

test("every figure of 1,024 heads draws", async () => {
  const { page, faults, close } = await open(file);
  for (const id of await figureIds(page)) assert.ok((await colorsOf(await show(page, id))) >= 3, `${id} is blank`);
  assert.deepEqual(faults, []);
  await close();
});
