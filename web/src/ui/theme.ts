/** Colors of figures. Must match the colors of the page in style.css. */
export interface Theme {
  name: "light" | "dark";
  background: string;
  ink: string;
  muted: string;
  faint: string;
  grid: string;
  axis: string;
  /** Empty cells and nodes without a class. */
  blank: string;
  /** Outline of the chosen head. */
  mark: string;
}

export const light: Theme = {
  name: "light",
  background: "#ffffff",
  ink: "#1c2128",
  muted: "#57606a",
  faint: "#858f9a",
  grid: "#e8ebee",
  axis: "#8c959f",
  blank: "#e3e7eb",
  mark: "#111418",
};

export const dark: Theme = {
  name: "dark",
  background: "#12161c",
  ink: "#e6eaee",
  muted: "#9aa5b1",
  faint: "#5c6773",
  grid: "#242b34",
  axis: "#6b7682",
  blank: "#3d4752",
  mark: "#ffffff",
};

const key = "headscope-theme";

/** Returns the theme used before, or the theme of the system. Browsers may block storage for pages opened from disk. */
export function initialTheme(): Theme {
  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem(key);
  } catch {
    chosen = null;
  }
  const wanted = chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  return wanted === "dark" ? dark : light;
}

export function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme.name;
  try {
    localStorage.setItem(key, theme.name);
  } catch {
    // Without storage, the choice is lost when the page is closed.
  }
}
