import { formatEdge, parseEdge } from "../data/edge_key";
import { maxPins, type State, type Store } from "./store";

/** The part of the state that the page exchanges with the window around it. */
type Selection = Pick<State, "head" | "edge" | "pins">;

/**
 * Reads a message from the window around the page: `{headscope: 1, type: "select", head, edge, pins}`. Heads that the run
 * does not have are left out. Returns null for any other message.
 */
export function readSelection(message: unknown, hasHead: (name: string) => boolean): Selection | null {
  if (typeof message !== "object" || message === null) return null;
  const { headscope, type, head, edge, pins } = message as Record<string, unknown>;
  if (headscope !== 1 || type !== "select" || !Array.isArray(pins)) return null;
  const isHead = (name: unknown): name is string => typeof name === "string" && hasHead(name);
  const read = typeof edge === "string" ? parseEdge(edge) : null;
  return {
    head: isHead(head) ? head : null,
    edge: read && hasHead(read.source) && hasHead(read.target) ? read : null,
    pins: [...new Set(pins.filter(isHead))].slice(0, maxPins),
  };
}

/**
 * Keeps the selection the same in the page and in the window around it, such as a notebook (python/headscope/_view.js).
 * The page posts "ready" once and then "selection" after each change, and accepts messages from that window only. A
 * frame without an origin cannot know its parent's, so messages go to any; they contain names of heads and nothing else.
 */
export function followParent(store: Store, hasHead: (name: string) => boolean): void {
  const parent = window.parent;
  if (parent === window) return;
  const post = (type: "ready" | "selection") => {
    const { head, edge, pins } = store.state;
    parent.postMessage({ headscope: 1, type, head, edge: edge && formatEdge(edge), pins: [...pins] }, "*");
  };
  addEventListener("message", ({ source, data }: MessageEvent<unknown>) => {
    const wanted = source === parent ? readSelection(data, hasHead) : null;
    if (wanted) store.set(wanted);
  });
  store.subscribe((_, changed) => {
    if (changed.has("head") || changed.has("edge") || changed.has("pins")) post("selection");
  });
  post("ready");
}
