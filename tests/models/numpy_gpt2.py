"""GPT-2's forward pass in NumPy, to ask the bundled language model without PyTorch."""

from __future__ import annotations

import json
import math
from collections.abc import Set
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file


class Gpt2:
    def __init__(self, folder: Path) -> None:
        self.config = json.loads((folder / "config.json").read_text())
        self.tensors = {name: t.astype(np.float32) for name, t in load_file(folder / "model.safetensors").items()}

    def logits(self, tokens: np.ndarray, without: Set[tuple[int, int]] = frozenset()) -> np.ndarray:
        """[count, length, vocabulary]; the heads (layer, head) in `without` write nothing."""
        t = self.tensors
        x = t["transformer.wte.weight"][tokens] + t["transformer.wpe.weight"][: tokens.shape[1]]
        for layer in range(self.config["n_layer"]):
            block = f"transformer.h.{layer}."
            x = x + self._attention(block, self._norm(block + "ln_1", x), {head for at, head in without if at == layer})
            hidden = self._linear(block + "mlp.c_fc", self._norm(block + "ln_2", x))
            hidden = 0.5 * hidden * (1 + np.tanh(math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3)))
            x = x + self._linear(block + "mlp.c_proj", hidden)
        return self._norm("transformer.ln_f", x) @ t["lm_head.weight"].T

    def _attention(self, block: str, x: np.ndarray, without: set[int]) -> np.ndarray:
        count, length, width = x.shape
        heads = self.config["n_head"]
        q, k, v = (
            part.reshape(count, length, heads, width // heads).transpose(0, 2, 1, 3)
            for part in np.split(self._linear(block + "attn.c_attn", x), 3, axis=-1)
        )
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(width // heads)
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
        pattern = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = pattern / pattern.sum(-1, keepdims=True) @ v
        mixed[:, sorted(without)] = 0
        return self._linear(block + "attn.c_proj", mixed.transpose(0, 2, 1, 3).reshape(x.shape))

    def _linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def _norm(self, name: str, x: np.ndarray) -> np.ndarray:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + self.config["layer_norm_epsilon"])
        return x * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]
