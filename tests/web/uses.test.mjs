// The sections on pruning, cut edges and comparison: their text, and the effect of their controls.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { download, launch, makePage, open, quit, settle, show } from "./support.mjs";

const pages = {};
before(async () => {
  for (const kind of ["prune", "patch", "chance", "compare", "full"]) pages[kind] = makePage(kind);
  await launch({ webgl: false });
});
after(quit);

const label = (figure) => figure.locator("canvas[tabindex]").getAttribute("aria-label");
const drawing = (figure) => figure.locator("canvas[tabindex]").evaluate((canvas) => canvas.toDataURL());
const cells = (page, selector) =>
  page.$$eval(`${selector} tbody tr`, (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));

async function csv(page, figure) {
  const { path } = await download(page, figure, "csv");
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => line.split(","));
}

describe("pruning", () => {
  test("states whether structure beats chance, with numbers", async () => {
    const { page, faults, close } = await open(pages.prune);
    assert.match(await page.locator("#prune .verdict").textContent(), /^pk \(0\.30 nats\).*structure beats chance/);
    assert.match(await page.locator("#summary .story").textContent(), /Pruned to 16 of 32 heads: pk/);
    const rows = await cells(page, "#prune article");
    assert.deepEqual(rows[0].slice(0, 3), ["nothing removed", "", "0"]);
    assert.deepEqual(
      rows.map((row) => row[0]),
      ["nothing removed", "greedy", "alone", "pk", "redundancy", "information", "norm", "random"],
    );
    // All 60 random orders, not only the 20 that have curves.
    assert.deepEqual(rows[3].slice(-4), ["59 of 60", "0.197", "55 of 60", "0.59"]);
    assert.equal(rows[7][2], "0.2 to 4.25");
    const about = await page.locator("#prune article .about").textContent();
    assert.match(about, /chosen on 4 inputs; damage was measured on 12 other inputs/);
    assert.match(about, /all 60 random orders; 20 of them have curves.*p is corrected for 6 criteria/);
    assert.deepEqual(faults, []);
    await close();
  });

  test("draws the selected measure", async () => {
    const { page, close } = await open(pages.prune);
    const figure = await show(page, "prune-curves");
    assert.match(
      await label(figure),
      /increase in loss, nats with 16 heads removed: .*pk 0\.3,.*20 random orders 1\.\d+ to 2\.\d+/,
    );
    const first = await drawing(figure);
    await figure.locator("label:text-is('accuracy')").click();
    await settle(page);
    assert.match(await label(figure), /^accuracy with 16 heads removed: .*pk 0\.59/);
    assert.notEqual(await drawing(figure), first);
    const rows = await csv(page, figure);
    assert.deepEqual(rows[0].slice(0, 4), ["criterion", "seed", "removed", "damage"]);
    assert.equal(rows.length, 1 + 26 * 9);
    await close();
  });

  test("moves along the curves with the keyboard", async () => {
    const { page, close } = await open(pages.prune);
    const figure = await show(page, "prune-curves");
    await figure.locator("canvas[tabindex]").focus();
    for (const key of ["ArrowRight", "ArrowDown", "ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
    assert.equal(await figure.locator("[aria-live]").textContent(), "pk, 2 heads removed, damage 0.00469");
    await close();
  });

  test("shows the heads of one criterion and marks the chosen head", async () => {
    const { page, close } = await open(pages.prune);
    const grids = await show(page, "prune-heads");
    assert.equal((await label(grids)).match(/removes/g).length, 6);
    await grids.locator("select").selectOption({ label: "pk" });
    await settle(page);
    assert.match(await label(grids), /^pk removes L\d/);
    const rows = await csv(page, grids);
    assert.deepEqual(rows[0], ["head", "layer", "index", "removed_by_pk_as"]);
    assert.equal(rows.length, 33, "the protected head has its place");
    assert.equal(rows.slice(1).filter((row) => row[3] !== "").length, 16);

    const ranking = await show(page, "prune-ranking");
    assert.match(await label(ranking), /31 heads ranked by pk, 16 of them removed/);
    const plain = await drawing(ranking);
    await ranking.locator("canvas[tabindex]").focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForSelector(".card h2");
    const chosen = await page.locator(".card h2").textContent();
    assert.equal((await csv(page, ranking))[1][2], chosen);
    assert.match(await page.locator(".card dl").textContent(), /removed by.*pk \(1\)/);
    await settle(page);
    assert.notEqual(await drawing(ranking), plain);
    await ranking.locator("select").selectOption({ label: "alone" });
    await settle(page);
    assert.match(await label(ranking), /ranked by alone/);
    await close();
  });
});

describe("cut edges", () => {
  test("states the largest effects, with numbers", async () => {
    const { page, faults, close } = await open(pages.patch);
    assert.match(await page.locator("#patch .verdict").textContent(), /^2 of 32 chosen edges change the output/);
    const figure = await show(page, "patch-effects");
    assert.match(await label(figure), /^Change of the loss, nats, for 32 chosen and 32 random edges. Largest: OK L0H1/);
    const rows = await cells(page, "#patch article:nth-of-type(1)");
    assert.deepEqual(rows[0], ["OK L0H1 \u2192 L1H2", "1.5", "6", "40", rows[0][4], "top", "yes"]);
    assert.equal(rows.length, 12);
    assert.ok(rows.every((row) => row[5] !== "control"));
    const samples = await cells(page, "#patch article:nth-of-type(2)");
    assert.deepEqual(samples[0], ["OQ", "top", "8", "1", "0.02", "0.004", "0.003", "0.9", "0.95", "1", "0.001"]);
    assert.equal((await csv(page, figure)).length, 1 + 64);
    assert.deepEqual(faults, []);
    await close();
  });

  test("shows an edge under the pointer and by keyboard, and selects its head", async () => {
    const { page, close } = await open(pages.patch);
    const figure = await show(page, "patch-effects");
    const canvas = figure.locator("canvas[tabindex]");
    await canvas.focus();
    await page.keyboard.press("ArrowRight");
    const said = "1: OK L0H1 \u2192 L1H2, +1.5, z 40, in the circuit";
    assert.equal(await figure.locator("[aria-live]").textContent(), said);
    // The strongest edge is in the upper right corner.
    const { width } = await canvas.boundingBox();
    const found = await canvas.evaluate((element, right) => {
      for (let y = 20; y < 120; y += 4)
        for (let x = right - 80; x < right; x += 4) {
          const box = element.getBoundingClientRect();
          const place = {
            clientX: box.left + x,
            clientY: box.top + y,
            bubbles: true,
          };
          element.dispatchEvent(new window.PointerEvent("pointermove", place));
          if (element.style.cursor === "pointer") return { x, y };
        }
      return null;
    }, width);
    assert.match(
      await page.locator(".tip").textContent(),
      /OK L0H1 \u2192 L1H2.*\+1\.5.*chosen by its weights, in the circuit/,
    );
    await canvas.click({ position: found });
    assert.equal(await page.locator(".edge-evidence h2").textContent(), "L0H1 \u2192 L1H2");
    assert.match(await page.locator("[data-evidence=cut]").textContent(), /raises the loss by 1\.5 nats/);
    const about = await page.locator(".edge-evidence .about").textContent();
    await page.locator("#tab-evidence article:has-text('Largest effects') tbody button").nth(1).click();
    await page.waitForFunction((old) => document.querySelector(".edge-evidence .about")?.textContent !== old, about);
    await close();
  });

  test("says first that there is no effect beyond that of random edges, and names no edge in the figure", async () => {
    const { page, close } = await open(pages.chance);
    assert.match(await page.locator("#patch .verdict p").textContent(), /^No effect beyond that of random edges/);
    const figure = await show(page, "patch-effects");
    assert.match(await label(figure), /No effect beyond that of random edges\./);
    const components = await show(page, "patch-components-effects");
    assert.match(await label(components), /Too few edges were cut to tell\./);
    const caveats = await page.locator("#story").textContent();
    assert.match(caveats, /edges to another head that were cut do not change more than random edges do/);
    assert.match(caveats, /Too few edges to an MLP or the unembedding were cut to tell/);
    const { path } = await download(page, figure, "svg");
    assert.doesNotMatch(readFileSync(path, "utf8"), /L0H\d \u2192/);
    const strong = await open(pages.patch);
    const drawn = await download(strong.page, await show(strong.page, "patch-effects"), "svg");
    assert.match(readFileSync(drawn.path, "utf8"), /L0H1 \u2192 L1H2/);
    await strong.close();
    await close();
  });

  test("shows edges to MLPs and the unembedding in a figure and tables of their own", async () => {
    const { page, faults, close } = await open(pages.patch);
    const figure = await show(page, "patch-components-effects");
    assert.match(await label(figure), /^Change of the loss, nats, for 8 chosen and 8 random edges. Largest: OM L0H0/);
    assert.equal((await csv(page, figure)).length, 1 + 16);
    const rows = await cells(page, "#patch article:nth-of-type(3)");
    assert.deepEqual(rows[0], ["OM L0H0 \u2192 L2M", "0.7", rows[0][2], "20", "top", "yes"]);
    const samples = await cells(page, "#patch article:nth-of-type(4)");
    assert.deepEqual(samples[0], ["OM", "top", "4", "1", "0.05", "0.004", "0.003", "0.8", "0.9", "0.001"]);
    await page.locator("#patch article:nth-of-type(3) tbody button").first().click();
    await page.waitForSelector(".drawer:not([hidden])");
    assert.match(await page.locator(".drawer").textContent(), /OM L0H0 \u2192 L2M \+0\.7/);
    assert.deepEqual(faults, []);
    await close();
  });

  test("fits into a window of 390 pixels", async () => {
    const { page, faults, close } = await open(pages.patch, {
      width: 390,
      colorScheme: "dark",
    });
    await show(page, "patch-effects");
    const sizes = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(sizes[0] <= sizes[1], `${sizes}`);
    const lines = await page.$$eval("#patch td.name", (all) => all.map((one) => one.getBoundingClientRect().height));
    assert.ok(lines.length > 0 && Math.max(...lines) < 45, `edges are on one line: ${lines}`);
    assert.deepEqual(faults, []);
    await close();
  });
});

describe("comparison", () => {
  test("states that there is no difference", async () => {
    const { page, faults, close } = await open(pages.compare);
    const said = "1 and 1.0: no difference beyond the spread over inputs in 9 features";
    assert.equal(await page.locator("#compare .verdicts").textContent(), `${said}.`);
    assert.equal(await page.locator("#compare article h3").textContent(), said);
    const rows = await cells(page, "#compare article");
    assert.equal(rows.length, 10);
    assert.equal(rows.filter((row) => row.at(-1) === "no difference beyond the spread").length, 9);
    assert.equal(rows[9].at(-1), "not tested: only one input");
    assert.deepEqual(faults, []);
    await close();
  });

  test("selects a pair of runs in the list and with the keyboard", async () => {
    const { page, close } = await open(pages.full);
    const distances = await show(page, "distances");
    const differences = await show(page, "differences");
    assert.match(await label(differences), /^before and after: 0 of 10 features differ/);
    await distances.locator("canvas[tabindex]").focus();
    await page.keyboard.press("ArrowRight");
    await settle(page);
    assert.match(await label(differences), /^before and another/);
    assert.match(await page.locator("#compare article h3").first().textContent(), /not tested/);
    await differences.locator("select").selectOption({ label: "after \u2013 another" });
    await settle(page);
    assert.match(await label(differences), /^after and another/);
    const rows = await csv(page, distances);
    assert.deepEqual(rows[0], ["run", "before", "after", "another"]);
    assert.ok(Math.abs(Number(rows[1][3]) - 2.3) < 1e-6);
    await close();
  });

  test("exports curves and numbers of all runs", async () => {
    const { page, close } = await open(pages.full);
    const curves = await csv(page, await show(page, "compared-curves"));
    assert.deepEqual([...new Set(curves.slice(1).map((row) => row[0]))], ["decay", "head spectrum", "query spectrum"]);
    assert.deepEqual([...new Set(curves.slice(1).map((row) => row[1]))], ["before", "after", "another"]);
    const figures = await csv(page, await show(page, "compared-figures"));
    assert.equal(figures.length, 1 + 6 * (5 + 5 + 1) + 3);
    await close();
  });

  test("shows a head that only a compared run has", async () => {
    const { page, faults, close } = await open(pages.compare, {
      hash: "#head=L3H3",
    });
    const matrices = await show(page, "compared-matrices");
    assert.equal(await page.locator(".card h2").textContent(), "L3H3");
    assert.match(await page.locator(".card").textContent(), /In the compared runs1\.0$/);
    const marked = await drawing(matrices);
    await page.locator("#close-drawer").click();
    await page.waitForFunction(() => !document.querySelector(".card h2"));
    await settle(page);
    assert.notEqual(await drawing(matrices), marked);
    await matrices.locator("label:text-is('queries')").click();
    await page.waitForFunction(() =>
      /by query/.test(document.querySelector("#figure-compared-matrices canvas").getAttribute("aria-label")),
    );
    assert.deepEqual(faults, []);
    await close();
  });
});
