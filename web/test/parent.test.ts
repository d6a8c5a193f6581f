import { describe, expect, it } from "vitest";
import { readSelection } from "../src/ui/parent";

const read = (message: unknown) => readSelection(message, (name) => /^L\dH\d$/.test(name));
const select = (part: object) => read({ headscope: 1, type: "select", head: null, edge: null, pins: [], ...part });
const nothing = { head: null, edge: null, pins: [] };

describe("a message of the window around the page", () => {
  it("selects a head, an edge and pins", () =>
    expect(select({ head: "L1H3", edge: "OK:L0H1>L1H3", pins: ["L0H1", "L1H3"] })).toEqual({
      head: "L1H3",
      edge: { pair: "OK", source: "L0H1", target: "L1H3" },
      pins: ["L0H1", "L1H3"],
    }));
  it("selects nothing that the run does not have", () => {
    expect(select({ head: "L10H3", edge: "OK:L0H1>L10H3", pins: ["x", 3, null, ["L0H1"], "L0H1"] })).toEqual({
      ...nothing,
      pins: ["L0H1"],
    });
    expect(select({ head: { name: "L1H3" }, edge: ["OK", "L0H1", "L1H3"] })).toEqual(nothing);
    expect(select({ edge: "OK:L0H1>L1H3<script>" })).toEqual(nothing);
  });
  it("pins every head once and at most six", () => {
    const names = ["L0H0", "L0H1", "L0H2", "L0H3", "L0H4", "L0H5", "L0H6"];
    expect(select({ pins: ["L0H0", ...names] })!.pins).toEqual(names.slice(0, 6));
  });
  it("of another shape is none", () => {
    for (const other of [undefined, null, 3, "L1H3", [], {}, { headscope: 2, type: "select", pins: [] }])
      expect(read(other)).toBeNull();
    expect(select({ pins: "L1H3" })).toBeNull();
    expect(select({ type: "selection" })).toBeNull();
  });
});
