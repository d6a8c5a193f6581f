// What the tests of the report share: pages made by the program, and a browser that tells of every fault.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeRun } from "./make_run.mjs";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
// Packages are installed beside the sources of the page.
export const require = createRequire(join(root, "web/package.json"));
const program = process.env.HEADSCOPE ?? join(root, "build/headscope");
const { chromium } = require("playwright-core");

export const folder = mkdtempSync(join(tmpdir(), "headscope-web-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

export const headscope = (...args) =>
  execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** The page of a made-up run, or of what relate finds in the bundled model. */
export function makePage(kind) {
  const run = join(folder, kind);
  if (kind === "relate") headscope("relate", join(root, "models/induction"), "-o", run, "--pairs", "all", "--quiet");
  else makeRun(run, kind);
  const page = join(folder, `${kind}.html`);
  headscope("report", run, "-o", page, "--quiet");
  return page;
}

let browser;
/** One browser a test file. `webgl`: with WebGL computed by the processor, which slows everything else down. */
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

/** Opens a page and gathers what goes wrong: errors, warnings, and requests for anything but the page itself. */
export async function open(file, { width = 1440, height = 900, hash = "", colorScheme = "light" } = {}) {
  const context = await (
    await launch()
  ).newContext({ viewport: { width, height }, colorScheme, acceptDownloads: true, reducedMotion: "reduce" });
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
  await page.waitForSelector("html[data-ready]", { timeout: 60_000 });
  return { page, faults, close: () => context.close() };
}

/** Brings a figure into sight and waits until it has been drawn. */
export async function show(page, id) {
  const figure = page.locator(`#figure-${id}`);
  await figure.evaluate((element) => element.scrollIntoView({ block: "center", behavior: "instant" }));
  await page.waitForFunction((name) => Number(document.getElementById(`figure-${name}`)?.dataset.drawn ?? 0) > 0, id);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return figure;
}

const downloads = new WeakMap();

/** Exports a figure as the menu does; the menu itself is tested with the keyboard. */
export async function download(page, figure, format) {
  // Chromium drops what a page downloads beyond ten files in a second, without a word.
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
export const sectionIds = (page) => page.$$eval("main > section", (all) => all.map((one) => one.id));

/** How many colors the canvas of a figure has, of a sample of its pixels. */
export function colorsOf(figure) {
  return figure.evaluate((element) => {
    const canvas = element.querySelector("canvas[tabindex]");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colors = new Set();
    for (let i = 0; i < data.length; i += 4 * 7) colors.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return colors.size;
  });
}
