// The report of a model with an encoder and a decoder: every view tells the heads of the three blocks apart.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { colorsOf, figureIds, launch, makePage, open, openTab, quit, show } from "./support.mjs";

let file;
before(async () => {
  file = makePage("encoder-decoder");
  await launch();
});
after(quit);

/** Opens the page, runs a test on it and checks that nothing went wrong in it. */
async function withPage(hash, body) {
  const { page, faults, close } = await open(file, { hash });
  await body(page);
  assert.deepEqual(faults, []);
  await close();
}

// A change of the selection is drawn a frame later than the address shows it.
const hasLabel = (page, id, text) =>
  page.waitForFunction(
    ([selector, wanted]) => document.querySelector(selector)?.getAttribute("aria-label").includes(wanted),
    [`#figure-${id} canvas[tabindex]`, text],
  );

describe("the page of an encoder and a decoder", () => {
  test("draws every figure", () =>
    withPage("", async (page) => {
      for (const id of await figureIds(page)) {
        if (await page.$eval(`#figure-${id}`, (figure) => figure.hidden)) continue;
        assert.ok((await colorsOf(await show(page, id))) > 2, id);
      }
    }));

  test("counts layers and tokens of each block", () =>
    withPage("", async (page) => {
      const tiles = await page.$$eval("#story .tiles div", (all) => all.map((one) => one.textContent));
      for (const wanted of [/encoder layers2/, /decoder layers2/, /cross-attention layers2/, /source tokens.*6/])
        assert.ok(
          tiles.some((tile) => wanted.test(tile)),
          `${wanted}: ${tiles}`,
        );
    }));

  test("groups the grid of heads by block", () =>
    withPage("#tab=heads", async (page) => {
      const parts = await page.$$eval(".head-grid > *", (all) =>
        all.map((one) => (one.className === "grid-block" ? one.textContent : one.tagName)),
      );
      const bands = ["CANVAS", "CANVAS"];
      assert.deepEqual(parts, ["encoder", ...bands, "decoder", ...bands, "cross-attention", ...bands, "DIV"]);
      const band = page.locator('.head-grid canvas[data-band="5"]');
      await band.click({ position: { x: 50, y: 10 } });
      await page.waitForFunction(() => location.hash.includes("head=cross.L1H0"));
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      const mark = await page.locator(".head-grid .mark.selected").boundingBox();
      const box = await band.boundingBox();
      assert.ok(Math.abs(mark.y - box.y) < 2, "the mark is on its band");
    }));

  test("finds heads by name, number and layer", () =>
    withPage("", async (page) => {
      await page.keyboard.press("/");
      await page.keyboard.type("cross.1.1");
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => location.hash.includes("head=cross.L1H1"));
    }));

  test("shows the map of a head by the tokens of its block, and its organized map if it has one", () =>
    withPage("#tab=evidence&head=cross.L1H1", async (page) => {
      await show(page, "map");
      await hasLabel(page, "map", "cross.L1H1, 4 queries by 6 keys");
      assert.equal(await page.locator("#figure-map-organized").isVisible(), true);
      await page.selectOption("#maps select >> nth=1", "decoder.L0H0");
      await page.waitForFunction(() => location.hash.includes("head=decoder.L0H0"));
      await hasLabel(page, "map", "decoder.L0H0, 4 queries by 4 keys");
      assert.equal(await page.locator("#figure-map-organized").isVisible(), false);
      // The second input has two tokens of the target and three of the source.
      await page.selectOption("#maps select >> nth=0", "1");
      await page.selectOption("#maps select >> nth=1", "cross.L0H0");
      await page.waitForFunction(() => location.hash.includes("head=cross.L0H0"));
      await hasLabel(page, "map", "cross.L0H0, 2 queries by 3 keys");
    }));

  test("names the blocks of cut edges, and shows the evidence of one", () =>
    withPage("", async (page) => {
      const figure = await show(page, "patch-effects");
      assert.ok((await colorsOf(figure)) > 2);
      const rows = page.locator("article:has-text('Largest effects') tbody button");
      const edges = await rows.allTextContents();
      const head = "(encoder|decoder|cross)\\.L\\dH\\d";
      const reader = `(${head}|encoder\\.L\\dM|decoder\\.L\\dM|U)`;
      for (const edge of edges) assert.match(edge, new RegExp(`^O[QKVMU] ${head} . ${reader}$`));
      for (const wanted of [/^O[KV] encoder.*cross/, /^OQ decoder.*cross/, /^OM .*decoder\.L\dM/])
        assert.ok(
          edges.some((edge) => wanted.test(edge)),
          `${wanted}: ${edges}`,
        );
      await rows.first().click();
      await page.waitForFunction(() => location.hash.includes("edge="));
    }));

  test("filters edges by layers in the order in which they run", () =>
    withPage("#tab=circuit&layers=2-3", async (page) => {
      await openTab(page, "circuit");
      const edges = await page.$$eval("#edge-table tbody tr td:first-child, #edge-table tbody tr th", (all) =>
        all.map((one) => one.textContent),
      );
      assert.ok(edges.length > 0);
      for (const edge of edges) assert.match(edge, /decoder\.L0H\d.*cross\.L0H\d/);
    }));
});
