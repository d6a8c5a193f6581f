// The page in a notebook: inside a frame without address and origin (python/headscope/_html.py).

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { folder, launch, makePage, quit } from "./support.mjs";

after(quit);

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

test("the page works inside a notebook's frame", async () => {
  const page = readFileSync(makePage("relate"), "utf8").replace("<head>", '<head><base href="about:srcdoc">');
  const notebook = join(folder, "notebook.html");
  writeFileSync(
    notebook,
    `<!doctype html><title>notebook</title><iframe srcdoc="${escaped(page)}" style="width:100%;height:640px"
    sandbox="allow-scripts allow-downloads"></iframe>`,
  );
  const context = await (await launch()).newContext({ viewport: { width: 1000, height: 800 }, acceptDownloads: true });
  const shown = await context.newPage();
  const faults = [];
  shown.on("pageerror", (error) => faults.push(error.message));
  shown.on("console", (message) => ["error", "warning"].includes(message.type()) && faults.push(message.text()));
  await shown.goto(`file://${notebook}`);
  const frame = shown.frames()[1];
  await frame.waitForSelector("html[data-ready]", { timeout: 60_000 });

  // Links stay within the frame, and writing the address of the visible section raises no error.
  const last = await frame.$$eval("nav a", (links) => links.at(-1).getAttribute("data-view"));
  await frame.click(`nav a[data-view="${last}"]`);
  await frame.waitForFunction((id) => document.getElementById(id).getBoundingClientRect().top < innerHeight, last);
  await frame.waitForTimeout(500);

  const [saved] = await Promise.all([
    shown.waitForEvent("download"),
    frame.evaluate(() => document.querySelector("#figure-wiring [data-format=csv]").click()),
  ]);
  assert.match(saved.suggestedFilename(), /\.csv$/);
  assert.deepEqual(faults, []);
  await context.close();
});
