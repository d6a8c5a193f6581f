#!/usr/bin/env python3
"""Make one tiny checkpoint per family, with its heads and its forward pass.

Every case is built from a tiny config, filled with seeded float16 values, saved with
save_pretrained, loaded again from that folder, and run on seeded tokens with the eager
attention of transformers. Its heads are sliced from the live PyTorch modules.

Output, per case:  OUT/<case>/config.json, model.safetensors, expected.npz
expected.npz Q, K, V, O, folded_Q, ..., folded_O: as make_hf_checkpoints.py says;
             values as float16 where that is exact, folded_* only where they differ;
             input_ids, attentions, output: as make_forward.py says. There are no
             scores: the test checks that the softmax of the found ones gives the
             attentions. Families that headscope does not run have heads only.
             Where layers differ in shape, each has its own arrays, Q.0, Q.1, ...;
             a layer without K and V has none. Latent attention: Q, K and V are
             composed of the live modules in float64, and R is the shared rotary key.

The factor on queries and keys is searched for: attention is neither flat nor saturated.
Made with torch 2.15.0, transformers 5.22.2, safetensors 0.8.

    python make_families.py OUT [--only CASE ...]
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import golden_cases
from make_hf_checkpoints import BASE_SEED, Layer, expected_arrays, fill, start_torch, to_numpy

TOKENS = 12
QK = re.compile(
    r"(q_b_proj|attention\.self\.in_proj|[qk](uery|ey)?(_proj|_lin)?|c_attn|query_key_value|qkv_proj|Wqkv)\.weight"
)
QK_NORM = re.compile(r"(query|key|[qk])_(layer)?norm(\.norms\.\d+)?\.weight")
SHARPEN = (1.0, 1.4, 2.0, 0.7, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0, 0.5, 0.35, 0.25)


@dataclass
class Shaped:
    """One attention layer whose roles differ in width or number of heads: [out, in], O transposed."""

    matrices: dict[str, Tensor]
    heads: dict[str, int]
    gain: Tensor
    scale: Tensor | None = None  # per channel, on what O writes


Reader = Callable[[Any], Iterator[Layer | Shaped]]


# --- Reading heads from live modules ----------------------------------------------------------


def split(
    layers: str = "model.layers",
    names: str = "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj",
    norm: str = "input_layernorm",
    offset: float = 0.0,
    scale: str = "",
    gated: bool = False,
) -> Reader:
    """Separate projections, named relative to the block."""

    def read(model: Any) -> Iterator[Layer]:
        for block in attrgetter(layers)(model):
            if not has_attention(block, names.split()[0]):
                continue
            q, k, v, o = (attrgetter(name)(block).weight for name in names.split())
            if gated:
                q = q.unflatten(0, (model.config.get_text_config().num_attention_heads, 2, -1))[:, 0].flatten(0, 1)
            yield Layer(q, k, v, o, *gain_of(block, norm, offset), scale=attrgetter(scale)(block) if scale else None)

    return read


def latent(model: Any) -> Iterator[Shaped]:
    """Composed in float64: the norm between two factors divides by a magnitude, which is left out."""
    config = model.config
    heads, key, rank = config.num_attention_heads, config.qk_nope_head_dim, config.kv_lora_rank
    for block in model.model.layers:
        if not has_attention(block, "self_attn.kv_b_proj"):
            continue
        a = block.self_attn
        down, shared = a.kv_a_proj_with_mqa.weight.double().split([rank, config.qk_rope_head_dim])
        both = (a.kv_b_proj.weight.double() * a.kv_a_layernorm.weight.double()) @ down
        both = both.unflatten(0, (heads, -1))
        q = a.q_proj.weight if config.q_lora_rank is None else None
        if q is None:
            q = (a.q_b_proj.weight.double() * a.q_a_layernorm.weight.double()) @ a.q_a_proj.weight.double()
        roles = {"Q": q, "K": both[:, :key].flatten(0, 1), "V": both[:, key:].flatten(0, 1), "O": a.o_proj.weight.T}
        yield Shaped(roles | {"R": shared}, dict.fromkeys("QKVO", heads) | {"R": 1}, block.input_layernorm.weight)


def gemma_layers(model: Any) -> Iterator[Shaped]:
    """Width and KV heads per layer; layers that share K and V have none; V may be K."""
    for block in getattr(model.model, "language_model", model.model).layers:
        a, roles = block.self_attn, {}
        roles["Q"], roles["O"] = a.q_proj.weight, a.o_proj.weight.T
        if not a.is_kv_shared_layer:
            roles["K"] = a.k_proj.weight
            roles["V"] = a.k_proj.weight if a.v_proj is None else a.v_proj.weight
        heads = {role: matrix.shape[0] // a.head_dim for role, matrix in roles.items()}
        yield Shaped(roles, heads, block.input_layernorm.weight, block.post_attention_layernorm.weight)


def shaped_arrays(layers: list[Shaped]) -> dict[str, np.ndarray]:
    """[layer, head, d_model, width] of every role, raw and folded, in one array if all layers have the same shape."""
    by_role: dict[str, list[Any]] = {}  # None for a layer without the role
    for layer in layers:
        for role in "QKVOR":
            raw = folded = None
            if role in layer.matrices:
                matrix = layer.matrices[role]
                width = matrix.shape[0] // layer.heads[role]
                raw = matrix.detach().double().numpy().reshape(-1, width, matrix.shape[1]).transpose(0, 2, 1)
                if role == "O" and layer.scale is not None:
                    raw = layer.scale.detach().double().numpy()[:, None] * raw
                folded = raw if role == "O" else layer.gain.detach().double().numpy()[:, None] * raw
            by_role.setdefault(role, []).append(raw)
            by_role.setdefault(f"folded_{role}", []).append(folded)
    arrays = {}
    for role, found in by_role.items():
        if all(one is not None and one.shape == found[0].shape for one in found):
            arrays[role] = np.stack(found)
        else:
            arrays |= {f"{role}.{i}": one for i, one in enumerate(found) if one is not None}
    return {name: np.ascontiguousarray(values, np.float32) for name, values in arrays.items()}


def has_attention(block: Any, name: str) -> bool:
    """Whether a block has the module of that name, which may be in another one."""
    for part in name.split("."):
        block = getattr(block, part, None)
    return block is not None


def gain_of(block: Any, norm: str, offset: float) -> tuple[Tensor | None, float]:
    """The gain of the norm before attention; 1 for a norm without one, None without a norm."""
    if not norm:
        return None, 0.0
    module = attrgetter(norm)(block)
    weight = getattr(module, "weight", None)
    if weight is None and not isinstance(module, nn.Identity):
        weight = torch.ones(module.normalized_shape)
    return weight, offset


def fused(layers: str, qkv: str, o: str, norm: str, parts: Callable[[Any, Tensor], list[Tensor]]) -> Reader:
    """One projection; `parts` takes the config and the weight, [out, in], and returns Q, K and V."""

    def read(model: Any) -> Iterator[Layer]:
        for block in attrgetter(layers)(model):
            q, k, v = parts(model.config, attrgetter(qkv)(block).weight)
            yield Layer(q, k, v, attrgetter(o)(block).weight, *gain_of(block, norm, 0.0))

    return read


def per_head(config: Any, weight: Tensor) -> list[Tensor]:
    width = config.hidden_size // config.num_attention_heads
    return [part.flatten(0, 1) for part in weight.unflatten(0, (config.num_attention_heads, 3, width)).unbind(1)]


def multi_query(config: Any, weight: Tensor) -> list[Tensor]:
    width = config.hidden_size // config.num_attention_heads
    return list(weight.split([config.hidden_size, width, width]))


def falcon_groups(config: Any, weight: Tensor) -> list[Tensor]:
    width = config.hidden_size // config.num_attention_heads
    groups = weight.unflatten(0, (config.num_kv_heads, -1, width))
    return [groups[:, :-2].flatten(0, 2), groups[:, -2].flatten(0, 1), groups[:, -1].flatten(0, 1)]


def codegen_partitions(_config: Any, weight: Tensor) -> list[Tensor]:
    q, v, k = weight.unflatten(0, (4, 3, -1)).unbind(1)
    return [part.flatten(0, 1) for part in (q, k, v)]


def albert_layers(model: Any) -> Iterator[Layer]:
    transformer, config = model.albert.encoder, model.config
    for i in range(config.num_hidden_layers):
        group = transformer.albert_layer_groups[i * config.num_hidden_groups // config.num_hidden_layers]
        a = group.albert_layers[0].attention
        yield Layer(a.query.weight, a.key.weight, a.value.weight, a.dense.weight)


def thirds(_config: Any, weight: Tensor) -> list[Tensor]:
    return list(weight.chunk(3))


# --- The cases --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    model: str  # class in transformers
    config: str
    options: dict[str, Any]
    read: Reader
    norm: str = "rms"  # "layer", "rms" or "post"
    tokens: int = TOKENS
    arguments: dict[str, Any] = field(default_factory=dict)  # of the model class
    runs: bool = True  # headscope has a forward pass for it
    half: bool = True  # the file holds float16; the values are the same
    alibi_twice: bool = False  # eager attention of transformers 5.22 adds Falcon's bias twice, its other attention once
    edit: Callable[[dict[str, Any]], dict[str, Any]] | None = None  # of config.json, after saving
    original_names: bool = True  # the names of files on the hub, not those of transformers 5
    mxfp4: bool = False  # gpt-oss: the experts are stored in blocks of 32 codes of 4 bits with an exponent
    correction: float = 0.0  # deviation of what is added to a router's scores for choosing; it is a buffer


SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
TEXT = SIZES | SPECIAL | {"intermediate_size": 8, "vocab_size": 20, "max_position_embeddings": 16}
GROUPED = TEXT | {"num_key_value_heads": 1, "tie_word_embeddings": True}
SMALL = GROUPED | {"head_dim": 6}
WIDE = GROUPED | {"hidden_size": 16}
GPT = {"n_embd": 8, "n_layer": 2, "n_head": 2, "n_inner": 8, "n_positions": 16, "vocab_size": 20}
GPT |= {"bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": True}
ROBERTA = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "max_position_embeddings": 20}
BERT = "attention.self.query attention.self.key attention.self.value attention.output.dense"
PHI = "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.dense"
FALCON = {**SIZES, "vocab_size": 20, "ffn_hidden_size": 8, "bos_token_id": 1, "eos_token_id": 2}


def causal(family: str, options: dict[str, Any], read: Reader | None = None, **rest: Any) -> Case:
    return Case(f"{family}ForCausalLM", f"{family}Config", options, read or split(), **rest)


def masked(family: str, base: str, options: dict[str, Any] | None = None, **rest: Any) -> Case:
    read = split(f"{base}.encoder.layer", BERT, "")
    options = TEXT | ROBERTA if options is None else options
    return Case(f"{family}ForMaskedLM", f"{family}Config", options, read, "post", **rest)


def falcon(parts: Callable[[Any, Tensor], list[Tensor]], norm: str = "input_layernorm", **options: Any) -> Case:
    read = fused("transformer.h", "self_attention.query_key_value", "self_attention.dense", norm, parts)
    return causal("Falcon", FALCON | options, read, norm="layer", alibi_twice=options.get("alibi", False))


def bigcode(parts: Callable[[Any, Tensor], list[Tensor]], **options: Any) -> Case:
    read = fused("transformer.h", "attn.c_attn", "attn.c_proj", "ln_1", parts)
    return causal("GPTBigCode", GPT | options, read, norm="layer")


def rope(kind: str = "default", **keys: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 100.0, **keys}}


YARN = {"factor": 4.0, "original_max_position_embeddings": 5, "beta_fast": 4.0, "beta_slow": 1.0}
LAYERS = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 4}
HYBRID = GROUPED | {"num_hidden_layers": 4, "layer_types": 2 * ["linear_attention", "full_attention"], "head_dim": 8}
HYBRID |= {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 2, "linear_value_head_dim": 3}
QWEN = split(offset=1.0, gated=True)
LATENT = TEXT | {"num_key_value_heads": 2, "kv_lora_rank": 6, "q_lora_rank": 7, "qk_nope_head_dim": 4}
LATENT |= {"qk_rope_head_dim": 4, "v_head_dim": 3, "tie_word_embeddings": False}
LATENT_MIX = {
    "first_k_dense_replace": 1,
    "n_routed_experts": 6,
    "n_group": 3,
    "topk_group": 2,
    "num_experts_per_tok": 2,
}
LATENT_MIX |= {"moe_intermediate_size": 4, "n_shared_experts": 2}
YARN_SCORES = rope("yarn", mscale=0.7, mscale_all_dim=1.2, **YARN)
GEMMA4: dict[str, Any] = GROUPED | {"num_hidden_layers": 4, "head_dim": 4, "global_head_dim": 8}
GEMMA4 |= {"layer_types": 2 * ["sliding_attention", "full_attention"], "sliding_window": 4}
GEMMA4 |= {"vocab_size_per_layer_input": 20}
MODERN = TEXT | {"num_hidden_layers": 3, "local_attention": 6, "cls_token_id": 1, "sep_token_id": 2}
DEBERTA = " ".join(f"attention.self.{x}_proj" for x in ("query", "key", "value")) + " attention.output.dense"
WINDOWS = {"num_hidden_layers": 4, "layer_types": 3 * ["sliding_attention"] + ["full_attention"], "sliding_window": 4}

# Mixtures: four experts, of which a token uses two.
MIXED = GROUPED | {"num_experts_per_tok": 2, "tie_word_embeddings": False}
LOCAL = MIXED | {"num_local_experts": 4}
NARROW = MIXED | {"num_experts": 4, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 12}
FOUR = {"num_hidden_layers": 4}
ROUTED: dict[str, Any] = {"n_routed_experts": 8, "moe_intermediate_size": 4, "n_group": 4, "topk_group": 2}
ROUTED |= {"routed_scaling_factor": 1.5, "first_k_dense_replace": 1}
LLAMA4: dict[str, Any] = {"intermediate_size_mlp": 6, "interleave_moe_layer_step": 2, "num_experts_per_tok": 1}
LLAMA4 |= {"head_dim": 8, "attention_chunk_size": 5, "floor_scale": 4, "attn_scale": 0.3}
GPT_OSS = LOCAL | {"head_dim": 8, "sliding_window": 4} | rope("yarn", truncate=False, **YARN)

CASES: dict[str, Case] = {
    "mixtral": causal("Mixtral", LOCAL),
    "mixtral_stacked": causal("Mixtral", LOCAL, original_names=False),
    "qwen2_moe": causal("Qwen2Moe", NARROW),
    "qwen3_moe": causal("Qwen3Moe", NARROW | {"head_dim": 6, "norm_topk_prob": True}),
    "glm4_moe": causal("Glm4Moe", MIXED | ROUTED | {"head_dim": 8, "use_qk_norm": True}, correction=0.3),
    "dots1": causal("Dots1", MIXED | ROUTED | LAYERS | {"n_shared_experts": 1, "norm_topk_prob": True}, correction=0.3),
    "solar_open": causal(
        "SolarOpen", {k: v for k, v in (MIXED | ROUTED).items() if k not in ("intermediate_size",
            "first_k_dense_replace")} | {"head_dim": 8, "n_shared_experts": 1}, correction=0.3,
    ),
    "flex_olmo": causal(
        "FlexOlmo", MIXED | {"num_experts": 4}, split(norm="", scale="post_attention_layernorm.weight")
    ),
    "lfm2_moe": causal(
        "Lfm2Moe", NARROW | {"num_hidden_layers": 3, "layer_types": ["full_attention", "conv", "full_attention"],
                             "num_dense_layers": 1, "num_experts_per_tok": 2},
        split(names="self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj", norm="operator_norm"),
        correction=0.3,
    ),
    "olmoe": causal("Olmoe", MIXED | {"num_experts": 4, "clip_qkv": 1.5}),
    "phimoe": causal("Phimoe", LOCAL | {"lm_head_bias": True, "router_jitter_noise": 0.3}, norm="layer"),
    "granitemoe": causal(
        "GraniteMoe", LOCAL | {"embedding_multiplier": 3.0, "attention_multiplier": 0.2, "residual_multiplier": 0.4,
                               "logits_scaling": 2.5},
    ),
    "gpt_oss": causal("GptOss", GPT_OSS),
    "gpt_oss_mxfp4": causal(
        "GptOss", GPT_OSS | {"num_hidden_layers": 1, "hidden_size": 32, "intermediate_size": 32, "num_local_experts": 3}
        | {"head_dim": 4, "swiglu_limit": 1.0},
        mxfp4=True, half=False,
    ),
    "llama4": Case("Llama4ForCausalLM", "Llama4TextConfig", LOCAL | FOUR | LLAMA4, split()),
    "xlm_roberta": masked("XLMRoberta", "roberta"),
    "camembert": masked("Camembert", "roberta"),
    "electra": masked("Electra", "electra", TEXT | {"embedding_size": 6}),
    "electra_base": Case(
        "ElectraForPreTraining", "ElectraConfig", TEXT | {"embedding_size": 8},
        split("electra.encoder.layer", BERT, ""), "post",
    ),
    "esm": Case(
        "EsmForMaskedLM", "EsmConfig",
        TEXT | {"position_embedding_type": "rotary", "token_dropout": True, "mask_token_id": 19, "pad_token_id": 0},
        split("esm.encoder.layer", BERT, "attention.LayerNorm"), "layer", half=False,  # its frequencies are stored, too
    ),
    "mpnet": Case(
        "MPNetForMaskedLM", "MPNetConfig", TEXT | ROBERTA | {"max_position_embeddings": 32}, split(
            "mpnet.encoder.layer", "attention.attn.q attention.attn.k attention.attn.v attention.attn.o", ""
        ), "post", tokens=24,
    ),
    "modernbert": Case(
        "ModernBertForMaskedLM", "ModernBertConfig", MODERN,
        fused("model.layers", "attn.Wqkv", "attn.Wo", "attn_norm", thirds), "layer",
    ),
    "albert": Case(
        "AlbertForMaskedLM", "AlbertConfig",
        TEXT | {"embedding_size": 6, "num_hidden_layers": 4, "num_hidden_groups": 2},
        albert_layers, "post",
    ),
    "deberta_v2": Case(
        "DebertaV2ForMaskedLM", "DebertaV2Config",
        TEXT | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
        | {"share_att_key": True, "position_buckets": 4, "norm_rel_ebd": "layer_norm", "position_biased_input": False},
        split("deberta.encoder.layer", DEBERTA, ""), "post", tokens=20,
    ),
    "deberta_v2_own": Case(
        "DebertaV2ForMaskedLM", "DebertaV2Config",
        TEXT | {"relative_attention": True, "pos_att_type": "c2p", "max_relative_positions": 6, "type_vocab_size": 2},
        split("deberta.encoder.layer", DEBERTA, ""), "post",
    ),
    "qwen3_next": causal("Qwen3Next", HYBRID | {"num_experts": 0, "mlp_only_layers": [0, 1, 2, 3]}, QWEN),
    "qwen3_5": Case("Qwen3_5ForCausalLM", "Qwen3_5TextConfig", HYBRID, QWEN),
    "lfm2": causal(
        "Lfm2", GROUPED | {"num_hidden_layers": 4, "full_attn_idxs": [1, 2], "block_auto_adjust_ff_dim": False},
        split(names="self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj", norm="operator_norm"),
    ),
    "jamba": causal(
        "Jamba", GROUPED | {"num_hidden_layers": 4, "attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 3,
                            "expert_layer_period": 2, "expert_layer_offset": 0, "num_experts_per_tok": 2,
                            "mamba_d_state": 3, "mamba_dt_rank": 2, "use_mamba_kernels": False},
    ),
    "deepseek_v3": causal(
        "DeepseekV3", LATENT | LATENT_MIX | rope("yarn", mscale=1.2, mscale_all_dim=1.2, **YARN), latent,
        correction=0.3,
    ),
    "deepseek_v3_plain": causal(
        "DeepseekV3", LATENT | {"q_lora_rank": None, "rope_interleave": False, "attention_bias": True,
                                 "first_k_dense_replace": 2}, latent
    ),
    "deepseek_v2": causal(
        "DeepseekV2", LATENT | LATENT_MIX | {"rms_norm_eps": 1e-5, "topk_method": "group_limited_greedy"} | YARN_SCORES,
        latent,
    ),
    "glm4_moe_lite": causal("Glm4MoeLite", LATENT | LATENT_MIX | {"n_group": 1, "topk_group": 1}, latent,
        correction=0.3),
    "youtu": causal("Youtu", LATENT | {"pad_token_id": None}, latent),
    "mistral4": causal(
        "Mistral4", LATENT | LATENT_MIX | rope("yarn", llama_4_scaling_beta=0.5, mscale=1.0,
            mscale_all_dim=1.0, **YARN), latent
    ),
    "gemma4": Case(
        "Gemma4ForCausalLM", "Gemma4TextConfig",
        GEMMA4 | {"num_kv_shared_layers": 2, "hidden_size_per_layer_input": 2, "use_double_wide_mlp": True,
                  "intermediate_size": 4},
        gemma_layers,
    ),
    "gemma4_keys": Case(
        "Gemma4ForCausalLM", "Gemma4TextConfig",
        GEMMA4 | {"num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"],
            "num_attention_heads": 4, "num_key_value_heads": 2, "num_global_key_value_heads": 1,
                  "attention_k_eq_v": True, "hidden_size_per_layer_input": 0, "final_logit_softcapping": 3.0},
        gemma_layers,
    ),
    "gemma3n": Case(
        "Gemma3nForCausalLM", "Gemma3nTextConfig",
        GROUPED | {"num_hidden_layers": 4, "head_dim": 6, "num_kv_shared_layers": 2, "laurel_rank": 2,
                   "altup_num_inputs": 3, "activation_sparsity_pattern": [0.7, 0.0, 0.2, 0.0],
                   "hidden_size_per_layer_input": 2, "vocab_size_per_layer_input": 20,
                   "layer_types": 2 * ["sliding_attention", "full_attention"], "sliding_window": 4},
        gemma_layers,
    ),
    "smollm3": causal("SmolLM3", GROUPED | {"num_hidden_layers": 4} | rope()),
    "granite": causal(
        "Granite", SMALL | {"embedding_multiplier": 3.0, "attention_multiplier": 0.2, "residual_multiplier": 0.4,
                            "logits_scaling": 2.5, "hidden_size": 12},
    ),
    "gemma": causal("Gemma", SMALL, split(offset=1.0)),
    "phi": causal("Phi", GROUPED | {"tie_word_embeddings": False}, split(names=PHI), norm="layer"),
    "phi_qk": causal("Phi", GROUPED | {"qk_layernorm": True}, split(names=PHI), norm="layer"),
    "stablelm": causal("StableLm", WIDE | {"use_qkv_bias": True}, norm="layer"),
    "stablelm_parallel": causal(
        "StableLm", WIDE | {"qk_layernorm": True, "use_parallel_residual": True}, norm="layer"
    ),
    "starcoder2": causal("Starcoder2", GROUPED | {"sliding_window": 4}, norm="layer"),
    "cohere": causal("Cohere", GROUPED | {"logit_scale": 0.5, "use_qk_norm": True}, norm="layer"),
    "cohere2": causal("Cohere2", GROUPED | WINDOWS | {"logit_scale": 0.5}, norm="layer"),
    "glm": causal("Glm", GROUPED | {"head_dim": 8}),
    "glm4": causal("Glm4", GROUPED | {"head_dim": 8}, split(scale="post_self_attn_layernorm.weight")),
    "nemotron": causal("Nemotron", GROUPED, split(offset=1.0), norm="layer"),
    "olmo": causal("Olmo", GROUPED | {"clip_qkv": 1.5}, norm="layer"),
    "olmo2": causal("Olmo2", GROUPED, split(norm="", scale="post_attention_layernorm.weight")),
    "olmo3": causal(
        "Olmo3", GROUPED | LAYERS | {"rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
            "full_attention": {"rope_type": "yarn", "rope_theta": 100.0, **YARN},
        }}, split(norm="", scale="post_attention_layernorm.weight"),
    ),
    "ernie4_5": causal("Ernie4_5", SMALL | {"use_bias": True} | rope()),
    "seed_oss": causal("SeedOss", SMALL),
    "ministral": causal("Ministral", SMALL | LAYERS),
    "ministral3": causal(
        "Ministral3", SMALL | rope("yarn", llama_4_scaling_beta=0.5, mscale=1.0, mscale_all_dim=1.0, **YARN)
    ),
    "jais2": causal("Jais2", SMALL | {"tie_word_embeddings": False}, norm="layer"),
    "arcee": causal("Arcee", SMALL | {"hidden_act": "relu2"}),
    "cwm": causal("Cwm", SMALL | {"sliding_window": 4, "layer_types": ["full_attention",
        "sliding_attention"]} | rope()),
    "exaone4": causal(
        "Exaone4", SMALL | LAYERS | {"sliding_window_pattern": 2},
        split(norm="", scale="post_attention_layernorm.weight"),
    ),
    "helium": causal("Helium", GROUPED | {"head_dim": 4}),
    "vaultgemma": causal("VaultGemma", SMALL | LAYERS | {"query_pre_attn_scalar": 9}, split(offset=1.0)),
    "eurobert": Case("EuroBertForMaskedLM", "EuroBertConfig", SMALL, split()),
    "apertus": causal("Apertus", SMALL | rope(), split(norm="attention_layernorm")),
    "biogpt": causal("BioGpt", TEXT, split(
        "biogpt.layers", "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj", "self_attn_layer_norm"
    ), norm="layer"),
    "xlm_roberta_xl": Case(
        "XLMRobertaXLForMaskedLM", "XLMRobertaXLConfig", TEXT | ROBERTA,
        split("roberta.encoder.layer", BERT, "attention.self_attn_layer_norm"), "layer",
    ),
    "roberta_prelayernorm": Case(
        "RobertaPreLayerNormForMaskedLM", "RobertaPreLayerNormConfig", TEXT | ROBERTA,
        split("roberta_prelayernorm.encoder.layer", BERT, "attention.LayerNorm"), "layer",
    ),
    "megatron_bert": Case(
        "MegatronBertForMaskedLM", "MegatronBertConfig", TEXT, split("bert.encoder.layer", BERT,
            "attention.ln"), "layer",
    ),
    "gpt_neo": causal(
        "GPTNeo",
        {k: v for k, v in TEXT.items() if k not in ("num_hidden_layers", "num_attention_heads")}
        | {"num_layers": 2, "num_heads": 2, "attention_types": [[["global", "local"], 1]], "window_size": 4},
        split("transformer.h", " ".join(f"attn.attention.{x}_proj" for x in ("q", "k", "v", "out")), "ln_1"),
        norm="layer",
    ),
    "gpt_bigcode": bigcode(multi_query),
    "gpt_bigcode_heads": bigcode(per_head, multi_query=False),
    "codegen": causal(
        "CodeGen", GPT | {"n_embd": 16, "n_head": 4, "rotary_dim": 2, "tie_word_embeddings": False},
        fused("transformer.h", "attn.qkv_proj", "attn.out_proj", "ln_1", codegen_partitions), norm="layer",
    ),
    "bloom": causal(
        "Bloom", {"hidden_size": 12, "n_layer": 2, "n_head": 3, "vocab_size": 20, **SPECIAL},
        fused("transformer.h", "self_attention.query_key_value", "self_attention.dense", "input_layernorm", per_head),
        norm="layer",
    ),
    "mpt": causal(
        "Mpt", {"d_model": 12, "n_layers": 2, "n_heads": 3, "vocab_size": 20, "max_seq_len": 16,
                "attn_config": {"clip_qkv": 1.5, "softmax_scale": 0.5}},
        fused("transformer.blocks", "attn.Wqkv", "attn.out_proj", "norm_1", thirds), norm="layer",
    ),
    "falcon": falcon(multi_query),
    "falcon_alibi": falcon(per_head, multi_query=False, alibi=True, parallel_attn=False, bias=True),
    "falcon_groups": falcon(
        falcon_groups, "ln_attn", new_decoder_architecture=True, num_attention_heads=4, num_kv_heads=2, hidden_size=16
    ),
    "falcon2": falcon(
        falcon_groups, new_decoder_architecture=True, num_attention_heads=4, num_kv_heads=2, hidden_size=16,
        num_ln_in_parallel_attn=1,
    ),
}  # fmt: skip


# --- Making a case ----------------------------------------------------------------------------


def seed_of(name: str) -> int:
    return BASE_SEED ^ zlib.crc32(("family " + name).encode())


E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0])
EXPERTS = ("gate_up_proj", "down_proj")


def mxfp4_parts(name: str, model: Any) -> dict[str, Tensor]:
    """Seeded codes and exponents of the experts, which the live weights, [experts, in, out], are set to."""
    generator = torch.Generator().manual_seed(seed_of(name) + 3)
    parts = {}
    for i, block in enumerate(model.model.layers):
        for matrix in EXPERTS:
            weight = getattr(block.mlp.experts, matrix)
            shape = (weight.shape[0], weight.shape[2], weight.shape[1] // 32)
            codes = torch.randint(16, (*shape, 32), generator=generator)
            exponents = torch.randint(122, 126, shape, generator=generator)
            values = E2M1[codes] * torch.exp2(exponents.float() - 127)[..., None]
            weight.data.copy_(values.flatten(2).transpose(1, 2))
            stem = f"model.layers.{i}.mlp.experts.{matrix}"
            parts[stem + "_blocks"] = (codes[..., ::2] + 16 * codes[..., 1::2]).to(torch.uint8)
            parts[stem + "_scales"] = exponents.to(torch.uint8)
    return parts


def pack_experts(folder: Path, parts: dict[str, Tensor]) -> None:
    """Replaces the experts in a saved file by their packed form."""
    path = folder / "model.safetensors"
    kept = {key: value for key, value in load_file(path).items() if key + "_blocks" not in parts}
    small = {key: value.half() if torch.equal(value, value.half().float()) else value for key, value in kept.items()}
    save_file(small | parts, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def build(name: str, case: Case, sharpen: float) -> Any:
    torch.manual_seed(seed_of(name))
    model = getattr(hf, case.model)(getattr(hf, case.config)(**case.options), **case.arguments).float().eval()
    fill(model, seed_of(name))
    own = [key for key, _ in model.named_parameters() if "cross_attn" not in key]
    normed = any(QK_NORM.search(key) for key in own)
    generator = torch.Generator().manual_seed(seed_of(name) + 2)
    for buffer_name, buffer in model.named_buffers():
        if buffer_name.endswith("layer_scalar"):
            buffer.fill_(0.75)
        if buffer_name.endswith(("e_score_correction_bias", "expert_bias")):
            buffer.copy_((torch.randn(buffer.shape, generator=generator) * case.correction).half())
    for parameter_name, parameter in model.named_parameters():
        if (QK_NORM if normed else QK).search(parameter_name):
            parameter.data.mul_(sharpen)
        parameter.data.copy_(parameter.data.half().float())
        if not parameter.data.all():
            raise ValueError(f"{parameter_name} has a zero in it")
    if case.mxfp4:
        mxfp4_parts(name, model)
    model.set_attn_implementation("eager")
    return model


def tokens_of(name: str, case: Case) -> Tensor:
    generator = torch.Generator().manual_seed(seed_of(name) + 1)
    return torch.randint(3, 20, (1, case.tokens), generator=generator)


def run(model: Any, ids: Tensor) -> tuple[str, dict[str, np.ndarray]]:
    # Llama 4's text model is not where transformers looks for it.
    base = getattr(model, "model", model) if model.base_model is model else model.base_model
    with torch.no_grad():
        result = base(ids, output_attentions=True)
        logits = None if model is base else model(ids).logits
    has_vocabulary = logits is not None and logits.shape[-1] == model.config.get_text_config().vocab_size
    output = logits if logits is not None and has_vocabulary else result.last_hidden_state
    arrays = {"attentions": torch.stack(result.attentions), "output": output}
    return "logits" if has_vocabulary else "hidden", {name: to_numpy(value) for name, value in arrays.items()}


def is_sharp(attentions: np.ndarray) -> bool:
    """Neither flat nor saturated, among the rows that see more than a few tokens."""
    largest = attentions[..., 4:, :].max(axis=-1)
    return bool(np.isfinite(attentions).all() and 0.45 < largest.mean() < 0.9)


def sharp_model(name: str, case: Case) -> tuple[Any, float]:
    if not case.runs:
        return build(name, case, 1.0), 1.0
    for factor in SHARPEN:
        model = build(name, case, factor)
        if is_sharp(run(model, tokens_of(name, case))[1]["attentions"]):
            return model, factor
    raise ValueError("attention is too flat or too sharp")


def loaded(folder: Path, model: Any, case: Case) -> Any:
    """The checkpoint as a reader meets it; its parameters must be those that were saved."""
    options = {"dtype": torch.float32, "attn_implementation": "eager"} | case.arguments
    again = type(model).from_pretrained(folder, **options).float().eval()  # MXFP4 is decoded to bfloat16
    for name, value in again.state_dict().items():
        if not torch.equal(value, model.state_dict()[name]):
            raise ValueError(f"{name} differs after loading {folder}")
    return again


def compact(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same values in fewer bytes: as float16 where that is exact, folded arrays only if they differ."""
    raw = {k: arrays[k.removeprefix("folded_")] for k in arrays}
    kept = {k: v for k, v in arrays.items() if not k.startswith("folded") or not np.array_equal(v, raw[k])}
    return {k: v.astype(np.float16) if np.array_equal(v, v.astype(np.float16)) else v for k, v in kept.items()}


@contextmanager
def half_alibi() -> Iterator[None]:
    module = hf.models.falcon.modeling_falcon
    original = module.build_alibi_tensor
    module.build_alibi_tensor = lambda *arguments, **options: original(*arguments, **options) / 2
    try:
        yield
    finally:
        module.build_alibi_tensor = original


def run_once_biased(model: Any, folder: Path, ids: Tensor) -> tuple[str, dict[str, np.ndarray]]:
    with half_alibi():
        kind, arrays = run(model, ids)
    other = type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa").eval()
    with torch.no_grad():
        np.testing.assert_allclose(other(ids).logits.numpy(), arrays["output"], rtol=0, atol=1e-5)
    return kind, arrays


def make_case(name: str, case: Case, folder: Path) -> str:
    model, factor = sharp_model(name, case)
    shutil.rmtree(folder, ignore_errors=True)
    (model.half() if case.half else model).save_pretrained(folder, save_original_format=case.original_names)
    model.float()
    (folder / "generation_config.json").unlink(missing_ok=True)
    if case.mxfp4:
        pack_experts(folder, mxfp4_parts(name, model))
    if case.edit:
        path = folder / "config.json"
        path.write_text(json.dumps(case.edit(json.loads(path.read_text())), indent=2, sort_keys=True) + "\n")
    runner = loaded(folder, model, case)
    ids = tokens_of(name, case)
    kind = "heads only"
    arrays: dict[str, np.ndarray] = {}
    if case.runs:
        kind, arrays = run_once_biased(runner, folder, ids) if case.alibi_twice else run(runner, ids)
        arrays["input_ids"] = ids.numpy()
    heads = runner.config.get_text_config().num_attention_heads
    layers: list[Any] = list(case.read(runner))
    if isinstance(layers[0], Shaped):
        arrays |= compact(shaped_arrays(layers))
    else:
        arrays |= compact(expected_arrays(layers, heads, case.norm))
        if heads * arrays["Q"].shape[-1] != arrays["O"].shape[1] * arrays["O"].shape[-1]:
            raise ValueError("the heads are not as wide as O reads")
    np.savez_compressed(folder / "expected.npz", **arrays)  # type: ignore[arg-type]  # NumPy's allow_pickle
    size = sum(path.stat().st_size for path in folder.iterdir())
    shapes = " ".join(f"{k}{list(v.shape)}" for k, v in arrays.items() if k[0] in "QK")
    return f"{kind} {shapes} factor {factor} {size / 1024:.1f} KiB"


def main() -> int:
    return golden_cases.main(
        __doc__, CASES, lambda name, out: make_case(name, CASES[name], out / name), prepare=start_torch
    )


if __name__ == "__main__":
    sys.exit(main())
