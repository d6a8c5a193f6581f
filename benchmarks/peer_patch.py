"""Cuts edges of a Llama in PyTorch, one at a time. Prints one JSON object: seconds per cut, and the effects in nats.

Usage: python peer_patch.py KIND MODEL IDS.npy EDGES.csv FIRST THREADS [CUTS], in an environment with torch,
transformers and gguf. KIND is careful or plain, MODEL a folder or a .gguf file; FIRST is the position of the first
prediction that counts; CUTS limits the number of edges.

One pass records the stream before every layer and the outputs of all heads. A cut changes the queries, keys or values
of one head in a hook and runs the layers from the target's on with the stream of the record, all inputs as a batch.
Loading and recording are not timed. `plain` is what scripts for such measurements do: transformers' eager attention,
and the model's logits at all positions, of which the loss takes those that count. `careful` uses PyTorch's own
attention (sdpa) and computes only the logits that count.
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


def open_model(path: Path, attention: str) -> Any:
    options: dict[str, Any] = {"dtype": torch.float32, "attn_implementation": attention}
    if path.suffix == ".gguf":
        return transformers.LlamaForCausalLM.from_pretrained(path.parent, gguf_file=path.name, **options).eval()
    return transformers.LlamaForCausalLM.from_pretrained(path, **options).eval()


class Cutter:
    def __init__(self, model: Any, ids: Tensor, first: int, plain: bool) -> None:
        self.model, self.ids, self.first, self.plain = model, ids, first, plain
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
        # sdpa is causal by itself, eager attention adds a mask.
        tokens = ids.shape[1]
        self.mask = torch.full((1, 1, tokens, tokens), torch.finfo(torch.float32).min).triu(1) if plain else None

    def loss(self, hidden: Tensor) -> float:
        if self.plain:
            logits = self.model.lm_head(self.model.model.norm(hidden))[:, self.first : -1]
        else:
            logits = self.model.lm_head(self.model.model.norm(hidden[:, self.first : -1]))
        return float(cross_entropy(logits.flatten(0, 1), self.ids[:, self.first + 1 :].flatten()))

    def run_from(self, layer: int) -> float:
        hidden = self.streams[layer]
        for one in self.layers[layer:]:
            hidden = one(hidden, attention_mask=self.mask, position_embeddings=self.rotary)
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
    if sys.argv[1] not in ("careful", "plain"):
        sys.exit(f"peer_patch.py: expected careful or plain, found {sys.argv[1]}")
    plain = sys.argv[1] == "plain"
    path, ids, edges_file = map(Path, sys.argv[2:5])
    first, threads = map(int, sys.argv[5:7])
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    model = open_model(path, "eager" if plain else "sdpa")
    cutter = Cutter(model, torch.from_numpy(np.load(ids)).long(), first, plain)
    with edges_file.open(newline="") as file:
        edges = [(row["pair"][1], head_of(row["source"]), head_of(row["target"])) for row in csv.DictReader(file)]
    edges = edges[: int(sys.argv[7])] if len(sys.argv) > 7 else edges
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
