#!/usr/bin/env python3
"""Make the case of Transformer-XL in families/, which transformers 5 no longer has.

As make_families.py, with transformers 4.35. The forward pass is computed a second time in NumPy,
from the equations of the paper (arXiv 1901.02860, section 3.3), and must be the same. There is
no memory: transformers would put zeros there, and attend to them.

    python make_transfo_xl.py OUT
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import TransfoXLConfig, TransfoXLLMHeadModel

from make_hf_checkpoints import BASE_SEED, Layer, expected_arrays, fill, to_numpy

TOKENS, HEADS, WIDTH = 12, 2, 4
CONFIG = {
    "vocab_size": 20, "cutoffs": [6, 12], "d_model": 8, "d_embed": 8, "n_head": HEADS, "d_head": WIDTH, "d_inner": 8,
    "n_layer": 2, "mem_len": 0, "same_length": False, "clamp_len": 9, "div_val": 2,
}  # fmt: skip


def layers(model: Any) -> Iterator[Layer]:
    for block in model.transformer.layers:
        q, k, v = block.dec_attn.qkv_net.weight.chunk(3)
        yield Layer(q, k, v, block.dec_attn.o_net.weight)


def normalized(x: np.ndarray, weights: dict[str, np.ndarray], name: str) -> np.ndarray:
    centered = x - x.mean(-1, keepdims=True)
    scaled = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def reference(weights: dict[str, np.ndarray], ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Attention maps and the last hidden state of one segment, in float64."""
    x = np.zeros((len(ids), 8))
    for i, token in enumerate(ids):
        table = int(token >= 6) + int(token >= 12)
        row = weights[f"transformer.word_emb.emb_layers.{table}.weight"][token - (0, 6, 12)[table]]
        x[i] = np.sqrt(8) * weights[f"transformer.word_emb.emb_projs.{table}"] @ row
    back = np.arange(len(ids))[:, None] - np.arange(len(ids))
    angles = np.minimum(np.maximum(back, 0), 9)[..., None] / 10000 ** (np.arange(0, 8, 2) / 8)
    waves = np.concatenate([np.sin(angles), np.cos(angles)], -1)
    maps = []
    for layer in range(2):
        name = f"transformer.layers.{layer}."
        q, k, v = (x @ weights[name + "dec_attn.qkv_net.weight"].T).reshape(len(ids), 3, HEADS, WIDTH).swapaxes(0, 1)
        r = (waves @ weights[name + "dec_attn.r_net.weight"].T).reshape(len(ids), len(ids), HEADS, WIDTH)
        u, w = weights[name + "dec_attn.r_w_bias"], weights[name + "dec_attn.r_r_bias"]
        scores = np.einsum("iah,jah->aij", q + u, k) + np.einsum("iah,ijah->aij", q + w, r)
        power = np.where(back >= 0, np.exp(scores / np.sqrt(WIDTH)), 0)
        maps.append(power / power.sum(-1, keepdims=True))
        heads = np.einsum("aij,jah->iah", maps[-1], v).reshape(len(ids), -1)
        x = normalized(x + heads @ weights[name + "dec_attn.o_net.weight"].T, weights, name + "dec_attn.layer_norm")
        hidden = x @ weights[name + "pos_ff.CoreNet.0.weight"].T + weights[name + "pos_ff.CoreNet.0.bias"]
        written = np.maximum(hidden, 0) @ weights[name + "pos_ff.CoreNet.3.weight"].T
        x = normalized(x + written + weights[name + "pos_ff.CoreNet.3.bias"], weights, name + "pos_ff.layer_norm")
    return np.stack(maps), x


def main() -> int:
    folder = Path(sys.argv[1]) / "transfo_xl"
    torch.manual_seed(BASE_SEED)
    model = TransfoXLLMHeadModel(TransfoXLConfig(**CONFIG)).eval()
    fill(model, BASE_SEED)
    for name, parameter in model.named_parameters():
        sharp = 3.0 if "qkv_net" in name or "r_net" in name else 1.0
        parameter.data.copy_((sharp * parameter.data).half().float())
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, safe_serialization=True)  # half would round pos_emb.inv_freq, too
    (folder / "generation_config.json").unlink(missing_ok=True)
    ids = torch.randint(0, 20, (1, TOKENS), generator=torch.Generator().manual_seed(BASE_SEED))
    with torch.no_grad():
        result = model.transformer(ids, output_attentions=True)
    attentions, output = to_numpy(torch.stack(result.attentions)), to_numpy(result.last_hidden_state)
    weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
    maps, hidden = reference(weights, ids[0].numpy())
    np.testing.assert_allclose(attentions[:, 0], maps, rtol=0, atol=2e-6)
    np.testing.assert_allclose(output[0], hidden, rtol=0, atol=1e-5)
    heads = expected_arrays(layers(model), HEADS, "post")
    stored = [name for name in heads if not name.startswith("folded")]
    raw: dict[str, Any] = {name: heads[name].astype(np.float16) for name in stored}
    np.savez_compressed(folder / "expected.npz", attentions=attentions, output=output, input_ids=ids.numpy(), **raw)
    size = sum(path.stat().st_size for path in folder.iterdir())
    largest = attentions[..., 4:, :].max(-1).mean()
    print(f"PASS transfo_xl: as the equations say; mean of maxima {largest:.2f}, {size / 1024:.1f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
