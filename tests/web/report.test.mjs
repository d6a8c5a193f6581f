// The report in a browser: every view draws, figures show the chosen head, filters and verdicts say what is true.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { colorsOf, download, figureIds, findOn, launch, makePage, open, quit, sectionIds, show } from "./support.mjs";

/** All sections in the order of the tabs. */
const order = [
  ...["story", "head-grid", "head", "head-table", "detectors", "wiring", "matrices", "edge-table"],
  ...[
    "graph",
    "maps",
    "patch",
    "prune",
    "compare",
    "summary",
    "informativeness",
    "tree",
    "embedding",
    "convergence",
    "sparsity",
    "softmax",
    "tables",
  ],
  ...["details", "glossary"],
];
const everywhere = ["story", "summary", "details", "glossary"];
const ofHeads = ["head-grid", "head", "head-table"];
const ofWeights = ["wiring", "graph", "matrices", "edge-table", "informativeness", "tree"];
const ofMaps = ["embedding", "convergence", "sparsity"];
const sections = Object.fromEntries(
  Object.entries({
    full: order,
    image: [...ofHeads, ...ofWeights, ...ofMaps, "detectors", "maps"],
    hostile: [...ofHeads, ...ofWeights, ...ofMaps, "detectors", "maps", "softmax", "compare"],
    chance: [...ofHeads, ...ofWeights, ...ofMaps, "patch"],
    old: [...ofHeads, ...ofWeights, ...ofMaps],
    prune: [...ofHeads, "prune", "tables"],
    compare: ["compare"],
    relate: [...ofHeads, ...ofWeights],
  }).map(([kind, ids]) => [kind, order.filter((id) => ids.includes(id) || everywhere.includes(id))]),
);

const pages = {};
before(async () => {
  for (const kind of [...Object.keys(sections), "mlp"]) pages[kind] = makePage(kind);
  await launch();
});
after(quit);

describe("every view", () => {
  for (const [kind, expected] of Object.entries(sections)) {
    for (const colorScheme of kind === "full" ? ["light", "dark"] : ["light"]) {
      test(`of the ${kind} run draws in ${colorScheme} without errors or requests`, async () => {
        const { page, faults, close } = await open(pages[kind], {
          colorScheme,
        });
        assert.deepEqual(await sectionIds(page), expected);
        for (const id of await figureIds(page))
          assert.ok((await colorsOf(await show(page, id))) >= 3, `${id} is blank`);
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), colorScheme);
        assert.deepEqual(faults, []);
        await close();
      });
    }
  }

  test("fits into windows of 1280 and 2560 pixels", async () => {
    for (const width of [1280, 2560]) {
      const { page, faults, close } = await open(pages.full, { width });
      const sizes = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(sizes[0] <= sizes[1], `${sizes} at ${width}`);
      assert.deepEqual(faults, []);
      await close();
    }
  });

  test("shows the tokens of the head under the pointer", async () => {
    const { page, close } = await open(pages.full);
    const hub = await page.locator("#story .story button.head").first().textContent();
    const figure = await show(page, "wiring");
    const [, layer] = /L(\d+)H/.exec(hub).map(Number);
    const box = await figure.locator("canvas").boundingBox();
    // Layers are evenly spaced between 30 pixels from both sides of the window of the wiring.
    const x = box.x + 58 + 30 + (layer * (box.width - 76 - 60)) / 5;
    let y = box.y + 16;
    const under = () => page.evaluate(() => document.querySelector(".tip:not([hidden]) .tip-head")?.textContent);
    do await page.mouse.move(x, (y += 8));
    while ((await under()) !== hub && y < box.y + box.height);
    const at = { x, y };
    await page.waitForSelector(".tip:not([hidden])");
    const tip = await page.locator(".tip").textContent();
    assert.match(tip, new RegExp(`^${hub}`));
    assert.match(tip, /tokens O/);
    await page.mouse.click(at.x, at.y);
    await page.waitForFunction((name) => document.querySelector(".card h2")?.textContent === name, hub);
    await close();
  });
});

describe("the chosen head", () => {
  test("is shown in every figure and in the address", async () => {
    const { page, faults, close } = await open(pages.full);
    const drawn = () =>
      page.$$eval("figure", (all) => Object.fromEntries(all.map((one) => [one.id, Number(one.dataset.drawn ?? 0)])));
    await show(page, "wiring");
    const before_ = await drawn();
    await page.locator("#figure-wiring canvas").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.querySelector(".card h2")?.textContent === "L1H1");
    assert.match(page.url(), /head=L1H1/);
    assert.equal(await page.locator(".card h2").textContent(), "L1H1");
    // Figures are drawn in the next frame.
    await page.waitForFunction(
      (count) => Number(document.getElementById("figure-wiring").dataset.drawn) > count,
      before_["figure-wiring"],
    );
    assert.equal(await page.locator("#maps .control:has-text('Head') select").inputValue(), "L1H1");
    for (const id of [
      "matrix",
      "tree",
      "detectors",
      "map",
      "embedding",
      "decay",
      "invariance",
      "prune-curves",
      "prune-heads",
      "prune-ranking",
      "compared-matrices",
    ]) {
      const figure = await show(page, id);
      const marked = await figure.locator("canvas[tabindex]").evaluate((canvas) => canvas.toDataURL());
      await page.evaluate(() => document.querySelector("#close-drawer").click());
      await page.waitForFunction(() => !document.querySelector(".card h2"));
      await show(page, id);
      // When no head is chosen, the map keeps the last head. All other figures change in the next frame.
      if (id !== "map") {
        await page
          .waitForFunction(
            ([name, shown]) => document.querySelector(`#figure-${name} canvas[tabindex]`).toDataURL() !== shown,
            [id, marked],
          )
          .catch(() => assert.fail(`${id} does not show the chosen head`));
      }
      await page.evaluate(() => (location.hash += "&head=L1H1"));
      await page.waitForFunction(() => document.querySelector(".card h2")?.textContent === "L1H1");
    }
    assert.deepEqual(faults, []);
    await close();
  });

  test("is read from the address, and an invalid address is ignored", async () => {
    const first = await open(pages.full, { hash: "#at=tree&head=L2H3" });
    assert.equal(await first.page.locator(".card h2").textContent(), "L2H3");
    await first.close();
    const second = await open(pages.full, {
      hash: "#at=nowhere&head=%3Cimg%20src=x%3E",
    });
    assert.equal(await second.page.locator(".card h2").count(), 0);
    assert.deepEqual(second.faults, []);
    await second.close();
  });

  test("can be chosen in the text and in the matrix", async () => {
    const { page, close } = await open(pages.full);
    const chosen = () => page.locator(".card h2").textContent();
    const named = await page.locator("#story button.head").first().textContent();
    await page.locator("#story button.head").first().click();
    await page.waitForSelector(".card h2");
    assert.equal(await chosen(), named);
    // A cell of the matrix is an edge between the heads of its row and column.
    await (await show(page, "matrix")).locator("canvas").click({ position: { x: 200, y: 20 } });
    await page.waitForSelector(".edge-evidence");
    assert.equal(await page.locator(".edge-evidence h2 button.head").first().textContent(), "L0H0");
    assert.match(page.url(), /edge=O[QKV]:L0H0(>|%3E)L/);
    await close();
  });
});

describe("filters", () => {
  test("change which edges are drawn", async () => {
    const { page, close } = await open(pages.full);
    await show(page, "wiring");
    const edges = async () =>
      Number(/(\d+) edges/.exec(await page.locator("#figure-wiring canvas").getAttribute("aria-label"))[1]);
    const settle = () =>
      page.evaluate(
        () =>
          new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))),
      );
    const all = await edges();
    await page.locator("#figure-wiring input[type=range]").fill("3");
    await settle();
    assert.equal(await edges(), 9);
    await page.locator("#figure-wiring label:has-text('OQ') input").uncheck();
    await settle();
    assert.equal(await edges(), 6);
    await page.locator("#figure-wiring input[type=range]").fill("30");
    await settle();
    const any = await edges();
    assert.ok(any > all);
    await page.locator("#figure-wiring label:text-is('beyond chance')").click();
    await settle();
    const beyond = await edges();
    await page.locator("#figure-wiring label:text-is('stand out')").click();
    await settle();
    const out = await edges();
    assert.ok(any > beyond && beyond > out && out > 0, `${any}, ${beyond}, ${out}`);
    await close();
  });

  test("open and close folders of the tree", async () => {
    const { page, close } = await open(pages.full);
    const figure = await show(page, "tree");
    const lines = async () => Number(/(\d+) lines/.exec(await figure.locator("canvas").getAttribute("aria-label"))[1]);
    await figure.locator("button:has-text('Close all')").click();
    await page.waitForFunction(() =>
      /\b2 lines/.test(document.querySelector("#figure-tree canvas").getAttribute("aria-label")),
    );
    await figure.locator("canvas").focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
    await page.waitForFunction(() =>
      /\b3 lines/.test(document.querySelector("#figure-tree canvas").getAttribute("aria-label")),
    );
    await figure.locator("button:has-text('Open all')").click();
    await page.waitForFunction(() =>
      /\b48 lines/.test(document.querySelector("#figure-tree canvas").getAttribute("aria-label")),
    );
    assert.equal(await lines(), 48);
    await close();
  });
});

describe("significance", () => {
  const summary = (page) => page.locator("#summary").innerText();

  test("of the wiring, hubs and gains is the first thing on the page", async () => {
    const { page, close } = await open(pages.full);
    const text = await summary(page);
    assert.match(text, /60 of 2880 pairs of heads are beyond chance, 15 stand out/);
    assert.match(text, /both lengths \(64 and 128 tokens\)/);
    assert.match(text, /1\.5x sparser than maps with the same mask/);
    assert.match(text, /OV at the ceiling/);
    assert.match(text, /OQ 0\.4 nats \(0\.3 to 0\.5\)/);
    assert.equal(await page.locator(".banner").count(), 0);
    for (const id of ["wiring", "graph"])
      assert.equal(
        await page.locator(`#${id} .count`).innerText(),
        "60 of 2,880 pairs are beyond chance, 15 stand out.",
      );
    assert.match(
      await page.locator("#sparsity").innerText(),
      /On the first input, the network has a gain.*32 of 48 heads gain/,
    );
    assert.match(text, /attention on the first input is most concentrated in/);
    assert.match(text, /attention maps of the first input organize 48 heads.*attention of 32 of 48 heads/);
    assert.equal(await page.locator("#graph table tr:has-text('yes')").count(), 2);
    assert.ok((await page.locator("#graph table tr.faint").count()) > 0);
    await close();
  });

  test("is denied at first sight if nothing is beyond chance", async () => {
    const { page, close } = await open(pages.chance);
    assert.match(await page.locator("#story .banner").innerText(), /^No wiring beyond chance/);
    assert.equal(await page.locator("#story button.head, #summary button.head").count(), 0);
    assert.match(await page.locator("#sparsity").innerText(), /no gain over the control/);
    const figure = await show(page, "wiring");
    const svg = readFileSync((await download(page, figure, "svg")).path, "utf8");
    assert.match(svg, />thin gray: not beyond chance</);
    assert.doesNotMatch(svg, />Width: z<|>Color of lines</, "a legend of what no line has");
    const lines = [...svg.matchAll(/<path [^>]*>/g)].map(([path]) => path);
    assert.ok(lines.length > 10);
    for (const line of lines) {
      assert.match(line, /stroke-dasharray/);
      assert.ok(Number(/stroke-width="([\d.]+)"/.exec(line)?.[1] ?? 1) <= 1, `a bold edge: ${line}`);
      assert.match(line, /stroke="#858f9a"/, "an edge in the color of its roles");
    }
    const graph = await show(page, "graph");
    assert.match(await graph.locator("canvas").getAttribute("aria-label"), /No significant hubs/);
    assert.match(await page.locator("#graph table").innerText(), /\bno\b/);
    await page.evaluate(() => (location.hash = "#head=L0H0"));
    await page.waitForFunction(() => document.querySelector(".card h2")?.textContent === "L0H0");
    assert.ok(
      !/significant hub/.test((await page.locator(".card").innerText()).replaceAll("not a significant hub", "")),
    );
    await close();
  });

  test("is called unknown for a run that does not state it", async () => {
    const { page, faults, close } = await open(pages.old);
    assert.match(await page.locator("#story .banner").innerText(), /^Significance unknown/);
    const text = await page.locator("body").innerText();
    assert.ok(!/\bsignificant hubs?:/i.test(text), "no head is called a hub");
    assert.ok(!/\d+ stand out/.test(text));
    assert.match(await page.locator("#sparsity").innerText(), /Gain unknown/);
    assert.equal(await page.locator("#figure-wiring label:text-is('stand out')").count(), 0);
    const figure = await show(page, "wiring");
    assert.match(readFileSync((await download(page, figure, "svg")).path, "utf8"), />significance unknown</);
    assert.deepEqual(faults, []);
    await close();
  });

  test("shows no p below 1e-12, and names the null of every z", async () => {
    const { page, close } = await open(pages.full);
    const figure = await show(page, "wiring");
    const box = await figure.locator("canvas").boundingBox();
    let tip = "";
    for (let y = 20; y < box.height - 100 && !/null/.test(tip); y += 3) {
      await page.mouse.move(box.x + box.width / 2.55, box.y + y);
      tip = await page
        .locator(".tip:not([hidden])")
        .innerText({ timeout: 50 })
        .catch(() => "");
    }
    assert.match(tip, /matched null/);
    assert.match(tip, /p below 1e-12, q below 1e-12/);
    assert.ok(tip.indexOf("matched null") < tip.indexOf("isotropic null"), "the isotropic null is not the headline");
    await close();
  });
});

test("MLPs are in the wiring of a run that compared them, and can be hidden", async () => {
  const { page, faults, close } = await open(pages.mlp, { hash: "#tab=circuit" });
  const figure = await show(page, "wiring");
  const svg = async () => readFileSync((await download(page, figure, "svg")).path, "utf8");
  assert.match(await svg(), />from or to MLPs</);
  await figure.locator("fieldset:has-text('MLPs') label:text-is('hide')").click();
  assert.doesNotMatch(await svg(), />from or to MLPs</);
  assert.deepEqual(faults, []);
  await close();
});

describe("the story", () => {
  test("of random weights is that there is no wiring, without a picture", async () => {
    const { page, close } = await open(pages.chance);
    assert.match(await page.locator(".headline").innerText(), /not wired to each other beyond chance/);
    assert.equal(await page.locator("#figure-story-circuit").count(), 0);
    await close();
  });
  test("of a trained model shows its circuit", async () => {
    const { page, close } = await open(pages.relate);
    assert.match(await page.locator(".headline").innerText(), /wired to each other beyond chance, most clearly L0H6/);
    assert.ok((await colorsOf(await show(page, "story-circuit"))) >= 3);
    await close();
  });
  test("says on what edges were cut, and its lines are clicked for their evidence", async () => {
    const { page, close } = await open(pages.full);
    assert.match(await page.locator(".headline").innerText(), /raises the loss on the tested inputs by 1\.5 nats\.$/);
    assert.match(await page.locator("#story").innerText(), /Effects were measured on the token ids in random\.npy\./);
    const canvas = (await show(page, "story-circuit")).locator("canvas[tabindex]");
    await canvas.click({ position: await findOn(canvas, /L0H1 \u2192 L1H2/) });
    await page.waitForSelector(".edge-evidence");
    assert.equal(await page.locator(".edge-evidence h2").textContent(), "L0H1 \u2192 L1H2");
    await close();
  });
});

test("the box opens with a slash, finds a head and selects it", async () => {
  const { page, faults, close } = await open(pages.full);
  await page.keyboard.press("/");
  await page.keyboard.type("1.1");
  await page.waitForSelector("dialog.find li[aria-selected=true]");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".card h2")?.textContent === "L1H1");
  assert.deepEqual(faults, []);
  await close();
});
