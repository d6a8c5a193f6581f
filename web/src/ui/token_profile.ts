import type { ProfileToken } from "../data/run";
import { formatP } from "../data/significance";
import { el, visibleToken } from "./dom";

const roles: Record<string, string> = {
  O: "writes (O)",
  Q: "reads as query (Q)",
  K: "reads as key (K)",
  V: "reads as value (V)",
};

/** Lists the tokens closest to a subspace of `head`, "it" or a name. Those that are not beyond chance are faint. */
export function profile(head: string, role: string, tokens: readonly ProfileToken[], heading: "h3" | "h4"): Node[] {
  const known = tokens.some((token) => !Number.isNaN(token.q));
  const chips = tokens.slice(0, 10).map((token) => {
    const faint = token.q > 0.05;
    const title = known ? { title: `q ${formatP(token.q)}${faint ? ", not beyond chance" : ""}` } : {};
    return el("bdi", { class: faint ? "token faint" : "token", ...title }, visibleToken(token.text));
  });
  const none = known && tokens.every((token) => token.q > 0.05);
  return [
    el(heading, {}, `Tokens closest to what ${head} ${roles[role] ?? role}${none ? ": none beyond chance" : ""}`),
    el("p", { class: "chips" }, ...chips),
  ];
}
