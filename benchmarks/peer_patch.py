"""Cuts edges of a Llama in PyTorch, one at a time. Prints one JSON object: seconds per cut, and the effects in nats.

Usage: python peer_patch.py MODEL IDS.npy EDGES.csv FIRST THREADS [CUTS], in an environment with torch, transformers and
gguf. MODEL is a folder or a .gguf file; FIRST is the position of the first prediction that counts; CUTS limits the
number of edges.

As a careful user writes it: one pass records the stream before every layer and the outputs of all heads. A cut changes
the queries, keys or values of one head, runs the layers from the target's on with the stream of the record, all inputs
as a batch, and computes only the logits that count. Attention is PyTorch's own (sdpa). Loading and recording are not
timed.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor
from torch.nn.functional import cross_entropy


def open_model(path: Path) -> Any:
    options: dict[str, Any] = {"dtype": torch.float32, "attn_implementation": "sdpa"}
    if path.suffix == ".gguf":
        return transformers.LlamaForCausalLM.from_pretrained(path.parent, gguf_file=path.name, **options).eval()
    return transformers.LlamaForCausalLM.from_pretrained(path, **options).eval()


class Cutter:
    def __init__(self, model: Any, ids: Tensor, first: int) -> None:
        self.model, self.ids, self.first = model, ids, first
        self.layers = model.model.layers
        self.width = self.layers[0].self_attn.head_dim
        self.streams: list[Tensor] = []
        self.outputs: list[Tensor] = []
        handles = []
        for layer in self.layers:
            handles.append(layer.register_forward_pre_hook(lambda _layer, args: self.streams.append(args[0])))
            handles.append(
                layer.self_attn.o_proj.register_forward_pre_hook(lambda _layer, args: self.outputs.append(args[0]))
            )
        model(ids)
        for handle in handles:
            handle.remove()
        positions = torch.arange(ids.shape[1])[None]
        self.rotary = model.model.rotary_emb(self.streams[0], positions)

    def loss(self, hidden: Tensor) -> float:
        hidden = self.model.model.norm(hidden[:, self.first : -1])
        logits = self.model.lm_head(hidden)
        return float(cross_entropy(logits.flatten(0, 1), self.ids[:, self.first + 1 :].flatten()))

    def run_from(self, layer: int) -> float:
        hidden = self.streams[layer]
        for one in self.layers[layer:]:
            hidden = one(hidden, attention_mask=None, position_embeddings=self.rotary)
            hidden = hidden[0] if isinstance(hidden, tuple) else hidden
        return self.loss(hidden)

    def cut(self, role: str, source: tuple[int, int], target: tuple[int, int]) -> float:
        """The loss if the target's role reads the source's mean instead of its output."""
        layer, head = target
        columns = slice(source[1] * self.width, (source[1] + 1) * self.width)
        z = self.outputs[source[0]][..., columns]
        change = (z.mean((0, 1)) - z) @ self.layers[source[0]].self_attn.o_proj.weight[:, columns].T
        read = self.layers[layer].input_layernorm(self.streams[layer] + change)
        module = getattr(self.layers[layer].self_attn, f"{role.lower()}_proj")
        rows = slice(head * self.width, (head + 1) * self.width)
        bias = None if module.bias is None else module.bias[rows]
        columns_again = torch.nn.functional.linear(read, module.weight[rows], bias)

        def edit(_module: Any, _arguments: Any, output: Tensor) -> Tensor:
            output[..., rows] = columns_again
            return output

        handle = module.register_forward_hook(edit)
        loss = self.run_from(layer)
        handle.remove()
        return loss


def head_of(name: str) -> tuple[int, int]:
    found = re.fullmatch(r"L(\d+)(?:H|KV)(\d+)", name)
    if found is None:
        raise ValueError(f"{name} is not the name of a head")
    return int(found[1]), int(found[2])


def main() -> None:
    path, ids, edges_file = map(Path, sys.argv[1:4])
    first, threads = map(int, sys.argv[4:6])
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    cutter = Cutter(open_model(path), torch.from_numpy(np.load(ids)).long(), first)
    with edges_file.open(newline="") as file:
        edges = [(row["pair"][1], head_of(row["source"]), head_of(row["target"])) for row in csv.DictReader(file)]
    edges = edges[: int(sys.argv[6])] if len(sys.argv) > 6 else edges
    before = cutter.run_from(0)
    begin = time.perf_counter()
    effects = [cutter.cut(*edge) - before for edge in edges]
    seconds = time.perf_counter() - begin
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    found = {
        "cut": seconds / len(edges),
        "cuts": len(edges),
        "before": before,
        "effects": effects,
        "versions": versions,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
