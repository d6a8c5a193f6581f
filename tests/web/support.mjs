// Shared by the tests of the report: pages written by the program, and a browser that records all errors.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeRun } from "./make_run.mjs";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
// Packages are installed in web/node_modules.
export const require = createRequire(join(root, "web/package.json"));
const program = process.env.HEADSCOPE ?? join(root, "build/headscope");
const { chromium } = require("playwright-core");

export const folder = mkdtempSync(join(tmpdir(), "headscope-web-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

export const headscope = (...args) =>
  execFileSync(program, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });

/** Writes the page of a synthetic run, or of a run on a real model (relate, mlp, vision, encoder-decoder). Returns its path. */
export function makePage(kind) {
  const run = join(folder, kind);
  const model = (name) => join(root, "models", name);
  if (kind === "mlp") headscope("relate", model("demo"), "-o", run, "--nodes", "heads,mlp", "--quiet");
  else if (kind === "relate") headscope("relate", model("induction"), "-o", run, "--pairs", "all", "--quiet");
  else if (kind === "vision") {
    headscope("capture", model("demo-vit"), "-o", run, "--image", join(model("demo-vit"), "samples"), "--quiet");
    headscope("relate", model("demo-vit"), "-o", run, "--quiet");
  } else if (kind === "encoder-decoder") {
    const bart = join(root, "tests/golden/families/bart");
    const ids = ["--ids", "3,5,7,9,11,3", "--ids", "4,6,8", "--target-ids", "2,0,4,6", "--target-ids", "2,5"];
    headscope("relate", bart, "-o", run, "--tokens-for", "none", "--quiet");
    headscope("capture", bart, "-o", run, ...ids, "--quiet");
    headscope("organize", run, "-o", run, "--block", "cross", "--controls", "0", "--quiet");
    const cuts = ["--top", "3", "--draws", "2", "--nodes", "heads,mlp,unembedding"];
    headscope("patch", bart, "-o", run, ...ids, ...cuts, "--quiet");
  } else makeRun(run, kind);
  const page = join(folder, `${kind}.html`);
  headscope("report", run, "-o", page, "--quiet");
  return page;
}

let browser;
/** Starts one browser per test file. `webgl`: enables WebGL on the CPU, which slows down everything else. */
export async function launch({ webgl = true } = {}) {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-dev-shm-usage",
      ...(webgl ? ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"] : ["--disable-gpu", "--disable-3d-apis"]),
    ],
  });
  return browser;
}
export async function quit() {
  await browser?.close();
}

/** Opens a page and records errors, warnings, and requests for anything but the page itself. */
export async function open(file, { width = 1440, height = 900, hash = "", colorScheme = "light" } = {}) {
  const context = await (
    await launch()
  ).newContext({
    viewport: { width, height },
    colorScheme,
    acceptDownloads: true,
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const faults = [];
  page.on(
    "console",
    (message) => ["error", "warning"].includes(message.type()) && faults.push(`${message.type()}: ${message.text()}`),
  );
  page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`file://${file}`) && !url.startsWith("data:") && !url.startsWith("blob:"))
      faults.push(`request: ${url}`);
  });
  await page.goto(`file://${file}${hash}`);
  await page.waitForSelector("html[data-complete]", { timeout: 60_000 });
  return { page, faults, close: () => context.close() };
}

/** Opens a tab with its link. */
export async function openTab(page, id) {
  await page.evaluate((tab) => document.querySelector(`nav.tabs a[data-tab=${tab}]`).click(), id);
  await page.waitForSelector(`#tab-${id}:not([hidden])`);
}

/** Opens the tab of a figure, scrolls to the figure and waits until it has been drawn. */
export async function show(page, id) {
  const figure = page.locator(`#figure-${id}`);
  const tab = await figure.evaluate((element) => element.closest(".panel")?.dataset.tab ?? "");
  if (tab !== "" && !(await page.locator(`#tab-${tab}`).isVisible())) await openTab(page, tab);
  await figure.evaluate((element) => element.scrollIntoView({ block: "center", behavior: "instant" }));
  // A figure that has scrolled into view is drawn again if the selection changed meanwhile.
  await page.waitForFunction((name) => document.getElementById(`figure-${name}`)?.dataset.current === "true", id);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return figure;
}

const downloads = new WeakMap();

/** Exports a figure by clicking the hidden menu entry. A separate test opens the menu with the keyboard. */
export async function download(page, figure, format) {
  // Chromium silently drops downloads beyond ten per second.
  const times = downloads.get(page) ?? [];
  downloads.set(page, times);
  await page.waitForTimeout(Math.max(0, (times.at(-9) ?? 0) + 1100 - Date.now()));
  times.push(Date.now());
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    figure.evaluate((element, name) => element.querySelector(`[data-format=${name}]`).click(), format),
  ]);
  return { name: file.suggestedFilename(), path: await file.path() };
}

export const figureIds = (page) => page.$$eval("figure", (all) => all.map((one) => one.id.replace("figure-", "")));
export const sectionIds = (page) => page.$$eval("main > .panel > section", (all) => all.map((one) => one.id));

/** Counts the colors in a sample of the pixels of a figure. */
export function colorsOf(figure) {
  return figure.evaluate((element) => {
    const canvas = element.querySelector("canvas[tabindex]");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colors = new Set();
    for (let i = 0; i < data.length; i += 4 * 7) colors.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return colors.size;
  });
}

export const tabIds = (page) => page.$$eval("nav.tabs a", (all) => all.map((one) => one.dataset.tab));

/** Waits until what has changed is drawn. */
export const settle = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Returns the rows of a CSV file. */
export function parseCsv(text) {
  const rows = [];
  for (const line of text.trimEnd().match(/(?:[^"\n]|"(?:[^"]|"")*")+/g))
    rows.push(
      [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(,|$)/g)].map((m) => m[1]).slice(0, line.endsWith(",") ? undefined : -1),
    );
  return rows.map((row) => row.map((cell) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)));
}

/** Moves the pointer over a figure until its tooltip matches. Returns the position and the tooltip's first line. */
export async function findOn(canvas, pattern) {
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
export async function selectEdge(page) {
  await page.evaluate(() => document.querySelector("#patch tbody button").click());
  await page.waitForSelector(".edge-evidence");
}
