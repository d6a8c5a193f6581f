import { describe, expect, it } from "vitest";
import { layoutStory } from "../src/views/story_layout";

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
