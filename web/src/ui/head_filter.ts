import { headFacts, type HeadFacts } from "../data/head_facts";
import type { Run } from "../data/run";
import { classNames, type Context } from "./context";
import { select, type Option } from "./controls";
import { el, uniqueId } from "./dom";
import type { Store } from "./store";

/** Which heads the grid and the table show. Layers and detector are in the store, because edges use them too. */
export interface HeadFilter {
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
  const { head, detected } = facts;
  const wanted = filter.text.trim().toLowerCase();
  return (
    (filter.layers === null || (head.layer >= filter.layers[0] && head.layer <= filter.layers[1])) &&
    (filter.detector === "" || detected.includes(filter.detector)) &&
    (filter.class_ === "" || head.classes.includes(filter.class_)) &&
    (!filter.beyond || facts.incoming + facts.outgoing > 0) &&
    (wanted === "" || [head.name, ...head.classes, ...detected].some((one) => one.toLowerCase().includes(wanted)))
  );
}

type Own = Pick<HeadFilter, "class_" | "beyond" | "text">;

/** The part of the filter that only heads have. One per page, shared by the grid and the table. */
class OwnFilter {
  value: Own = { class_: "", beyond: false, text: "" };
  private readonly listeners: (() => void)[] = [];

  subscribe(listener: () => void): void {
    this.listeners.push(listener);
  }
  set(part: Partial<Own>): void {
    this.value = { ...this.value, ...part };
    this.listeners.forEach((listener) => listener());
  }
}

const filters = new WeakMap<Store, OwnFilter>();

function ownFilter(store: Store): OwnFilter {
  if (!filters.has(store)) filters.set(store, new OwnFilter());
  return filters.get(store)!;
}

/** Returns the filter as it is now. */
export function headFilter(store: Store): HeadFilter {
  const { layers, detector } = store.state.filter;
  return { layers, detector, ...ownFilter(store).value };
}

/** Calls a function when the filter changes. */
export function onHeadFilter(store: Store, listener: () => void): void {
  ownFilter(store).subscribe(listener);
  let last = JSON.stringify([store.state.filter.layers, store.state.filter.detector]);
  store.subscribe((state) => {
    const next = JSON.stringify([state.filter.layers, state.filter.detector]);
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
export function headFilterControls({ run, store }: Context): HTMLElement {
  const own = ownFilter(store);
  const controls = el("div", { class: "controls head-filter" });
  const last = Math.max(0, run.layers - 1);
  const layers: Option[] = Array.from({ length: run.layers }, (_, i) => ({ value: String(i), label: String(i) }));
  const setLayers = (low: number, high: number) =>
    store.setFilter({ layers: low === 0 && high === last ? null : [Math.min(low, high), Math.max(low, high)] });
  const from = select("Layers from", layers, "0", (value) => setLayers(Number(value), Number(to.value)));
  const to = select("to", layers, String(last), (value) => setLayers(Number(from.value), Number(value)));
  if (run.layers > 1) controls.append(from.element, to.element);
  const any = (names: string[]): Option[] => [
    { value: "", label: "any" },
    ...names.map((value) => ({ value, label: value.replaceAll("_", " ") })),
  ];
  const kinds = [...new Set(headFacts(run).flatMap((facts) => facts.detected))].sort();
  const detector = select("Detected as", any(kinds), "", (value) => store.setFilter({ detector: value }));
  if (kinds.length > 0) controls.append(detector.element);
  if (classNames(run).length > 0)
    controls.append(select("Class", any(classNames(run)), "", (class_) => own.set({ class_ })).element);
  if (headFacts(run).some((facts) => facts.incoming + facts.outgoing >= 0)) controls.append(beyondBox(own));
  const id = uniqueId("name");
  const text = el("input", { id, type: "search", size: "10", autocomplete: "off", spellcheck: "false" });
  text.addEventListener("input", () => own.set({ text: text.value }));
  const count = el("output", { for: id });
  controls.append(el("div", { class: "control" }, el("label", { for: id }, "Name contains"), text), count);
  const show = () => {
    const filter = store.state.filter;
    from.value = String(filter.layers?.[0] ?? 0);
    to.value = String(filter.layers?.[1] ?? last);
    detector.value = kinds.includes(filter.detector) ? filter.detector : "";
    count.textContent = `${passingHeads(run, store).size} of ${run.heads.length} heads`;
  };
  show();
  onHeadFilter(store, show);
  return controls;
}

function beyondBox(own: OwnFilter): HTMLElement {
  const id = uniqueId("beyond");
  const box = el("input", { id, type: "checkbox" });
  box.addEventListener("change", () => own.set({ beyond: box.checked }));
  return el("div", { class: "control toggles" }, el("label", { for: id }, box, "with an edge beyond chance"));
}
