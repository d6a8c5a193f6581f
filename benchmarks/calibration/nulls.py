"""Are p-values uniform and z-scores standard on data of the null's own kind?"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from harness import Row, column, headscope, scratch, table, write_model
from spectra import SPECTRA, planted_heads

ORDER = 1


@dataclass(frozen=True)
class Shape:
    d: int
    h: int
    heads: int  # per layer
    layers: int
    models: int

    @property
    def name(self) -> str:
        return f"d{self.d} h{self.h}"


FULL = (Shape(64, 8, 8, 8, 4), Shape(128, 16, 8, 8, 3), Shape(256, 32, 8, 8, 3), Shape(768, 64, 12, 6, 2))
SHORT = (Shape(64, 8, 8, 6, 2), Shape(128, 16, 8, 6, 2))
SHORT_SPECTRA = ("flat", "three common directions")


@dataclass
class Found:
    """z and p of all pairs of some models."""

    z: list[np.ndarray] = field(default_factory=list)
    p: list[np.ndarray] = field(default_factory=list)

    def add(self, edges: list[dict[str, str]], null: str) -> None:
        self.z.append(column(edges, f"z_{null}"))
        self.p.append(column(edges, f"p_{null}"))

    def rows(self, case: str, null: str, mean_bound: float, short: bool) -> list[Row]:
        z, p = np.concatenate(self.z), np.concatenate(self.p)
        low, high = (0.035, 0.075) if short else (0.04, 0.07)
        return [
            Row(case, f"{null}: P(p < .05)", float(np.mean(p < 0.05)), low, high, len(p)),
            Row(case, f"{null}: P(p < .001)", float(np.mean(p < 0.001)), None, None if short else 0.003, len(p)),
            Row(case, f"{null}: mean z", float(np.mean(z)), -mean_bound, mean_bound, len(z)),
            Row(case, f"{null}: deviation of z", float(np.std(z)), trials=len(z)),
        ]


def all_edges(model: Path, run: Path, *words: str) -> list[dict[str, str]]:
    """Every pair of heads from an earlier to a later layer, not only the kept ones."""
    options = ["--top", "1000000", "--earlier-only", "--tokens-for", "none", "--quiet", "--force", *words]
    headscope("relate", model, "-o", run, *options)
    return table(run / "edges.csv")


def measure(shape: Shape, spectrum: str, norm: str, nulls: tuple[str, ...], short: bool) -> list[Row]:
    found = {null: Found() for null in nulls}
    random = np.random.default_rng([shape.d, SPECTRA.index(spectrum), len(norm)])
    for _ in range(shape.models):
        with scratch() as folder:
            heads = planted_heads(spectrum, shape.layers, shape.heads, shape.d, shape.h, random)
            edges = all_edges(write_model(folder / "model", norm, heads), folder / "run", "--null", ",".join(nulls))
        for null in nulls:
            found[null].add(edges, null)
    case = f"{shape.name}, {spectrum}" + (", centered" if norm == "layer" else "")
    bounds = {"isotropic": 0.05, "matched": 0.15}
    return [row for null in nulls for row in found[null].rows(case, null, bounds[null], short)]


def run(short: bool) -> list[Row]:
    rows = []
    for shape in SHORT if short else FULL:
        rows += measure(shape, "flat", "layer", ("isotropic", "matched"), short)
        for spectrum in SHORT_SPECTRA if short else SPECTRA:
            nulls = ("isotropic", "matched") if spectrum == "flat" else ("matched",)
            rows += measure(shape, spectrum, "rms", nulls, short)
    return rows
