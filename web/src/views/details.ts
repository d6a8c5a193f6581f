import type { ManifestCommand } from "../data/doc";
import { button } from "../ui/controls";
import type { View } from "../ui/context";
import { el } from "../ui/dom";

/** What was asked and by what program, to do it again. */
export const details: View = {
  id: "details",
  title: "Run details",
  about: "What was asked, with what program and settings, and the files that came of it: enough to do it again.",
  available: () => true,
  mount(section, { run }) {
    const { commands, files } = run.doc.manifest;
    section.append(
      el(
        "div",
        { class: "commands" },
        ...Object.entries(commands).map(([name, command]) => commandCard(name, command)),
      ),
    );
    const rows = Object.entries(files).map(([name, file]) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, name),
        el("td", {}, String(file.command ?? "")),
        el("td", { class: "number" }, Array.isArray(file.shape) ? file.shape.join(" \u00d7 ") : ""),
        el("td", {}, String(file.dtype ?? "")),
        el("td", {}, String(file.about ?? "")),
      ),
    );
    const head = ["File", "Command", "Shape", "Type", "What it is"].map((label) => el("th", { scope: "col" }, label));
    section.append(
      el("h3", {}, "Files"),
      el(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Files" },
        el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)),
      ),
      el(
        "p",
        { class: "note" },
        `Made by ${run.doc.program || "headscope"}. Exports are drawn in the light theme; CSV files have the numbers that a figure shows.`,
      ),
    );
  },
};

function commandCard(name: string, command: ManifestCommand): HTMLElement {
  const line = `headscope ${(command.arguments ?? []).map(shellWord).join(" ")}`;
  const said = el("span", { class: "said", role: "status" });
  const copy = button(
    "Copy",
    () => {
      navigator.clipboard.writeText(line).then(
        () => (said.textContent = "Copied"),
        () => (said.textContent = "Not allowed here; select it instead"),
      );
    },
    { class: "quiet", "aria-label": `Copy the ${name} command` },
  );
  const list = (entries: Record<string, string> | undefined) =>
    Object.entries(entries ?? {})
      .filter(([, value]) => value !== "")
      .flatMap(([key, value]) => [
        el("dt", {}, key.replaceAll("_", " ")),
        el("dd", {}, circumstance(key, String(value))),
      ]);
  return el(
    "article",
    { class: "command" },
    el("h3", {}, name),
    el("div", { class: "line" }, el("code", {}, line), copy, said),
    el(
      "div",
      { class: "columns" },
      el("dl", {}, ...list(command.identity)),
      el("dl", {}, ...list(command.circumstances)),
    ),
  );
}

/** An argument as a shell takes it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function circumstance(key: string, value: string): string {
  if (key === "peak_memory" && /^\d+$/.test(value)) return `${(Number(value) / 2 ** 20).toFixed(0)} MB`;
  return key === "seconds" ? `${value} s` : value;
}
