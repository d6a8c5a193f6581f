// What a reader selects: tabs, edges, inputs and patches; all of it is in the address.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { findOn, launch, makePage, open, openTab, quit, selectEdge, show, tabIds } from "./support.mjs";

const pages = {};
before(async () => {
  for (const kind of ["full", "image", "chance", "mlp", "prune", "compare", "vision"]) pages[kind] = makePage(kind);
  await launch();
});
after(quit);

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
        const { top } = document.getElementById("softmax-title").getBoundingClientRect();
        const { bottom } = document.querySelector("header.top").getBoundingClientRect();
        return top >= bottom && top < innerHeight / 2;
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
