import { headFacts, type HeadFacts } from "../data/head_facts";
import type { Run } from "../data/run";
import { classNames, type Context } from "./context";
import { select, type Option } from "./controls";
import { el, uniqueId } from "./dom";
import { layerRange } from "./layer_range";
import type { Store } from "./store";

/** Which heads the grid and the table show. They are in the store, so the address has them. */
export interface HeadFilter {
  /** First and last layer, in the order in which layers run. */
  layers: [number, number] | null;
  detector: string;
  class_: string;
  /** Only heads with an edge beyond chance. */
  beyond: boolean;
  /** Part of the name, of a class or of a detected kind. */
  text: string;
}

/** Whether a head passes a filter. */
export function passes(facts: HeadFacts, filter: HeadFilter): boolean {
  const { head, column, detected } = facts;
  const wanted = filter.text.trim().toLowerCase();
  return (
    (filter.layers === null || (column >= filter.layers[0] && column <= filter.layers[1])) &&
    (filter.detector === "" || detected.includes(filter.detector)) &&
    (filter.class_ === "" || head.classes.includes(filter.class_)) &&
    (!filter.beyond || facts.incoming + facts.outgoing > 0) &&
    (wanted === "" || [head.name, ...head.classes, ...detected].some((one) => one.toLowerCase().includes(wanted)))
  );
}

/** Returns the filter as it is now. */
export function headFilter(store: Store): HeadFilter {
  const { layers, detector, class_, linked, name } = store.state.filter;
  return { layers, detector, class_, beyond: linked, text: name };
}

/** Calls a function when the filter changes. */
export function onHeadFilter(store: Store, listener: () => void): void {
  let last = JSON.stringify(headFilter(store));
  store.subscribe(() => {
    const next = JSON.stringify(headFilter(store));
    if (next === last) return;
    last = next;
    listener();
  });
}

/** Returns the names of the heads that pass the filter. */
export function passingHeads(run: Run, store: Store): Set<string> {
  const filter = headFilter(store);
  return new Set(
    headFacts(run)
      .filter((facts) => passes(facts, filter))
      .map((facts) => facts.head.name),
  );
}

/** Returns the controls of the filter, with the number of heads that pass it. */
export function headFilterControls(context: Context): HTMLElement {
  const { run, store } = context;
  const controls = el("div", { class: "controls head-filter" });
  if (run.layers.count > 1) controls.append(...layerRange(context));
  const any = (names: string[]): Option[] => [
    { value: "", label: "any" },
    ...names.map((value) => ({ value, label: value.replaceAll("_", " ") })),
  ];
  const kinds = [...new Set(headFacts(run).flatMap((facts) => facts.detected))].sort();
  const detector = select("Detected as", any(kinds), "", (value) => store.setFilter({ detector: value }));
  if (kinds.length > 0) controls.append(detector.element);
  const class_ = select("Class", any(classNames(run)), "", (value) => store.setFilter({ class_: value }));
  if (classNames(run).length > 0) controls.append(class_.element);
  const linked = el("input", { id: uniqueId("linked"), type: "checkbox" });
  linked.addEventListener("change", () => store.setFilter({ linked: linked.checked }));
  const linkedLabel = el("label", { for: linked.id }, linked, "with an edge beyond chance");
  if (headFacts(run).some((facts) => facts.incoming + facts.outgoing >= 0))
    controls.append(el("div", { class: "control toggles" }, linkedLabel));
  const id = uniqueId("name");
  const text = el("input", { id, type: "search", size: "10", autocomplete: "off", spellcheck: "false" });
  text.addEventListener("input", () => store.setFilter({ name: text.value }));
  const count = el("output", { for: id });
  controls.append(el("div", { class: "control" }, el("label", { for: id }, "Name contains"), text), count);
  const show = () => {
    const filter = store.state.filter;
    detector.value = kinds.includes(filter.detector) ? filter.detector : "";
    class_.value = classNames(run).includes(filter.class_) ? filter.class_ : "";
    linked.checked = filter.linked;
    if (text !== document.activeElement) text.value = filter.name;
    count.textContent = `${passingHeads(run, store).size} of ${run.heads.length} heads`;
  };
  show();
  onHeadFilter(store, show);
  return controls;
}
