"""How often `headscope compare` claims a difference where there is none.

Draws the features of two runs from one distribution and applies the rule of `compare` (docs/compare.md): a permutation
test with step-down maxT over the features, and difference > spread. Next to it Welch's t test with Holm's correction.
Prints, per distribution and numbers of inputs, the percentage of comparisons with any false claim; at most 5 is right.

    python benchmarks/calibration/compare.py                        # made-up features
    python benchmarks/calibration/compare.py --features RUN/features.csv --name first-half
                                                                    # inputs of one run of `compare`, split at random
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import defaultdict
from functools import partial
from itertools import combinations

import numpy as np

LEVEL = 0.05
SIZES = ((1, 24), (2, 6), (2, 12), (3, 4), (3, 12), (4, 4), (6, 6), (12, 12))


def draw(kind: str, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    if kind == "normal":
        return rng.standard_normal(shape)
    if kind == "heavy (t, 2 df)":
        return rng.standard_t(2, shape)
    if kind == "skewed (log-normal)":
        return np.exp(rng.standard_normal(shape))
    return (rng.random(shape) < 0.15).astype(float)


def made_up(kind: str, rng: np.random.Generator, inputs: int) -> list[np.ndarray]:
    """13 numbers that share part of their variation, and 4 curves of 8 points with correlation 0.9: [input, point]."""
    shared = draw(kind, rng, (inputs, 1))
    features = [0.5 * shared + draw(kind, rng, (inputs, 1)) for _ in range(13)]
    for _ in range(4):
        common = draw(kind, rng, (inputs, 1))
        features.append(math.sqrt(0.9) * common + math.sqrt(0.1) * draw(kind, rng, (inputs, 8)))
    return features


def assignments(n: int, m: int, rng: np.random.Generator, most: int) -> np.ndarray:
    """Rows say which inputs belong to the first run; the first row is the observed one. All, or random ones."""
    if math.comb(n + m, n) <= most:
        rows = np.zeros((math.comb(n + m, n), n + m))
        for row, chosen in zip(rows, combinations(range(n + m), n), strict=True):
            row[list(chosen)] = 1
        return rows
    rows = np.zeros((most, n + m))
    rows[:, :n] = 1
    return np.concatenate([rows[:1], rng.permuted(rows[1:], axis=1)])


def permutation_p(features: list[np.ndarray], first: np.ndarray, n: int, m: int) -> np.ndarray:
    """Family-wise p of every feature: step-down maxT of the share of squares between the runs."""
    starts = np.cumsum([0] + [samples.shape[1] for samples in features[:-1]])
    centered = np.concatenate(features, 1)
    centered = centered - centered.mean(0)
    squares = np.add.reduceat((centered**2).sum(0), starts)
    between = np.add.reduceat((first @ centered) ** 2, starts, axis=1) * (n + m) / (n * m)
    share = np.where(squares > 1e-20, between / np.maximum(squares, 1e-20), 0)
    order = np.argsort(share[0], kind="stable")
    largest = np.maximum.accumulate(share[:, order], 1)
    p = (largest >= share[0, order] * (1 - 1e-9)).mean(0)
    p = np.maximum.accumulate(p[::-1])[::-1]
    result = np.empty(len(features))
    result[order] = p
    return result


def student_tail(t: float, degrees: int) -> float:
    """P(|T| > t), as a finite sum (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    theta = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(theta)
    term = 1.0 if degrees % 2 == 0 else cosine
    total = 0.0 if degrees == 1 else term
    for k in range(2 if degrees % 2 == 0 else 3, degrees, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    inside = math.sin(theta) * total if degrees % 2 == 0 else 2 / math.pi * (theta + math.sin(theta) * total)
    return min(1.0, max(0.0, 1 - inside))


def welch_holm(features: list[np.ndarray], n: int) -> np.ndarray:
    ps = []
    for samples in features:
        a, b = samples[:n], samples[n:]
        m = len(b)
        gap = ((a.mean(0) - b.mean(0)) ** 2).mean()
        va = a.var(0, ddof=1).mean() if n > 1 else b.var(0, ddof=1).mean()
        vb = b.var(0, ddof=1).mean()
        square = va / n + vb / m
        if square <= 0:
            ps.append(1.0)
            continue
        if n == 1:
            degrees = m - 1
        else:
            degrees = max(1, int(square**2 / (va**2 / (n * n * (n - 1)) + vb**2 / (m * m * (m - 1)))))
        ps.append(student_tail(math.sqrt(gap / square), degrees))
    p = np.array(ps)
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(np.minimum(1, p[order] * (len(p) - np.arange(len(p)))))
    result = np.empty(len(p))
    result[order] = adjusted
    return result


def beyond_spread(features: list[np.ndarray], n: int) -> np.ndarray:
    beyond = []
    for samples in features:
        a, b = samples[:n], samples[n:]
        variances = [side.var(0, ddof=1).mean() for side in (a, b) if len(side) > 1]
        beyond.append(((a.mean(0) - b.mean(0)) ** 2).mean() > np.mean(variances))
    return np.array(beyond)


def false_claims(draw_features, n: int, m: int, trials: int, rng: np.random.Generator) -> tuple[float, float]:
    first = assignments(n, m, rng, 500)
    permuted = welch = 0
    for _ in range(trials):
        features = draw_features(n + m)
        beyond = beyond_spread(features, n)
        permuted += bool(np.any(beyond & (permutation_p(features, first, n, m) < LEVEL)))
        welch += bool(np.any(beyond & (welch_holm(features, n) < LEVEL)))
    return permuted / trials, welch / trials


def read_features(path: str, name: str) -> list[np.ndarray]:
    """[input, point] of every feature of one run in features.csv."""
    values: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["run"] == name and row["input"]:
                values[row["feature"]][int(row["input"])].append(float(row["value"] or "nan"))
    found = [np.array([rows[i] for i in sorted(rows)]) for rows in values.values()]
    return [samples for samples in found if not np.isnan(samples).any()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--features", help="features.csv of a run of compare")
    parser.add_argument("--name", help="run in it whose inputs are split")
    request = parser.parse_args()
    rng = np.random.default_rng(0)
    sources = {}
    if request.features:
        real = read_features(request.features, request.name)
        inputs = len(real[0])
        print(f"{len(real)} features of {inputs} inputs")

        def split(count: int) -> list[np.ndarray]:
            chosen = rng.permutation(inputs)[:count]
            return [samples[chosen] for samples in real]

        sources[request.name] = split
    else:
        for kind in ("normal", "heavy (t, 2 df)", "skewed (log-normal)", "two values"):
            sources[kind] = partial(made_up, kind, rng)
    print("| features | " + " | ".join(f"{n} and {m}" for n, m in SIZES) + " |")
    print("| --- |" + " --- |" * len(SIZES))
    for name, source in sources.items():
        cells = []
        for n, m in SIZES:
            if request.features and n + m > inputs:
                cells.append("")
                continue
            permuted, welch = false_claims(source, n, m, request.trials, rng)
            cells.append(f"{100 * permuted:.1f} ({100 * welch:.0f})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
