"""Does the projection kernel find the induction circuit of this model? Weights against measured behavior.

Computes, in float64 from their formulas (docs/relate.md, folded weights), the projection kernel and the composition
score between the heads of layer 0 and layer 1, prints the strongest edges beside what behavior.json says about their
ends, and exits with 1 unless the strongest OK edges start at the layer-0 head whose ablation hurts copying most and end
in heads with a high induction score.

Usage: python check_circuit.py [FOLDER] [--top N]. Needs numpy and safetensors.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

HIGH_INDUCTION = 0.4  # the detector's threshold: scores here are bimodal, below 0.1 or above 0.6
# Role pair: the reader's factor that meets the residual stream, and the one behind it.
READER = {"OQ": ("Q", "K"), "OK": ("K", "Q"), "OV": ("V", "O")}


def folded_heads(tensors: dict[str, np.ndarray], layer: int, heads: int) -> list[dict[str, np.ndarray]]:
    """Q, K, V, O of each head as d x h: readers times the norm's gain, then everything centered over d."""
    prefix = f"transformer.h.{layer}."
    gain = tensors[prefix + "ln_1.weight"].astype(np.float64)
    reading = gain[:, None] * tensors[prefix + "attn.c_attn.weight"].astype(np.float64)
    writing = tensors[prefix + "attn.c_proj.weight"].astype(np.float64).T
    columns = np.concatenate([reading, writing], axis=1)
    columns -= columns.mean(axis=0)
    roles = np.split(columns, 4, axis=1)
    slices = [np.split(role, heads, axis=1) for role in roles]
    return [dict(zip("QKVO", parts, strict=True)) for parts in zip(*slices, strict=True)]


def basis(a: np.ndarray) -> np.ndarray:
    """Orthonormal basis; singular values below max(d, h) * eps(float32) * s_max do not count."""
    u, s, _ = np.linalg.svd(a, full_matrices=False)
    return u[:, s > max(a.shape) * np.finfo(np.float32).eps * s[0]]


def projection_kernel(source: dict[str, np.ndarray], target: dict[str, np.ndarray], pair: str) -> float:
    return float(np.sum((basis(source["O"]).T @ basis(target[pair[1]])) ** 2))


def composition_score(source: dict[str, np.ndarray], target: dict[str, np.ndarray], pair: str) -> float:
    """||R W||_F / (||R||_F ||W||_F) with R = B A^T and W = O V^T, the plain d x d formula."""
    outer, inner = (target[role] for role in READER[pair])
    r, w = inner @ outer.T, source["O"] @ source["V"].T
    return float(np.linalg.norm(r @ w) / (np.linalg.norm(r) * np.linalg.norm(w)))


def all_edges(metric, sources: list, targets: list, pair: str) -> list[tuple[float, int, int]]:
    """(value, source, target), strongest first."""
    edges = [(metric(s, t, pair), i, j) for i, s in enumerate(sources) for j, t in enumerate(targets)]
    return sorted(edges, key=lambda edge: (-edge[0], edge[1:]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent)
    parser.add_argument("--top", type=int, default=8)
    arguments = parser.parse_args()

    config = json.loads((arguments.folder / "config.json").read_text())
    heads = config["n_head"]
    tensors = load_file(arguments.folder / "model.safetensors")
    first, second = (folded_heads(tensors, layer, heads) for layer in (0, 1))

    measured = json.loads((arguments.folder / "behavior.json").read_text())["heads"]
    behavior = {(row["layer"], row["head"]): row for row in measured}
    by_damage = sorted(range(heads), key=lambda head: -behavior[0, head]["loss_increase"])
    inductive = {head for head in range(heads) if behavior[1, head]["induction"] > HIGH_INDUCTION}

    d, h = first[0]["O"].shape
    mean = h * h / d
    deviation = np.sqrt(2 * h * h * (d - h) ** 2 / (d * d * (d - 1) * (d + 2)))
    print(f"projection kernel of random subspaces of rank {h} in R^{d}: mean {mean:.3f}, sd {deviation:.3f}")
    strongest = {}
    for pair in READER:
        for name, metric in (("projection kernel", projection_kernel), ("composition score", composition_score)):
            edges = all_edges(metric, first, second, pair)
            strongest[pair, name] = edges
            print(f"\n{pair}, {name}; median {np.median([edge[0] for edge in edges]):.3f}")
            print("  edge        value   source: damage rank, nats, previous   target: induction, nats")
            for value, i, j in edges[: arguments.top]:
                source, target = behavior[0, i], behavior[1, j]
                print(
                    f"  0.{i} -> 1.{j}  {value:6.3f}   "
                    f"{by_damage.index(i) + 1:19d} {source['loss_increase']:6.2f}     {source['previous']:.3f}   "
                    f"{target['induction']:17.3f} {target['loss_increase']:6.3f}"
                )

    print(f"\nlayer-0 head whose ablation hurts most: 0.{by_damage[0]}; heads with induction > {HIGH_INDUCTION}:",
          ", ".join(f"1.{head}" for head in sorted(inductive)) or "none")
    found = {}
    for name in ("projection kernel", "composition score"):
        top = strongest["OK", name][: len(inductive)]
        hits = sum(i == by_damage[0] and j in inductive for _, i, j in top)
        found[name] = hits == len(inductive) > 0
        print(f"OK, {name}: {hits} of the {len(inductive)} strongest edges join them")
    return 0 if found["projection kernel"] else 1


if __name__ == "__main__":
    sys.exit(main())
