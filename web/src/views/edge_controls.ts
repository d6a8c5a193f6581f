import { maxOf } from "../data/stats";
import { pairStyles, type Context } from "../ui/context";
import { segmented, select, slider, toggles } from "../ui/controls";
import { el, uniqueId } from "../ui/dom";
import type { EdgeFilter } from "../ui/store";
import { readDetectors } from "./detectors";

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

/** First and last layer. */
function layerInputs({ run, store }: Context): HTMLElement[] {
  const last = Math.max(0, run.layers - 1);
  const limits = { min: 0, max: last, step: "1" };
  const bounds = () => store.state.filter.layers ?? [0, last];
  const set = (from: number, to: number) =>
    store.setFilter({ layers: from <= 0 && to >= last ? null : [Math.max(0, from), Math.min(last, to)] });
  const from = numberInput("Layers from", bounds()[0], limits, (one) => set(one ?? 0, bounds()[1]));
  const to = numberInput("to", bounds()[1], limits, (one) => set(bounds()[0], one ?? last));
  store.subscribe((_, changed) => {
    if (!changed.has("filter")) return;
    from.show(bounds()[0]);
    to.show(bounds()[1]);
  });
  return [from.element, to.element];
}

/** Controls of the edges in all figures that show them. */
export function edgeControls(context: Context): HTMLElement[] {
  const { run, store } = context;
  const pairs = [...pairStyles([...new Set(run.edges.map((edge) => edge.pair))])];
  const set = (part: Partial<EdgeFilter>) => store.setFilter(part);
  const maxRank = Math.max(1, maxOf(run.edges.map((edge) => edge.rank)));
  const { filter } = store.state;
  const controls = [
    toggles(
      "Roles",
      pairs.map(([value, { color, dash }]) => ({ value, label: value, color, dashed: dash !== undefined })),
      filter.pairs,
      (chosen) => set({ pairs: chosen }),
    ),
    slider("Max edges per pair", { min: 1, max: maxRank, value: filter.top }, (top) => set({ top })),
  ];
  if (run.edges.some((edge) => edge.standing !== "unknown"))
    controls.push(
      segmented(
        "Edges",
        [
          { value: "all", label: "all" },
          { value: "beyond", label: "beyond chance" },
          { value: "out", label: "stand out" },
        ],
        filter.shown,
        (shown) => set({ shown: shown as EdgeFilter["shown"] }),
      ),
    );
  if (run.layers > 2) controls.push(...layerInputs(context));
  if (run.nulls.length > 0) {
    const nulls = run.nulls.map((value) => ({ value, label: `z of the ${value} null` }));
    const widths = [...nulls, { value: "", label: "affinity" }];
    controls.push(select("Width", widths, filter.null_, (null_) => set({ null_ })).element);
    const z = numberInput("Min z", filter.minZ, { min: 0, step: "any" }, (minZ) => set({ minZ }));
    const q = numberInput("Max q", filter.maxQ, { min: 0, max: 1, step: "any" }, (maxQ) => set({ maxQ }));
    store.subscribe((state, changed) => {
      if (!changed.has("filter")) return;
      z.show(state.filter.minZ);
      q.show(state.filter.maxQ);
    });
    controls.push(z.element, q.element);
  }
  const found = readDetectors(run).filter((one) => one.scores.some((score) => score.detected));
  if (found.length > 0) {
    const options = found.map(({ name }) => ({ value: name, label: name.replaceAll("_", " ") }));
    const choose = (detector: string) => set({ detector });
    const all = [{ value: "", label: "any" }, ...options];
    const detector = select("Heads detected as", all, filter.detector, choose);
    store.subscribe((state, changed) => {
      if (changed.has("filter")) detector.value = state.filter.detector;
    });
    controls.push(detector.element);
  }
  return controls;
}
