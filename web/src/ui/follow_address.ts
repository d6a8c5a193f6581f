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
  store.subscribe((state, changed) => {
    if (!inAddress.some((key) => changed.has(key))) return;
    const address = formatAddress(state, plain);
    if (address === written || (address === "#" && written === "")) return;
    written = address;
    const step = steps.some((key) => changed.has(key));
    try {
      if (step) history.pushState(null, "", address);
      else history.replaceState(null, "", address);
    } catch {
      // A sandboxed frame: the page works without an address.
    }
  });
  const read = () => {
    if (location.hash === written) return;
    written = location.hash;
    store.set(parseAddress(location.hash, plain, known));
  };
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
}
