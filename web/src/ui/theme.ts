/** Colors of figures. The page's own are in style.css and agree with these. */
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
  /** What is chosen. */
  mark: string;
}

export const light: Theme = {
  name: "light",
  background: "#ffffff",
  ink: "#1c2128",
  muted: "#57606a",
  faint: "#9aa4af",
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

/** What was chosen before, else what the system says. Storage may be closed to pages opened from disk. */
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
    // The choice then lasts as long as the page.
  }
}
