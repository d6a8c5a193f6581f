import { interpolateCividis, interpolateViridis } from "d3-scale-chromatic";

/**
 * The first four colors are those of Okabe and Ito. The others are near theirs, moved so that every color has a contrast
 * of 3 with both backgrounds, and every two a Lab distance of 10 with each kind of color vision.
 */
export const categorical = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#9B6629", "#6596D7", "#6F6F70", "#9A9831"];

export const categoryColor = (index: number) => categorical[index % categorical.length]!;

/** Colors of classes, by the same rules, without the first three above, which lines in the same figure use. */
export const classColors = ["#CC79A7", "#C8840D", "#4A9AD0", "#787400", "#8B8D82", "#AD366A", "#6A5ACD", "#117733"];

export const classColor = (index: number) => classColors[index % classColors.length]!;

export type Ramp = (share: number) => string;
export const viridis: Ramp = (share) => interpolateViridis(clamp(share));
/** For values that mean nothing: from light to dark gray. */
export const grays: Ramp = (share) => {
  const level = Math.round(225 - 105 * clamp(share));
  return `rgb(${level}, ${level}, ${level})`;
};
export const cividis: Ramp = (share) => interpolateCividis(clamp(share));

const clamp = (share: number) => Math.min(1, Math.max(0, share));

/** Returns 256 steps of a ramp as colors of cells, 0xAABBGGRR. */
export function lookup(ramp: Ramp): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, i) => packColor(ramp(i / 255)));
}

/** Converts "#rrggbb" or "rgb(r, g, b)" to 0xAABBGGRR. */
export function packColor(color: string): number {
  const hex = /^#(..)(..)(..)$/.exec(color);
  const parts = hex
    ? [hex[1], hex[2], hex[3]].map((part) => parseInt(part!, 16))
    : (color.match(/\d+/g) ?? []).slice(0, 3).map(Number);
  const [r = 0, g = 0, b = 0] = parts;
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** Returns black or white, whichever has the higher contrast (WCAG 2) on a color. */
export function inkOn(color: string): string {
  const packed = packColor(color);
  const channel = (shift: number) => {
    const c = ((packed >>> shift) & 255) / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  const luminance = 0.2126 * channel(0) + 0.7152 * channel(8) + 0.0722 * channel(16);
  return luminance > 0.179 ? "#000000" : "#ffffff";
}
