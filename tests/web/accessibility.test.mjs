// The report without a mouse: rules that axe-core checks, keys, focus.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { launch, makePage, open, openTab, quit, require, selectEdge, settle, show, tabIds } from "./support.mjs";

const pages = {};
before(async () => {
  for (const kind of ["full", "image", "chance", "relate", "prune", "compare"]) pages[kind] = makePage(kind);
  await launch();
});
after(quit);

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
