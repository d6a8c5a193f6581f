#!/usr/bin/env python3
"""Cut the edges from heads to MLPs and to the unembedding in the models of make_patch.py.

The same independent implementation, with hooks on the modules of transformers. The MLP of layer b reads x + c in place
of x, the stream after its attention; the unembedding reads the stream after the last layer plus c. c = m_s - o_s is as
in make_patch.py; in post-norm models it passes the norm after attention of layer b as well. The MLP of the head's own
layer is a target unless attention and MLP of a layer read the same stream.

Output, per case: PATCH/<case>/components.npz with loss_<target>, difference_<target> [3, sources, targets] for the
replacements mean, zero and pair: what `before` of expected.npz becomes if the edge is cut. Targets are M, the MLPs of
all layers, and U, the unembedding. 0 where the target does not read after the source writes.

Made with torch 2.11.0, transformers 5.17.0.

    python make_patch_components.py PATCH [--only CASE ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from torch import Tensor, nn

from make_patch import REPLACEMENTS, Clean, Subject, divided, draw_inputs, hooked, open_case, values_of
from patch_cases import CASES


@dataclass
class Readers:
    """The modules whose first argument is the stream, and which nothing but their reader depends on."""

    mlps: list[nn.Module]  # by layer with attention: the norm before the MLP, or its first projection
    final: nn.Module | None  # None if it reads more than one stream


def llama_readers(model: Any) -> Readers:
    return Readers([layer.post_attention_layernorm for layer in model.model.layers], model.model.norm)


def olmo2_readers(model: Any) -> Readers:
    return Readers([layer.mlp for layer in model.model.layers], model.model.norm)


def gemma3n_readers(model: Any) -> Readers:
    return Readers([layer.pre_feedforward_layernorm for layer in model.model.layers], None)


def falcon_h1_readers(model: Any) -> Readers:
    return Readers([layer.pre_ff_layernorm for layer in model.model.layers], model.model.final_layernorm)


def gemma_readers(model: Any) -> Readers:
    return Readers([layer.pre_feedforward_layernorm for layer in model.model.layers], model.model.norm)


def lfm2_readers(model: Any) -> Readers:
    layers = [layer for layer in model.model.layers if layer.is_attention_layer]
    return Readers([layer.ffn_norm for layer in layers], model.model.embedding_norm)


def gated_readers(model: Any) -> Readers:
    layers = [layer for layer in model.model.layers if hasattr(layer, "self_attn")]
    return Readers([layer.post_attention_layernorm for layer in layers], model.model.norm)


def gpt2_readers(model: Any) -> Readers:
    return Readers([block.ln_2 for block in model.transformer.h], model.transformer.ln_f)


def gpt_neox_readers(model: Any) -> Readers:
    layers = model.gpt_neox.layers
    return Readers([layer.post_attention_layernorm for layer in layers], model.gpt_neox.final_layer_norm)


def bert_readers(model: Any) -> Readers:
    return Readers([layer.intermediate for layer in model.base_model.encoder.layer], model.cls)


def opt_readers(model: Any) -> Readers:
    return Readers([layer.fc1 for layer in model.model.decoder.layers], model.lm_head)


def deberta_readers(model: Any) -> Readers:
    return Readers([layer.intermediate for layer in model.base_model.encoder.layer], model.cls)


def dinov3_readers(model: Any) -> Readers:
    return Readers([layer.norm2 for layer in model.model.layer], model.norm)


def swin_readers(model: Any) -> Readers:
    return Readers([layer.layernorm_after for layer in model.swin.encoder.layers[1].blocks], model.swin.layernorm)


def vit_readers(model: Any) -> Readers:
    return Readers([layer.layernorm_after for layer in model.base_model.layers], model.base_model.layernorm)


def bloom_readers(model: Any) -> Readers:
    return Readers([block.post_attention_layernorm for block in model.transformer.h], model.transformer.ln_f)


def mpnet_readers(model: Any) -> Readers:
    return Readers([layer.intermediate for layer in model.base_model.encoder.layer], model.lm_head)


def dinov2_readers(model: Any) -> Readers:
    return Readers([layer.norm2 for layer in model.base_model.encoder.layer], model.base_model.layernorm)


READERS: dict[str, Callable[[Any], Readers]] = {
    "gpt2": gpt2_readers,
    "bert": bert_readers,
    "deberta": deberta_readers,
    "deberta_v2": deberta_readers,
    "dinov3": dinov3_readers,
    "swin": swin_readers,
    "vit": vit_readers,
    "beit": vit_readers,
    "bloom": bloom_readers,
    "mpnet": mpnet_readers,
    "falcon_h1": falcon_h1_readers,
    "gemma2": gemma_readers,
    "gemma3n": gemma3n_readers,
    "gemma4": gemma_readers,
    "gemma4_keys": gemma_readers,
    "gpt_neox": gpt_neox_readers,
    "dinov2": dinov2_readers,
    "opt_post": opt_readers,
    "lfm2": lfm2_readers,
    "qwen3_next": gated_readers,
    "olmo2": olmo2_readers,
} | dict.fromkeys(
    "llama qwen3 mistral phi3 gpt_oss granite olmo stablelm hunyuan deepseek_v2 deepseek_v3".split(), llama_readers
)
PARALLEL = ("gpt_neox",)


def logits_with(subject: Subject, one: dict[str, Tensor], reader: nn.Module, change: Tensor) -> Tensor:
    def edit(_module: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (arguments[0] + change.reshape(arguments[0].shape), *arguments[1:])

    with hooked([reader.register_forward_pre_hook(edit)]):
        return subject.logits(one)


def change_before(
    subject: Subject, source: tuple[int, int], mlp: int, instead: Tensor, clean: Clean
) -> Tensor:
    """m_s - o_s before the MLP of a layer; after the last layer if there is no such layer."""
    change = subject.stream_change(source, mlp, instead, clean)
    if mlp < len(subject.blocks) and subject.blocks[mlp].sum_norms:
        norm = subject.blocks[mlp].sum_norms[0]
        change = divided(norm, change, clean.normed[norm])
    if mlp > source[0] and mlp < len(subject.blocks) and subject.blocks[mlp].altup is not None:
        change = change * subject.blocks[mlp].scale  # of the stream after attention
    return change


def measure(
    subject: Subject, readers: Readers, parallel: bool, inputs: list[dict[str, Tensor]],
    paired: list[dict[str, Tensor]], readouts: np.ndarray,
) -> dict[str, np.ndarray]:  # fmt: skip
    cleans = [subject.clean(one) for one in inputs]
    others = [subject.clean(one) for one in paired]
    layers, heads = len(subject.blocks), subject.heads
    arrays = {}
    for kind in ("loss", "difference"):
        arrays[f"{kind}_M"] = np.zeros((len(REPLACEMENTS), layers * heads, layers))
        if readers.final is not None:
            arrays[f"{kind}_U"] = np.zeros((len(REPLACEMENTS), layers * heads, 1))
    for a in range(layers):
        for s in range(heads):
            outputs = [clean.z[a][:, subject.columns(a, s)] for clean in cleans]
            mean = torch.cat(outputs).mean(0)
            instead = {
                "mean": [mean.expand_as(output) for output in outputs],
                "zero": [torch.zeros_like(output) for output in outputs],
                "pair": [clean.z[a][:, subject.columns(a, s)] for clean in others],
            }
            for b in range(a + 1 if parallel else a, layers + 1):
                letter, reader, column = ("M", readers.mlps[b], b) if b < layers else ("U", readers.final, 0)
                if reader is None:
                    continue
                for k, name in enumerate(REPLACEMENTS):
                    totals = np.zeros(2)
                    for i, (one, clean) in enumerate(zip(inputs, cleans, strict=True)):
                        change = change_before(subject, (a, s), b, instead[name][i], clean)
                        logits = logits_with(subject, one, reader, change)
                        totals += values_of(logits, readouts[readouts[:, 0] == i])
                    loss, difference = totals / len(readouts)
                    arrays[f"loss_{letter}"][k, a * heads + s, column] = loss
                    arrays[f"difference_{letter}"][k, a * heads + s, column] = difference
    return arrays


def make_case(name: str, folder: Path) -> str:
    one, _ = CASES[name]
    with torch.no_grad():
        model, subject = open_case(name, folder)
        arrays, inputs, paired = draw_inputs(name, one, model.config)
        stored = np.load(folder / "expected.npz")
        for key, drawn in arrays.items():
            if not np.array_equal(stored[key], drawn):
                raise ValueError(f"{key} is not what expected.npz was made with")
        found = measure(subject, READERS[name](model), name in PARALLEL, inputs, paired, arrays["readouts"])
    np.savez_compressed(folder / "components.npz", **found)  # type: ignore[arg-type]  # NumPy's allow_pickle
    medians = {}
    for letter in (letter for letter in "MU" if f"loss_{letter}" in found):
        effects = (found[f"loss_{letter}"] - stored["before"][0])[found[f"loss_{letter}"] != 0]
        medians[letter] = round(float(np.median(np.abs(effects))), 4)
    if min(medians.values()) < 1e-3:
        raise ValueError("the effects are too small to be compared")
    size = (folder / "components.npz").stat().st_size
    return f"median effects {medians} into MLPs and the unembedding, {size // 1024} KiB"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("patch", type=Path)
    parser.add_argument("--only", action="append", choices=list(CASES), metavar="CASE")
    arguments = parser.parse_args()
    hf.utils.logging.set_verbosity_error()
    hf.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, transformers {hf.__version__}, numpy {np.__version__}")
    for name in arguments.only or READERS:
        print(f"{name}: {make_case(name, arguments.patch / name)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
