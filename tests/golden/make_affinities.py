"""Affinities between heads in float64, from their formulas, with NumPy and SciPy.

For each case a checkpoint folder and `expected.npz` with arrays `<metric>_<PAIR>` over [source heads, target heads] of
its raw weights, all layers against all layers. Cases: `plain` (GPT-2 layout, random), `grouped` (LLaMA layout, two
query heads a KV head), `special` (GPT-2 layout: nearly equal, nearly orthogonal, rank-deficient and zero heads).

Usage: python make_affinities.py OUT (tests/golden/affinities). Seed 7. Made with numpy 2.4.6, scipy 1.17, safetensors
0.8.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from scipy.linalg import subspace_angles

SEED = 7
D, H, WIDTH, LAYERS = 40, 3, 6, 2


def basis(a: np.ndarray) -> np.ndarray:
    """Orthonormal basis by SVD; singular values below max(d, h) * eps(float32) * s_max do not count."""
    u, s, _ = np.linalg.svd(a, full_matrices=False)
    return u[:, s > max(a.shape) * np.finfo(np.float32).eps * s[0]] if s[0] > 0 else u[:, :0]


def angle_metrics(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    u, v = basis(a), basis(b)
    p, q = u.shape[1], v.shape[1]
    rest = abs(p - q)
    if p == 0 or q == 0:
        return {
            "pk": 0.0,
            "max-cos": 0.0,
            "binet-cauchy": -np.inf,
            "chordal": np.sqrt((p + q) / 2),
            "grassmann": np.sqrt(rest) * np.pi / 2,
            "procrustes": 0.0,
        }
    theta = subspace_angles(u, v)
    cosines = np.linalg.svd(u.T @ v, compute_uv=False)
    return {
        "pk": np.sum(cosines**2),
        "max-cos": cosines[0],
        "binet-cauchy": np.sum(np.log(cosines**2)),
        "chordal": np.sqrt(rest / 2 + np.sum(np.sin(theta) ** 2)),
        "grassmann": np.sqrt(np.sum(theta**2) + rest * (np.pi / 2) ** 2),
        "procrustes": np.sum(cosines) / np.sqrt(p * q),
    }


def ratio(a: Any, b: Any) -> float:
    return a / b if b > 0 else 0.0


def weight_metrics(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    norm = np.linalg.norm
    return {
        "cka": ratio(norm(a.T @ b) ** 2, norm(a.T @ a) * norm(b.T @ b)),
        "simple-cs": ratio(norm(a.T @ b), norm(a) * norm(b)),
        "coupling": float(norm(a.T @ b)),
    }


def composition(heads: dict[str, np.ndarray], target: str, i: tuple[int, int], j: tuple[int, int]) -> float:
    """||R W||_F / (||R||_F ||W||_F) with the d x d products written out."""

    def head(role: str, which: tuple[int, int]) -> np.ndarray:
        layer, index = which
        share = heads["Q"].shape[1] // heads[role].shape[1]
        return heads[role][layer, index // share]

    written = head("O", i) @ head("V", i).T
    outer, inner = {"Q": ("Q", "K"), "K": ("K", "Q"), "V": ("V", "O")}[target]
    read = head(inner, j) @ head(outer, j).T
    return ratio(np.linalg.norm(read @ written), np.linalg.norm(read) * np.linalg.norm(written))


def turned(angles: tuple[float, ...]) -> np.ndarray:
    """Rotates component k by angle k together with component k + WIDTH/2."""
    rotation, half = np.zeros((WIDTH, WIDTH)), WIDTH // 2
    for k, angle in enumerate(angles):
        rotation[k, k] = rotation[k + half, k + half] = np.cos(angle)
        rotation[k + half, k] = np.sin(angle)
        rotation[k, k + half] = -np.sin(angle)
    return rotation


def rotary_composition(heads: dict[str, np.ndarray], target: str, i: tuple[int, int], j: tuple[int, int]) -> float:
    """`composition`, with a mean over the angles of all rotary pairs of the squared norms.

    Over many relative positions the angles fill the torus evenly. On it the squared norms are trigonometric polynomials
    of degree 2, whose mean a grid of 5 angles per pair gives exactly.
    """
    if target == "V":
        return composition(heads, target, i, j)
    share = heads["Q"].shape[1] // heads["K"].shape[1]
    written = heads["O"][i] @ heads["V"][i[0], i[1] // share].T
    queries, keys = heads["Q"][j], heads["K"][j[0], j[1] // share]
    both, alone = [], []
    for angles in itertools.product(2 * np.pi * np.arange(5) / 5, repeat=WIDTH // 2):
        scores = queries @ turned(angles) @ keys.T  # query position, key position
        read = scores.T if target == "Q" else scores
        both.append(np.linalg.norm(read @ written) ** 2)
        alone.append(np.linalg.norm(read) ** 2)
    return ratio(np.sqrt(np.mean(both)), np.sqrt(np.mean(alone)) * np.linalg.norm(written))


def expected(heads: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    arrays: dict[str, list[list[float]]] = {}
    for source in "QKVO":
        for target in "QKVO":
            for a in heads[source].reshape(-1, D, WIDTH):
                row: dict[str, list[float]] = {}
                for b in heads[target].reshape(-1, D, WIDTH):
                    for name, value in {**angle_metrics(a, b), **weight_metrics(a, b)}.items():
                        row.setdefault(name, []).append(value)
                for name, values in row.items():
                    arrays.setdefault(f"{name}_{source}{target}", []).append(values)
    query_heads = [(layer, head) for layer in range(LAYERS) for head in range(heads["Q"].shape[1])]
    for target in "QKV":
        arrays[f"cs_O{target}"] = [[composition(heads, target, i, j) for j in query_heads] for i in query_heads]
        if heads["Q"].shape[1] != heads["K"].shape[1]:  # LLaMA has rotary positions
            arrays[f"rope-cs_O{target}"] = [
                [rotary_composition(heads, target, i, j) for j in query_heads] for i in query_heads
            ]
    return {name: np.array(rows) for name, rows in arrays.items()}


def random_heads(rng: np.random.Generator, heads: int, kv_heads: int) -> dict[str, np.ndarray]:
    counts = {"Q": heads, "K": kv_heads, "V": kv_heads, "O": heads}
    return {role: rng.standard_normal((LAYERS, n, D, WIDTH)).astype(np.float32) for role, n in counts.items()}


def special_heads(rng: np.random.Generator) -> dict[str, np.ndarray]:
    heads = random_heads(rng, H, H)
    q, k, v, o = (heads[role] for role in "QKVO")
    q[0, 1] = q[0, 0] + 1e-3 * rng.standard_normal((D, WIDTH))  # nearly the same space
    k[1, 0] = q[0, 0] @ rng.standard_normal((WIDTH, WIDTH)).astype(np.float32)  # the same space to float rounding
    v[0, 0, : D // 2] *= 1e-4  # nearly orthogonal to o[0, 0]
    o[0, 0, D // 2 :] *= 1e-4
    o[1, 2, :, 5] = o[1, 2, :, 1]  # rank 5
    q[1, 2, :, 2:] = 0  # rank 2
    v[1, 1] = 0  # a pruned head
    return {role: array.astype(np.float32) for role, array in heads.items()}


def write_gpt2(folder: Path, heads: dict[str, np.ndarray]) -> None:
    tensors = {}
    for i in range(LAYERS):
        columns = [np.concatenate(list(heads[role][i]), axis=1) for role in "QKV"]
        tensors[f"h.{i}.attn.c_attn.weight"] = np.concatenate(columns, axis=1)
        tensors[f"h.{i}.attn.c_proj.weight"] = np.concatenate([head.T for head in heads["O"][i]], axis=0)
        tensors[f"h.{i}.ln_1.weight"] = np.ones(D, np.float32)
    config = {"model_type": "gpt2", "n_embd": D, "n_layer": LAYERS, "n_head": H, "head_dim": WIDTH}
    write(folder, tensors, config)


def write_llama(folder: Path, heads: dict[str, np.ndarray]) -> None:
    tensors = {}
    for i in range(LAYERS):
        layer = f"model.layers.{i}."
        for role in "QKV":
            rows = np.concatenate([head.T for head in heads[role][i]], axis=0)
            tensors[f"{layer}self_attn.{role.lower()}_proj.weight"] = rows
        tensors[f"{layer}self_attn.o_proj.weight"] = np.concatenate(list(heads["O"][i]), axis=1)
        tensors[f"{layer}input_layernorm.weight"] = np.ones(D, np.float32)
    config = {"model_type": "llama", "hidden_size": D, "num_hidden_layers": LAYERS, "num_attention_heads": 4}
    write(folder, tensors, {**config, "num_key_value_heads": 2, "head_dim": WIDTH})


def write(folder: Path, tensors: dict[str, np.ndarray], config: dict) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config) + "\n")


def main(out: Path) -> None:
    rng = np.random.default_rng(SEED)
    cases = {
        "plain": (write_gpt2, random_heads(rng, H, H)),
        "grouped": (write_llama, random_heads(rng, 4, 2)),
        "special": (write_gpt2, special_heads(rng)),
    }
    for name, (write_model, heads) in cases.items():
        write_model(out / name, heads)
        wide = {role: array.astype(np.float64) for role, array in heads.items()}
        np.savez_compressed(out / name / "expected.npz", **expected(wide))  # type: ignore[arg-type]  # NumPy's allow_pickle


if __name__ == "__main__":
    main(Path(sys.argv[1]))
