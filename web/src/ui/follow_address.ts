import { formatAddress, parseAddress, type Address, type Known } from "./address";
import type { State, Store } from "./store";

/** Changes that the browser's back button undoes. The others only replace the address. */
const steps: (keyof State)[] = ["tab", "at", "head", "edge"];
const inAddress: (keyof State)[] = [...steps, "pins", "input", "query", "filter", "zoom"];

/**
 * Keeps the state and the address the same. `plain` is the state of a page without an address. The page may be shown in
 * a frame without an address of its own (about:srcdoc), where browsers refuse to change it.
 */
export function followAddress(store: Store, plain: Address, known: Known): void {
  let written = location.hash;
  let waiting: number | undefined;
  let step = false;
  const write = () => {
    waiting = undefined;
    const address = formatAddress(store.state, plain);
    if (address === written || (address === "#" && written === "")) return;
    written = address;
    try {
      if (step) history.pushState(null, "", address);
      else history.replaceState(null, "", address);
    } catch {
      // A sandboxed frame: the page works without an address.
    }
  };
  store.subscribe((_, changed) => {
    if (!inAddress.some((key) => changed.has(key))) return;
    step = steps.some((key) => changed.has(key));
    // While a slider is dragged, the address waits: browsers refuse many changes per second.
    clearTimeout(waiting);
    if (step) write();
    else waiting = window.setTimeout(write, 150);
  });
  const read = () => {
    clearTimeout(waiting);
    if (location.hash === written) return;
    written = location.hash;
    store.set(parseAddress(location.hash, plain, known));
  };
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
}
