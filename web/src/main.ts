import "./style.css";
import "./shell.css";
import { openRun, type Run } from "./data/run";
import { maxOf } from "./data/stats";
import { parseAddress, type Address, type Known } from "./ui/address";
import { commandBox } from "./ui/command_box";
import type { Context } from "./ui/context";
import { button } from "./ui/controls";
import { el } from "./ui/dom";
import { drawer } from "./ui/drawer";
import { followAddress } from "./ui/follow_address";
import { followParent } from "./ui/parent";
import { Store } from "./ui/store";
import { Tabs } from "./ui/tabs";
import { applyTheme, dark, initialTheme, light } from "./ui/theme";
import { tray } from "./ui/tray";
import { tabs } from "./views/index";

/** Returns the state of a page that is opened without an address. */
function plainState(run: Run): Address {
  const pairs = [...new Set(run.edges.map((edge) => edge.pair))];
  const circuit = pairs.filter((pair) => ["OQ", "OK", "OV"].includes(pair));
  return {
    tab: "story",
    at: null,
    head: null,
    edge: null,
    pins: [],
    input: 0,
    query: null,
    filter: {
      pairs: circuit.length > 0 ? circuit : pairs.slice(0, 4),
      top: Math.min(10, Math.max(1, maxOf(run.edges.map((edge) => edge.rank)))),
      null_: run.headlineNull ?? "",
      shown: "all",
      layers: null,
      minZ: null,
      maxQ: null,
      detector: "",
      class_: "",
      name: "",
      linked: false,
    },
    zoom: null,
  };
}

function header(context: Context, navigation: HTMLElement, find: () => void): HTMLElement {
  const { run, store } = context;
  const toggle = button("", () => store.set({ theme: store.state.theme.name === "dark" ? light : dark }), {
    class: "quiet",
    id: "theme",
  });
  const name = () => (store.state.theme.name === "dark" ? "Light" : "Dark");
  toggle.textContent = name();
  store.subscribe((_, changed) => {
    if (changed.has("theme")) toggle.textContent = name();
  });
  return el(
    "header",
    { class: "top" },
    el("div", { class: "name" }, el("span", { class: "brand" }, "headscope"), el("h1", {}, run.doc.title)),
    navigation,
    button("Find /", find, { class: "quiet", id: "find", "aria-keyshortcuts": "/" }),
    toggle,
  );
}

/** Keeps the height of the header as --header, so that sections scroll to below it: on a phone it has two rows. */
function measureHeader(bar: HTMLElement): void {
  const measure = () => document.documentElement.style.setProperty("--header", `${bar.offsetHeight}px`);
  measure();
  new ResizeObserver(measure).observe(bar);
}

/** Resolves when the browser is idle, after at most 80 ms. */
function idle(): Promise<void> {
  return new Promise((done) => {
    if ("requestIdleCallback" in window) requestIdleCallback(() => done(), { timeout: 80 });
    else setTimeout(done, 30);
  });
}

function followPrint(context: Context): void {
  addEventListener("beforeprint", () => context.figures.forEach((figure) => figure.printing(true)));
  addEventListener("afterprint", () => context.figures.forEach((figure) => figure.printing(false)));
}

async function start(): Promise<void> {
  const page = document.getElementById("page")!;
  const run = await openRun(document);
  const plain = plainState(run);
  const store = new Store({ ...plain, hover: null, theme: initialTheme() });
  const context: Context = { run, store, figures: [] };
  const shown = new Tabs(tabs, context);
  const known: Known = {
    hasHead: (name) => run.hasHead(name),
    pairs: [...new Set(run.edges.map((edge) => edge.pair))],
    nulls: run.nulls,
    inputs: run.inputs.length,
    tabOf: (section) => shown.tabOf(section),
  };
  applyTheme(store.state.theme);
  store.subscribe((state, changed) => changed.has("theme") && applyTheme(state.theme));
  document.title = `${run.doc.title} \u00b7 headscope`;
  document.documentElement.dataset.model = run.model;
  store.set(parseAddress(location.hash, plain, known));
  const box = commandBox(context);
  const bar = header(context, shown.navigation, box.open);
  page.append(bar, shown.main, drawer(context), tray(context), box.element);
  measureHeader(bar);
  followAddress(store, plain, known);
  followPrint(context);
  followParent(store, (name) => run.hasHead(name));
  await shown.show();
  document.documentElement.dataset.ready = "true";
  await shown.mountRest(idle);
  document.documentElement.dataset.complete = "true";
}

start().catch((error: unknown) => {
  document
    .getElementById("page")
    ?.append(el("p", { class: "failure", role: "alert" }, `This report cannot be shown: ${String(error)}`));
  throw error;
});
