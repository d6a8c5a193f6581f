"""OQ, OK and OV of a GPT-2 checkpoint by TransformerLens' attention_head_subspace_affinity, on the same folded
matrices. Prints one JSON object. Loading the model is not counted.

Usage: python peer_lens.py FOLDER THREADS, in an environment with torch, transformer-lens and safetensors.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import torch
from transformer_lens.tools.analysis.projection_kernel import attention_head_subspace_affinity

from peer_relate import folded_heads


def stand_in(folder: Path) -> SimpleNamespace:
    """What the function asks of a model: its attention blocks' weights, [heads, d, h] and for O [heads, h, d]."""
    heads, _ = folded_heads(folder)
    layers = json.loads((folder / "config.json").read_text())["n_layer"]
    blocks = []
    for i in range(layers):
        count = len(heads["Q"]) // layers
        weights = {f"W_{role}": torch.from_numpy(heads[role][i * count : (i + 1) * count]) for role in "QKVO"}
        weights["W_O"] = weights["W_O"].transpose(1, 2)
        blocks.append((i, SimpleNamespace(attn=SimpleNamespace(**weights))))
    return SimpleNamespace(blocks_with=lambda _name: blocks, cfg=None)


def main() -> None:
    torch.set_num_threads(int(sys.argv[2]))
    model = stand_in(Path(sys.argv[1]))
    times = []
    for _ in range(2):
        begin = time.perf_counter()
        for role in "QKV":
            attention_head_subspace_affinity(model, target_role=role)
        times.append(time.perf_counter() - begin)
    print(json.dumps({"lens": min(times), "version": version("transformer-lens")}))


if __name__ == "__main__":
    main()
