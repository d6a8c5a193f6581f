"""Transformer-XL as modules, for the hooks of make_patch.py: transformers 5 no longer has it.

From the equations of the paper (arXiv 1901.02860, section 3.3), with the names of the checkpoint. One segment, without
memory. `main` compares it with what transformers 4 computed (make_transfo_xl.py).

    python patch_transfo_xl.py FAMILIES
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn


class Attention(nn.Module):
    def __init__(self, d: int, heads: int, width: int, longest: int) -> None:
        super().__init__()
        self.heads, self.width, self.longest = heads, width, longest
        self.qkv_net = nn.Linear(d, 3 * heads * width, bias=False)
        self.r_net = nn.Linear(d, heads * width, bias=False)
        self.o_net = nn.Linear(heads * width, d, bias=False)
        self.layer_norm = nn.LayerNorm(d)
        self.r_w_bias = nn.Parameter(torch.zeros(heads, width))
        self.r_r_bias = nn.Parameter(torch.zeros(heads, width))

    def forward(self, x: Tensor) -> Tensor:
        tokens, d = x.shape[1:]
        back = torch.arange(tokens)[:, None] - torch.arange(tokens)
        angles = back.clamp(0, self.longest)[..., None] / 10000 ** (torch.arange(0, d, 2, dtype=x.dtype) / d)
        waves = torch.cat([angles.sin(), angles.cos()], -1)
        q, k, v = self.qkv_net(x)[0].reshape(tokens, 3, self.heads, self.width).unbind(1)
        r = self.r_net(waves).reshape(tokens, tokens, self.heads, self.width)
        scores = torch.einsum("iah,jah->aij", q + self.r_w_bias, k)
        scores = scores + torch.einsum("iah,ijah->aij", q + self.r_r_bias, r)
        maps = (scores / self.width**0.5).masked_fill(back < 0, -torch.inf).softmax(-1)
        heads = torch.einsum("aij,jah->iah", maps, v).reshape(1, tokens, -1)
        return self.layer_norm(x + self.o_net(heads))


class FeedForward(nn.Module):
    def __init__(self, d: int, inner: int) -> None:
        super().__init__()
        self.CoreNet = nn.ModuleDict({"0": nn.Linear(d, inner), "3": nn.Linear(inner, d)})
        self.layer_norm = nn.LayerNorm(d)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer_norm(x + self.CoreNet["3"](self.CoreNet["0"](x).relu()))


class Layer(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.dec_attn = Attention(config.d_model, config.n_head, config.d_head, config.clamp_len)
        self.pos_ff = FeedForward(config.d_model, config.d_inner)

    def forward(self, x: Tensor) -> Tensor:
        return self.pos_ff(self.dec_attn(x))


class TransfoXLModel(nn.Module):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        options = json.loads((folder / "config.json").read_text())
        self.config = SimpleNamespace(**options)
        self.config.num_attention_heads, self.config.head_dim = options["n_head"], options["d_head"]
        self.config.hidden_size = options["d_model"]
        tensors = load_file(folder / "model.safetensors")
        self.embedding = {name: value.double() for name, value in tensors.items() if "word_emb" in name}
        self.layers = nn.ModuleList(Layer(self.config) for _ in range(options["n_layer"])).double()
        for name, parameter in self.layers.named_parameters():
            parameter.data.copy_(tensors[f"transformer.layers.{name}"])

    @staticmethod
    def save(folder: Path, _seed: int) -> None:
        """Copies the checkpoint of families/."""
        folder.mkdir(parents=True)
        for file in ("config.json", "model.safetensors"):
            shutil.copy(Path(__file__).parent / "families/transfo_xl" / file, folder / file)

    def embed(self, token: int) -> Tensor:
        edges = [0, *self.config.cutoffs, self.config.vocab_size]
        table = sum(token >= edge for edge in edges[1:-1])
        row = self.embedding[f"transformer.word_emb.emb_layers.{table}.weight"][token - edges[table]]
        return self.config.d_model**0.5 * self.embedding[f"transformer.word_emb.emb_projs.{table}"] @ row

    def forward(self, input_ids: Tensor) -> SimpleNamespace:
        x = torch.stack([self.embed(int(token)) for token in input_ids[0]])[None]
        for layer in self.layers:
            x = layer(x)
        return SimpleNamespace(last_hidden_state=x)


def main() -> int:
    folder = Path(sys.argv[1]) / "transfo_xl"
    expected = np.load(folder / "expected.npz")
    with torch.no_grad():
        found = TransfoXLModel(folder)(torch.from_numpy(expected["input_ids"])).last_hidden_state
    np.testing.assert_allclose(found.numpy(), expected["output"], rtol=0, atol=1e-5)
    print("PASS transfo_xl")
    return 0


if __name__ == "__main__":
    sys.exit(main())
