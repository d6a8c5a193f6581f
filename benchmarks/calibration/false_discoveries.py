"""How often does a pair of roles without any wiring have an edge with q < .05, or a significant hub?"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from harness import Row, column, flag, scratch, table, write_model
from nulls import Shape, all_edges
from spectra import planted_heads

ORDER = 2
MOST = 0.10

FULL = (Shape(32, 4, 8, 4, 150), Shape(64, 8, 8, 4, 120), Shape(256, 32, 8, 4, 60))
SHORT = (Shape(32, 4, 8, 4, 24),)
METRICS = ("pk", "cs", "cka", "simple-cs", "coupling")


def measure(shape: Shape, metric: str, norm: str, short: bool) -> list[Row]:
    random = np.random.default_rng([shape.d, METRICS.index(metric), len(norm)])
    nulls = ("isotropic", "matched") if metric == "pk" else ("isotropic",)
    false: defaultdict[str, list[bool]] = defaultdict(list)
    for _ in range(shape.models):
        with scratch() as folder:
            heads = planted_heads("flat", shape.layers, shape.heads, shape.d, shape.h, random)
            model = write_model(folder / "model", norm, heads)
            edges = all_edges(model, folder / "run", "--metric", metric, "--null", ",".join(nulls), "--threads", "1")
            hubs = table(folder / "run/hubs.csv")
        pairs = column(edges, "pair", str)
        for null in nulls:
            found = column(edges, f"q_{null}") < 0.05
            false[null] += [bool(np.any(found[pairs == pair])) for pair in np.unique(pairs)]
        if metric == "pk" and hubs and "significant" in hubs[0]:
            false["hubs"].append(bool(np.any(flag(hubs, "significant"))))
    case = f"{shape.name}, {metric}" + (", centered" if norm == "layer" else "")
    rows = []
    for what, claims in false.items():
        figure = "models with a significant hub" if what == "hubs" else f"{what}: pairs of roles with any q < .05"
        slack = 3 * np.sqrt(MOST * (1 - MOST) / len(claims)) if short else 0  # three deviations of so few trials
        rows.append(Row(case, figure, float(np.mean(claims)), None, round(MOST + slack, 3), len(claims)))
    return rows


def run(short: bool) -> list[Row]:
    rows = []
    for shape in SHORT if short else FULL:
        rows += measure(shape, "pk", "rms", short)
        rows += measure(shape, "pk", "layer", short)
    for metric in ("cs",) if short else METRICS[1:]:
        rows += measure((SHORT if short else FULL)[0], metric, "rms", short)
    return rows
