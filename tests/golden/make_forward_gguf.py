#!/usr/bin/env python3
"""Make the whole GGUF models of the forward tests, from the cases of make_forward.py.

Applies to every tensor what llama.cpp's converter applies, writes matrices as F16 (exact:
the values are float16) and the rest as F32, with the keys that converter writes.

Input:   OUT/<case>/{config.json, model.safetensors, expected.npz}
Output:  OUT/gguf_<family>/{model.gguf, case.json}
case.json adds "expected": the case whose expected.npz holds; the file is not repeated.
Where transformers can load the architecture's tensors from GGUF, it does (needs accelerate),
and its outputs must be the expected ones; the others are only read again as written.

No randomness here. Made with gguf 0.19.0, transformers 5.17.0, torch 2.11.0.

    python make_forward_gguf.py OUT [--only CASE ...]
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import gguf
import numpy as np
import torch
import transformers as hf
from safetensors.numpy import load_file

import golden_cases
import make_gguf_checkpoints as heads
from make_forward import CASES as SOURCES
from make_forward import run
from make_gguf_checkpoints import Arrays, Config, head_width, rope
from make_hf_checkpoints import start_torch

Writer: TypeAlias = gguf.GGUFWriter


# --- Keys beyond those of make_gguf_checkpoints.py ----------------------------------------


def add_linear_scaling(writer: Writer, config: Config) -> None:
    if rope(config, "rope_type") == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope(config, "factor"))


def add_llama(writer: Writer, config: Config) -> None:
    heads.add_llama(writer, config)
    add_linear_scaling(writer, config)


def longrope_attention_factor(config: Config) -> float:
    original = config["original_max_position_embeddings"]
    scale = config["max_position_embeddings"] / original
    return math.sqrt(1 + math.log(scale) / math.log(original)) if scale > 1 else 1.0


def add_phi3(writer: Writer, config: Config) -> None:
    heads.add_phi3(writer, config)
    writer.add_rope_scaling_orig_ctx_len(config["original_max_position_embeddings"])
    writer.add_sliding_window(config["sliding_window"] or 0)
    if rope(config, "rope_type") == "longrope":
        writer.add_rope_scaling_attn_factors(longrope_attention_factor(config))


def add_gemma3(writer: Writer, config: Config) -> None:
    heads.add_gemma(writer, config)
    writer.add_rope_freq_base_swa(config["rope_parameters"]["sliding_attention"]["rope_theta"])
    writer.add_sliding_window_pattern(config["layer_types"].index("full_attention") + 1)
    add_linear_scaling(writer, config)


# --- Tensors that are not parameters ---------------------------------------------------------


def no_extra(_config: Config) -> Arrays:
    return {}


def llama3_factors(config: Config) -> Arrays:
    """What each frequency is divided by: 1, the factor, or a blend of the two between them."""
    keys = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    factor, low, high, context = (rope(config, key) for key in keys)
    width = head_width(config)
    turns = context * rope(config, "rope_theta") ** (-np.arange(0, width, 2) / width) / (2 * math.pi)
    blend = np.clip((turns - low) / (high - low), 0, 1)
    return {"rope_freqs.weight": (1 / ((1 - blend) / factor + blend)).astype(np.float32)}


def longrope_factors(config: Config) -> Arrays:
    names = {"rope_factors_long.weight": "long_factor", "rope_factors_short.weight": "short_factor"}
    return {name: np.array(rope(config, key), np.float32) for name, key in names.items()}


def add_one_to_gains(name: str, data: np.ndarray, _config: Config) -> np.ndarray:
    return data + np.float32(1) if name.endswith("norm.weight") else data


# --- The cases --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    source: str  # case of make_forward.py
    convert: heads.Case
    extra: Callable[[Config], Arrays] = no_extra
    loads_in_hf: bool = True
    drop: str = "no such name"


def case(source: str, arch: str, keys: Callable, change: Callable = heads.unchanged, **options) -> Case:
    tokenizer = "gpt2" if arch.startswith(("gpt", "qwen")) else "bert" if arch == "bert" else "llama"
    return Case(source, heads.Case(source, arch, keys, change, tokenizer), **options)


CASES = {
    "gguf_gpt2": case("gpt2", "gpt2", heads.add_gpt2, heads.transpose_conv1d),
    "gguf_gptneox": case("gpt_neox", "gptneox", heads.add_gptneox, heads.undo_head_interleave, loads_in_hf=False),
    "gguf_llama": case("llama", "llama", add_llama, heads.permute_rope_rows),
    "gguf_llama_linear": case("llama_linear", "llama", add_llama, heads.permute_rope_rows),
    "gguf_llama_llama3": case("llama_llama3", "llama", add_llama, heads.permute_rope_rows, extra=llama3_factors),
    "gguf_qwen2": case("qwen2", "qwen2", heads.add_rms_decoder),
    "gguf_qwen3": case("qwen3", "qwen3", heads.add_rms_decoder),
    "gguf_phi3": case("phi3", "phi3", add_phi3),
    "gguf_phi3_longrope": case("phi3_longrope_long", "phi3", add_phi3, extra=longrope_factors),
    "gguf_gemma2": case("gemma2_default_scale", "gemma2", heads.add_gemma, add_one_to_gains),
    "gguf_gemma3": case("gemma3_text", "gemma3", add_gemma3, add_one_to_gains),
    "gguf_bert": case("bert_base", "bert", heads.add_bert, loads_in_hf=False, drop="pooler."),
}


# --- Writing and checking -----------------------------------------------------------------------


def stored_type(name: str, data: np.ndarray) -> type:
    """The converter keeps vectors, positions and token types in F32."""
    return np.float32 if data.ndim < 2 or name.startswith(("position_embd", "token_types")) else np.float16


def write_gguf(path: Path, case: Case, config: Config, tensors: Arrays) -> Arrays:
    writer = Writer(path, case.convert.arch)
    writer.add_name(path.parent.name)
    case.convert.add_keys(writer, config)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    heads.add_tokenizer(writer, case.convert.tokenizer, config["vocab_size"])
    written = heads.gguf_tensors(case.convert, config, tensors) | case.extra(config)
    for name, data in written.items():
        writer.add_tensor(name, data.astype(stored_type(name, data)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return written


def check_tensors(path: Path, written: Arrays) -> None:
    found = heads.read_tensors(path)
    if sorted(found) != sorted(written):
        raise ValueError("the file does not hold the tensors that were written")
    for name, data in written.items():
        np.testing.assert_array_equal(found[name].reshape(data.shape), data, err_msg=name)


def check_outputs(folder: Path, case: Case, expected: Arrays) -> str:
    """The tensors, undone by transformers; it reads too few keys, so the source's config goes with them."""
    source = SOURCES[case.source]
    options = {"gguf_file": "model.gguf", "dtype": torch.float32, "attn_implementation": "eager"}
    options["config"] = hf.AutoConfig.from_pretrained(folder.parent / case.source)
    model = getattr(hf, source.model).from_pretrained(folder, **options).eval()
    _, arrays = run(model, source, {"input_ids": torch.from_numpy(expected["input_ids"])})
    worst = max(float(np.abs(arrays[name] - expected[name]).max()) for name in arrays)
    if worst > 1e-3:
        raise ValueError(f"transformers computes other outputs from the GGUF file: {worst:.2g}")
    return f"transformers differs by {worst:.1g}"


def make_case(name: str, case: Case, out: Path) -> str:
    source, folder = out / case.source, out / name
    config = hf.AutoConfig.from_pretrained(source).to_dict()
    tensors = {k: v.astype(np.float32) for k, v in load_file(source / "model.safetensors").items()}
    tensors = {k: v for k, v in tensors.items() if not k.startswith(case.drop)}
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    check_tensors(folder / "model.gguf", write_gguf(folder / "model.gguf", case, config, tensors))
    with np.load(source / "expected.npz") as arrays:
        verdict = check_outputs(folder, case, dict(arrays)) if case.loads_in_hf else "tensors as written"
    answer = json.loads((source / "case.json").read_text()) | {"expected": case.source}
    (folder / "case.json").write_text(json.dumps(answer) + "\n")
    size = sum(path.stat().st_size for path in folder.iterdir())
    return f"as {case.source}, {verdict}, {size // 1024} KiB"


def main() -> int:
    return golden_cases.main(
        __doc__,
        CASES,
        lambda name, out: make_case(name, CASES[name], out),
        about_out="folder written by make_forward.py",
        prepare=start_torch,
    )


if __name__ == "__main__":
    sys.exit(main())
