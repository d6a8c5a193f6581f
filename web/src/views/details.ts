import type { ManifestCommand } from "../data/doc";
import { button } from "../ui/controls";
import type { View } from "../ui/context";
import { el } from "../ui/dom";

/** Commands, settings and files of the run. */
export const details: View = {
  id: "details",
  title: "Run details",
  about: "Commands, settings, program version and files of this run. Use them to repeat the run.",
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
    const head = ["File", "Command", "Shape", "Type", "Description"].map((label) => el("th", { scope: "col" }, label));
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
        `Written by ${run.doc.program || "headscope"}. Exported figures use the light theme. CSV files contain the numbers that a figure shows.`,
      ),
    );
  },
};

function commandCard(name: string, command: ManifestCommand): HTMLElement {
  const line = `headscope ${(command.arguments ?? []).map(shellQuote).join(" ")}`;
  const status = el("span", { class: "status", role: "status" });
  const copy = button(
    "Copy",
    () => {
      navigator.clipboard.writeText(line).then(
        () => (status.textContent = "Copied"),
        () => (status.textContent = "Copying is blocked here; select the text instead"),
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
    el("div", { class: "line" }, el("code", {}, line), copy, status),
    el(
      "div",
      { class: "columns" },
      el("dl", {}, ...list(command.identity)),
      el("dl", {}, ...list(command.circumstances)),
    ),
  );
}

/** Quotes an argument for a shell, if necessary. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function circumstance(key: string, value: string): string {
  if (key === "peak_memory" && /^\d+$/.test(value)) return `${(Number(value) / 2 ** 20).toFixed(0)} MB`;
  return key === "seconds" ? `${value} s` : value;
}
