import "./style.css";
import { openRun, type Run } from "./data/run";
import { maxOf } from "./data/stats";
import { button } from "./ui/controls";
import type { Context, View } from "./ui/context";
import { el } from "./ui/dom";
import { headCard } from "./ui/head_card";
import { formatAddress, parseAddress, Store } from "./ui/store";
import { applyTheme, dark, initialTheme, light } from "./ui/theme";
import { views } from "./views/index";

function makeStore(run: Run): Store {
  const pairs = [...new Set(run.edges.map((edge) => edge.pair))];
  const circuit = pairs.filter((pair) => ["OQ", "OK", "OV"].includes(pair));
  const wanted = parseAddress(location.hash).head;
  return new Store({
    head: run.hasHead(wanted) ? wanted : null,
    hover: null,
    filter: {
      pairs: circuit.length > 0 ? circuit : pairs.slice(0, 4),
      top: Math.min(10, Math.max(1, maxOf(run.edges.map((edge) => edge.rank)))),
      null_: run.headlineNull ?? "",
      shown: "all",
    },
    theme: initialTheme(),
  });
}

function header(context: Context): HTMLElement {
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
  const chosen = el("div", { class: "chosen" });
  const update = () => {
    const head = store.state.head;
    chosen.replaceChildren(
      ...(head
        ? [
            el("span", {}, "Head "),
            el("strong", {}, head),
            button("Clear", () => store.set({ head: null }), { class: "quiet" }),
          ]
        : [el("span", {}, "No head selected")]),
    );
  };
  update();
  store.subscribe((_, changed) => changed.has("head") && update());
  return el(
    "header",
    { class: "top" },
    el("div", { class: "name" }, el("span", { class: "brand" }, "headscope"), el("h1", {}, run.doc.title)),
    chosen,
    toggle,
  );
}

function navigation(shown: View[]): HTMLElement {
  const list = el("ul", {});
  for (const view of shown) {
    const link = el("a", { href: formatAddress({ at: view.id, head: null }), "data-view": view.id }, view.title);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      document.getElementById(view.id)?.scrollIntoView();
      document.getElementById(view.id)?.focus({ preventScroll: true });
    });
    list.append(el("li", {}, link));
  }
  return el("nav", { "aria-label": "Sections" }, list);
}

/** Resolves when the browser is idle, after at most 80 ms. */
function idle(): Promise<void> {
  return new Promise((done) => {
    if ("requestIdleCallback" in window) requestIdleCallback(() => done(), { timeout: 80 });
    else setTimeout(done, 30);
  });
}

/** Fills sections when they are about to scroll into view. The returned function fills all others in idle time. */
function mountSections(sections: Map<View, HTMLElement>, context: Context): () => Promise<void> {
  const mounted = new Map<View, Promise<void>>();
  const mount = (view: View) => {
    let done = mounted.get(view);
    if (!done) {
      const section = sections.get(view)!;
      done = Promise.resolve(view.mount(section, context)).then(() => void (section.dataset.ready = "true"));
      mounted.set(view, done);
    }
    return done;
  };
  const near = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        const view = [...sections].find(([, section]) => section === entry.target)?.[0];
        if (view) void mount(view);
      }
    },
    { rootMargin: "400px" },
  );
  for (const section of sections.values()) near.observe(section);
  return async () => {
    for (const view of sections.keys()) {
      await idle();
      await mount(view);
    }
  };
}

function followAddress(context: Context, sections: Map<View, HTMLElement>): void {
  const { run, store } = context;
  let at: string | null = null;
  const write = () => history.replaceState(null, "", formatAddress({ at, head: store.state.head }));
  store.subscribe((_, changed) => changed.has("head") && write());
  addEventListener("hashchange", () => {
    const wanted = parseAddress(location.hash);
    if (wanted.head === null || run.hasHead(wanted.head)) store.set({ head: wanted.head });
    if (wanted.at) document.getElementById(wanted.at)?.scrollIntoView();
  });
  const watch = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        at = entry.target.id;
        for (const link of document.querySelectorAll("nav a"))
          link.toggleAttribute("aria-current", link.getAttribute("data-view") === at);
        write();
      }
    },
    { rootMargin: "-20% 0px -70% 0px" },
  );
  const wanted = parseAddress(location.hash).at;
  if (wanted) document.getElementById(wanted)?.scrollIntoView();
  // Wait until scrolling has ended. Otherwise the address would be overwritten before the page has scrolled to it.
  setTimeout(() => [...sections.values()].forEach((section) => watch.observe(section)), 300);
}

function followPrint(context: Context): void {
  addEventListener("beforeprint", () => context.figures.forEach((figure) => figure.printing(true)));
  addEventListener("afterprint", () => context.figures.forEach((figure) => figure.printing(false)));
}

async function start(): Promise<void> {
  const page = document.getElementById("page")!;
  const run = await openRun(document);
  const context: Context = { run, store: makeStore(run), figures: [] };
  const { store } = context;
  applyTheme(store.state.theme);
  store.subscribe((state, changed) => changed.has("theme") && applyTheme(state.theme));
  document.title = `${run.doc.title} \u00b7 headscope`;
  const shown = views.filter((view) => view.available(run));
  const sections = new Map(
    shown.map((view) => [
      view,
      el(
        "section",
        { id: view.id, "aria-labelledby": `${view.id}-title`, tabindex: "-1" },
        el("h2", { id: `${view.id}-title` }, view.title),
        el("p", { class: "about" }, view.about),
      ),
    ]),
  );
  page.append(
    header(context),
    el("div", { class: "side" }, navigation(shown), headCard(context)),
    el("main", {}, ...sections.values()),
  );
  const mountRest = mountSections(sections, context);
  followAddress(context, sections);
  followPrint(context);
  await mountRest();
  document.documentElement.dataset.ready = "true";
}

start().catch((error: unknown) => {
  document
    .getElementById("page")
    ?.append(el("p", { class: "failure", role: "alert" }, `This report cannot be shown: ${String(error)}`));
  throw error;
});
