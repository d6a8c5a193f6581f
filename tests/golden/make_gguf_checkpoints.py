#!/usr/bin/env python3
"""Make the tiny GGUF checkpoints, from the cases of make_hf_checkpoints.py.

Applies to each model what llama.cpp's converter applies (transposes, un-interleaves,
permutes, adds one to Gemma's gains) and writes it with the `gguf` package.

Input:   OUT/<case>/{config.json, model.safetensors, expected.npz}
Output:  OUT/gguf_<family>/model.gguf, and expected.npz unless the arrays are those of OUT/<family>
The expected arrays are those of the Hugging Face case, so they come from live PyTorch
modules; LLaMA's Q and K columns are reordered the way its rows are stored. The one
quantized case takes them from the values the gguf package dequantizes. After writing,
the heads are sliced from the file again and must equal the expected ones exactly.

No randomness here. Made with gguf 0.19.0, safetensors 0.8, numpy 2.

    python make_gguf_checkpoints.py OUT [--only CASE ...]
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf.quants import dequantize, quantize
from safetensors.numpy import load_file

import golden_cases

Config = dict[str, Any]
Arrays = dict[str, np.ndarray]
Q8_0 = gguf.GGMLQuantizationType.Q8_0


# --- What the converter does to a tensor ---------------------------------------------


def unchanged(_name: str, data: np.ndarray, _config: Config) -> np.ndarray:
    return data


def transpose_conv1d(name: str, data: np.ndarray, _config: Config) -> np.ndarray:
    """GPT-2 stores [in, out]."""
    matrices = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    return data.T if name.endswith(matrices) else data


def undo_head_interleave(name: str, data: np.ndarray, config: Config) -> np.ndarray:
    """GPT-NeoX rows [head][q|k|v][h] become [q|k|v][head][h]."""
    if "query_key_value" not in name:
        return data
    by_head = data.reshape(config["num_attention_heads"], 3, -1, *data.shape[1:])
    return by_head.swapaxes(0, 1).reshape(data.shape)


def rope_order(width: int) -> np.ndarray:
    """Row order of a permuted LLaMA head: halves interleaved, 0, h/2, 1, h/2 + 1, ..."""
    return np.arange(width).reshape(2, width // 2).T.reshape(-1)


def permute_rope_rows(name: str, data: np.ndarray, config: Config) -> np.ndarray:
    if not name.endswith(("q_proj.weight", "k_proj.weight")):
        return data
    width = head_width(config)
    by_head = data.reshape(-1, width, data.shape[1])
    return by_head[:, rope_order(width)].reshape(data.shape)


def add_one_to_gains(name: str, data: np.ndarray, _config: Config) -> np.ndarray:
    return data + np.float32(1) if name.endswith("norm.weight") else data


# --- Keys -----------------------------------------------------------------------------


def head_width(config: Config) -> int:
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def rope(config: Config, key: str, default: Any = None) -> Any:
    """A rope parameter; Gemma 3 keeps one set per kind of layer, the global one is wanted."""
    parameters = config["rope_parameters"]
    return parameters.get("full_attention", parameters).get(key, default)


def add_sizes(writer: gguf.GGUFWriter, config: Config) -> None:
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])


def add_rms_decoder(writer: gguf.GGUFWriter, config: Config) -> None:
    add_sizes(writer, config)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(rope(config, "rope_theta"))
    if config.get("head_dim"):
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])


def add_llama(writer: gguf.GGUFWriter, config: Config) -> None:
    add_rms_decoder(writer, config)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_rope_dimension_count(head_width(config))


def add_phi3(writer: gguf.GGUFWriter, config: Config) -> None:
    add_rms_decoder(writer, config)
    writer.add_rope_dimension_count(int(rope(config, "partial_rotary_factor", 1.0) * head_width(config)))


def add_gemma(writer: gguf.GGUFWriter, config: Config) -> None:
    add_rms_decoder(writer, config)
    writer.add_sliding_window(config["sliding_window"])
    if config.get("attn_logit_softcapping"):
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])


def add_gpt2(writer: gguf.GGUFWriter, config: Config) -> None:
    writer.add_block_count(config["n_layer"])
    writer.add_context_length(config["n_positions"])
    writer.add_embedding_length(config["n_embd"])
    writer.add_feed_forward_length(config["n_inner"])
    writer.add_head_count(config["n_head"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])


def add_gptneox(writer: gguf.GGUFWriter, config: Config) -> None:
    add_sizes(writer, config)
    writer.add_rope_dimension_count(int(rope(config, "partial_rotary_factor") * head_width(config)))
    writer.add_parallel_residual(config["use_parallel_residual"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])


def add_bert(writer: gguf.GGUFWriter, config: Config) -> None:
    add_sizes(writer, config)
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.CLS)
    writer.add_token_type_count(config["type_vocab_size"])


def add_clip(writer: gguf.GGUFWriter, config: Config) -> None:
    vision = config["vision_config"]
    writer.add_type("mmproj")
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type("mlp")
    writer.add_vision_projection_dim(config["projection_dim"])
    writer.add_vision_image_size(vision["image_size"])
    writer.add_vision_patch_size(vision["patch_size"])
    writer.add_vision_embedding_length(vision["hidden_size"])
    writer.add_vision_feed_forward_length(vision["intermediate_size"])
    writer.add_vision_block_count(vision["num_hidden_layers"])
    writer.add_vision_head_count(vision["num_attention_heads"])
    writer.add_vision_attention_layernorm_eps(vision["layer_norm_eps"])
    writer.add_vision_image_mean([0.5, 0.5, 0.5])
    writer.add_vision_image_std([0.5, 0.5, 0.5])


def add_tokenizer(writer: gguf.GGUFWriter, model: str, size: int) -> None:
    special = ["<pad>", "<s>", "</s>"]
    tokens = special + [f"t{i}" for i in range(len(special), size)]
    kinds = [gguf.TokenType.CONTROL] * len(special) + [gguf.TokenType.NORMAL] * (size - len(special))
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    if model == "llama":
        writer.add_token_scores([-float(i) for i in range(size)])


# --- The cases --------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    source: str  # case of make_hf_checkpoints.py
    arch: str  # general.architecture
    add_keys: Callable[[gguf.GGUFWriter, Config], None]
    change: Callable[[str, np.ndarray, Config], np.ndarray] = unchanged
    tokenizer: str = "gpt2"
    permuted: bool = False
    quantized: bool = False
    strip: str = ""  # prefix the converter removes
    add: str = ""  # prefix the name table wants
    keep: str = ""  # only tensors with this prefix
    tower: str = ""  # prefix of the tensors in the GGUF file


CASES = {
    "gguf_gpt2": Case("gpt2", "gpt2", add_gpt2, transpose_conv1d),
    "gguf_gptneox": Case("gpt_neox", "gptneox", add_gptneox, undo_head_interleave),
    "gguf_llama": Case("llama", "llama", add_llama, permute_rope_rows, "llama", permuted=True),
    "gguf_llama_q8": Case(
        "llama_wide", "llama", add_llama, permute_rope_rows, "llama", permuted=True, quantized=True
    ),
    "gguf_qwen2": Case("qwen2", "qwen2", add_rms_decoder),
    "gguf_qwen3": Case("qwen3", "qwen3", add_rms_decoder),
    "gguf_phi3": Case("phi3", "phi3", add_phi3, tokenizer="llama"),
    "gguf_gemma2": Case("gemma2", "gemma2", add_gemma, add_one_to_gains, "llama"),
    "gguf_gemma3": Case("gemma3_text", "gemma3", add_gemma, add_one_to_gains, "llama"),
    "gguf_bert": Case("bert", "bert", add_bert, tokenizer="bert", strip="bert.", keep="bert."),
    "gguf_clip": Case(
        "clip", "clip", add_clip, tokenizer="", keep="vision_model.", add="vision_tower.", tower="v."
    ),
}


# --- Writing ------------------------------------------------------------------------------


def layer_count(config: Config) -> int:
    return config.get("vision_config", config).get("num_hidden_layers") or config["n_layer"]


def gguf_tensors(case: Case, config: Config, tensors: Arrays) -> Arrays:
    arch = next(key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == case.arch)
    names = gguf.get_tensor_name_map(arch, layer_count(config))
    result = {}
    for name, data in tensors.items():
        if name.startswith(case.keep):
            looked_up = case.add + name.removeprefix(case.strip)
            new_name = names.get_name(looked_up, try_suffixes=(".weight", ".bias"))
            if new_name is None:
                raise ValueError(f"the gguf package has no name for {looked_up}")
            result[new_name] = np.ascontiguousarray(case.change(name, data, config))
    return result


def write_gguf(path: Path, case: Case, config: Config, tensors: Arrays) -> None:
    writer = gguf.GGUFWriter(path, case.arch)
    writer.add_name(path.parent.name)
    case.add_keys(writer, config)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0 if case.quantized else gguf.LlamaFileType.ALL_F32)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    if case.tokenizer:
        add_tokenizer(writer, case.tokenizer, config["vocab_size"])
    for name, data in gguf_tensors(case, config, tensors).items():
        if case.quantized and data.ndim > 1:  # like llama.cpp, vectors stay F32
            writer.add_tensor(name, quantize(data, Q8_0), raw_dtype=Q8_0)
        else:
            writer.add_tensor(name, data.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# --- Expected arrays ----------------------------------------------------------------------


def read_tensors(path: Path) -> Arrays:
    reader = gguf.GGUFReader(path)
    return {t.name: np.array(dequantize(t.data, t.tensor_type), np.float32) for t in reader.tensors}


def layer_heads(tensors: Arrays, stem: str, shapes: dict[str, tuple[int, ...]]) -> Arrays:
    """Raw heads of one layer of the file; `shapes` gives each role's [heads, d, h]."""
    rows = [shapes[role][0] * shapes[role][2] for role in "QKV"]
    if f"{stem}attn_qkv.weight" in tensors:
        parts = np.split(tensors[f"{stem}attn_qkv.weight"], np.cumsum(rows)[:2])
    else:
        parts = [tensors[f"{stem}attn_{role}.weight"] for role in "qkv"]
    heads = {}
    for role, part in zip("QKV", parts, strict=True):
        count, d, width = shapes[role]
        heads[role] = part.reshape(count, width, d).transpose(0, 2, 1)
    count, d, width = shapes["O"]
    out = tensors[f"{stem}attn_output.weight" if f"{stem}attn_output.weight" in tensors else f"{stem}attn_out.weight"]
    heads["O"] = out.reshape(d, count, width).transpose(1, 0, 2)
    scale = tensors.get(f"{stem}post_attention_norm.weight")
    if scale is not None:
        heads["O"] = scale[:, None] * heads["O"]
    return heads


def heads_in_file(path: Path, case: Case, expected: Arrays) -> Arrays:
    tensors = read_tensors(path)
    shapes = {role: expected[role].shape[1:] for role in "QKVO"}
    layers = [layer_heads(tensors, f"{case.tower}blk.{i}.", shapes) for i in range(len(expected["Q"]))]
    arrays = {role: np.stack([layer[role] for layer in layers]) for role in "QKVO"}
    return {role: np.ascontiguousarray(values) for role, values in arrays.items()}


def expected_as_stored(source: Arrays) -> Arrays:
    """LLaMA: the columns of Q and K in the order of the permuted rows."""
    order = rope_order(source["Q"].shape[-1])
    return {name: values[..., order] if name[-1] in "QK" else values for name, values in source.items()}


def fold_rms(heads: Arrays, path: Path) -> Arrays:
    tensors = read_tensors(path)
    gains = np.stack([tensors[f"blk.{i}.attn_norm.weight"] for i in range(len(heads["Q"]))])
    wide = gains.astype(np.float64)[:, None, :, None]
    folded = {f"folded_{role}": (wide * heads[role]).astype(np.float32) for role in "QKV"}
    return folded | {"folded_O": heads["O"]}


def expected_arrays(path: Path, case: Case, source: Arrays) -> Arrays:
    expected = expected_as_stored(source) if case.permuted else source
    found = heads_in_file(path, case, expected)
    if case.quantized:
        for role, heads in found.items():  # a Q8_0 step is max |w| / 127 of its block
            np.testing.assert_allclose(heads, expected[role], rtol=0, atol=0.6 * np.abs(heads).max() / 127)
        return found | fold_rms(found, path)
    for role, heads in found.items():
        np.testing.assert_array_equal(heads, expected[role], err_msg=role)
    return expected


def make_case(name: str, case: Case, out: Path) -> str:
    source, folder = out / case.source, out / name
    config = json.loads((source / "config.json").read_text())
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    write_gguf(folder / "model.gguf", case, config, load_file(source / "model.safetensors"))
    with np.load(source / "expected.npz") as arrays:
        expected = expected_arrays(folder / "model.gguf", case, dict(arrays))
    changed = case.permuted or case.quantized
    if changed or name != f"gguf_{case.source}":
        np.savez_compressed(folder / "expected.npz", **expected)  # type: ignore[arg-type]  # NumPy's allow_pickle
    size = sum(path.stat().st_size for path in folder.iterdir())
    return f"Q{list(expected['Q'].shape)} K{list(expected['K'].shape)} {size // 1024} KiB"


def main() -> int:
    return golden_cases.main(
        __doc__,
        CASES,
        lambda name, out: make_case(name, CASES[name], out),
        about_out="folder written by make_hf_checkpoints.py",
    )


if __name__ == "__main__":
    sys.exit(main())
