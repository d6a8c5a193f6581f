#!/usr/bin/env python3
"""Coverage of intervals of the regularity alpha (METHODS 7) on planted data.

Every input is a tensor [head, query, key] with random Haar coefficients of size (|I| |J|)^(alpha + 1/2) on dyadic trees
that all inputs share, its queries and keys in random order. alpha is fitted in two ways:

  same   trees found in an input, coefficients of the same input; Student's interval of the regression
  split  trees found in one half of the inputs (all their heads together), coefficients of the other half, and the other
         way round; interval by bootstrap over the inputs

and, for reference, on the true trees. Prints the mean of each estimate and how often each interval covers alpha.

    python benchmarks/calibration/alpha.py build/headscope [--draws 20] [--json]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

QUANTILE = 0.9


def dyadic(n: int) -> list[list[list[int]]]:
    """Levels of folders, root first."""
    levels = []
    size = n
    while size >= 1:
        levels.append([list(range(i, i + size)) for i in range(0, n, size)])
        size //= 2
    return levels


def haar(levels: list[list[list[int]]]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of contrasts, without the constant, and the volume fraction of the folder of each."""
    n = sum(len(folder) for folder in levels[0])
    rows, volumes = [], []
    for coarse, fine in pairwise(levels):
        for folder in coarse:
            inside = set(folder)
            children = sorted((f for f in fine if f[0] in inside), key=len, reverse=True)
            for i in range(len(children) - 1):
                later = [element for child in children[i + 1 :] for element in child]
                row = np.zeros(n)
                row[children[i]] = 1 / len(children[i])
                row[later] = -1 / len(later)
                rows.append(row / np.linalg.norm(row))
                volumes.append(len(folder) / n)
    return np.array(rows), np.array(volumes)


def fit(coefficients: np.ndarray, volumes: np.ndarray) -> tuple[float, float]:
    """alpha and its standard error, from the upper quantile of |c| per octave of volume."""
    depth = np.floor(-np.log2(volumes) + 1e-9)
    points = []
    for d in np.unique(depth):
        bin_ = np.abs(coefficients[..., depth == d]).ravel()
        if bin_.size < 8 or np.quantile(bin_, QUANTILE) <= 0:
            continue
        points.append((np.log2(volumes[depth == d]).mean(), np.log2(np.quantile(bin_, QUANTILE)), bin_.size))
    x, y, w = np.array(points).T
    x0, y0 = np.average(x, weights=w), np.average(y, weights=w)
    xx = (w * (x - x0) ** 2).sum()
    slope = (w * (x - x0) * (y - y0)).sum() / xx
    residual = (w * (y - y0 - slope * (x - x0)) ** 2).sum()
    return slope - 0.5, np.sqrt(residual / max(len(x) - 2, 1) / xx)


def coefficients(maps: np.ndarray, query: list, key: list) -> tuple[np.ndarray, np.ndarray]:
    q, vq = haar(query)
    k, vk = haar(key)
    c = np.einsum("aq,hqk,bk->hab", q, maps, k).reshape(len(maps), -1)
    return c, np.outer(vq, vk).ravel()


def found_trees(program: str, maps: np.ndarray, folder: Path) -> tuple[list, list]:
    np.save(folder / "maps.npy", maps.astype(np.float32))
    subprocess.run([program, "organize", folder / "maps.npy", "-o", folder / "run", "--draws", "2", "--controls", "0",
                    "--force", "--quiet"], check=True, capture_output=True)

    def folders(axis: str) -> list:
        levels = json.loads((folder / "run/trees" / f"{axis}.json").read_text())["levels"]
        return [level["folders"] for level in levels]

    return folders("query"), folders("key")


def trial(program: str, alpha: float, n: int, heads: int, inputs: int, rng: np.random.Generator,
          folder: Path) -> dict[str, tuple[float, float, float]]:
    basis, volume = haar(dyadic(n))
    size = np.outer(volume, volume).ravel() ** (alpha + 0.5)
    order = rng.permutation(n), rng.permutation(n)
    tensors = []
    for _ in range(inputs):
        c = (rng.standard_normal((heads, size.size)) * size).reshape(heads, n - 1, n - 1)
        tensors.append(np.einsum("aq,hab,bk->hqk", basis, c, basis)[:, order[0]][:, :, order[1]])
    result = {}
    inverse = [np.argsort(o) for o in order]
    trees = [[[inverse[axis][folder].tolist() for folder in level] for level in dyadic(n)] for axis in (0, 1)]
    value, error = fit(*coefficients(tensors[0], *trees))
    result["true trees"] = (value, value - 2 * error, value + 2 * error)
    value, error = fit(*coefficients(tensors[0], *found_trees(program, tensors[0], folder)))
    result["same"] = (value, value - 2.2 * error, value + 2.2 * error)
    half = inputs // 2
    each = []
    for a, b in ((tensors[:half], tensors[half:]), (tensors[half:], tensors[:half])):
        query, key = found_trees(program, np.concatenate(a), folder)
        each += [fit(*coefficients(one, query, key))[0] for one in b]
    means = [np.mean(rng.choice(each, len(each))) for _ in range(1000)]
    result["split"] = (float(np.mean(each)), *np.quantile(means, [0.025, 0.975]))
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--size", type=int, default=32, help="queries and keys, a power of two")
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--inputs", type=int, default=8)
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.15, 0.3, 0.5])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    table = []
    with tempfile.TemporaryDirectory() as folder:
        for alpha in options.alphas:
            trials = [trial(options.program, alpha, options.size, options.heads, options.inputs, rng, Path(folder))
                      for _ in range(options.draws)]
            for way in trials[0]:
                found = np.array([one[way] for one in trials])
                covered = ((found[:, 1] <= alpha) & (alpha <= found[:, 2])).mean()
                table.append({"alpha": alpha, "way": way, "mean": float(found[:, 0].mean()),
                              "sd": float(found[:, 0].std()), "coverage": float(covered)})
    if options.json:
        print(json.dumps(table, indent=1))
        return 0
    for row in table:
        print(f"alpha {row['alpha']:.2f}  {row['way']:<10}  mean {row['mean']:+.3f}  sd {row['sd']:.3f}  "
              f"coverage {100 * row['coverage']:.0f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
