// The page in a notebook: inside a frame without address and origin (python/headscope/_html.py), and as a widget whose
// selection Python reads and sets (python/headscope/_view.js).

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { folder, launch, makePage, quit, root } from "./support.mjs";

after(quit);

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

const based = (page) => page.replace("<head>", '<head><base href="about:srcdoc">');

test("the page works inside a notebook's frame", async () => {
  const page = based(readFileSync(makePage("relate"), "utf8"));
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
  await frame.waitForSelector("html[data-complete]", { timeout: 60_000 });

  // Links stay within the frame, and writing the address of the visible section raises no error.
  await frame.click('nav.tabs a[data-tab="methods"]');
  const last = await frame.$$eval("#tab-methods nav a", (links) => links.at(-1).getAttribute("data-view"));
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

/**
 * Opens a page with widgets, as anywidget shows them: the script is imported from a blob, and all views share a model.
 * `window.model` has the values that Python would have, `window.sent` those that were sent to Python.
 */
async function openWidgets(views, selection) {
  const context = await (
    await launch()
  ).newContext({ viewport: { width: 1200, height: 900 }, reducedMotion: "reduce" });
  const shown = await context.newPage();
  const faults = [];
  shown.on("pageerror", (error) => faults.push(error.message));
  shown.on("console", (message) => ["error", "warning"].includes(message.type()) && faults.push(message.text()));
  await context.route("**", (route) =>
    route.request().url() === "http://notebook.test/"
      ? route.fulfill({ contentType: "text/html", body: "<!doctype html><title>notebook</title><main></main>" })
      : (faults.push(`request: ${route.request().url()}`), route.abort()),
  );
  await shown.goto("http://notebook.test/");
  await shown.evaluate(
    async ([script, page, start, count]) => {
      const values = { _page: page, _selection: start, height: 640 };
      const listeners = new Map();
      window.sent = [];
      window.model = {
        get: (name) => values[name],
        set(name, value) {
          values[name] = value;
          for (const listener of [...(listeners.get(`change:${name}`) ?? [])]) listener();
        },
        save_changes: () => window.sent.push(structuredClone(values._selection)),
        on: (event, listener) => listeners.set(event, [...(listeners.get(event) ?? []), listener]),
        off: (event, listener) =>
          listeners.set(
            event,
            listeners.get(event).filter((one) => one !== listener),
          ),
        count: () => [...listeners.values()].flat().length,
      };
      const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
      const widget = (await import(url)).default;
      window.cleanups = [];
      for (let view = 0; view < count; ++view) {
        const el = document.createElement("div");
        document.querySelector("main").append(el);
        window.cleanups.push(await widget.render({ model: window.model, el }));
      }
    },
    [
      readFileSync(join(root, "python/headscope/_view.js"), "utf8"),
      based(readFileSync(makePage("relate"), "utf8")),
      selection,
      views,
    ],
  );
  const frames = shown.frames().slice(1);
  for (const frame of frames) await frame.waitForSelector("html[data-complete]", { timeout: 60_000 });
  return { shown, frames, faults, close: () => context.close() };
}

const nothing = { head: null, edge: null, pins: [] };
const select = (shown, selection) => shown.evaluate((value) => window.model.set("_selection", value), selection);
const sent = (shown) => shown.evaluate(() => window.sent.at(-1) ?? null);
const untilSent = (shown, selection) =>
  shown.waitForFunction((text) => JSON.stringify(window.sent.at(-1)) === text, JSON.stringify(selection));
const pinned = (frame, heads) =>
  frame.waitForFunction(
    (text) => [...document.querySelectorAll(".tray [data-head]")].map((one) => one.dataset.head).join() === text,
    heads.join(),
  );

test("the selection in the page goes to Python, and back to all views", async () => {
  const { shown, frames, faults, close } = await openWidgets(2, nothing);
  const [frame, other] = frames;
  assert.equal(frames.length, 2);
  assert.equal(await sent(shown), null, "a page that was just opened selects nothing");

  // A head, chosen and pinned by hand.
  await frame.click("#find");
  await frame.waitForSelector("dialog[open] input");
  await frame.fill("dialog[open] input", "L1H3");
  await frame.press("dialog[open] input", "Enter");
  await untilSent(shown, { head: "L1H3", edge: null, pins: [] });
  await other.waitForSelector(".drawer:not([hidden])");
  await frame.click("#pin");
  await untilSent(shown, { head: "L1H3", edge: null, pins: ["L1H3"] });
  await pinned(other, ["L1H3"]);

  // A second view sends as the first one does; both follow.
  await other.click("#close-drawer");
  await untilSent(shown, { head: null, edge: null, pins: ["L1H3"] });
  await frame.waitForSelector(".drawer[hidden]", { state: "attached" });

  await frame.click('nav.tabs a[data-tab="circuit"]');
  const sends = await shown.evaluate(() => window.sent.length);
  await shown.waitForTimeout(300);
  assert.equal(await shown.evaluate(() => window.sent.length), sends, "views do not answer each other forever");
  assert.deepEqual(faults, []);
  await close();
});

test("Python selects heads and edges in the page", async () => {
  const { shown, frames, faults, close } = await openWidgets(1, { head: "L0H5", edge: null, pins: ["L0H5", "L1H2"] });
  const [frame] = frames;
  // What was selected before the page was shown.
  await pinned(frame, ["L0H5", "L1H2"]);
  await frame.waitForFunction(() => document.querySelector(".drawer:not([hidden])")?.textContent.includes("L0H5"));
  await select(shown, { head: null, edge: "OK:L0H5>L1H2", pins: [] });
  await frame.waitForFunction(() => /L0H5[^]*L1H2/.test(document.querySelector(".drawer:not([hidden])")?.textContent));
  await pinned(frame, []);
  await select(shown, nothing);
  await frame.waitForSelector(".drawer[hidden]", { state: "attached" });

  await shown.evaluate(() => window.model.set("height", 300));
  assert.equal(await shown.$eval("iframe", (element) => element.getBoundingClientRect().height), 300);

  // Heads that the run does not have are left out, and Python learns what the page shows.
  await select(shown, { head: "L9H9", edge: "OK:L9H9>L1H2", pins: ["L1H2", "<b>", "L77H0"] });
  await untilSent(shown, { head: null, edge: null, pins: ["L1H2"] });
  await pinned(frame, ["L1H2"]);
  assert.deepEqual(faults, []);
  await close();
});

test("the page and the notebook accept only messages of the right window and shape", async () => {
  const { shown, frames, faults, close } = await openWidgets(1, nothing);
  const [frame] = frames;
  const good = { headscope: 1, type: "select", head: "L1H3", edge: null, pins: ["L1H3"] };

  // To the page: from itself, from a frame beside it, and of other shapes.
  await frame.evaluate((message) => window.postMessage(message, "*"), good);
  await shown.evaluate(async (message) => {
    const beside = document.createElement("iframe");
    beside.setAttribute("sandbox", "allow-scripts");
    beside.srcdoc = `<script>parent.frames[0].postMessage(${JSON.stringify(message)}, "*");
      parent.postMessage(${JSON.stringify({ ...message, type: "selection" })}, "*")</${"script"}>`;
    document.body.append(beside);
    await new Promise((done) => beside.addEventListener("load", done));
    const page = window.frames[0];
    for (const wrong of [
      null,
      7,
      "L1H3",
      [],
      {},
      { ...message, headscope: 2 },
      { ...message, type: "run" },
      { ...message, pins: "L1H3" },
    ])
      page.postMessage(wrong, "*");
  }, good);
  await shown.waitForTimeout(300);
  await pinned(frame, []);
  assert.equal(await sent(shown), null);

  // To the notebook: from the page's own frame, but not a selection.
  await frame.evaluate(() => {
    const message = { headscope: 1, type: "selection", head: "L1H3", edge: null, pins: [] };
    const wrong = [
      { head: "<img src=x onerror=alert(1)>" },
      { head: 3 },
      { edge: "OK:L0H1" },
      { pins: "L1H3" },
      { pins: Array(7).fill("L1H3") },
      { pins: [["L1H3"]] },
      { headscope: 2 },
      { type: "select" },
    ];
    for (const one of [...wrong.map((part) => ({ ...message, ...part })), null, "L1H3", 3])
      parent.postMessage(one, "*");
  });
  await shown.waitForTimeout(300);
  assert.equal(await sent(shown), null);

  // The page has no origin: neither the notebook's document nor a script from outside its policy.
  const refused = await frame.evaluate(() => {
    try {
      return String(parent.document.title);
    } catch (error) {
      return error.name;
    }
  });
  assert.equal(refused, "SecurityError");
  assert.deepEqual(faults, []);

  await shown.evaluate(() => window.cleanups.forEach((cleanup) => cleanup()));
  assert.equal(await shown.evaluate(() => window.model.count()), 0);
  await frame.evaluate(() =>
    parent.postMessage({ headscope: 1, type: "selection", head: "L1H3", edge: null, pins: [] }, "*"),
  );
  await shown.waitForTimeout(200);
  assert.equal(await sent(shown), null, "a view that was closed sends nothing");
  await close();
});
