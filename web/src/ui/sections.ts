import type { Context, View } from "./context";
import { el } from "./dom";
import { linkTerms } from "./term";

/** A section of a tab, empty until `mount` is called. */
export class Section {
  readonly element: HTMLElement;
  private mounted: Promise<void> | null = null;

  constructor(
    readonly view: View,
    private readonly context: Context,
  ) {
    const { id, title, about } = view;
    this.element = el(
      "section",
      { id, "aria-labelledby": `${id}-title`, tabindex: "-1" },
      el("h2", { id: `${id}-title` }, title),
      about === "" ? null : el("p", { class: "about" }, ...linkTerms(about)),
    );
    // Also where the tab was not shown yet: the other tabs are printed, too.
    this.element.hidden = view.alone ?? false;
  }

  /** Fills the section, once. */
  mount(): Promise<void> {
    this.mounted ??= Promise.resolve(this.view.mount(this.element, this.context)).then(
      () => void (this.element.dataset.ready = "true"),
    );
    return this.mounted;
  }
}
