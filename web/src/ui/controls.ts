import { el, uniqueId } from "./dom";

export interface Option {
  value: string;
  label: string;
}

export interface Select {
  element: HTMLElement;
  value: string;
  setOptions(options: Option[], value: string): void;
}

export function select(label: string, options: Option[], value: string, change: (value: string) => void): Select {
  const id = uniqueId("select");
  const input = el("select", { id });
  const fill = (list: Option[], chosen: string) => {
    input.replaceChildren(...list.map((option) => el("option", { value: option.value }, option.label)));
    input.value = chosen;
  };
  fill(options, value);
  input.addEventListener("change", () => change(input.value));
  return {
    element: el("div", { class: "control" }, el("label", { for: id }, label), input),
    get value() {
      return input.value;
    },
    set value(wanted: string) {
      input.value = wanted;
    },
    setOptions: fill,
  };
}

export function slider(
  label: string,
  range: { min: number; max: number; value: number },
  change: (value: number) => void,
): HTMLElement {
  const id = uniqueId("slider");
  const output = el("output", { for: id }, String(range.value));
  const input = el("input", {
    id,
    type: "range",
    min: String(range.min),
    max: String(range.max),
    step: "1",
    value: String(range.value),
  });
  input.addEventListener("input", () => {
    output.textContent = input.value;
    change(Number(input.value));
  });
  return el("div", { class: "control" }, el("label", { for: id }, label), input, output);
}

/** Checkboxes, optionally with a color swatch. */
export function toggles(
  label: string,
  options: (Option & { color?: string; dashed?: boolean })[],
  chosen: string[],
  change: (chosen: string[]) => void,
): HTMLElement {
  const group = el("fieldset", { class: "control toggles" }, el("legend", {}, label));
  for (const option of options) {
    const id = uniqueId("toggle");
    const input = el("input", { id, type: "checkbox", value: option.value });
    input.checked = chosen.includes(option.value);
    input.addEventListener("change", () =>
      change([...group.querySelectorAll("input")].filter((one) => one.checked).map((one) => one.value)),
    );
    const swatch = option.color ? el("span", { class: option.dashed ? "swatch dashed" : "swatch" }) : null;
    if (swatch && option.color) swatch.style.color = option.color;
    group.append(el("label", { for: id }, input, swatch, option.label));
  }
  return group;
}

/** Radio buttons in one row, for a few options. */
export function segmented(
  label: string,
  options: Option[],
  value: string,
  change: (value: string) => void,
): HTMLElement {
  const name = uniqueId("segments");
  const group = el("fieldset", { class: "control segmented" }, el("legend", {}, label));
  for (const option of options) {
    const id = uniqueId("segment");
    const input = el("input", { id, type: "radio", name, value: option.value });
    input.checked = option.value === value;
    input.addEventListener("change", () => change(option.value));
    group.append(input, el("label", { for: id }, option.label));
  }
  return group;
}

/** Checks the boxes of `toggles`, or the button of `segmented`, with these values. */
export function checkValues(group: HTMLElement, values: readonly string[]): void {
  for (const input of group.querySelectorAll("input")) input.checked = values.includes(input.value);
}

/** Moves a slider without calling its function. */
export function setSlider(element: HTMLElement, value: number): void {
  element.querySelector("input")!.value = String(value);
  element.querySelector("output")!.textContent = String(value);
}

export function button(label: string, click: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const element = el("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", click);
  return element;
}
