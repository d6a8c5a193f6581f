#!/usr/bin/env python3
"""Make GGUF files of the cases of make_families.py, as llama.cpp's converter would write them.

Applies to every tensor what the converter applies, writes matrices as F16 (exact: the values
are float16) and the rest as F32, with the keys the converter writes.

Input:   OUT/<case>/{config.json, model.safetensors, expected.npz}
Output:  OUT/gguf_<case>/model.gguf, and expected.npz where the rows of Q and K are permuted:
it holds Q and K only. For all other arrays the expected.npz of <case> holds.

No randomness here. Made with gguf 0.19.0.

    python make_families_gguf.py OUT [--only CASE ...]
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import gguf
import numpy as np
from safetensors.numpy import load_file

import make_gguf_checkpoints as heads
from make_gguf_checkpoints import Arrays, Config, head_width, rope

Writer: TypeAlias = gguf.GGUFWriter
Change = Callable[[str, np.ndarray, Config], np.ndarray]


# --- Keys -------------------------------------------------------------------------------------


def first(config: Config, *keys: str) -> int:
    return int(next(config[key] for key in keys if config.get(key) is not None))


def add_decoder(writer: Writer, config: Config) -> None:
    count = first(config, "num_attention_heads", "n_head", "n_heads")
    writer.add_block_count(first(config, "num_hidden_layers", "n_layer", "n_layers"))
    writer.add_context_length(16)
    writer.add_embedding_length(first(config, "hidden_size", "n_embd", "d_model"))
    writer.add_feed_forward_length(8)
    writer.add_head_count(count)
    multi_query = config.get("multi_query") and not config.get("new_decoder_architecture")
    kv_heads = 1 if multi_query else config.get("num_key_value_heads") or config.get("num_kv_heads")
    writer.add_head_count_kv(kv_heads or count)
    if config.get("head_dim"):
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
    if config.get("rms_norm_eps"):
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    else:
        names = ("layer_norm_eps", "layer_norm_epsilon", "norm_eps", "norm_epsilon")
        writer.add_layer_norm_eps(next((config[name] for name in names if name in config), 1e-5))
    if "rope_parameters" in config:
        add_rotary(writer, config)
    if config.get("sliding_window"):
        writer.add_sliding_window(config["sliding_window"])


def add_rotary(writer: Writer, config: Config) -> None:
    writer.add_rope_freq_base(rope(config, "rope_theta"))
    writer.add_rope_dimension_count(int(rope(config, "partial_rotary_factor", 1.0) * head_width(config)))
    if rope(config, "rope_type") == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope(config, "factor"))
        writer.add_rope_scaling_orig_ctx_len(rope(config, "original_max_position_embeddings"))
        writer.add_rope_scaling_yarn_beta_fast(rope(config, "beta_fast"))
        writer.add_rope_scaling_yarn_beta_slow(rope(config, "beta_slow"))


def add_granite(writer: Writer, config: Config) -> None:
    add_decoder(writer, config)
    writer.add_attention_scale(config["attention_multiplier"])
    writer.add_embedding_scale(config["embedding_multiplier"])
    writer.add_residual_scale(config["residual_multiplier"])
    writer.add_logit_scale(config["logits_scaling"])


def add_cohere(writer: Writer, config: Config) -> None:
    add_decoder(writer, config)
    writer.add_logit_scale(config["logit_scale"])


def add_olmo(writer: Writer, config: Config) -> None:
    add_decoder(writer, config)
    writer.add_clamp_kqv(config["clip_qkv"])


def add_olmo3(writer: Writer, config: Config) -> None:
    add_decoder(writer, config)
    writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])


def add_exaone4(writer: Writer, config: Config) -> None:
    add_decoder(writer, config)
    writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])


def add_ministral3(writer: Writer, config: Config) -> None:
    add_decoder(writer, config)
    writer.add_rope_scaling_yarn_log_mul(1.0)
    writer.add_attn_temperature_scale(rope(config, "llama_4_scaling_beta"))


def add_latent(writer: Writer, config: Config) -> None:
    """Keys of the form in which queries and outputs are multiplied by the second factors."""
    rank, shared = config["kv_lora_rank"], config["qk_rope_head_dim"]
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(16)
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(8)
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(1)
    writer.add_key_length(rank + shared)
    writer.add_value_length(rank)
    writer.add_key_length_mla(config["qk_nope_head_dim"] + shared)
    writer.add_value_length_mla(config["v_head_dim"])
    if config["q_lora_rank"] is not None:
        writer.add_q_lora_rank(config["q_lora_rank"])
    writer.add_kv_lora_rank(rank)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    add_rotary(writer, config | {"head_dim": shared})
    if rope(config, "rope_type") == "yarn":
        writer.add_rope_scaling_yarn_log_mul(0.1 * rope(config, "mscale_all_dim"))
    if "n_routed_experts" not in config:
        return
    writer.add_leading_dense_block_count(config["first_k_dense_replace"])
    writer.add_expert_count(config["n_routed_experts"])
    writer.add_expert_used_count(config["num_experts_per_tok"])
    writer.add_expert_shared_count(config["n_shared_experts"])
    writer.add_expert_group_count(config["n_group"])
    writer.add_expert_group_used_count(config["topk_group"])
    writer.add_expert_weights_scale(config["routed_scaling_factor"])
    writer.add_expert_weights_norm(config["norm_topk_prob"])
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)


def add_mpt(writer: Writer, config: Config) -> None:
    add_decoder(writer, config)
    writer.add_clamp_kqv(config["attn_config"]["clip_qkv"])
    writer.add_max_alibi_bias(8)


def add_modernbert(writer: Writer, config: Config) -> None:
    add_decoder(writer, config)
    writer.add_sliding_window(config["local_attention"])
    writer.add_sliding_window_pattern(3)
    writer.add_rope_freq_base_swa(config["rope_parameters"]["sliding_attention"]["rope_theta"])


def add_stablelm(writer: Writer, config: Config) -> None:
    add_decoder(writer, config)
    writer.add_parallel_residual(config["use_parallel_residual"])


def add_t5(writer: Writer, config: Config) -> None:
    writer.add_context_length(16)
    writer.add_embedding_length(config["d_model"])
    writer.add_feed_forward_length(config["d_ff"])
    writer.add_block_count(config["num_layers"])
    writer.add_decoder_block_count(config["num_decoder_layers"])
    writer.add_head_count(config["num_heads"])
    writer.add_key_length(config["d_kv"])
    writer.add_value_length(config["d_kv"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    writer.add_relative_attn_buckets_count(config["relative_attention_num_buckets"])
    writer.add_layer_norm_rms_eps(config["layer_norm_epsilon"])
    writer.add_decoder_start_token_id(config["decoder_start_token_id"])


def add_mixture(writer: Writer, config: Config) -> None:
    add_decoder(writer, config)
    writer.add_expert_count(first(config, "num_local_experts", "num_experts"))
    writer.add_expert_used_count(config["num_experts_per_tok"])
    if config.get("clip_qkv"):
        writer.add_clamp_kqv(config["clip_qkv"])


def add_routed_mixture(writer: Writer, config: Config) -> None:
    """GLM-4-MoE. The layers that predict further tokens count as layers."""
    further = config["num_nextn_predict_layers"]
    add_decoder(writer, config | {"num_hidden_layers": config["num_hidden_layers"] + further})
    writer.add_nextn_predict_layers(further)
    writer.add_leading_dense_block_count(config["first_k_dense_replace"])
    writer.add_expert_count(config["n_routed_experts"])
    writer.add_expert_used_count(config["num_experts_per_tok"])
    writer.add_expert_shared_count(config["n_shared_experts"])
    writer.add_expert_group_count(config["n_group"])
    writer.add_expert_group_used_count(config["topk_group"])
    writer.add_expert_weights_scale(config["routed_scaling_factor"])
    writer.add_expert_weights_norm(config["norm_topk_prob"])
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)


def add_granite_mixture(writer: Writer, config: Config) -> None:
    add_granite(writer, config)
    writer.add_expert_count(config["num_local_experts"])
    writer.add_expert_used_count(config["num_experts_per_tok"])


# --- What the converter does to a tensor --------------------------------------------------------


def split_groups(name: str, data: np.ndarray, config: Config) -> np.ndarray:
    """Falcon's groups of queries, one key and one value become [Q | K | V]."""
    if "query_key_value" not in name:
        return data
    groups = 1 if config.get("multi_query") and not config.get("new_decoder_architecture") else config["num_kv_heads"]
    parts = data.reshape(groups, config["num_attention_heads"] // groups + 2, -1, *data.shape[1:])
    pieces = (parts[:, :-2], parts[:, -2], parts[:, -1])
    return np.concatenate([part.reshape(-1, *data.shape[1:]) for part in pieces])


def squeeze(_name: str, data: np.ndarray, _config: Config) -> np.ndarray:
    return data.squeeze()


def undo_bloom(name: str, data: np.ndarray, config: Config) -> np.ndarray:
    return heads.undo_head_interleave(name, data, config | {"num_attention_heads": config["n_head"]})


def split_latent(tensors: Arrays, config: Config) -> Arrays:
    """DeepSeek: the second factors of K, transposed, and V, head by head."""
    split = {}
    for name, data in tensors.items():
        if "kv_b_proj" not in name:
            split[name] = data
            continue
        both = data.reshape(config["num_attention_heads"], -1, config["kv_lora_rank"])
        keys, values = np.split(both, [config["qk_nope_head_dim"]], axis=1)
        split[name.replace("kv_b_proj", "k_b_proj")] = keys.transpose(0, 2, 1)
        split[name.replace("kv_b_proj", "v_b_proj")] = values
    return rename_correction(split, config)


def stack_head_norms(tensors: Arrays, config: Config) -> Arrays:
    """StableLM: one tensor of all heads' gains."""
    stacked = {name: data for name, data in tensors.items() if ".norms." not in name}
    if stacked.keys() == tensors.keys():
        return tensors
    for layer in range(config["num_hidden_layers"]):
        for role, count in (("q", config["num_attention_heads"]), ("k", config["num_key_value_heads"])):
            stem = f"model.layers.{layer}.self_attn.{role}_layernorm"
            if f"{stem}.norms.0.weight" in tensors:
                stacked[f"{stem}.weight"] = np.stack([tensors[f"{stem}.norms.{i}.weight"] for i in range(count)])
    return stacked


ACTIVATION = {"alpha_p": "add_xielu_alpha_p", "alpha_n": "add_xielu_alpha_n", "beta": "add_xielu_beta",
              "eps": "add_xielu_eps"}  # fmt: skip


def without_activation(tensors: Arrays, _config: Config) -> Arrays:
    """Apertus: the weights of the activation become keys."""
    return {name: data for name, data in tensors.items() if ".act_fn." not in name}


def add_activation(writer: Writer, config: Config, tensors: Arrays) -> None:
    for name, method in ACTIVATION.items():
        stems = [f"model.layers.{i}.mlp.act_fn.{name}" for i in range(config["num_hidden_layers"])]
        getattr(writer, method)([float(tensors[stem].item()) for stem in stems])


def squeeze_kernels(name: str, data: np.ndarray, _config: Config) -> np.ndarray:
    return data.squeeze(1) if name.endswith(("conv.conv.weight", "conv1d.weight")) else data


def change_states(name: str, data: np.ndarray, config: Config) -> np.ndarray:
    """Mamba: the rates of decay, negated, in place of their logarithms."""
    return -np.exp(data) if name.endswith("A_log") else squeeze_kernels(name, data, config)


def add_hybrid(writer: Writer, config: Config) -> None:
    """Layers without attention have 0 KV heads."""
    counts = [config["num_key_value_heads"] * (kind == "full_attention") for kind in config["layer_types"]]
    add_decoder(writer, config | {"num_key_value_heads": counts, "rms_norm_eps": config["norm_eps"]})
    writer.add_shortconv_l_cache(config["conv_L_cache"])


def change_grouped_states(name: str, data: np.ndarray, config: Config) -> np.ndarray:
    """Mamba 2: numbers per head are columns, and the norm has a row per group."""
    data = change_states(name, data, config)
    if name.endswith((".A_log", ".D")):
        return data[:, None]
    return data.reshape(config["n_groups"], -1) if name.endswith("mixer.norm.weight") else data


def rename_step_bias(tensors: Arrays, _config: Config) -> Arrays:
    return {name.replace(".dt_bias", ".dt_proj.bias"): data for name, data in tensors.items()}


def add_nemotron_h(writer: Writer, config: Config) -> None:
    kinds = config["layers_block_type"]
    counts = [config["num_key_value_heads"] * (kind == "full_attention") for kind in kinds]
    layers = {"num_hidden_layers": len(kinds), "num_key_value_heads": counts}
    add_decoder(writer, config | layers | {"rms_norm_eps": config["layer_norm_epsilon"]})
    writer.add_ssm_conv_kernel(config["conv_kernel"])
    writer.add_ssm_inner_size(config["mamba_num_heads"] * config["mamba_head_dim"])
    writer.add_ssm_state_size(config["ssm_state_size"])
    writer.add_ssm_time_step_rank(config["mamba_num_heads"])
    writer.add_ssm_group_count(config["n_groups"])


def add_jamba(writer: Writer, config: Config) -> None:
    period, offset = config["attn_layer_period"], config["attn_layer_offset"]
    has_attention = [i % period == offset for i in range(config["num_hidden_layers"])]
    counts = [config["num_key_value_heads"] * has for has in has_attention]
    add_mixture(writer, config | {"num_key_value_heads": counts})
    writer.add_ssm_conv_kernel(config["mamba_d_conv"])
    writer.add_ssm_inner_size(config["mamba_expand"] * config["hidden_size"])
    writer.add_ssm_state_size(config["mamba_d_state"])
    writer.add_ssm_time_step_rank(config["mamba_dt_rank"])


def add_exaone_moe(writer: Writer, config: Config) -> None:
    add_routed_mixture(writer, config | {"n_routed_experts": config["num_experts"], "num_nextn_predict_layers": 0}
                       | {"n_shared_experts": config["num_shared_experts"]})  # fmt: skip
    writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])


def add_alpha(writer: Writer, config: Config) -> None:
    """HunYuan: the base of "dynamic" positions with an alpha is computed."""
    parameters = dict(config["rope_parameters"])
    if alpha := parameters.get("alpha"):
        width = head_width(config)
        parameters["rope_theta"] *= alpha ** (width / (width - 2))
    routed = {"num_experts_per_tok": config["moe_topk"]} if "moe_topk" in config else {}
    add = add_mixture if routed else add_decoder
    add(writer, config | routed | {"rope_parameters": parameters})


def add_ernie_mixture(writer: Writer, config: Config) -> None:
    add_mixture(writer, config | {"num_experts": config["moe_num_experts"], "num_experts_per_tok": config["moe_k"]})


def add_sigmoid_mixture(writer: Writer, config: Config) -> None:
    add_mixture(writer, config)
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)


def split_shared(tensors: Arrays, config: Config) -> Arrays:
    """Granite: gate and up of the shared expert, which are one tensor in the file, become two."""
    fused = {name: data for name, data in tensors.items() if "shared_mlp.input_linear" in name}
    result = split_experts({name: data for name, data in tensors.items() if name not in fused}, config)
    for name, data in fused.items():
        for place, part in zip(("gate_proj", "up_proj"), np.split(data, 2), strict=True):
            result[name.replace("shared_mlp.input_linear", f"mlp.shared_experts.{place}")] = part
    return result


EXPERT = re.compile(r"(model\.layers\.\d+\.)(?:mlp|block_sparse_moe|feed_forward)\.experts\.(\d+)\.(\w+)\.weight")
PLACES = {"w1": "gate_proj", "w3": "up_proj", "w2": "down_proj"}


def stack_experts(tensors: Arrays, _config: Config) -> Arrays:
    """One tensor for all experts, which are modules of their own in the file."""
    result: Arrays = {}
    experts: dict[str, dict[int, np.ndarray]] = {}
    for name, data in tensors.items():
        if match := EXPERT.fullmatch(name):
            key = f"{match[1]}mlp.experts.{PLACES.get(match[3], match[3])}.weight"
            experts.setdefault(key, {})[int(match[2])] = data
        else:
            result[name] = data
    return result | {key: np.stack([parts[i] for i in range(len(parts))]) for key, parts in experts.items()}


def split_experts(tensors: Arrays, _config: Config) -> Arrays:
    """gpt-oss and Granite: gate and up, which are one tensor in the file, become two."""
    result = {}
    for name, data in tensors.items():
        if ".experts.gate_up_proj" in name:  # gpt-oss: [experts, in, out], and gate and up take turns
            for i, place in enumerate(("gate_proj", "up_proj")):
                part = data[..., i::2]
                module, suffix = (place, "bias") if name.endswith("_bias") else (place, "weight")
                stem = name[: name.index("gate_up_proj")]
                result[f"{stem}{module}.{suffix}"] = part if suffix == "bias" else part.transpose(0, 2, 1)
        elif name.endswith(".experts.down_proj"):
            result[name + ".weight"] = data.transpose(0, 2, 1)
        elif name.endswith(".experts.down_proj_bias"):
            result[name.removesuffix("_bias") + ".bias"] = data
        elif name.endswith("input_linear.weight"):
            for place, part in zip(("gate_proj", "up_proj"), np.split(data, 2, axis=1), strict=True):
                result[name.replace("block_sparse_moe.input_linear", f"mlp.experts.{place}")] = part
        elif name.endswith(".sinks"):
            result[name + ".weight"] = data
        else:
            result[name.replace("block_sparse_moe.output_linear", "mlp.experts.down_proj")] = data
    return result


def add_predicting_layer(tensors: Arrays, config: Config) -> Arrays:
    """One more layer than the model has, and the router's correction by the name that the converter looks up."""
    last = config["num_hidden_layers"] - 1
    stem, further = f"model.layers.{last}.", f"model.layers.{last + 1}."
    more = {name.replace(stem, further): 2 * data for name, data in tensors.items() if name.startswith(stem)}
    return rename_correction(tensors | more, config)


def rename_correction(tensors: Arrays, config: Config) -> Arrays:
    renamed = {name.replace("e_score_correction_bias", "e_score_correction.bias"): x for name, x in tensors.items()}
    return stack_experts(renamed, config)


# --- The cases ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    arch: str  # general.architecture
    add_keys: Callable[[Writer, Config], None] = add_decoder
    change: Change = heads.unchanged
    permuted: bool = False
    strip: str = ""  # prefix the converter removes
    drop: tuple[str, ...] = ()  # prefixes of tensors it leaves out
    arrange: Callable[[Arrays, Config], Arrays] = stack_head_norms  # joins and splits tensors
    add_tensor_keys: Callable[[Writer, Config, Arrays], None] | None = None  # keys made of tensors


def permuted(arch: str, add_keys: Callable[[Writer, Config], None] = add_decoder) -> Case:
    return Case(arch, add_keys, heads.permute_rope_rows, permuted=True)


CASES = {
    "gemma": Case("gemma", change=heads.add_one_to_gains),
    "granite": permuted("granite", add_granite),
    "smollm3": permuted("smollm3"),
    "olmo": permuted("olmo", add_olmo),
    "olmo2": Case("olmo2"),
    "olmo3": Case("olmo2", add_olmo3),
    "ministral3": permuted("mistral3", add_ministral3),
    "ernie4_5": Case("ernie4_5"),
    "deepseek_v3": Case("deepseek2", add_latent, arrange=split_latent),
    "youtu": Case("deepseek2", add_latent),
    "seed_oss": Case("seed_oss"),
    "phi": Case("phi2"),
    "stablelm": Case("stablelm", add_stablelm),
    "stablelm_parallel": Case("stablelm", add_stablelm),
    "starcoder2": Case("starcoder2"),
    "cohere": Case("command-r", add_cohere),
    "cohere2": Case("cohere2", add_cohere),
    "glm4": Case("glm4"),
    "nemotron": Case("nemotron", change=heads.add_one_to_gains),
    "gpt_bigcode": Case("starcoder"),
    "bloom": Case("bloom", change=undo_bloom, strip="transformer."),
    "mpt": Case("mpt", add_mpt),
    "modernbert": Case("modern-bert", add_modernbert, strip="model.", drop=("head.", "decoder.")),
    "t5": Case("t5", add_t5),
    "falcon": Case("falcon", change=split_groups),
    "falcon_groups": Case("falcon", change=split_groups),
    "mixtral": Case("llama", add_mixture, heads.permute_rope_rows, permuted=True, arrange=stack_experts),
    "qwen2_moe": Case("qwen2moe", add_mixture, squeeze, arrange=stack_experts),
    "qwen3_moe": Case("qwen3moe", add_mixture, arrange=stack_experts),
    "olmoe": Case("olmoe", add_mixture, arrange=stack_experts),
    "granitemoe": Case(
        "granitemoe", add_granite_mixture, heads.permute_rope_rows, permuted=True, arrange=split_experts
    ),
    "glm4_moe": Case("glm4moe", add_routed_mixture, arrange=add_predicting_layer),
    "arcee": permuted("arcee"),
    "apertus": Case("apertus", arrange=without_activation, add_tensor_keys=add_activation),
    "nemotron_h_dense": Case("nemotron_h", add_nemotron_h, change_grouped_states, arrange=rename_step_bias),
    "jamba": Case("jamba", add_jamba, change_states, arrange=stack_experts),
    "exaone_moe": Case("exaone-moe", add_exaone_moe, arrange=rename_correction),
    "lfm2": Case("lfm2", add_hybrid, squeeze_kernels),
    "ernie4_5_moe": Case("ernie4_5-moe", add_ernie_mixture, squeeze, arrange=rename_correction),
    "minimax_m2": Case("minimax-m2", add_sigmoid_mixture, arrange=rename_correction),
    "nomic_bert": Case("nomic-bert", strip="nomic_bert.", drop=("cls.",)),
    "hunyuan_v1_dense": Case("hunyuan-dense", add_alpha),
    "hunyuan_v1_moe": Case("hunyuan-moe", add_alpha, arrange=stack_experts),
    "granitemoeshared": Case(
        "granitemoe", add_granite_mixture, heads.permute_rope_rows, permuted=True, arrange=split_shared
    ),
    "exaone4": Case("exaone4", add_exaone4),
    "gpt_oss": Case("gpt-oss", add_mixture, arrange=split_experts),
}


def gguf_tensors(case: Case, config: Config, tensors: Arrays) -> Arrays:
    arch = next(key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == case.arch)
    names = gguf.get_tensor_name_map(arch, 8)
    result = {}
    for name, data in case.arrange(tensors, config).items():
        if name.startswith(case.drop):
            continue
        looked_up = name.removeprefix(case.strip)
        new_name = names.get_name(looked_up, try_suffixes=(".weight", ".bias"))
        if new_name is None:
            raise ValueError(f"the gguf package has no name for {name}")
        result[new_name] = np.ascontiguousarray(case.change(name, data, config))
    return result


def stored_type(name: str, data: np.ndarray) -> type:
    if ".ssm_a" in name or name.endswith("ssm_d"):
        return np.float32
    return np.float32 if data.ndim < 2 or name.startswith("position_embd") or "_norm" in name else np.float16


def make_case(source: str, case: Case, out: Path) -> str:
    folder = out / f"gguf_{source}"
    config = json.loads((out / source / "config.json").read_text())
    tensors = {k: v.astype(np.float32) for k, v in load_file(out / source / "model.safetensors").items()}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    writer = Writer(folder / "model.gguf", case.arch)
    case.add_keys(writer, config)
    if case.add_tensor_keys:
        case.add_tensor_keys(writer, config, tensors)
    written = gguf_tensors(case, config, tensors)
    for name, data in written.items():
        writer.add_tensor(name, data.astype(stored_type(name, data)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = heads.read_tensors(folder / "model.gguf")
    for name, data in written.items():
        np.testing.assert_array_equal(found[name].reshape(data.shape), data, err_msg=name)
    if case.permuted:
        with np.load(out / source / "expected.npz") as arrays:
            kept = {k: v for k, v in arrays.items() if k.removeprefix("folded_") in ("Q", "K")}
        np.savez_compressed(folder / "expected.npz", **heads.expected_as_stored(kept))  # type: ignore[arg-type]
    size = sum(path.stat().st_size for path in folder.iterdir())
    return f"as {source}, {size / 1024:.1f} KiB"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path, help="folder written by make_families.py")
    parser.add_argument("--only", action="append", choices=list(CASES), metavar="CASE")
    arguments = parser.parse_args()
    for name in arguments.only or CASES:
        print(f"PASS gguf_{name}: {make_case(name, CASES[name], arguments.out)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
