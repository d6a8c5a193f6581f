import { layerLabel } from "../data/layers";
import type { Context } from "./context";
import { select, type Option } from "./controls";

/** Returns two lists that choose the first and the last layer, in the order in which layers run. They follow the state. */
export function layerRange({ run, store }: Context): HTMLElement[] {
  const last = Math.max(0, run.layers.count - 1);
  const layers: Option[] = run.layers.asRun.map((one, i) => ({ value: String(i), label: layerLabel(one) }));
  const bounds = () => store.state.filter.layers ?? [0, last];
  const set = (a: number, b: number) =>
    store.setFilter({
      layers: Math.min(a, b) === 0 && Math.max(a, b) === last ? null : [Math.min(a, b), Math.max(a, b)],
    });
  const from = select("Layers from", layers, String(bounds()[0]), (value) => set(Number(value), Number(to.value)));
  const to = select("to", layers, String(bounds()[1]), (value) => set(Number(from.value), Number(value)));
  store.subscribe((_, changed) => {
    if (!changed.has("filter")) return;
    from.value = String(bounds()[0]);
    to.value = String(bounds()[1]);
  });
  return [from.element, to.element];
}
