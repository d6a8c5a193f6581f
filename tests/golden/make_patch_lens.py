#!/usr/bin/env python3
"""Cut every edge of the GPT-2 of patch/ with TransformerLens, whose model is its own and not that of transformers.

With `use_split_qkv_input` every head has its own copy of the stream for each of Q, K and V, before the norm:
hook_q_input and so on, [batch, position, head, d_model]. A cut adds m_s - o_s to the copy of one head. o_s comes from
hook_result, what each head adds to the stream; m_s is its mean over all tokens of all inputs, zero, or o_s on the
paired input.

Input:  PATCH/gpt2, from make_patch.py
Output: OUT, an npz with loss_Q, loss_K and loss_V as in PATCH/gpt2/expected.npz
Prints the largest difference from that file, and fails if it is above 1e-6.

Made with transformer-lens 2.18.0, transformers 4.57.6, torch 2.11.0. Versions from 4 on have no model of their own.

    python make_patch_lens.py PATCH OUT
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from torch import Tensor
from transformer_lens import HookedTransformer, HookedTransformerConfig
from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights

ROLES = "QKV"


def open_model(folder: Path) -> HookedTransformer:
    source = hf.GPT2LMHeadModel.from_pretrained(folder, torch_dtype=torch.float64)
    config = source.config
    own = HookedTransformerConfig(
        n_layers=config.n_layer, d_model=config.n_embd, n_ctx=config.n_positions, n_heads=config.n_head,
        d_head=config.n_embd // config.n_head, d_mlp=config.n_inner, d_vocab=config.vocab_size, act_fn="gelu_new",
        eps=config.layer_norm_epsilon, normalization_type="LN", dtype=torch.float64, device="cpu",
        use_split_qkv_input=True, use_attn_result=True,
    )  # fmt: skip
    model = HookedTransformer(own, move_to_device=False)
    model.load_state_dict(convert_gpt2_weights(source, own), strict=False)
    return model.eval()


def split(ids: np.ndarray, lengths: np.ndarray) -> list[Tensor]:
    return [torch.from_numpy(part)[None] for part in np.split(ids, np.cumsum(lengths)[:-1])]


def results(model: HookedTransformer, tokens: Tensor) -> list[Tensor]:
    """What each head adds to the stream, by layer: [position, head, d_model]."""
    _, cache = model.run_with_cache(tokens, names_filter=lambda name: name.endswith("hook_result"))
    return [cache[f"blocks.{layer}.attn.hook_result"][0] for layer in range(model.cfg.n_layers)]


def cut(stream: Tensor, hook: Any, head: int, change: Tensor) -> Tensor:
    stream[0, :, head] += change
    return stream


def total_loss(logits: Tensor, readouts: np.ndarray) -> float:
    log_p = torch.log_softmax(logits[0].double(), dim=-1)
    return -sum(float(log_p[row, answer]) for _, row, answer, _ in readouts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("patch", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    model = open_model(arguments.patch / "gpt2")
    expected = np.load(arguments.patch / "gpt2" / "expected.npz")
    inputs, paired = (split(expected[name], expected["lengths"]) for name in ("ids", "paired_ids"))
    own, other = ([results(model, tokens) for tokens in some] for some in (inputs, paired))
    readouts = expected["readouts"]
    heads, layers = model.cfg.n_heads, model.cfg.n_layers
    found = {f"loss_{role}": np.zeros((3, layers * heads, layers * heads)) for role in ROLES}
    edges = [
        (a, s, b, t) for a in range(layers) for s in range(heads) for b in range(a + 1, layers) for t in range(heads)
    ]
    for a, s, b, t in edges:
        mean = torch.cat([one[a][:, s] for one in own]).mean(0)
        for k in range(3):
            for role in ROLES:
                loss = 0.0
                for i, tokens in enumerate(inputs):
                    instead = (mean, torch.zeros_like(mean), other[i][a][:, s])[k]
                    hook = partial(cut, head=t, change=instead - own[i][a][:, s])
                    logits = model.run_with_hooks(tokens, fwd_hooks=[(f"blocks.{b}.hook_{role.lower()}_input", hook)])
                    loss += total_loss(logits, readouts[readouts[:, 0] == i])
                found[f"loss_{role}"][k, a * heads + s, b * heads + t] = loss / len(readouts)
    worst = max(np.abs(found[name] - expected[name]).max() for name in found)
    np.savez_compressed(arguments.out, **found)  # type: ignore[arg-type]  # NumPy's allow_pickle
    print(f"{len(edges) * 9} cuts, largest difference from transformers {worst:.2e} nats")
    return 0 if worst < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
