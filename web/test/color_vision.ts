import { packColor } from "../src/draw/color";

type Triple = [number, number, number];

/** Machado, Oliveira and Fernandes (2009), severity 1; applied to linear RGB. */
const matrices: Record<string, Triple[]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
export const visions = Object.keys(matrices);

const times = (m: Triple[], v: Triple) => m.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]) as Triple;

/** Returns a color as CIE Lab (D65), as seen with a kind of color vision. */
function lab(color: string, vision: string): Triple {
  const packed = packColor(color);
  const linear = [0, 8, 16].map((shift) => {
    const c = ((packed >>> shift) & 255) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as Triple;
  const seen = times(matrices[vision]!, linear).map((c) => Math.min(1, Math.max(0, c))) as Triple;
  const [x, y, z] = times(
    [
      [0.4124, 0.3576, 0.1805],
      [0.2126, 0.7152, 0.0722],
      [0.0193, 0.1192, 0.9505],
    ],
    seen,
  );
  const f = (t: number) => (t > 216 / 24389 ? Math.cbrt(t) : (t * 24389) / 27 / 116 + 16 / 116);
  const [a, b, c] = [f(x / 0.9505), f(y), f(z / 1.089)];
  return [116 * b - 16, 500 * (a - b), 200 * (b - c)];
}

/** Returns the smallest Lab distance (CIE 1976) between two colors, and these colors. */
export function closest(colors: readonly string[], vision: string): { distance: number; pair: string } {
  let best = { distance: Infinity, pair: "" };
  colors.forEach((one, i) =>
    colors.slice(i + 1).forEach((other) => {
      const [p, q] = [lab(one, vision), lab(other, vision)];
      const distance = Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
      if (distance < best.distance) best = { distance, pair: `${one} ${other}` };
    }),
  );
  return best;
}
