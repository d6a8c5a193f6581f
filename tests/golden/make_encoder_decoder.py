#!/usr/bin/env python3
"""Make one tiny checkpoint per family with an encoder and a decoder.

As make_families.py, with these differences in expected.npz:
  Q, K, V, O, folded_*: the layers of the encoder, then the self-attention of the
      decoder, then its cross-attention. Folded, K and V of cross-attention have the
      gain of the norm at the end of the encoder.
  input_ids (Whisper: input_features [1, bands, frames]), target_ids;
  encoder_attentions, decoder_attentions, cross_attentions [layers, 1, heads, queries, keys].

The source is longer than the target, so that no map can be taken for another.
Made with torch 2.15.0, transformers 5.22.2, safetensors 0.8.

    python make_encoder_decoder.py OUT [--only CASE ...]
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from torch import Tensor

import golden_cases
from make_families import SHARPEN, compact, seed_of
from make_hf_checkpoints import Layer, expected_arrays, fill, start_torch, to_numpy

SOURCE, TARGET = 14, 9
BANDS = 6
QK = re.compile(r"\.([qk]|[qk]_proj)\.weight$")
T5_NAMES = "q k v o".split()
BART_NAMES = "q_proj k_proj v_proj out_proj".split()


@dataclass(frozen=True)
class Case:
    model: str  # class in transformers
    config: str
    options: dict[str, Any]
    norm: str  # "layer", "rms" or "post"
    tokens: int = SOURCE


T5 = {"d_model": 8, "d_kv": 3, "d_ff": 10, "num_layers": 2, "num_decoder_layers": 1, "num_heads": 2, "vocab_size": 20}
T5 |= {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 10}
T5 |= {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
BART = {"d_model": 8, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 10, "decoder_ffn_dim": 12}
BART |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "vocab_size": 20, "max_position_embeddings": 16}
BART |= {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
WHISPER = {k: v for k, v in BART.items() if k != "max_position_embeddings"}
WHISPER |= {"decoder_layers": 1, "num_mel_bins": BANDS, "max_source_positions": SOURCE, "max_target_positions": 12}

CASES = {
    "t5": Case("T5ForConditionalGeneration", "T5Config", T5, "rms", 24),
    "t5_gated": Case(
        "T5ForConditionalGeneration", "T5Config",
        T5 | {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "num_layers": 1,
            "num_decoder_layers": 2},
        "rms",
    ),
    "mt5": Case(
        "MT5ForConditionalGeneration", "MT5Config", T5 | {"feed_forward_proj": "gated-gelu", "num_layers": 1}, "rms"
    ),
    "bart": Case("BartForConditionalGeneration", "BartConfig", BART, "post"),
    "mbart": Case("MBartForConditionalGeneration", "MBartConfig", BART | {"scale_embedding": True,
        "encoder_layers": 1}, "layer"),
    "marian": Case(
        "MarianMTModel", "MarianConfig",
        BART | {"decoder_layers": 1, "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 18,
                "tie_word_embeddings": False, "scale_embedding": True}, "post",
    ),
    "umt5": Case(
        "UMT5ForConditionalGeneration", "UMT5Config", T5 | {"feed_forward_proj": "gated-gelu", "num_decoder_layers": 2},
        "rms", 24,
    ),
    "pegasus": Case("PegasusForConditionalGeneration", "PegasusConfig", BART | {"scale_embedding": True,
        "decoder_layers": 1}, "layer"),
    "m2m_100": Case("M2M100ForConditionalGeneration", "M2M100Config", BART | {"encoder_layers": 1}, "layer"),
    "blenderbot": Case("BlenderbotForConditionalGeneration", "BlenderbotConfig", BART | {"decoder_layers": 1}, "layer"),
    "plbart": Case("PLBartForConditionalGeneration", "PLBartConfig", BART | {"encoder_layers": 1}, "post"),
    "blenderbot_small": Case(
        "BlenderbotSmallForConditionalGeneration", "BlenderbotSmallConfig", BART | {"encoder_layers": 1}, "post",
    ),
    "whisper": Case("WhisperForConditionalGeneration", "WhisperConfig", WHISPER, "layer"),
}  # fmt: skip

SINUSOIDAL = ("marian", "pegasus")  # Their fixed positions are parameters.


# --- Reading heads from live modules ----------------------------------------------------------


def attention(module: Any, names: list[str], norm: Any) -> Layer:
    q, k, v, o = (attrgetter(name)(module).weight for name in names)
    return Layer(q, k, v, o, gain=norm.weight)


def blocks_of(model: Any) -> tuple[list[Layer], list[Layer], list[Layer], Tensor | None]:
    """The layers of each block, and the gain at the end of the encoder."""
    if hasattr(model, "shared"):  # T5
        first, last = model.encoder.block, model.decoder.block
        return (
            [attention(b.layer[0].SelfAttention, T5_NAMES, b.layer[0].layer_norm) for b in first],
            [attention(b.layer[0].SelfAttention, T5_NAMES, b.layer[0].layer_norm) for b in last],
            [attention(b.layer[1].EncDecAttention, T5_NAMES, b.layer[1].layer_norm) for b in last],
            model.encoder.final_layer_norm.weight,
        )
    encoder, decoder = model.model.encoder, model.model.decoder
    return (
        [attention(b.self_attn, BART_NAMES, b.self_attn_layer_norm) for b in encoder.layers],
        [attention(b.self_attn, BART_NAMES, b.self_attn_layer_norm) for b in decoder.layers],
        [attention(b.encoder_attn, BART_NAMES, b.encoder_attn_layer_norm) for b in decoder.layers],
        encoder.layer_norm.weight if hasattr(encoder, "layer_norm") else None,
    )


def heads_of(model: Any, case: Case) -> dict[str, np.ndarray]:
    heads = model.config.num_attention_heads
    encoder, decoder, cross, end = blocks_of(model)
    arrays = [expected_arrays(block, heads, case.norm) for block in (encoder, decoder, cross)]
    if end is not None:  # K and V of cross-attention read its output
        memory = expected_arrays([layer._replace(gain=end) for layer in cross], heads, case.norm)
        arrays[2] |= {f"folded_{role}": memory[f"folded_{role}"] for role in "KV"}
    return compact({name: np.concatenate([block[name] for block in arrays]) for name in arrays[0]})


# --- Making a case ----------------------------------------------------------------------------


def use_eager(model: Any) -> Any:
    """Stacks may have a configuration of their own, which set_attn_implementation does not reach (UMT5)."""
    model.set_attn_implementation("eager")
    for module in model.modules():
        if hasattr(module, "config"):
            module.config._attn_implementation = "eager"
    return model


def build(name: str, case: Case, sharpen: float) -> Any:
    torch.manual_seed(seed_of(name))
    model = getattr(hf, case.model)(getattr(hf, case.config)(**case.options)).float().eval()
    fixed = [p for n, p in model.named_parameters() if name in SINUSOIDAL and "embed_positions" in n]
    before = [p.data.clone() for p in fixed]
    fill(model, seed_of(name))
    for parameter, value in zip(fixed, before, strict=True):
        parameter.data.copy_(value)
    generator = torch.Generator().manual_seed(seed_of(name) + 2)
    for parameter_name, value in [*model.named_parameters(), *model.named_buffers()]:
        if any(value is one for one in fixed) or parameter_name.endswith("embed_positions.weights"):
            continue
        if parameter_name == "final_logits_bias":
            value.data.copy_(torch.randn(value.shape, generator=generator))
        if QK.search(parameter_name):
            value.data.mul_(sharpen)
        value.data.copy_(value.data.half().float())
        if not value.data.all():
            raise ValueError(f"{parameter_name} has a zero in it")
    return use_eager(model)


def inputs_of(name: str, case: Case) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed_of(name) + 1)
    target = torch.randint(3, 18, (1, TARGET), generator=generator)
    if name == "whisper":
        return {"input_features": torch.randn(1, BANDS, 2 * SOURCE, generator=generator), "decoder_input_ids": target}
    return {
        "input_ids": torch.randint(3, 18, (1, case.tokens), generator=generator),
        "decoder_input_ids": target,
    }


def run(model: Any, inputs: dict[str, Tensor]) -> dict[str, np.ndarray]:
    with torch.no_grad():
        result = model(**inputs, output_attentions=True)
    arrays = {
        "encoder_attentions": torch.stack(result.encoder_attentions),
        "decoder_attentions": torch.stack(result.decoder_attentions),
        "cross_attentions": torch.stack(result.cross_attentions),
        "output": result.logits,
    }
    return {name: to_numpy(value) for name, value in arrays.items()}


def is_sharp(arrays: dict[str, np.ndarray]) -> bool:
    """Neither flat nor saturated, in each block."""
    maps = [arrays["encoder_attentions"], arrays["decoder_attentions"][..., 4:, :], arrays["cross_attentions"]]
    largest = [one.max(axis=-1) for one in maps]
    return all(0.3 < one.mean() < 0.93 and one.min() < 0.8 for one in largest)


def names_of(inputs: Iterator[tuple[str, Tensor]]) -> dict[str, np.ndarray]:
    return {name.replace("decoder_input", "target"): value.numpy() for name, value in inputs}


def make_case(name: str, case: Case, folder: Path) -> str:
    inputs = inputs_of(name, case)
    for factor in SHARPEN:
        model = build(name, case, factor)
        if is_sharp(run(model, inputs)):
            break
    else:
        raise ValueError("attention is too flat or too sharp")
    shutil.rmtree(folder, ignore_errors=True)
    model.half().save_pretrained(folder)
    model.float()
    (folder / "generation_config.json").unlink(missing_ok=True)
    runner = use_eager(type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval())
    for key, value in runner.state_dict().items():
        if "embed_positions" in key and name in SINUSOIDAL:
            continue  # not stored
        if not torch.equal(value, model.state_dict()[key]):
            raise ValueError(f"{key} differs after loading {folder}")
    arrays = run(runner, inputs) | names_of(iter(inputs.items())) | heads_of(runner, case)
    np.savez_compressed(folder / "expected.npz", **arrays)  # type: ignore[arg-type]  # NumPy's allow_pickle
    size = sum(path.stat().st_size for path in folder.iterdir())
    return f"Q{list(arrays['Q'].shape)} factor {factor} {size / 1024:.1f} KiB"


def main() -> int:
    return golden_cases.main(
        __doc__, CASES, lambda name, out: make_case(name, CASES[name], out / name), prepare=start_torch
    )


if __name__ == "__main__":
    sys.exit(main())
