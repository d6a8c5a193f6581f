import { formatEdge, parseEdge } from "../data/edge_key";
import { maxPins, tabIds, type EdgeFilter, type Shown, type State, type TabId } from "./store";

/** The part of the state that is in the address. */
export type Address = Pick<State, "tab" | "at" | "head" | "edge" | "pins" | "input" | "query" | "filter" | "zoom">;

/**
 * Returns the part of the address after '#'. Values that equal those of `plain`, the state of a page that was just
 * opened, are left out, so that addresses are short.
 */
export function formatAddress(state: Address, plain: Address): string {
  const values = new URLSearchParams();
  const put = (name: string, value: string, unchanged: string) => {
    if (value !== unchanged) values.set(name, value);
  };
  const write = (one: Address): Record<string, string> => ({
    tab: one.tab,
    at: one.at ?? "",
    head: one.head ?? "",
    edge: one.edge ? formatEdge(one.edge) : "",
    pins: one.pins.join(","),
    input: String(one.input),
    query: one.query === null ? "" : String(one.query),
    pairs: one.filter.pairs.join(","),
    top: String(one.filter.top),
    width: one.filter.null_,
    shown: one.filter.shown,
    layers: one.filter.layers?.join("-") ?? "",
    z: one.filter.minZ === null ? "" : String(one.filter.minZ),
    q: one.filter.maxQ === null ? "" : String(one.filter.maxQ),
    detector: one.filter.detector,
    class: one.filter.class_,
    name: one.filter.name,
    linked: one.filter.linked ? "yes" : "",
    zoom: one.zoom ? [one.zoom.factor, one.zoom.x, one.zoom.y].map((value) => Number(value.toFixed(4))).join(",") : "",
  });
  const unchanged = write(plain);
  for (const [name, value] of Object.entries(write(state))) put(name, value, unchanged[name]!);
  // Characters that are legal in a fragment stay readable.
  return `#${values.toString().replaceAll("%2C", ",").replaceAll("%3A", ":").replaceAll("%3E", ">")}`;
}

/** What the page knows of a run when it reads an address. */
export interface Known {
  hasHead: (name: string) => boolean;
  pairs: readonly string[];
  nulls: readonly string[];
  inputs: number;
  /** The tab of a section; undefined if there is no such section. */
  tabOf: (section: string) => TabId | undefined;
}

/** Reads an address. Whatever is missing, invalid or unknown to the run is as in `plain`. */
export function parseAddress(hash: string, plain: Address, known: Known): Address {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  const at = values.get("at");
  const section = at !== null && known.tabOf(at) !== undefined ? at : plain.at;
  const tab = tabIds.find((one) => one === values.get("tab")) ?? (section ? known.tabOf(section) : undefined);
  const head = values.get("head");
  const edge = parseEdge(values.get("edge") ?? "");
  const pins = values.get("pins")?.split(",").filter(known.hasHead) ?? plain.pins;
  const input = integer(values.get("input"), 0, known.inputs - 1);
  return {
    tab: tab ?? plain.tab,
    at: section && known.tabOf(section) === (tab ?? plain.tab) ? section : null,
    head: head !== null && known.hasHead(head) ? head : plain.head,
    edge: edge && known.hasHead(edge.source) && known.hasHead(edge.target) ? edge : plain.edge,
    pins: [...new Set(pins)].slice(0, maxPins),
    input: input ?? plain.input,
    query: integer(values.get("query"), 0, 1e9) ?? plain.query,
    filter: parseFilter(values, plain.filter, known),
    zoom: parseZoom(values.get("zoom")) ?? plain.zoom,
  };
}

function parseFilter(values: URLSearchParams, plain: EdgeFilter, known: Known): EdgeFilter {
  const pairs = values
    .get("pairs")
    ?.split(",")
    .filter((one) => known.pairs.includes(one));
  const width = values.get("width");
  const layers = /^(\d{1,5})-(\d{1,5})$/.exec(values.get("layers") ?? "");
  const shown = (["all", "beyond", "out"] as Shown[]).find((one) => one === values.get("shown"));
  return {
    pairs: pairs ?? plain.pairs,
    top: integer(values.get("top"), 1, 1e9) ?? plain.top,
    null_: width !== null && (width === "" || known.nulls.includes(width)) ? width : plain.null_,
    shown: shown ?? plain.shown,
    layers: layers ? [Number(layers[1]), Number(layers[2])] : plain.layers,
    minZ: real(values.get("z")) ?? plain.minZ,
    maxQ: real(values.get("q")) ?? plain.maxQ,
    detector: /^[a-z_-]{1,40}$/.exec(values.get("detector") ?? "")?.[0] ?? plain.detector,
    class_: values.get("class")?.slice(0, 80) ?? plain.class_,
    name: values.get("name")?.slice(0, 80) ?? plain.name,
    linked: values.has("linked") ? values.get("linked") === "yes" : plain.linked,
  };
}

function parseZoom(text: string | null): State["zoom"] {
  const numbers = (text ?? "").split(",").map(Number);
  const [factor, x, y] = numbers as [number, number, number];
  if (text === null || numbers.length !== 3 || !numbers.every(Number.isFinite)) return null;
  return factor >= 1 && factor <= 64 && Math.abs(x) <= 1 && Math.abs(y) <= 1 ? { factor, x, y } : null;
}

function integer(text: string | null, low: number, high: number): number | null {
  const value = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  return value >= low && value <= high ? value : null;
}

function real(text: string | null): number | null {
  const value = text === null || text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}
