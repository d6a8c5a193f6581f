import { terms } from "../data/terms";
import type { View } from "../ui/context";
import { el } from "../ui/dom";

export const glossary: View = {
  id: "glossary",
  title: "Glossary",
  about: "The technical words of this page.",
  available: () => true,
  mount(section) {
    const sorted = [...terms].sort((a, b) => a.word.localeCompare(b.word, "en", { sensitivity: "base" }));
    section.append(
      el(
        "dl",
        { class: "glossary" },
        ...sorted.flatMap(({ word, means }) => [el("dt", {}, word), el("dd", {}, means)]),
      ),
    );
  },
};
