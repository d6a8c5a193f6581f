"""Writes a compiled program as a LLaMA checkpoint, and reads what `headscope relate` says of it.

LLaMA leaves the width of a head and of an MLP free. Norms have gain one, heads are padded with zero columns, an MLP's
weights are its gate, and its up projection is zero: none of this changes a subspace, a norm or a product.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from compiler import Component, Program
from harness import headscope, table, write_safetensors

from affinities import DISTANCES, METRICS

ROLES = {"q": "Q", "k": "K", "v": "V", "o": "O"}


def padded(matrix: np.ndarray, columns: int) -> np.ndarray:
    return np.pad(matrix, ((0, 0), (0, columns - matrix.shape[1])))


Weights = dict[tuple[str, str], np.ndarray]  # by component and role: (width, columns)


def write_program(folder: Path, program: Program, weights: Weights, tokens: np.ndarray) -> Path:
    """The squeezed program as a checkpoint; tokens is (tokens, width)."""
    width = tokens.shape[1]
    heads = [one for one in program.components if one.head is not None]
    h = max([2, *(weights[one.name, role].shape[1] for one in heads for role in "QKVO")])
    h += h % 2  # rotary embeddings work on pairs
    hidden = max([1, *(matrix.shape[1] for (_, role), matrix in weights.items() if role == "M_in")])
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": width, "intermediate_size": hidden,
        "num_hidden_layers": program.layers, "num_attention_heads": program.heads, "num_key_value_heads": program.heads,
        "head_dim": h, "vocab_size": len(tokens), "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": True, "torch_dtype": "float32",
    }  # fmt: skip
    tensors = {"model.embed_tokens.weight": tokens, "model.norm.weight": np.ones(width)}
    for layer in range(program.layers):
        name = f"model.layers.{layer}."
        names = [f"L{layer}H{head}" for head in range(program.heads)]
        for letter, role in ROLES.items():
            blocks = [padded(weights.get((one, role), np.zeros((width, 0))), h) for one in names]
            stacked = np.concatenate(blocks, axis=1)
            tensors[f"{name}self_attn.{letter}_proj.weight"] = stacked if role == "O" else stacked.T
        reads, writes = (
            padded(weights.get((f"L{layer}M", role), np.zeros((width, 0))), hidden) for role in ("M_in", "M_out")
        )
        tensors |= {f"{name}mlp.gate_proj.weight": reads.T, f"{name}mlp.up_proj.weight": np.zeros((hidden, width))}
        tensors |= {f"{name}mlp.down_proj.weight": writes}
        for norm in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{name}{norm}.weight"] = np.ones(width)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", {name: array.astype(np.float32) for name, array in tensors.items()})
    return folder


def letter_of(role: str) -> str:
    return role[0]


def head_scores(run: Path, program: Program) -> dict[str, np.ndarray]:
    """What relate computed of all pairs of heads, larger where closer; NaN for pairs with an MLP."""
    found: dict[str, np.ndarray] = {}
    for metric in METRICS:
        arrays = {role: np.load(run / f"affinity/{metric}_O{role}.npy") for role in "QKV"}
        sign = -1 if metric in DISTANCES else 1
        found[metric] = np.array([
            sign * arrays[role][place(source, program), place(target, program)]
            if source.head is not None and target.head is not None
            else np.nan
            for source, target, role in program.pairs()
        ])  # fmt: skip
    return found


def place(component: Component, program: Program) -> int:
    """Row or column of a head in an affinity."""
    return component.layer * program.heads + (component.head or 0)


def component_scores(run: Path, program: Program) -> dict[str, np.ndarray]:
    """What relate --nodes computed of all pairs of heads and MLPs."""
    found: dict[str, np.ndarray] = {}
    for metric in ("overlap", "pk"):
        values = []
        for source, target, role in program.pairs():
            path = run / f"components/{metric}_{letter_of(source.out_role)}{letter_of(role)}.npy"
            array = np.load(path) if path.exists() else None
            row = source.layer if source.head is None else place(source, program)
            column = target.layer if target.head is None else place(target, program)
            values.append(np.nan if array is None else float(array[row, column]))
        found[metric] = np.array(values)
    return found


def beyond_chance(run: Path, program: Program) -> np.ndarray:
    """For every pair whether relate --nodes --top 100000 calls it beyond chance."""
    kept = {(row["pair"], row["source"], row["target"]) for row in table(run / "component_edges.csv")
            if row["beyond_chance"] in ("1", "true", "yes")}  # fmt: skip
    return np.array([
        (letter_of(source.out_role) + letter_of(role), source.name, target.name) in kept
        for source, target, role in program.pairs()
    ])  # fmt: skip


def run_relate(model: Path, run: Path, extra: Iterable[str] = ()) -> Path:
    headscope("relate", model, "-o", run, "--weights", "raw", "--metric", ",".join(METRICS), "--null", "isotropic",
              "--tokens-for", "none", "--quiet", *extra)  # fmt: skip
    return run
