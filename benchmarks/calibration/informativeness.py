"""Does the interval of a pair's informativeness cover the truth?

The truth is KL(random || observed) with the bins of the paper, where observed is the population that the heads are
drawn from: here the projection kernels of 600 x 600 heads.
"""

from __future__ import annotations

import math

import numpy as np
from harness import Row, column, coverage_bounds, headscope, scratch, table, write_model
from spectra import rotation, spectrum, subspaces

ORDER = 6

WIDTH = 0.252
D, H, HEADS, LAYERS = 64, 16, 8, 6
CASES = {"medium": 0.5, "strong": 0.65}  # how much of the mean projector is a power law, the rest flat


def gaussian(x: np.ndarray) -> np.ndarray:
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in x])


def divergence(kernels: np.ndarray, d: int, h: int) -> float:
    """KL(random || observed) of very many kernels: bins of the paper, half a count for what is empty."""
    mean = h * h / d
    deviation = math.sqrt(2 * h * h * (d - h) ** 2 / (d * d * (d - 1) * (d + 2)))
    first = max(0, math.floor((mean - 8 * deviation) / WIDTH))
    edges = np.arange(first, math.floor((mean + 8 * deviation) / WIDTH) + 2) * WIDTH
    cumulative = gaussian((edges - mean) / deviation)
    random = np.diff(cumulative)
    kept = random > 1e-12
    counts = np.histogram(kernels, edges)[0][kept] + 0.5
    observed = counts / (kernels.size + 0.5 * kept.sum())
    return float(np.sum(random[kept] * np.log(random[kept] / observed)))


def kernels(sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """||U^T V||^2 of all pairs of bases (count, d, h)."""
    h = sources.shape[2]
    stacked = targets.transpose(1, 0, 2).reshape(targets.shape[1], -1)
    return np.array([((basis.T @ stacked) ** 2).reshape(h, -1, h).sum(axis=(0, 2)) for basis in sources])


def intervals(heads: dict[str, np.ndarray]) -> dict[str, tuple[float, float] | None]:
    """Low and high end of every pair of roles; None where the program gives no interval."""
    with scratch() as folder:
        model = write_model(folder / "model", "rms", heads)
        headscope("relate", model, "-o", folder / "run", "--null", "isotropic", "--tokens-for", "none", "--quiet")
        rows = table(folder / "run/informativeness.csv")
    low, high = column(rows, "kl_low"), column(rows, "kl_high")
    return {row["pair"]: None if np.isnan(low[i]) else (low[i], high[i]) for i, row in enumerate(rows)}


def coverage(case: str, truth: float, found: list[tuple[float, float] | None]) -> list[Row]:
    inside = [low <= truth <= high for low, high in filter(None, found)]
    least, most = coverage_bounds(max(1, len(inside)))
    share = float(np.mean(inside)) if inside else float("nan")
    rows = [Row(f"{case}, {truth:.2f} nats", "intervals that cover the truth", share, round(least, 3),
                round(most, 3), len(inside))]  # fmt: skip
    if len(inside) < len(found):
        rows.append(Row(case, "pairs of roles without an interval", len(found) - len(inside), trials=len(found)))
    return rows


def measure(case: str, models: int, short: bool) -> list[Row]:
    random = np.random.default_rng(len(case))
    share = CASES[case]
    values = share * spectrum("power law", D, H) + (1 - share) * H / D
    basis, other = rotation(D, random), rotation(D, random)

    def draw(role: str, count: int) -> np.ndarray:
        return subspaces(values, other if role == "K" else basis, count, H, random)

    count = 200 if short else 600
    population = {role: draw(role, count).astype(np.float32) for role in "OQK"}
    related = divergence(kernels(population["O"], population["Q"]), D, H)
    unrelated = divergence(kernels(population["O"], population["K"]), D, H)
    found = []
    for _ in range(models):
        found.append(intervals({role: draw(role, LAYERS * HEADS).reshape(LAYERS, HEADS, D, H) for role in "QKVO"}))
    rows = coverage(f"{case} wiring", related, [one[pair] for one in found for pair in ("OQ", "OV")])
    return rows + coverage("no wiring", unrelated, [one["OK"] for one in found])


def run(short: bool) -> list[Row]:
    return [row for case in (("medium",) if short else CASES) for row in measure(case, 20 if short else 80, short)]
