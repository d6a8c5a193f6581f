import { describe, expect, it } from "vitest";
import { layoutStory, placeLabels } from "../src/views/story_layout";

const edge = (source: string, target: string) => ({ pair: "OK", source, target });
const chain = Array.from({ length: 8 }, (_, i) => edge(`L${2 * i}H0`, `L${2 * i + 3}H1`));
const small = [edge("L0H0", "L1H0"), edge("L0H0", "L2H0"), edge("L1H0", "L2H1")];

describe("the picture of the story", () => {
  it("has one column per layer if there is room", () => {
    const { places, byLayer } = layoutStory(small, 1300, true, true);
    expect(byLayer).toBe(true);
    expect(places.get("L2H0")!.x).toBe(places.get("L2H1")!.x);
  });
  for (const width of [360, 1300])
    it(`fits ${width} pixels, lines lead to the right, and no heads overlap`, () => {
      for (const edges of [small, chain]) {
        const wide = width >= 600;
        const { places, size, height, right } = layoutStory(edges, width, wide, true);
        expect(right).toBeLessThanOrEqual(width);
        for (const { source, target } of edges)
          expect(places.get(source)!.x + size).toBeLessThan(places.get(target)!.x);
        const all = [...places.values()];
        for (const [i, a] of all.entries()) {
          expect(a.y + size / 2).toBeLessThan(height - 20);
          for (const b of all.slice(i + 1))
            expect(Math.abs(a.x - b.x) >= size || Math.abs(a.y - b.y) >= size + 30).toBe(true);
        }
      }
    });
});

describe("labels of the lines in the story", () => {
  const overlaps = (a: { x: number; y: number }, b: { x: number; y: number }, widths: number) =>
    Math.abs(a.x - b.x) < widths && Math.abs(a.y - b.y) < 17;

  it("do not cover each other where two lines join the same heads, or several end in one", () => {
    const lines = [
      { from: { x: 100, y: 200 }, to: { x: 400, y: 230 }, half: 55 },
      { from: { x: 100, y: 190 }, to: { x: 400, y: 252 }, half: 55 },
      { from: { x: 450, y: 240 }, to: { x: 800, y: 60 }, half: 55 },
      { from: { x: 450, y: 90 }, to: { x: 800, y: 60 }, half: 55 },
      { from: { x: 450, y: 170 }, to: { x: 800, y: 60 }, half: 55 },
    ];
    const places = placeLabels(lines);
    for (let i = 0; i < places.length; ++i)
      for (let j = 0; j < i; ++j) expect(overlaps(places[i]!, places[j]!, 110), `${i} and ${j}`).toBe(false);
  });

  it("are next to the target if nothing is in the way", () => {
    const [place] = placeLabels([{ from: { x: 0, y: 0 }, to: { x: 100, y: 0 }, half: 10 }]);
    expect(place!.x).toBeGreaterThan(60);
  });
});
