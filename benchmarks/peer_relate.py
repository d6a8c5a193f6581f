"""The projection kernel of OQ, OK, OV of a GPT-2 checkpoint as people compute it today. Prints one JSON object.

`numpy`: QR of every head, stack, multiply all pairs, square, sum. `svd`: the way of TransformerLens' projection_kernel,
one SVD a head and tiles of pairs, here with NumPy. Loading the file is counted in neither.

Usage: python peer_relate.py FOLDER
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file


def folded_heads(folder: Path) -> tuple[dict[str, np.ndarray], int]:
    """Q, K, V, O as [heads, d, h], folded and centered."""
    config = json.loads((folder / "config.json").read_text())
    tensors = load_file(folder / "model.safetensors")
    layers, count, d = config["n_layer"], config["n_head"], config["n_embd"]
    h = d // count
    heads: dict[str, list[np.ndarray]] = {role: [] for role in "QKVO"}
    for i in range(layers):
        prefix = f"h.{i}."
        fused = tensors[prefix + "attn.c_attn.weight"] * tensors[prefix + "ln_1.weight"][:, None]
        fused = fused - fused.mean(axis=0)
        written = tensors[prefix + "attn.c_proj.weight"]
        written = written - written.mean(axis=1, keepdims=True)
        for role, offset in zip("QKV", (0, d, 2 * d), strict=True):
            heads[role] += [fused[:, offset + a * h : offset + (a + 1) * h] for a in range(count)]
        heads["O"] += [written[a * h : (a + 1) * h].T for a in range(count)]
    return {role: np.ascontiguousarray(np.stack(matrices)) for role, matrices in heads.items()}, h


def blocks(gram: np.ndarray, h: int) -> np.ndarray:
    n, m = gram.shape[0] // h, gram.shape[1] // h
    return np.square(gram).reshape(n, h, m, h).sum(axis=(1, 3))


def with_qr(heads: dict[str, np.ndarray], h: int) -> np.ndarray:
    stacks = {role: np.concatenate([np.linalg.qr(a)[0] for a in heads[role]], axis=1) for role in "QKVO"}
    return np.stack([blocks(stacks["O"].T @ stacks[role], h) for role in "QKV"])


def with_svd(heads: dict[str, np.ndarray], h: int, tile: int = 12) -> np.ndarray:
    bases = {role: [np.linalg.svd(a, full_matrices=False)[0] for a in heads[role]] for role in "QKVO"}
    results = []
    for role in "QKV":
        rows = []
        for i in range(0, len(bases["O"]), tile):
            left = np.concatenate(bases["O"][i : i + tile], axis=1)
            columns = []
            for j in range(0, len(bases[role]), tile):
                columns.append(blocks(left.T @ np.concatenate(bases[role][j : j + tile], axis=1), h))
            rows.append(np.concatenate(columns, axis=1))
        results.append(np.concatenate(rows, axis=0))
    return np.stack(results)


def best_of(runs: int, work, *arguments) -> float:
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work(*arguments)
        times.append(time.perf_counter() - begin)
    return min(times)


if __name__ == "__main__":
    matrices, width = folded_heads(Path(sys.argv[1]))
    print(json.dumps({"numpy": best_of(3, with_qr, matrices, width), "svd": best_of(3, with_svd, matrices, width)}))
