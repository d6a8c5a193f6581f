import { describe, expect, it } from "vitest";
import { Blocks } from "../src/data/blocks";
import { storyCircuit } from "../src/data/circuit";
import type { Doc } from "../src/data/doc";
import { find } from "../src/data/find";
import { mappedHeads } from "../src/data/mapped_heads";
import { measuredOn } from "../src/data/measure";
import { cutGroups } from "../src/data/cut_groups";
import { Run } from "../src/data/run";
import type { EdgeFilter } from "../src/ui/store";
import { negativeCaveat } from "../src/views/story";

const column = (name: string, values: (string | number | null)[]) => ({ name, values });

function makeRun(standing: "yes" | "no", cut: boolean): Run {
  const doc: Doc = {
    format: 1,
    title: "made up",
    program: "",
    notes: [],
    manifest: { files: {}, commands: {} },
    tables: {
      heads: {
        rows: 6,
        columns: [
          column("head", ["L0H0", "L0H1", "L0KV0", "L1H0", "L1H1", "L1KV0"]),
          column("classes", ["previous", "", "", "induction", "", ""]),
        ],
      },
      edges: {
        rows: 2,
        columns: [
          column("pair", ["OQ", "OK"]),
          column("source", ["L0H0", "L0H1"]),
          column("target", ["L1H1", "L1KV0"]),
          column("score", [3, 2]),
          column("rank", [1, 1]),
          column("z_matched", [9, 12]),
          column("beyond_chance", [standing, standing]),
          column("stands_out", ["no", "no"]),
        ],
      },
      ...(cut && {
        patch: {
          rows: 2,
          columns: [
            column("pair", ["OQ", "OK"]),
            column("source", ["L0H0", "L0H1"]),
            column("target", ["L1H1", "L1KV0"]),
            column("z", [9, 12]),
            column("effect", [-1.5, 0.1]),
            column("kind", ["top", "control"]),
            column("in_circuit", ["yes", "no"]),
          ],
        },
      }),
    },
  };
  return new Run(doc, new Blocks({} as Document));
}

describe("the circuit of the story", () => {
  it("has the edges that change the output when they are cut", () => {
    const circuit = storyCircuit(makeRun("yes", true))!;
    expect(circuit.source).toBe("cut");
    expect(circuit.edges.map((edge) => [edge.source, edge.effect])).toEqual([["L0H0", -1.5]]);
  });
  it("has the edges of largest z if none was cut", () => {
    const circuit = storyCircuit(makeRun("yes", false))!;
    expect(circuit.source).toBe("weights");
    expect(circuit.edges.map((edge) => edge.z)).toEqual([12, 9]);
  });
  it("does not exist if nothing is beyond chance", () => expect(storyCircuit(makeRun("no", false))).toBeNull());
});

describe("the caveat on cut edges", () => {
  it("says of each group with a negative verdict whether there is no effect or too few edges", () => {
    const [group] = cutGroups(makeRun("yes", true));
    const none = { ...group!, effect: "none" as const };
    const few = { ...group!, effect: "few" as const, ends: "an MLP" };
    expect(negativeCaveat([none], "none")).toBe("The edges that were cut do not change more than random edges do.");
    expect(negativeCaveat([few, few], "few")).toBe(
      "Too few edges were cut to tell whether they change more than random edges do.",
    );
    expect(negativeCaveat([none, few], "few")).toMatch(/^Too few edges to an MLP were cut to tell/);
  });
});

describe("what was cut on", () => {
  const on = (identity: Record<string, string>) => {
    const run = makeRun("yes", true);
    run.doc.manifest.commands.patch = { identity };
    return measuredOn(run);
  };
  it("is named without folders", () => {
    expect(on({ ids: "/home/me/repeated.npy", text: "" })).toBe("the token ids in repeated.npy");
    expect(on({ ids: "17,4,900" })).toBe("the token ids that were given");
    expect(on({ image: "photos/a.png,photos/b.png" })).toBe("the images in a.png and 1 more");
    expect(on({ text: "List: key" })).toBe("the text \u201cList: key\u201d");
    expect(on({})).toBeNull();
  });
});

describe("the box", () => {
  const run = makeRun("yes", false);
  const filter = { layers: null } as EdgeFilter;
  const labels = (text: string) => find(run, text, { filter }).map((one) => one.label);
  it("finds heads by name in three spellings", () => {
    for (const text of ["L1H0", "l1h0", "1.0", "1,0"]) expect(labels(text)).toEqual(["L1H0"]);
    expect(labels("L1")).toEqual(["layer 1", "L1H0", "L1H1", "L1KV0"]);
  });
  it("finds edges, classes and layers", () => {
    expect(labels("0.1 > L1")).toEqual(["L0H1 \u2192 L1KV0"]);
    expect(labels("indu")).toEqual(["L1H0"]);
    expect(find(run, "layer 1", { filter })[0]!.state.filter!.layers).toEqual([0, 1]);
  });
  it("finds nothing in an empty or unknown text", () => {
    for (const text of ["", "  ", "layer 9", "nothing"]) expect(labels(text)).toEqual([]);
  });
});

describe("the maps of a head", () => {
  it("are its own, or those of the query heads that use a KV head", () => {
    const run = makeRun("yes", false);
    expect(mappedHeads(run, "L1H1")).toEqual(["L1H1"]);
    expect(mappedHeads(run, "L1KV0")).toEqual(["L1H0", "L1H1"]);
  });
  it("are those of later layers, too, if these use the KV head", () => {
    const { doc } = makeRun("yes", false);
    const heads = doc.tables!.heads!;
    heads.columns.push(column("uses", ["L0KV0", "L0KV0", "", "L0KV0", "L1KV0", ""]));
    const run = new Run(doc, new Blocks({} as Document));
    expect(mappedHeads(run, "L0KV0")).toEqual(["L0H0", "L0H1", "L1H0"]);
    expect(mappedHeads(run, "L1KV0")).toEqual(["L1H1"]);
  });
});
