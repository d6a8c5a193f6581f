import { describe, expect, it } from "vitest";
import { formatNumber, formatPower, logScale } from "../src/draw/axes";
import { categorical, inkOn, lookup, packColor, viridis } from "../src/draw/color";
import { colorCells, minMax, range } from "../src/draw/heatmap";
import { cellColor, escapeXml, SvgSurface } from "../src/draw/svg";
import { Camera } from "../src/views/camera";
import { labelStep } from "../src/views/grid";

const surface = () =>
  new SvgSurface(
    "#000000",
    (text) => text.length * 6,
    () => "data:,",
  );

describe("SVG", () => {
  it("escapes text and replaces characters that XML cannot represent", () => {
    const text = escapeXml(`</text><script>"&'\u0000\ud83d`);
    expect(text).toBe("&lt;/text&gt;&lt;script&gt;&quot;&amp;'\ufffd\ufffd");
    expect(escapeXml("\u{1f600}")).toBe("\u{1f600}");
  });
  it("writes one rectangle per run of equal cells and none for blank cells", () => {
    const s = surface();
    const red = packColor("#ff0000");
    s.cells({ rows: 1, columns: 4, colors: Uint32Array.from([red, red, 0, red]) }, 0, 0, 40, 10);
    const svg = s.document(40, 10, "#ffffff", "t");
    expect(svg.match(/fill="#ff0000"/g)).toHaveLength(2);
    expect(svg).toContain('width="20"');
  });
  it("writes an image if there are too many cells", () => {
    const s = surface();
    s.cells({ rows: 300, columns: 300, colors: new Uint32Array(90000) }, 0, 0, 10, 10);
    expect(s.document(10, 10, "#ffffff", "t")).toContain("<image");
  });
});

describe("colors", () => {
  it("are converted to 0xAABBGGRR and back", () => {
    expect(cellColor(packColor("#0072b2"))).toEqual({ fill: "#0072b2", opacity: 1 });
    expect(packColor("rgb(1, 2, 3)")).toBe(0xff030201);
  });
  it("have text with a contrast of at least 4.5 on every step of the ramp and every category", () => {
    const luminance = (color: string) => {
      const { fill } = cellColor(packColor(color));
      const [r, g, b] = [1, 3, 5]
        .map((i) => parseInt(fill.slice(i, i + 2), 16) / 255)
        .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
    };
    for (const color of [...range(32).map((i) => viridis(i / 31)), ...categorical]) {
      const [a, b] = [luminance(color), luminance(inkOn(color))];
      expect((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), color).toBeGreaterThanOrEqual(4.5);
    }
  });
  it("get lighter along the ramp", () => {
    const steps = lookup(viridis);
    const light = (color: number) =>
      0.2126 * (color & 255) + 0.7152 * ((color >> 8) & 255) + 0.0722 * ((color >> 16) & 255);
    for (let i = 8; i < 256; i += 8) expect(light(steps[i]!)).toBeGreaterThan(light(steps[i - 8]!));
  });
});

describe("heat maps", () => {
  const colors = Uint32Array.from({ length: 256 }, (_, i) => i + 1);
  it("leave NaN blank and clamp values to the scale", () => {
    const values = [
      [-1, 0],
      [0.5, NaN],
    ];
    const cells = colorCells(2, 2, (r, c) => values[r]![c]!, [0, 1], colors);
    expect([...cells.colors]).toEqual([1, 1, 129, 0]);
  });
  it("ignore NaN in min and max", () => {
    expect(minMax(1, 3, (_, c) => [NaN, 2, -1][c]!)).toEqual([-1, 2]);
    expect(minMax(1, 1, () => NaN)).toEqual([0, 0]);
  });
});

describe("numbers", () => {
  it("have few digits", () => {
    expect([0, 1.2345, 12345, 1234567, 0.00012345, -0.5, NaN].map((v) => formatNumber(v))).toEqual([
      "0",
      "1.23",
      "12,345",
      "1.23e6",
      "1.23e-4",
      "-0.5",
      "\u2013",
    ]);
    expect([0.001, 1, 1000, 1e-5].map(formatPower)).toEqual(["0.001", "1", "1,000", "1e-5"]);
  });
  it("have ticks at some powers of ten", () => {
    expect(logScale([1, 1000], [0, 1]).ticks).toEqual([1, 10, 100, 1000]);
    expect(logScale([1e-12, 1], [0, 1], 4).ticks.length).toBeLessThanOrEqual(5);
  });
  it("of labels keep a min distance", () => {
    expect(labelStep(30, 20)).toBe(1);
    expect(labelStep(3, 11)).toBe(4);
    for (const spacing of [0.1, 0.7, 3, 12]) expect(labelStep(spacing, 11) * spacing).toBeGreaterThanOrEqual(11);
  });
});

describe("camera", () => {
  it("shows the origin in the middle and near points larger", () => {
    const camera = new Camera();
    camera.fit(800, 600);
    expect(camera.project([0, 0, 0])).toMatchObject({ x: 400, y: 300, scale: 1 });
    const [x, y, z] = camera.position().map((v) => v / camera.distance) as [number, number, number];
    expect(camera.project([x, y, z]).scale).toBeGreaterThan(1);
    expect(camera.project([x, y, z]).x).toBeCloseTo(400, 9);
  });
  it("shows the third coordinate upwards", () => {
    const camera = new Camera();
    camera.fit(800, 600);
    expect(camera.project([0, 0, 1]).y).toBeLessThan(300);
  });
});
