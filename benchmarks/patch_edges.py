"""Draws what the benchmark of cuts uses: inputs in which tokens repeat, and random edges of a model.

Usage: python patch_edges.py LAYERS HEADS KV_HEADS VOCABULARY IDS.npy EDGES.csv, in an environment with NumPy.

Four inputs of 65 tokens: token 1, 32 random tokens, and the same 32 again, so that FIRST is the position of the first
prediction that the repetition allows. 240 edges, 80 of each of OQ, OK and OV, drawn without repetition from all pairs
of a head and a head (OQ) or KV head (OK, OV) of a later layer.
"""

from __future__ import annotations

import csv
import sys

import numpy as np

INPUTS, HALF, FIRST, EDGES_OF_A_PAIR = 4, 32, 33, 80


def draw_ids(vocabulary: int, seed: int = 1) -> np.ndarray:
    half = np.random.default_rng(seed).integers(3, vocabulary, (INPUTS, HALF))
    return np.concatenate([np.ones((INPUTS, 1), np.int64), half, half], axis=1)


def draw_edges(layers: int, heads: int, kv_heads: int, seed: int = 2) -> list[tuple[str, str, str]]:
    """Rows of pair, source, target."""
    random = np.random.default_rng(seed)
    edges: list[tuple[str, str, str]] = []
    for pair in ("OQ", "OK", "OV"):
        targets, letters = (heads, "H") if pair == "OQ" or kv_heads == heads else (kv_heads, "KV")
        found: dict[tuple[str, str, str], None] = {}
        while len(found) < EDGES_OF_A_PAIR:
            a, b = sorted(random.choice(layers, 2, replace=False))
            source, target = random.integers(heads), random.integers(targets)
            found[pair, f"L{a}H{source}", f"L{b}{letters}{target}"] = None
        edges += found
    return edges


def main() -> None:
    layers, heads, kv_heads, vocabulary = map(int, sys.argv[1:5])
    np.save(sys.argv[5], draw_ids(vocabulary))
    with open(sys.argv[6], "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [("pair", "source", "target"), *draw_edges(layers, heads, kv_heads)]
        )


if __name__ == "__main__":
    main()
