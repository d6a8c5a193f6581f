import { headFacts } from "../data/head_facts";
import { maxOf } from "../data/stats";
import { classNames, pairStyles, type Context } from "../ui/context";
import { button, checkValues, segmented, select, setSlider, slider, toggles } from "../ui/controls";
import { el, uniqueId } from "../ui/dom";
import { layerRange } from "../ui/layer_range";
import type { EdgeFilter } from "../ui/store";
import { pairName } from "./edges";

/** An input for a number. An empty or invalid one gives null. The element stays, so typing keeps the focus. */
function numberInput(
  label: string,
  value: number | null,
  limits: { min: number; max?: number; step: string },
  change: (value: number | null) => void,
): { element: HTMLElement; show(value: number | null): void } {
  const id = uniqueId("number");
  const input = el("input", { id, type: "number", min: String(limits.min), step: limits.step });
  input.style.width = "5.5em";
  if (limits.max !== undefined) input.max = String(limits.max);
  const text = (one: number | null) => (one === null ? "" : String(one));
  input.value = text(value);
  input.addEventListener("input", () => {
    const number = input.value.trim() === "" ? NaN : Number(input.value);
    change(Number.isFinite(number) ? number : null);
  });
  return {
    element: el("div", { class: "control number" }, el("label", { for: id }, label), input),
    show: (one) => {
      if (document.activeElement !== input) input.value = text(one);
    },
  };
}

/** Heads that one end of an edge must be among: by detector, class and name. */
function headInputs({ run, store }: Context): HTMLElement[] {
  const any = (names: string[]) => [
    { value: "", label: "any" },
    ...names.map((value) => ({ value, label: value.replaceAll("_", " ") })),
  ];
  const kinds = [...new Set(headFacts(run).flatMap((facts) => facts.detected))].sort();
  const classes = classNames(run);
  const { filter } = store.state;
  const detector = select("Heads detected as", any(kinds), filter.detector, (value) =>
    store.setFilter({ detector: value }),
  );
  const class_ = select("Class", any(classes), filter.class_, (value) => store.setFilter({ class_: value }));
  const id = uniqueId("name");
  const name = el("input", { id, type: "search", size: "8", autocomplete: "off", spellcheck: "false" });
  name.value = filter.name;
  name.addEventListener("input", () => store.setFilter({ name: name.value }));
  store.subscribe(({ filter: now }, changed) => {
    if (!changed.has("filter")) return;
    detector.value = now.detector;
    class_.value = now.class_;
    if (name !== document.activeElement) name.value = now.name;
  });
  return [
    ...(kinds.length > 0 ? [detector.element] : []),
    ...(classes.length > 0 ? [class_.element] : []),
    el("div", { class: "control" }, el("label", { for: id }, "Name contains"), name),
  ];
}

/** How many of the filters under "More filters" are set. */
function countMore({ layers, minZ, maxQ, detector, class_, name }: EdgeFilter): number {
  return [layers, minZ, maxQ].filter((one) => one !== null).length + [detector, class_, name].filter(Boolean).length;
}

/** Filters that are closed at first, because few readers need them. The summary says how many are set. */
function moreFilters(context: Context): HTMLElement {
  const { run, store } = context;
  const inner = el("div", { class: "controls" });
  if (run.layers.count > 2) inner.append(...layerRange(context));
  if (run.nulls.length > 0) {
    const { filter } = store.state;
    const z = numberInput("Min z", filter.minZ, { min: 0, step: "any" }, (minZ) => store.setFilter({ minZ }));
    const q = numberInput("Max q", filter.maxQ, { min: 0, max: 1, step: "any" }, (maxQ) => store.setFilter({ maxQ }));
    store.subscribe((state, changed) => {
      if (!changed.has("filter")) return;
      z.show(state.filter.minZ);
      q.show(state.filter.maxQ);
    });
    inner.append(z.element, q.element);
  }
  inner.append(...headInputs(context));
  const none = { layers: null, minZ: null, maxQ: null, detector: "", class_: "", name: "" };
  inner.append(button("Clear", () => store.setFilter(none), { class: "quiet" }));
  const summary = el("summary", {});
  const count = () => {
    const set = countMore(store.state.filter);
    summary.textContent = set === 0 ? "More filters" : `More filters (${set} set)`;
  };
  count();
  store.subscribe((_, changed) => changed.has("filter") && count());
  const details = el("details", { class: "more" }, summary, inner);
  details.open = countMore(store.state.filter) > 0;
  return details;
}

/** Controls of the edges: those that everybody needs, and the other filters. They follow the state. */
export function edgeControls(context: Context): { main: HTMLElement[]; width: HTMLElement[]; more: HTMLElement } {
  const { run, store } = context;
  const pairs = [...pairStyles([...new Set(run.edges.map((edge) => edge.pair))])];
  const maxRank = Math.max(1, maxOf(run.edges.map((edge) => edge.rank)));
  const { filter } = store.state;
  const roles = toggles(
    "Roles",
    pairs.map(([value, { color, dash }]) => ({ value, label: value, color, dashed: dash !== undefined })),
    filter.pairs,
    (chosen) => store.setFilter({ pairs: chosen }),
  );
  roles.title = pairs.map(([pair]) => pairName(pair)).join("; ");
  const top = slider("Max edges per pair of roles", { min: 1, max: maxRank, value: filter.top }, (value) =>
    store.setFilter({ top: value }),
  );
  const options = [
    { value: "all", label: "all" },
    { value: "beyond", label: "beyond chance" },
    { value: "out", label: "stand out" },
  ];
  const shown = segmented("Edges", options, filter.shown, (value) =>
    store.setFilter({ shown: value as EdgeFilter["shown"] }),
  );
  const nulls = run.nulls.map((value) => ({ value, label: `z of the ${value} null` }));
  const width = select("Width", [...nulls, { value: "", label: "affinity" }], filter.null_, (null_) =>
    store.setFilter({ null_ }),
  );
  store.subscribe((state, changed) => {
    if (!changed.has("filter")) return;
    const now = state.filter;
    checkValues(roles, now.pairs);
    checkValues(shown, [now.shown]);
    setSlider(top, now.top);
    width.value = now.null_;
  });
  const known = run.edges.some((edge) => edge.standing !== "unknown");
  return {
    main: [roles, top, ...(known ? [shown] : [])],
    width: run.nulls.length > 0 ? [width.element] : [],
    more: moreFilters(context),
  };
}
