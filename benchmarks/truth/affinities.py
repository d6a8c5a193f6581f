"""Reads the affinities that `headscope relate` wrote for a model, by the names of its heads; larger where closer."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from harness import headscope

METRICS = "pk cs simple-cs coupling cka max-cos procrustes binet-cauchy chordal grassmann".split()
DISTANCES = {"chordal", "grassmann"}


def relate_all(model: Path, run: Path, pairs: str, metrics: list[str] = METRICS) -> Path:
    """Every metric of every pair of heads of these roles."""
    headscope("relate", model, "-o", run, "--pairs", pairs, "--metric", ",".join(metrics), "--earlier-only",
              "--tokens-for", "none", "--quiet")  # fmt: skip
    return run


class Affinities:
    """The arrays of one run and one pair of roles."""

    def __init__(self, run: Path, pair: str, metrics: list[str] = METRICS) -> None:
        with (run / "heads.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        self.query = {row["head"]: place for place, row in enumerate(row for row in rows if row["kind"] == "query")}
        shared = [row["head"] for row in rows if row["kind"] == "kv"]
        grouped = {name: place for place, name in enumerate(shared)}
        self.target = grouped if pair[1] in "KV" and grouped else self.query
        self.group = len(self.query) // len(self.target)
        self.arrays = {metric: np.load(run / f"affinity/{metric}_{pair}.npy") for metric in metrics}

    def score(self, metric: str, source: str, target: str) -> float:
        """Composition scores of a KV head: those of its query heads run over query heads; the largest counts."""
        array, row, column = self.arrays[metric], self.query[source], self.target[target]
        sign = -1 if metric in DISTANCES else 1
        if array.shape[1] == len(self.target):
            return sign * float(array[row, column])
        return sign * float(np.max(array[row, self.group * column : self.group * (column + 1)]))

    def earlier_to_later(self) -> list[tuple[str, str]]:
        return [(one, two) for one in self.query for two in self.target if layer_of(one) < layer_of(two)]


def layer_of(head: str) -> int:
    """12 of L12H3 and of L12KV1."""
    digits = head[1:].split("K" if "K" in head else "H")[0]
    return int(digits)
