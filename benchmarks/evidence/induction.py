"""Do the weights of SmolLM2 show which heads feed its induction heads?"""

from __future__ import annotations

import numpy as np
from detectors import heads_of
from real_runs import detected, related, told
from scoring import auc, average_precision, ranks

from affinities import METRICS, Affinities
from report import markdown_table

ORDER = 4
MODEL = "smollm2"
OPTIONS = ("--pairs", "OK", "--metric", ",".join([*METRICS, "rope-cs"]), "--earlier-only", "--top", "20000")


def ends() -> tuple[list[str], list[str]]:
    """Previous-token heads, and KV heads that serve an induction head, by what they attend to."""
    found = detected(MODEL)
    group = 3  # query heads per KV head
    previous = [head["head"] for head in heads_of(found, "previous")]
    serving: dict[str, None] = {}  # in order, once each
    for head in heads_of(found, "induction"):
        layer, number = head["head"][1:].split("H")
        serving[f"L{layer}KV{int(number) // group}"] = None
    return previous, list(serving)


def run() -> str:
    folder, result = related(MODEL, *OPTIONS)
    found = Affinities(folder, "OK", [*METRICS, "rope-cs"])
    pairs = found.earlier_to_later()
    previous, serving = ends()
    truth = np.array([source in previous and target in serving for source, target in pairs])
    rows = []
    for metric in found.arrays:
        values = np.array([found.score(metric, *pair) for pair in pairs])
        rows.append([f"`{metric}`", f"{average_precision(values, truth):.3f}", f"{auc(values, truth):.3f}"])
    z = {(row["source"], row["target"]): row["z_matched"] for row in result["edges"]}
    values = np.array([z[pair] for pair in pairs])
    rows.insert(1, ["z of `pk`", f"{average_precision(values, truth):.3f}", f"{auc(values, truth):.3f}"])
    place = len(pairs) + 1 - ranks(values)
    true = sorted((int(rank), *pair) for rank, pair, holds in zip(place, pairs, truth, strict=True) if holds)
    listed = [[f"{source} > {target}", str(rank), f"{z[source, target]:.0f}"] for rank, source, target in true[:10]]
    beyond = {(row["source"], row["target"]) for row in result["edges"] if row["beyond_chance"]}
    kept = sum((source, target) in beyond for _, source, target in true)
    return "\n\n".join([
        f"Truth by attention alone: pairs from a previous-token head ({', '.join(previous)}) to a later KV head that "
        f"serves an induction head "
        f"({', '.join(serving)}), {truth.sum()} of {len(pairs):,} OK pairs. Not every such pair need be wired, and "
        f"other wiring is real, too: "
        "average precision cannot reach 1. Every metric against this truth:",
        markdown_table(["metric", "average precision", "AUC"], rows),
        f"Of the {truth.sum()} pairs, {kept} are beyond chance. The closest by z, with the rank among all "
        f"{len(pairs):,}:",
        markdown_table(["edge", "rank by z", "z"], listed),
        f"`{told('relate', *OPTIONS, '-o RUN', model=MODEL)}` and `{told('detect', '-o RUN', model=MODEL)}`",
    ])  # fmt: skip
