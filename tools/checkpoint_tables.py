"""Tensor names and shapes of the model families, as tables.

A family is a list of parts. A part is a name stem, a table of tensors and how often it
repeats; `{i}` in the stem is the layer, `{e}` the expert. A line of a table is `kind name dims`:

    linear  weight [out, in] and bias [out]      matrix   weight [out, in]
    conv1d  weight [in, out] and bias [out]      head     as matrix, left out if tied
    norm    gain and bias                        rms      gain
    offset  gain stored as gain - 1 (Gemma)      scale    near one, name as it stands
    param   name as it stands

A dim is a number, a symbol of checkpoint_sizes.symbols(), `3*D` or `P+2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple


class Tensor(NamedTuple):
    name: str
    shape: tuple[int, ...]
    center: float  # mean of its values: 1 for gains


class Part(NamedTuple):
    stem: str
    table: str
    repeat: str = ""  # symbol with the number of layers
    each: str = ""  # symbol with the number of experts; `{e}` in the stem is the expert
    first: str = ""  # symbol with the first layer
    other: bool = False  # sizes of the second tower (CLIP's text, Gemma 3's vision)


_DIM = re.compile(r"(?:(\d+)\*)?(\w+?)(?:\+(\d+))?")
_LEAVES = {  # kind -> (suffix, which dims, mean)
    "linear": ((".weight", slice(None), 0.0), (".bias", slice(0, 1), 0.0)),
    "conv1d": ((".weight", slice(None), 0.0), (".bias", slice(-1, None), 0.0)),
    "matrix": ((".weight", slice(None), 0.0),),
    "head": ((".weight", slice(None), 0.0),),
    "norm": ((".weight", slice(None), 1.0), (".bias", slice(None), 0.0)),
    "rms": ((".weight", slice(None), 1.0),),
    "offset": ((".weight", slice(None), 0.0),),
    "scale": (("", slice(None), 1.0),),
    "param": (("", slice(None), 0.0),),
}


def resolve_dim(text: str, symbols: dict[str, Any]) -> int:
    match = _DIM.fullmatch(text)
    assert match, f"{text!r} is not a dim"
    factor, symbol, extra = match.groups()
    value = int(symbol) if symbol.isdigit() else symbols[symbol]
    return int(factor or 1) * value + int(extra or 0)


def part_tensors(part: Part, symbols: dict[str, Any], tied: bool) -> Iterator[Tensor]:
    lines = [line.split() for line in part.table.strip().splitlines() if line.strip()]
    layers = range(symbols[part.first] if part.first else 0, symbols[part.repeat] if part.repeat else 1)
    experts = range(symbols[part.each] if part.each else 1)
    for i, e, (kind, name, *dims) in product(layers, experts, lines):
        shape = tuple(resolve_dim(dim, symbols) for dim in dims)
        if kind == "head" and tied:
            continue
        for suffix, which, center in _LEAVES[kind]:
            yield Tensor(part.stem.format(i=i, e=e) + name + suffix, shape[which], center)


# --- Tables -----------------------------------------------------------------------

QKVO = """
    matrix self_attn.q_proj A D
    matrix self_attn.k_proj B D
    matrix self_attn.v_proj B D
    matrix self_attn.o_proj D A
"""
LATENT = """
    matrix self_attn.q_a_proj           q_rank D
    rms    self_attn.q_a_layernorm      q_rank
    matrix self_attn.q_b_proj           QK q_rank
    matrix self_attn.kv_a_proj_with_mqa latent D
    rms    self_attn.kv_a_layernorm     kv_rank
    matrix self_attn.kv_b_proj          KV kv_rank
    matrix self_attn.o_proj             D A
"""
ROUTER = """
    matrix mlp.gate                        E D
    param  mlp.gate.e_score_correction_bias E
    matrix mlp.shared_experts.gate_proj    X D
    matrix mlp.shared_experts.up_proj      X D
    matrix mlp.shared_experts.down_proj    D X
"""
EXPERT = """
    matrix gate_proj X D
    matrix up_proj   X D
    matrix down_proj D X
"""
QWEN2_QKVO = """
    linear self_attn.q_proj A D
    linear self_attn.k_proj B D
    linear self_attn.v_proj B D
    matrix self_attn.o_proj D A
"""
SWIGLU = """
    matrix mlp.gate_proj M D
    matrix mlp.up_proj   M D
    matrix mlp.down_proj D M
"""
RMS_PAIR = """
    rms input_layernorm          D
    rms post_attention_layernorm D
"""
GEMMA_NORMS = """
    offset input_layernorm            D
    offset post_attention_layernorm   D
    offset pre_feedforward_layernorm  D
    offset post_feedforward_layernorm D
"""
GEMMA3_LAYER = QKVO + "offset self_attn.q_norm h\n offset self_attn.k_norm h" + SWIGLU + GEMMA_NORMS
QWEN3_MOE_LAYER = QKVO + "rms self_attn.q_norm h\n rms self_attn.k_norm h\n matrix mlp.gate E D" + RMS_PAIR
GPT_OSS_LAYER = (
    """
    linear self_attn.q_proj A D
    linear self_attn.k_proj B D
    linear self_attn.v_proj B D
    linear self_attn.o_proj D A
    param  self_attn.sinks  H
    linear mlp.router       E D
    param  mlp.experts.gate_up_proj      E D 2*M
    param  mlp.experts.gate_up_proj_bias E 2*M
    param  mlp.experts.down_proj         E M D
    param  mlp.experts.down_proj_bias    E D
"""
    + RMS_PAIR
)
QWEN3_LAYER = QKVO + "rms self_attn.q_norm h\n rms self_attn.k_norm h" + SWIGLU + RMS_PAIR
PHI3_LAYER = (
    """
    matrix self_attn.o_proj   D A
    matrix self_attn.qkv_proj F D
    matrix mlp.gate_up_proj   2*M D
    matrix mlp.down_proj      D M
"""
    + RMS_PAIR
)
GPT2_LAYER = """
    norm   ln_1        D
    conv1d attn.c_attn D 3*D
    conv1d attn.c_proj D D
    norm   ln_2        D
    conv1d mlp.c_fc    D M
    conv1d mlp.c_proj  M D
"""
NEOX_LAYER = """
    norm   input_layernorm           D
    norm   post_attention_layernorm  D
    linear attention.query_key_value 3*D D
    linear attention.dense           D D
    linear mlp.dense_h_to_4h         M D
    linear mlp.dense_4h_to_h         D M
"""
GPTJ_LAYER = """
    norm   ln_1          D
    matrix attn.k_proj   D D
    matrix attn.v_proj   D D
    matrix attn.q_proj   D D
    matrix attn.out_proj D D
    linear mlp.fc_in     M D
    linear mlp.fc_out    D M
"""
OPT_LAYER = """
    linear self_attn.k_proj     D D
    linear self_attn.v_proj     D D
    linear self_attn.q_proj     D D
    linear self_attn.out_proj   D D
    norm   self_attn_layer_norm D
    linear fc1                  M D
    linear fc2                  D M
    norm   final_layer_norm     D
"""
CLIP_LAYER = """
    linear self_attn.k_proj   D D
    linear self_attn.v_proj   D D
    linear self_attn.q_proj   D D
    linear self_attn.out_proj D D
    norm   layer_norm1        D
    linear mlp.fc1            M D
    linear mlp.fc2            D M
    norm   layer_norm2        D
"""
_BERT_EMBEDDINGS = """
    matrix word_embeddings       V D
    matrix position_embeddings   P D
    matrix token_type_embeddings {types} D
    norm   LayerNorm             D
"""
_BERT_LAYER = """
    linear attention.self.query       D D
    linear attention.self.key         D D
    linear attention.self.value       D D
    linear attention.output.dense     D D
    norm   attention.output.LayerNorm D
    linear intermediate.dense         M D
    linear output.dense               D M
    norm   output.LayerNorm           D
"""
DISTILBERT_LAYER = """
    linear attention.q_lin   D D
    linear attention.k_lin   D D
    linear attention.v_lin   D D
    linear attention.out_lin D D
    norm   sa_layer_norm     D
    linear ffn.lin1          M D
    linear ffn.lin2          D M
    norm   output_layer_norm D
"""
_VIT_EMBEDDINGS = """
    param  cls_token           1 1 D
    param  position_embeddings 1 {tokens} D
    linear patch_embeddings.projection D 3 patch patch
"""
_VIT_ATTENTION = """
    linear attention.attention.query D D
    linear attention.attention.key   D D
    linear attention.attention.value D D
    linear attention.output.dense    D D
"""
_VIT_LAYER = _VIT_ATTENTION + """
    linear intermediate.dense M D
    linear output.dense       D M
    norm   layernorm_before   D
    norm   layernorm_after    D
"""
_DINO_LAYER = "norm norm1 D" + _VIT_ATTENTION + """
    scale  layer_scale1.lambda1 D
    norm   norm2                D
    linear mlp.fc1              M D
    linear mlp.fc2              D M
    scale  layer_scale2.lambda1 D
"""
TIMM_LAYER = """
    norm   norm1     D
    linear attn.qkv  3*D D
    linear attn.proj D D
    norm   norm2     D
    linear mlp.fc1   M D
    linear mlp.fc2   D M
"""
CLIP_VISION = (
    Part("vision_model.", "param embeddings.class_embedding D\n matrix embeddings.patch_embedding D 3 patch patch"),
    Part("vision_model.", "matrix embeddings.position_embedding N+1 D\n norm pre_layrnorm D"),
    Part("vision_model.encoder.layers.{i}.", CLIP_LAYER, "L"),
    Part("vision_model.", "norm post_layernorm D"),
)


# --- Parts that several families share ---------------------------------------------


def decoder_parts(layer: str, norm: str = "rms", stem: str = "model.", head: str = "lm_head") -> tuple[Part, ...]:
    return (
        Part(stem, "matrix embed_tokens V D"),
        Part(stem + "layers.{i}.", layer, "L"),
        Part(stem, f"{norm} norm D"),
        Part("", f"head {head} V D"),
    )


def bert_parts(prefix: str, types: int, head: str) -> tuple[Part, ...]:
    return (
        Part(prefix + "embeddings.", _BERT_EMBEDDINGS.format(types=types)),
        Part(prefix + "encoder.layer.{i}.", _BERT_LAYER, "L"),
        Part("", head),
    )


def vit_parts(prefix: str, tokens: str, extra: str = "") -> tuple[Part, ...]:
    return (
        Part(prefix + "embeddings.", _VIT_EMBEDDINGS.format(tokens=tokens) + extra),
        Part(prefix + "encoder.layer.{i}.", _VIT_LAYER, "L"),
        Part(prefix, "norm layernorm D"),
        Part("", "linear classifier classes D"),
    )


def dino_parts(extra: str = "") -> tuple[Part, ...]:
    return (
        Part("embeddings.", _VIT_EMBEDDINGS.format(tokens="N+1") + "param mask_token 1 D\n" + extra),
        Part("encoder.layer.{i}.", _DINO_LAYER, "L"),
        Part("", "norm layernorm D"),
    )
