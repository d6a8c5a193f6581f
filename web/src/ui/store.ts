import type { Theme } from "./theme";

/** Edges shown in the wiring and in the graph. */
export interface EdgeFilter {
  pairs: string[];
  top: number;
  /** Null model whose z gives the widths; empty for the scores. */
  null_: string;
  shown: Shown;
}

/** Edges by what the null models say about them. */
export type Shown = "all" | "beyond" | "out";

export interface State {
  /** The chosen head; also in the address. */
  head: string | null;
  /** The head under the pointer. */
  hover: string | null;
  filter: EdgeFilter;
  theme: Theme;
}

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
      if (this.changed.size === 0) requestAnimationFrame(() => this.notify());
      this.changed.add(key);
      this.current = { ...this.current, [key]: value };
    }
  }
  /** Chooses a head, or clears the choice if the head was already chosen. */
  choose(head: string | null): void {
    this.set({ head: head === this.current.head ? null : head });
  }

  private notify(): void {
    const changed = new Set(this.changed);
    this.changed.clear();
    for (const listener of this.listeners) listener(this.current, changed);
  }
}

/** The part of the address after '#': at=SECTION&head=NAME. */
export interface Address {
  at: string | null;
  head: string | null;
}

export function parseAddress(hash: string): Address {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  return { at: values.get("at"), head: values.get("head") };
}

export function formatAddress(address: Address): string {
  const values = new URLSearchParams();
  if (address.at) values.set("at", address.at);
  if (address.head) values.set("head", address.head);
  const text = values.toString();
  return text === "" ? "#" : `#${text}`;
}
