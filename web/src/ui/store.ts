import { isEdge, type EdgeKey } from "../data/edge_key";
import { inFrame } from "./frame";
import type { Theme } from "./theme";

/** Edges shown in the wiring, the graph and the tables. */
export interface EdgeFilter {
  pairs: string[];
  /** Max rank within a pair of roles. */
  top: number;
  /** Null model whose z gives the widths; empty for the scores. */
  null_: string;
  shown: Shown;
  /** First and last layer, in the order in which layers run; both ends of an edge must be in this range. Null: all layers. */
  layers: [number, number] | null;
  /** Min z under the chosen null. */
  minZ: number | null;
  /** Max q under every null of the run. */
  maxQ: number | null;
  /** One end must be a head that this detector found; empty: any. */
  detector: string;
  /** One end must be a head of this class; empty: any. */
  class_: string;
  /** Part of the name, of a class or of a detected kind of one end; empty: any. */
  name: string;
  /** Lists only heads with an edge beyond chance. */
  linked: boolean;
}

/** Edges by what the null models say about them. */
export type Shown = "all" | "beyond" | "out";

export const tabIds = ["story", "heads", "circuit", "evidence", "methods"] as const;
export type TabId = (typeof tabIds)[number];

/** The visible part of a figure: a factor, and the share of the figure that is left of and above the window. */
export interface Zoom {
  factor: number;
  x: number;
  y: number;
}

export interface State {
  tab: TabId;
  /** The section that was asked for within the tab; null: the first one. */
  at: string | null;
  /** The selected head. */
  head: string | null;
  /** The selected edge. */
  edge: EdgeKey | null;
  /** Heads in the tray. */
  pins: readonly string[];
  /** Index of the input whose maps are shown. */
  input: number;
  /** Pinned query of that input, in the order of the input; null: none. */
  query: number | null;
  filter: EdgeFilter;
  /** Zoom of the wiring; null: all of it. */
  zoom: Zoom | null;
  /** The head under the pointer. */
  hover: string | null;
  theme: Theme;
}

/** Max number of heads in the tray. */
export const maxPins = 6;

type Listener = (state: State, changed: ReadonlySet<keyof State>) => void;

/** State shared by the views. Listeners are called at most once per frame. */
export class Store {
  private readonly listeners: Listener[] = [];
  private readonly changed = new Set<keyof State>();

  constructor(private current: State) {}

  get state(): State {
    return this.current;
  }
  subscribe(listener: Listener): void {
    this.listeners.push(listener);
  }
  set(part: Partial<State>): void {
    for (const [key, value] of Object.entries(part) as [keyof State, State[keyof State]][]) {
      if (this.current[key] === value) continue;
      inFrame(this.notify);
      this.changed.add(key);
      this.current = { ...this.current, [key]: value };
    }
  }
  setFilter(part: Partial<EdgeFilter>): void {
    this.set({ filter: { ...this.current.filter, ...part } });
  }
  /** Chooses a head, or clears the choice if the head was already chosen. */
  choose(head: string | null): void {
    this.set({ head: head === this.current.head ? null : head, edge: null });
  }
  /** Chooses an edge, or clears the choice if the edge was already chosen. */
  chooseEdge(edge: EdgeKey | null): void {
    this.set({ edge: edge !== null && isEdge(edge, this.current.edge) ? null : edge });
  }
  /** Puts a head into the tray, or takes it out. A full tray loses its oldest head. */
  togglePin(head: string): void {
    const { pins } = this.current;
    this.set({ pins: pins.includes(head) ? pins.filter((one) => one !== head) : [...pins, head].slice(-maxPins) });
  }

  private readonly notify = (): void => {
    const changed = new Set(this.changed);
    this.changed.clear();
    for (const listener of this.listeners) listener(this.current, changed);
  };
}
