// What leaves the page: exported files, printed pages, and text in the data, which is never executed.

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { hostileTokens } from "./make_run.mjs";
import { download, figureIds, launch, makePage, open, parseCsv, quit, require, show } from "./support.mjs";

const pages = {};
before(async () => {
  for (const kind of ["full", "hostile", "relate"]) pages[kind] = makePage(kind);
  await launch();
});
after(quit);

describe("exports", () => {
  test("of every figure are valid SVG, PNG and CSV files", async () => {
    const { PNG } = require("pngjs");
    const { page, faults, close } = await open(pages.full);
    for (const id of await figureIds(page)) {
      const figure = await show(page, id);
      const svg = await download(page, figure, "svg");
      const text = readFileSync(svg.path, "utf8");
      assert.equal(svg.name, `${id}.svg`);
      const parsed = await page.evaluate((xml) => {
        const tree = new DOMParser().parseFromString(xml, "image/svg+xml");
        return {
          wrong: tree.querySelector("parsererror")?.textContent ?? "",
          root: tree.documentElement.localName,
          shapes: tree.querySelectorAll("rect, path, circle, line, text").length,
          scripts: tree.querySelectorAll("script, foreignObject").length,
        };
      }, text);
      assert.deepEqual([parsed.wrong, parsed.root, parsed.scripts], ["", "svg", 0], id);
      assert.ok(parsed.shapes > 10, `${id}: ${parsed.shapes} shapes`);
      const png = PNG.sync.read(readFileSync((await download(page, figure, "png")).path));
      const size = await figure
        .locator("canvas[tabindex]")
        .evaluate((canvas) => [canvas.clientWidth, canvas.clientHeight]);
      assert.ok(
        Math.abs(png.width - 2 * size[0]) <= 2 && Math.abs(png.height - 2 * size[1]) <= 4,
        `${id}: ${png.width} x ${png.height} for ${size}`,
      );
      assert.ok(
        new Set(new Uint32Array(png.data.buffer, png.data.byteOffset, png.width * png.height)).size >= 3,
        `${id}: a blank PNG`,
      );
      const rows = parseCsv(readFileSync((await download(page, figure, "csv")).path, "utf8"));
      assert.ok(rows.length > 1, `${id}: an empty CSV`);
      assert.ok(
        rows.every((row) => row.length === rows[0].length),
        `${id}: ragged CSV`,
      );
    }
    assert.deepEqual(faults, []);
    await close();
  });

  test("of edges contain the numbers of the run", async () => {
    const { page, close } = await open(pages.relate);
    const figure = await show(page, "wiring");
    const rows = parseCsv(readFileSync((await download(page, figure, "csv")).path, "utf8"));
    assert.deepEqual(rows[0].slice(0, 5), ["pair", "source", "target", "score", "rank"]);
    assert.ok(rows.some((row) => row[0] === "OK" && row[1] === "L0H6" && Math.abs(row[3] - 8.337) < 1e-3));
    await close();
  });

  test("are also available as a table", async () => {
    const { page, close } = await open(pages.full);
    const figure = await show(page, "detectors");
    await figure.locator(".export > button").click();
    await figure.locator("[data-format=table]").click();
    assert.equal(await figure.locator(".figure-data tbody tr").count(), 48);
    await close();
  });
});

describe("hostile data", () => {
  test("is shown as text and never executed", async () => {
    const { page, faults, close } = await open(pages.hostile);
    for (const id of await figureIds(page)) {
      const figure = await show(page, id);
      const box = await figure.locator("canvas[tabindex]").boundingBox();
      for (const [x, y] of [
        [0.3, 0.3],
        [0.5, 0.5],
        [0.2, 0.15],
      ])
        await page.mouse.move(box.x + box.width * x, box.y + Math.min(box.height, 600) * y);
      await figure.evaluate((element) => element.querySelector("[data-format=table]").click());
    }
    for (const head of await page.$$eval(".card button.head", (all) => all.map((one) => one.textContent))) {
      await page.evaluate((name) => (location.hash = `#head=${name}`), head);
      await page.waitForFunction((name) => document.querySelector(".card h2")?.textContent === name, head);
    }
    const found = await page.evaluate(() => ({
      broken: window.broken,
      scripts: document.querySelectorAll("script:not([type]):not(#block)").length,
      images: document.querySelectorAll("img[src=x], svg, iframe").length,
    }));
    assert.deepEqual(found, { broken: undefined, scripts: 1, images: 0 });
    const text = await page.locator("body").textContent();
    assert.ok(text.includes("</script><script>window.broken"), "the token itself is shown");
    assert.deepEqual(faults, []);
    await close();
  });

  test("is escaped in exported SVG files", async () => {
    const { page, close } = await open(pages.hostile);
    for (const id of ["map", "query-attention", "tree"]) {
      const figure = await show(page, id);
      const xml = readFileSync((await download(page, figure, "svg")).path, "utf8");
      const found = await page.evaluate((source) => {
        const tree = new DOMParser().parseFromString(source, "image/svg+xml");
        return [
          tree.querySelectorAll("parsererror, script, img").length,
          [...tree.querySelectorAll("*")].filter((one) => [...one.attributes].some((a) => a.name.startsWith("on")))
            .length,
        ];
      }, xml);
      assert.deepEqual(found, [0, 0], id);
    }
    await close();
  });

  test("is in the file only as base64", () => {
    const html = readFileSync(pages.hostile, "utf8");
    for (const token of hostileTokens.filter((one) => /[^\w ]/.test(one) && one.length > 4))
      assert.ok(!html.includes(token), token);
    const blocks = [...html.matchAll(/<script type="application\/octet-stream" id="block-\d+">([^<]*)<\/script>/g)];
    assert.ok(blocks.length > 5);
    for (const [, text] of blocks) assert.match(text, /^[A-Za-z0-9+/]*=*$/);
  });
});

describe("print", () => {
  test("shows all tabs under their names, in light colors and without the drawer", async () => {
    const { page, close } = await open(pages.relate, { colorScheme: "dark", hash: "#tab=circuit&head=L0H6" });
    await page.emulateMedia({ media: "print" });
    const found = await page.evaluate(() => {
      const panels = [...document.querySelectorAll(".panel")];
      const style = window.getComputedStyle(document.body);
      return {
        tabs: panels.map((one) => window.getComputedStyle(one, "::before").content.replaceAll('"', "")),
        shown: panels.every((one) => one.offsetHeight > 0),
        breaks: panels.slice(1).every((one) => window.getComputedStyle(one).breakBefore === "page"),
        colors: [style.backgroundColor, style.color],
        drawer: document.querySelector(".drawer").offsetHeight,
        buttons: [...document.querySelectorAll(".figure-head button, .controls, #head")].filter(
          (one) => one.offsetHeight > 0,
        ).length,
      };
    });
    assert.deepEqual(found, {
      tabs: await page.$$eval("nav.tabs a", (all) => all.map((one) => one.textContent)),
      shown: true,
      breaks: true,
      colors: ["rgb(255, 255, 255)", "rgb(0, 0, 0)"],
      drawer: 0,
      buttons: 0,
    });
    await close();
  });

  test("uses vector images for all figures", async () => {
    const { page, close } = await open(pages.full, { colorScheme: "dark" });
    const pdf = await page.pdf({ format: "A4" });
    assert.ok(pdf.length > 50_000);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.locator("img.print").count(), (await figureIds(page)).length);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.equal(await page.locator("img.print").count(), 0);
    await close();
  });
});

test("third-party notices are at the end of the page, closed, and open with the keyboard", async () => {
  const { page, faults, close } = await open(pages.relate);
  const text = page.locator("footer #notices pre");
  assert.equal(await text.isVisible(), false);
  await page.locator("#notices summary").focus();
  await page.keyboard.press("Enter");
  await text.waitFor({ state: "visible" });
  for (const name of ["d3-array", "internmap", "three"])
    assert.match(await text.innerText(), new RegExp(`^${name} \\d`, "m"));
  const sizes = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(sizes[0] <= sizes[1], `${sizes}`);
  assert.deepEqual(faults, []);
  await close();
});

test("a page with little data is below 3 MB", () => {
  assert.ok(statSync(pages.relate).size < 3e6);
});
