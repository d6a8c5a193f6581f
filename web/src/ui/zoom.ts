import type { Zoom } from "./store";

/** Max factor of a zoom. */
export const maxZoom = 64;

const whole: Zoom = { factor: 1, x: 0, y: 0 };

function clampZoom({ factor, x, y }: Zoom): Zoom | null {
  if (factor <= 1.001) return null;
  const limit = 1 - 1 / factor;
  const clamp = (share: number) => Math.min(limit, Math.max(0, share));
  return { factor, x: clamp(x), y: clamp(y) };
}

/** Zooms by a factor around a point, given as shares of the window. The point stays where it is. Null: no zoom. */
export function zoomAround(zoom: Zoom | null, by: number, x: number, y: number): Zoom | null {
  const old = zoom ?? whole;
  const factor = Math.min(maxZoom, Math.max(1, old.factor * by));
  return clampZoom({
    factor,
    x: old.x + x / old.factor - x / factor,
    y: old.y + y / old.factor - y / factor,
  });
}

/** Moves the content by shares of the window. */
export function panBy(zoom: Zoom | null, dx: number, dy: number): Zoom | null {
  return zoom && clampZoom({ factor: zoom.factor, x: zoom.x - dx / zoom.factor, y: zoom.y - dy / zoom.factor });
}

/** What a figure with zoom does on gestures. Points and distances are in pixels of the figure. */
export interface ZoomHooks {
  zoom(by: number, x: number, y: number): void;
  pan(dx: number, dy: number): void;
  reset(): void;
  zoomed(): boolean;
}

/**
 * Zooms on a pinch and on the wheel with Ctrl or Meta, pans on a drag with the mouse, resets on a double click. The plain
 * wheel scrolls the page. Returns a function that says whether the last press was a drag.
 */
export function listenZoom(canvas: HTMLCanvasElement, hooks: ZoomHooks): () => boolean {
  const pressed = new Map<number, { x: number; y: number }>();
  let moved = 0;
  const place = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  // One finger scrolls the page, two fingers reach the listeners below.
  canvas.style.touchAction = "pan-x pan-y";
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { x, y } = place(event);
      hooks.zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) * 0.008), x, y);
    },
    { passive: false },
  );
  canvas.addEventListener("dblclick", () => hooks.reset());
  canvas.addEventListener("pointerdown", (event) => {
    if (pressed.size === 0) moved = 0;
    pressed.set(event.pointerId, place(event));
  });
  const release = (event: PointerEvent) => pressed.delete(event.pointerId);
  for (const name of ["pointerup", "pointercancel", "pointerleave"] as const) canvas.addEventListener(name, release);
  canvas.addEventListener("pointermove", (event) => {
    const before = pressed.get(event.pointerId);
    if (!before) return;
    const now = place(event);
    pressed.set(event.pointerId, now);
    moved += Math.hypot(now.x - before.x, now.y - before.y);
    const other = [...pressed].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const distance = (point: { x: number; y: number }) => Math.hypot(point.x - other.x, point.y - other.y) || 1;
      hooks.zoom(distance(now) / distance(before), (now.x + other.x) / 2, (now.y + other.y) / 2);
    } else if (event.pointerType !== "touch" && hooks.zoomed()) hooks.pan(now.x - before.x, now.y - before.y);
  });
  return () => moved > 5;
}

/** Zooms by key: + and - around the center, 0 resets. Returns the text to announce, or null for other keys. */
export function zoomKey(key: string, hooks: ZoomHooks, width: number, height: number): string | null {
  if (key === "+" || key === "=") hooks.zoom(1.5, width / 2, height / 2);
  else if (key === "-") hooks.zoom(1 / 1.5, width / 2, height / 2);
  else if (key === "0") hooks.reset();
  else return null;
  return key === "0" ? "All of the figure" : key === "-" ? "Zoomed out" : "Zoomed in";
}
