import { photoImage } from "../draw/map_image";
import type { Context } from "./context";
import { select } from "./controls";
import { el } from "./dom";
import { inputName, inputOptions } from "./input_options";

/** Max number of photographs offered as pictures; all inputs are in the list. */
const maxPhotos = 24;

/** Returns controls that choose the input of all figures: a list, and the photographs of images. Empty for one text. */
export function inputChooser({ run, store }: Context): HTMLElement[] {
  const { inputs } = run;
  const parts: HTMLElement[] = [];
  if (inputs.length > 1) {
    const list = select("Input", inputOptions(run), String(store.state.input), (value) =>
      store.set({ input: Number(value), query: null }),
    );
    store.subscribe((state) => (list.value = String(state.input)));
    parts.push(el("div", { class: "controls" }, list.element));
  }
  if (inputs.some((input) => input.first.thumbnail)) parts.push(photos({ run, store }));
  return parts;
}

function photos({ run, store }: Pick<Context, "run" | "store">): HTMLElement {
  const strip = el("div", { class: "photos", role: "group", "aria-label": "Images" });
  const buttons = run.inputs.slice(0, maxPhotos).map((input, i) => {
    const label = inputName(input.first, i);
    const button = el("button", { type: "button", class: "photo", title: label, "aria-label": label });
    button.addEventListener("click", () => store.set({ input: i, query: null }));
    void photoImage(run, i, 56, store.state.theme).then((image) => {
      button.append(image ?? label);
      image?.setAttribute("aria-hidden", "true");
    });
    return button;
  });
  const mark = () =>
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === store.state.input)));
  mark();
  store.subscribe((_, changed) => changed.has("input") && mark());
  strip.append(...buttons);
  return strip;
}
