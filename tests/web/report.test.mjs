// The report in a browser: every view draws, figures show the chosen head, exports are valid files, and text in the
// data is never executed.

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { hostileTokens } from "./make_run.mjs";
import {
  colorsOf,
  download,
  figureIds,
  launch,
  makePage,
  open,
  openTab,
  quit,
  require,
  sectionIds,
  show,
} from "./support.mjs";

const pages = {};
before(async () => {
  for (const kind of ["full", "image", "hostile", "relate", "prune", "compare", "chance", "old", "vision", "mlp"])
    pages[kind] = makePage(kind);
  await launch();
});
after(quit);

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
    prune: [...ofHeads, "prune"],
    compare: ["compare"],
    relate: [...ofHeads, ...ofWeights],
  }).map(([kind, ids]) => [kind, order.filter((id) => ids.includes(id) || everywhere.includes(id))]),
);

const tabIds = (page) => page.$$eval("nav.tabs a", (all) => all.map((one) => one.dataset.tab));
const settle = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

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
    assert.match(await page.locator("#sparsity").innerText(), /32 of 48 heads gain over the control/);
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

function parseCsv(text) {
  const rows = [];
  for (const line of text.trimEnd().match(/(?:[^"\n]|"(?:[^"]|"")*")+/g))
    rows.push(
      [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(,|$)/g)].map((m) => m[1]).slice(0, line.endsWith(",") ? undefined : -1),
    );
  return rows.map((row) => row.map((cell) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)));
}

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

describe("accessibility", () => {
  // Every state that adds something to the page: an edge with its evidence, pinned heads, a selected head, nothing.
  const states = {
    full: "#tab=circuit&pins=L0H0,L2H3",
    image: "#head=L1H1",
    chance: "",
  };
  for (const [kind, hash] of Object.entries(states))
    test(`has no violation in any tab of the ${kind} run, light and dark (axe-core)`, async () => {
      const { page, close } = await open(pages[kind], { hash });
      if (kind === "full") await selectEdge(page);
      // The policy of the page blocks other scripts, so the checker is loaded through the debugger.
      await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
      const check = async (what) => {
        const found = await page.evaluate(async () => {
          const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
          return violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`);
        });
        assert.deepEqual(found, [], what);
      };
      for (const theme of ["light", "dark"]) {
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), theme);
        for (const id of await tabIds(page)) {
          await openTab(page, id);
          await check(`${theme}, ${id}`);
        }
        await page.keyboard.press("/");
        await page.keyboard.type("L1");
        await page.waitForSelector("dialog.find[open] li");
        await check(`${theme}, the box that finds`);
        await page.keyboard.press("Escape");
        await page.locator("#theme").click();
        await settle(page);
      }
      await close();
    });

  test("closes the evidence of an edge with Escape, and the focus returns to the figure", async () => {
    const { page, close } = await open(pages.relate, { hash: "#tab=circuit" });
    await show(page, "wiring");
    await page.locator("#figure-wiring canvas").focus();
    for (const key of ["ArrowRight", "ArrowRight", "Enter"]) await page.keyboard.press(key);
    await page.waitForSelector("#close-drawer");
    await page.locator("#close-drawer").focus();
    await page.keyboard.press("Escape");
    await page.waitForSelector(".drawer", { state: "hidden" });
    await page.waitForFunction(() => document.activeElement === document.querySelector("#figure-wiring canvas"));
    assert.ok(!/head=|edge=/.test(page.url()));
    await close();
  });

  for (const kind of ["relate", "prune", "compare"]) {
    test(`reaches every figure and control of the ${kind} run with the keyboard`, async () => {
      const { page, close } = await open(pages[kind]);
      // What a closed list holds is reached once it is opened.
      await page.$$eval("main details", (all) => all.forEach((one) => (one.open = true)));
      const wanted = await page.$$eval(
        "main button, main select, main input, main canvas[tabindex]",
        (all) => all.filter((one) => one.offsetParent !== null && !(one.type === "radio" && !one.checked)).length,
      );
      const reached = new Set();
      for (let i = 0; i < wanted + 60; ++i) {
        await page.keyboard.press("Tab");
        reached.add(
          await page.evaluate(() =>
            [...document.querySelectorAll("main button, main select, main input, main canvas[tabindex]")].indexOf(
              document.activeElement,
            ),
          ),
        );
      }
      reached.delete(-1);
      assert.equal(reached.size, wanted);
      await close();
    });
  }

  test("opens and closes the export menu with the keyboard", async () => {
    const { page, close } = await open(pages.relate, { hash: "#tab=circuit" });
    const menu = page.locator("#figure-wiring .export");
    await menu.locator("> button").focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "SVG");
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "PNG");
    await page.keyboard.press("Escape");
    assert.equal(await menu.locator(".menu").isVisible(), false);
    await close();
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

describe("tabs", () => {
  const sizes = [
    [390, 844],
    [1024, 768],
    [1440, 900],
    [1920, 1080],
  ];
  for (const [width, height] of sizes)
    test(`open with their links at ${width} x ${height}, and so do links to sections`, async () => {
      const { page, faults, close } = await open(pages.full, { width, height });
      for (const id of ["heads", "circuit", "evidence", "methods", "story"]) {
        await page.locator(`nav.tabs a[data-tab=${id}]`).click();
        await page.waitForSelector(`#tab-${id}:not([hidden])`);
        assert.equal(await page.locator(".panel:visible").count(), 1);
        assert.equal(await page.locator("nav.tabs a[aria-current=page]").getAttribute("data-tab"), id);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${id} is ${wide} pixels too wide`);
      }
      await page.locator("nav.tabs a[data-tab=methods]").click();
      await page.locator("#tab-methods nav a[data-view=softmax]").click();
      await page.waitForFunction(() => {
        const { top } = document.getElementById("softmax").getBoundingClientRect();
        return top >= 0 && top < innerHeight / 2;
      });
      assert.deepEqual(faults, []);
      await close();
    });

  test("restore every filter of a link, and controls follow the address", async () => {
    const hash =
      "#tab=circuit&pairs=OK&top=7&width=span&shown=beyond&layers=0-4&z=2&q=0.04&class=previous&name=L&linked=yes";
    const { page, faults, close } = await open(pages.full, { hash });
    const wiring = page.locator("#figure-wiring");
    const values = () =>
      page.evaluate(() => ({
        roles: [...document.querySelectorAll("#figure-wiring .toggles input:checked")].map((one) => one.value),
        top: document.querySelector("#figure-wiring input[type=range]").value,
        summary: document.querySelector("#figure-wiring summary").textContent,
      }));
    assert.deepEqual(await values(), {
      roles: ["OK"],
      top: "7",
      summary: "More filters (5 set)",
    });
    await wiring.locator("button:text-is('Clear')").click();
    await page.waitForFunction(() => !/class=|name=|layers=|[?&#]z=|q=/.test(location.hash));
    assert.match(page.url(), /pairs=OK&top=7&width=span&shown=beyond&linked=yes$/);
    await page.evaluate(() => (location.hash = "#tab=circuit&top=3"));
    await page.waitForFunction(() => document.querySelector("#figure-wiring input[type=range]").value === "3");
    assert.deepEqual((await values()).roles, ["OQ", "OK", "OV"]);
    assert.deepEqual(faults, []);
    await close();
  });

  test("fit a phone without scrolling sideways, for text, images, random weights and MLPs", async () => {
    for (const kind of ["image", "chance", "mlp", "prune", "compare"]) {
      const { page, close } = await open(pages[kind], { width: 390, height: 844 });
      for (const id of await tabIds(page)) {
        await openTab(page, id);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${id} of ${kind} is ${wide} pixels too wide`);
        const { right } = await page
          .locator(`nav.tabs a[data-tab=${id}]`)
          .boundingBox()
          .then((box) => ({
            right: box.x + box.width,
          }));
        assert.ok(right <= 390, `the link to ${id} is cut off`);
      }
      await close();
    }
  });

  test("restore input, query, zoom and edge from a link", async () => {
    const hash = "#tab=circuit&edge=OK:L0H1>L1H2&input=1&query=5&detector=induction&zoom=2,0.25,0.1";
    const { page, faults, close } = await open(pages.full, { hash });
    assert.equal(await page.locator(".edge-evidence h2").textContent(), "L0H1 \u2192 L1H2");
    const inputs = await page.$$eval("select", (all) =>
      all.filter((one) => one.previousSibling?.textContent === "Input").map((one) => one.value),
    );
    assert.ok(inputs.length >= 3);
    assert.ok(
      inputs.every((value) => value === "1"),
      `${inputs}`,
    );
    assert.equal(
      await page.locator("#figure-wiring .control:has-text('Heads detected as') select").inputValue(),
      "induction",
    );
    const query = (await show(page, "query-attention")).locator("canvas");
    assert.match(await query.getAttribute("aria-label"), /^Query 5 /);
    const zoomed = (await show(page, "wiring")).locator("canvas");
    const drawn = await zoomed.evaluate((canvas) => canvas.toDataURL());
    await page.locator("#figure-wiring button[aria-label='Show all of the wiring']").click();
    await page.waitForFunction(() => !/zoom=/.test(location.hash));
    await show(page, "wiring");
    assert.notEqual(await zoomed.evaluate((canvas) => canvas.toDataURL()), drawn);
    assert.deepEqual(faults, []);
    await close();
  });

  test("are restored from a link with the whole state, and by the back button", async () => {
    const hash = "#tab=circuit&head=L1H1&pins=L0H0,L2H3&pairs=OK&top=3&shown=beyond&layers=0-4";
    const { page, close } = await open(pages.full, { hash });
    assert.ok(await page.locator("#tab-circuit").isVisible());
    assert.equal(await page.locator(".card h2").textContent(), "L1H1");
    assert.deepEqual(await page.locator(".tray button.head").allTextContents(), ["L0H0", "L2H3"]);
    await openTab(page, "evidence");
    assert.match(page.url(), /tab=evidence&head=L1H1&pins=L0H0,L2H3&pairs=OK&top=3&shown=beyond&layers=0-4/);
    await page.goBack();
    await page.waitForSelector("#tab-circuit:not([hidden])");
    await page.goForward();
    await page.waitForSelector("#tab-evidence:not([hidden])");
    await close();
  });
});

/** Moves the pointer over a figure until its tooltip matches. Returns the position and the tooltip's first line. */
async function findOn(canvas, pattern) {
  const found = await canvas.evaluate((element, wanted) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    for (let y = 8; y < height; y += 3)
      for (let x = 8; x < width; x += 7) {
        const place = { clientX: left + x, clientY: top + y, bubbles: true };
        element.dispatchEvent(new window.PointerEvent("pointermove", place));
        const tip = document.querySelector(".tip:not([hidden]) .tip-head")?.textContent ?? "";
        if (new RegExp(wanted).test(tip)) return { x, y, tip };
      }
    return null;
  }, pattern.source);
  assert.ok(found, `nothing in the figure is ${pattern}`);
  return found;
}

/** Selects the strongest edge that was cut. */
async function selectEdge(page) {
  await page.evaluate(() => document.querySelector("#patch tbody button").click());
  await page.waitForSelector(".edge-evidence");
}

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

describe("an edge", () => {
  test("of the matrix and of the wiring are the same selection", async () => {
    const { page, close } = await open(pages.full, { hash: "#tab=circuit" });
    const figure = await show(page, "matrix");
    const matrix = figure.locator("select").first();
    await page.evaluate(() => (location.hash = "#tab=circuit&edge=OV:L0H3>L1H1"));
    await page.waitForFunction(() => document.querySelector("#figure-matrix select").value === "pk_OV");
    await figure.locator("canvas").click({ position: { x: 300, y: 30 } });
    await page.waitForFunction(() => /edge=OV:L0H\d/.test(location.hash) && !/L0H3>L1H1$/.test(location.hash));
    assert.equal(await matrix.inputValue(), "pk_OV");
    await close();
  });

  test("is selected by a click on its line, and shows four kinds of evidence", async () => {
    const { page, faults, close } = await open(pages.full, {
      hash: "#tab=circuit",
    });
    const canvas = (await show(page, "wiring")).locator("canvas[tabindex]");
    const found = await findOn(canvas, /\u2192/);
    await canvas.click({ position: found });
    await page.waitForSelector(".edge-evidence");
    const [source, target] = found.tip.split(",")[0].split(" \u2192 ");
    assert.equal(await page.locator(".edge-evidence h2").textContent(), `${source} \u2192 ${target}`);
    assert.match(decodeURIComponent(page.url()), new RegExp(`edge=\\w+:${source}>${target}`));
    const kinds = () => page.$$eval(".evidence", (all) => all.map((one) => one.dataset.evidence));
    assert.deepEqual(await kinds(), ["maps", "tokens", "null", "cut"]);
    // Pictures, tokens, and the histogram with z, p and q, of an edge whose ends both have token profiles.
    const other = page.locator("#edge-table tbody button").nth(5);
    const name = (await other.textContent()).slice(3);
    await other.click();
    await page.waitForFunction((text) => document.querySelector(".edge-evidence h2").textContent === text, name);
    await page.waitForSelector("[data-evidence=maps] .map-image >> nth=1");
    assert.equal(await page.locator("[data-evidence=maps] .map-image").count(), 2);
    assert.equal(await page.locator("[data-evidence=tokens] .token").count(), 20);
    await page.waitForSelector("[data-evidence=null] figure[data-current]");
    assert.deepEqual(await page.locator("[data-evidence=null] thead th").allTextContents(), ["null", "z", "p", "q"]);
    assert.deepEqual(await page.locator("[data-evidence=null] tbody th").allTextContents(), [
      "isotropic",
      "matched",
      "span",
    ]);
    await selectEdge(page);
    await page.waitForSelector("[data-evidence=cut] .effect");
    const cut = await page.locator("[data-evidence=cut]").textContent();
    assert.match(cut, /Cutting it (raises|lowers) the loss by [\d.]+ nats/);
    assert.match(cut, /Of random edges between the same layers, 99 % change it by less than 0\.02/);
    await page.locator("#close-drawer").click();
    await page.waitForFunction(() => !document.querySelector(".edge-evidence"));
    assert.ok(!page.url().includes("edge="));
    assert.deepEqual(faults, []);
    await close();
  });
});

describe("images", () => {
  test("are named by their files, shown, and have attention drawn over them", async () => {
    const { page, faults, close } = await open(pages.vision, {
      hash: "#tab=heads",
    });
    assert.equal(await page.locator("#head-grid .photo").count(), 12);
    assert.match(await page.locator("#head-grid .photo").nth(3).getAttribute("title"), /^3: digit-3\.png$/);
    await page.locator("#head-grid .photo").nth(3).click();
    await page.waitForFunction(() => location.hash.includes("input=3"));
    assert.match(await page.locator("#head-grid select").first().inputValue(), /^3$/);
    await page.evaluate(() => (location.hash = "#tab=heads&at=head&head=L1H1&input=3"));
    await page.waitForSelector("#head .map-image");
    assert.match(
      await page.locator("#head .note").first().innerText(),
      /3: digit-3\.png\. Color: attention to each patch/,
    );
    assert.ok(!(await page.locator("#head-grid").isVisible()), "the page of a head is alone");
    assert.ok(!(await page.locator(".drawer").isVisible()), "the panel would repeat the page");
    assert.deepEqual(faults, []);
    await close();
  });
  test("keep the patch that was clicked, in all pictures and in the address", async () => {
    const { page, close } = await open(pages.vision, {
      hash: "#tab=evidence&at=maps&head=L1H1",
    });
    const figure = await show(page, "query-attention");
    const drawing = () => page.locator(".card .map-image").evaluate((canvas) => canvas.toDataURL());
    await page.waitForSelector(".card .map-image");
    const mean = await drawing();
    await figure.locator("canvas").click({ position: { x: 140, y: 60 } });
    await page.waitForFunction(() => /query=\d+/.test(location.hash));
    await page.waitForFunction(
      (old) =>
        document.querySelector(".card .map-image")?.toDataURL() !== old && document.querySelector(".card .map-image"),
      mean,
    );
    assert.match(await figure.locator("canvas").getAttribute("aria-label"), /^Query \d+ \(patch/);
    await close();
  });
});

test("edges are chosen in the table, which follows the filters", async () => {
  const { page, close } = await open(pages.full, {
    hash: "#tab=circuit&at=edge-table&top=3",
  });
  const rows = () => page.locator("#edge-table tbody tr").count();
  const few = await rows();
  await page.locator("#edge-table tbody button").first().click();
  await page.waitForSelector(".edge-evidence");
  assert.match(page.url(), /edge=/);
  await page.evaluate(() => (location.hash = "#tab=circuit&at=edge-table&top=9"));
  await page.waitForFunction((n) => document.querySelectorAll("#edge-table tbody tr").length > n, few);
  await close();
});

test("the end of the drawer and of a tab is above the tray, on screens and phones", async () => {
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
  ]) {
    const { page, close } = await open(pages.full, { width, height, hash: "#tab=circuit&pins=L0H0,L2H3,L3H3" });
    await selectEdge(page);
    await page.waitForSelector(".tray .map-image >> nth=2");
    await page.waitForFunction(() => {
      const bar = document.querySelector(".tray").getBoundingClientRect();
      const drawer = document.querySelector(".drawer");
      drawer.scrollTop = drawer.scrollHeight;
      const last = drawer.querySelector("[data-evidence=cut] p:last-child").getBoundingClientRect();
      const page = document.querySelector("main");
      return (
        last.bottom <= bar.top &&
        drawer.offsetHeight > 200 &&
        parseFloat(window.getComputedStyle(page).paddingBottom) > bar.height
      );
    });
    const maps = await page.$$eval(".tray .map-image", (all) => all.map((one) => one.getBoundingClientRect().right));
    assert.ok(Math.max(...maps) <= width, `the third map ends at ${maps}`);
    await close();
  }
});

test("the policy of the page allows one script, its own, and nothing from elsewhere", async () => {
  const html = readFileSync(pages.full, "utf8");
  const policy = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(html)[1];
  const parts = Object.fromEntries(
    policy.split("; ").map((part) => [part.split(" ")[0], part.split(" ").slice(1).join(" ")]),
  );
  assert.deepEqual(Object.keys(parts), [
    ...["default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"],
  ]);
  assert.equal(parts["default-src"], "'none'");
  assert.match(parts["script-src"], /^'sha256-[A-Za-z0-9+/]{43}='$/);
  assert.equal(parts["img-src"], "data: blob:");
  const { page, close } = await open(pages.full);
  const refused = await page.evaluate(async () => {
    const found = [];
    document.addEventListener("securitypolicyviolation", (event) => found.push(event.effectiveDirective));
    const script = document.createElement("script");
    script.textContent = "window.broken = 1";
    document.body.append(script);
    const image = document.createElement("img");
    image.src = "https://example.invalid/x.png";
    document.body.append(image);
    await window.fetch("https://example.invalid/").catch(() => null);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return { found: [...new Set(found)].sort(), broken: window.broken ?? null };
  });
  assert.deepEqual(refused, { found: ["connect-src", "img-src", "script-src-elem"], broken: null });
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
