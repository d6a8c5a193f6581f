"""Are scores, z, p and q what their formulas give, computed again in NumPy?"""

from __future__ import annotations

import math

import numpy as np
from harness import Row, column, scratch, write_model
from nulls import all_edges
from spectra import planted_heads

ORDER = 0

D, H, HEADS, LAYERS = 64, 8, 8, 4


def kernel(source: np.ndarray, target: np.ndarray) -> float:
    """||U^T V||^2 of orthonormal bases of the two column spaces."""
    return float(np.sum((np.linalg.qr(source)[0].T @ np.linalg.qr(target)[0]) ** 2))


def head(name: str) -> tuple[int, int]:
    layer, index = name[1:].replace("KV", "H").split("H")
    return int(layer), int(index)


def isotropic(dimension: int) -> tuple[float, float]:
    """Mean and deviation of the kernel of two random subspaces of dimension H."""
    variance = 2 * H * H * (dimension - H) ** 2 / (dimension**2 * (dimension - 1) * (dimension + 2))
    return H * H / dimension, math.sqrt(variance)


def log10_beta_tail(values: np.ndarray, mean: float, deviation: float) -> np.ndarray:
    """log10 P(X >= value) for the Beta law on [0, H] with that mean and deviation, by adding up its density."""
    m, v = mean / H, (deviation / H) ** 2
    n = m * (1 - m) / v - 1
    a, b = m * n, (1 - m) * n
    grid = np.linspace(0, 1, 2_000_001)
    middle = (grid[1:] + grid[:-1]) / 2
    constant = math.lgamma(n) - math.lgamma(a) - math.lgamma(b)
    density = np.exp(constant + (a - 1) * np.log(middle) + (b - 1) * np.log1p(-middle))
    tail = np.append(np.cumsum(density[::-1])[::-1], 0) * (grid[1] - grid[0])
    with np.errstate(divide="ignore"):
        return np.interp(values / H, grid[:-1], np.log10(tail[:-1]))


def q_values(p: np.ndarray) -> np.ndarray:
    """Benjamini and Hochberg."""
    order = np.argsort(p)
    raised = p[order] * len(p) / np.arange(1, len(p) + 1)
    found = np.empty_like(p)
    found[order] = np.minimum.accumulate(raised[::-1])[::-1]
    return np.minimum(found, 1)


def measure(norm: str) -> list[Row]:
    heads = planted_heads("three common directions", LAYERS, HEADS, D, H, np.random.default_rng(len(norm)))
    with scratch() as folder:
        edges = all_edges(write_model(folder / "model", norm, heads), folder / "run", "--null", "isotropic,matched")
    centered = norm == "layer"
    used = {role: array - array.mean(axis=2, keepdims=True) if centered else array for role, array in heads.items()}
    scores = np.array([kernel(used["O"][head(e["source"])], used[e["pair"][1]][head(e["target"])]) for e in edges])
    mean, deviation = isotropic(D - 1 if centered else D)
    z = (scores - mean) / deviation
    log10_p = log10_beta_tail(scores, mean, deviation)
    pairs = column(edges, "pair", str)
    wrong_q = 0.0
    for null in ("isotropic", "matched"):
        p = column(edges, f"log10_p_{null}")
        for pair in np.unique(pairs):
            said = column(edges, f"q_{null}")[pairs == pair]
            wrong_q = max(wrong_q, float(np.max(np.abs(said - np.maximum(q_values(10 ** p[pairs == pair]), 1e-12)))))
    # Under the matched null the mean over all pairs of heads, earlier or not, is exact: so are differences of z.
    matched = column(edges, "z_matched")[pairs == "OQ"]
    slope = np.polyfit(scores[pairs == "OQ"], matched, 1)
    every = [kernel(a, b) for a in used["O"].reshape(-1, D, H) for b in used["Q"].reshape(-1, D, H)]
    mean_matched = -slope[1] / slope[0]
    case, count = f"d{D} h{H}" + (", centered" if centered else ""), len(edges)
    errors = {
        "a score": (np.abs(column(edges, "score") - scores), 1e-4),
        "z, isotropic": (np.abs(column(edges, "z_isotropic") - z), 1e-3),
        "log10 p, isotropic": (np.abs(column(edges, "log10_p_isotropic") - log10_p)[log10_p > -30], 0.01),
        "q": (np.array(wrong_q), 1e-3),
        "the mean of matched": (np.abs(mean_matched - np.mean(every)), 1e-3),
    }
    return [Row(case, f"largest error of {name}", float(np.max(error)), None, most, count)
            for name, (error, most) in errors.items()]  # fmt: skip


def run(short: bool) -> list[Row]:
    return measure("rms") + ([] if short else measure("layer"))
