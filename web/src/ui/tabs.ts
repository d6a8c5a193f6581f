import type { Tab } from "../views/index";
import type { Context } from "./context";
import { el } from "./dom";
import { Section } from "./sections";
import type { TabId } from "./store";

/** The tabs of the page. One is visible at a time; its sections are filled when it is first shown. */
export class Tabs {
  readonly navigation = el("nav", { class: "tabs", "aria-label": "Tabs" });
  readonly main = el("main", {});
  private readonly panels = new Map<TabId, { element: HTMLElement; link: HTMLAnchorElement; sections: Section[] }>();
  private readonly tabOfSection = new Map<string, TabId>();

  constructor(
    tabs: readonly Tab[],
    private readonly context: Context,
  ) {
    const { run, store } = context;
    const list = el("ul", {});
    for (const { id, title, views } of tabs) {
      const sections = views.filter((view) => view.available(run)).map((view) => new Section(view, context));
      if (sections.length === 0) continue;
      const link = el("a", { href: `#tab=${id}`, "data-tab": id }, title);
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        store.set({ tab: id, at: null });
      });
      const element = el("div", { class: "panel", id: `tab-${id}`, "data-tab": id, "data-title": title });
      if (sections.length > 1) element.append(this.contents(id, sections));
      element.append(...sections.map((section) => section.element));
      for (const section of sections) this.tabOfSection.set(section.view.id, id);
      this.panels.set(id, { element, link, sections });
      list.append(el("li", {}, link));
      this.main.append(element);
    }
    this.navigation.append(list);
    store.subscribe((_, changed) => {
      if (changed.has("tab") || changed.has("at")) void this.show();
    });
  }

  tabOf(section: string): TabId | undefined {
    return this.tabOfSection.get(section);
  }
  has(tab: TabId): boolean {
    return this.panels.has(tab);
  }

  /** Shows the tab and the section of the state. Resolves when the tab is filled. */
  async show(): Promise<void> {
    const { tab, at } = this.context.store.state;
    for (const [id, { element, link }] of this.panels) {
      element.hidden = id !== tab;
      link.toggleAttribute("aria-current", id === tab);
      if (id === tab) link.setAttribute("aria-current", "page");
    }
    const panel = this.panels.get(tab);
    if (!panel) return;
    const single = panel.sections.find(({ view }) => view.alone && view.id === at);
    for (const section of panel.sections)
      section.element.hidden = single ? section !== single : (section.view.alone ?? false);
    for (const link of panel.element.querySelectorAll("nav.contents a"))
      link.toggleAttribute("data-current", (link as HTMLElement).dataset.view === single?.view.id);
    scrollTo({ top: 0, behavior: "instant" });
    // Sections above the wanted one must have their height before the page scrolls to it.
    for (const section of panel.sections) await section.mount();
    // A section that is alone begins at the top, below the links to the others.
    const wanted = at === null || single ? null : document.getElementById(at);
    if (wanted && this.context.store.state.at === at) {
      wanted.scrollIntoView({ block: "start", behavior: "instant" });
      wanted.focus({ preventScroll: true });
    }
  }

  /** Fills the tabs that were not shown yet. `wait` is called before each section. */
  async mountRest(wait: () => Promise<void>): Promise<void> {
    for (const { sections } of this.panels.values())
      for (const section of sections) {
        await wait();
        await section.mount();
      }
  }

  /** Returns links to the sections of a tab. */
  private contents(tab: TabId, sections: Section[]): HTMLElement {
    const links = sections.map(({ view }) => {
      const link = el("a", { href: `#tab=${tab}&at=${view.id}`, "data-view": view.id }, view.title);
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        // A second click on the same link scrolls again.
        if (this.context.store.state.at === view.id) void this.show();
        else this.context.store.set({ tab, at: view.id });
      });
      return el("li", {}, link);
    });
    return el("nav", { class: "contents", "aria-label": "Sections" }, el("ul", {}, ...links));
  }
}
