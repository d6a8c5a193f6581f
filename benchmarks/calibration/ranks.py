"""Ranks of planted heads, per storage type.

Plants heads of known rank in a LLaMA-shaped checkpoint, stores it in a type, runs `headscope relate` and compares the
ranks in heads.csv. Ranks: none (a zero head), 1, a quarter, half and all of the width. Norm gains are random, so that
folding scales the noise. Must hold for every type that is not marked "not required": at most 1 head in 50 has
another rank.

Usage: python benchmarks/calibration/ranks.py [--headscope build/headscope] [--seed 0] [--models 1] [--types Q4_0,...]
Needs numpy and gguf. Prints a table; returns 1 if a type fails.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import quantize

D, WIDTH, HEADS, LAYERS = 256, 32, 8, 4  # rows of 256: a block of the K formats
# Of the heads of a layer; rotated by layer and role.
RANKS = (WIDTH // 2, WIDTH // 4, WIDTH, 1, 0, WIDTH // 2, WIDTH, WIDTH // 4)
MOST_WRONG = 1 / 50

Tensors = dict[str, np.ndarray]
Types = gguf.GGMLQuantizationType


# --- Planted heads ----------------------------------------------------------------------------------------------------


def head(rng: np.random.Generator, rank: int) -> np.ndarray:
    """A d x h matrix of the given rank with entries of about 0.02."""
    if rank == WIDTH:
        return 0.02 * rng.standard_normal((D, WIDTH))
    scale = 0.02 / np.sqrt(max(rank, 1))
    return scale * rng.standard_normal((D, rank)) @ rng.standard_normal((rank, WIDTH))


def planted(rng: np.random.Generator) -> tuple[Tensors, dict[tuple[int, str, int], int]]:
    """Tensors by Hugging Face's names, and the rank of each (layer, role, head)."""
    tensors: Tensors = {
        "model.embed_tokens.weight": 0.02 * rng.standard_normal((8, D)),
        "model.norm.weight": np.ones(D),
    }
    ranks = {}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        tensors[prefix + "input_layernorm.weight"] = np.exp(0.3 * rng.standard_normal(D))
        for r, role in enumerate("QKVO"):
            heads = []
            for i in range(HEADS):
                ranks[layer, role, i] = RANKS[(i + layer + 2 * r) % HEADS]
                heads.append(head(rng, ranks[layer, role, i]))
            name = f"{prefix}self_attn.{role.lower()}_proj.weight"
            tensors[name] = np.concatenate(heads, axis=1) if role == "O" else np.concatenate(heads, axis=1).T
    return {name: np.ascontiguousarray(tensor, np.float32) for name, tensor in tensors.items()}, ranks


# --- Safetensors ------------------------------------------------------------------------------------------------------


def e4m3_values() -> np.ndarray:
    """All finite nonnegative values of F8_E4M3, by code."""
    codes = np.arange(127)
    exponent, mantissa = codes >> 3, codes & 7
    return np.where(exponent == 0, mantissa * 2.0**-9, (1 + mantissa / 8) * 2.0 ** (exponent - 7.0))


def to_e4m3(x: np.ndarray) -> np.ndarray:
    values = e4m3_values()
    codes = np.searchsorted((values[1:] + values[:-1]) / 2, np.abs(x)).astype(np.uint8)
    return codes | (np.signbit(x).astype(np.uint8) << 7)


def to_bf16(x: np.ndarray) -> np.ndarray:
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def encode_plain(dtype: str, scaled: bool, name: str, x: np.ndarray) -> list[tuple[str, str, np.ndarray]]:
    if dtype == "F8_E4M3":
        if "_proj" not in name:
            return [(name, "F32", x)]
        if not scaled:
            return [(name, dtype, to_e4m3(x))]
        blocks = x.reshape(x.shape[0] // 128, 128, x.shape[1] // 128, 128)
        scale = np.maximum(np.abs(blocks).max(axis=(1, 3)), 1e-12) / 448
        stored = to_e4m3((blocks / scale[:, None, :, None]).reshape(x.shape))
        return [(name, dtype, stored), (name + "_scale_inv", "F32", scale.astype(np.float32))]
    convert = {"F32": lambda a: a, "F16": lambda a: a.astype(np.float16), "BF16": to_bf16}[dtype]
    return [(name, dtype, convert(x))]


def write_safetensors(folder: Path, tensors: Tensors, dtype: str, scaled: bool = False) -> Path:
    header, data = {}, b""
    for key, value in tensors.items():
        for name, kind, stored in encode_plain(dtype, scaled, key, value):
            header[name] = {
                "dtype": kind,
                "shape": list(stored.shape),
                "data_offsets": [len(data), len(data) + stored.nbytes],
            }
            data += stored.tobytes()
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    config = {"model_type": "llama", "hidden_size": D, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
    config |= {"num_key_value_heads": HEADS, "head_dim": WIDTH, "vocab_size": 8, "rms_norm_eps": 1e-5}
    if scaled:
        config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


# --- GGUF -------------------------------------------------------------------------------------------------------------


def halves(x: np.ndarray) -> np.ndarray:
    """Numbers as the bytes of IEEE halves."""
    return x.astype(np.float16)[:, None].view(np.uint8)


def rounded_to_halves(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float16).astype(np.float64)


def ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=b != 0)


def packed_six_bits(scale: np.ndarray, minimum: np.ndarray) -> np.ndarray:
    """The 12 bytes of 8 scales and 8 minima of Q4_K and Q5_K."""
    low = scale[:, :4] | ((scale[:, 4:] >> 4) << 6)
    low_minimum = minimum[:, :4] | ((minimum[:, 4:] >> 4) << 6)
    return np.concatenate([low, low_minimum, (scale[:, 4:] & 15) | ((minimum[:, 4:] & 15) << 4)], axis=1)


def q4_k(x: np.ndarray, bits: int = 4) -> np.ndarray:
    """Range of each group of 32, its scale and minimum in 6 bits."""
    most = 2**bits - 1
    groups = x.reshape(-1, 8, 32).astype(np.float64)
    low = np.minimum(groups.min(axis=2), 0)
    step = (groups.max(axis=2) - low) / most
    d, d_min = (rounded_to_halves(v.max(axis=1) / 63) for v in (step, -low))
    scale = np.clip(np.rint(ratio(step, d[:, None])), 0, 63).astype(np.uint8)
    minimum = np.clip(np.rint(ratio(-low, d_min[:, None])), 0, 63).astype(np.uint8)
    shifted = groups + (d_min[:, None] * minimum)[:, :, None]
    q = np.clip(np.rint(ratio(shifted, (d[:, None] * scale)[:, :, None])), 0, most).astype(np.uint8)
    nibbles = (q[:, 0::2] & 15) | ((q[:, 1::2] & 15) << 4)
    parts = [halves(d), halves(d_min), packed_six_bits(scale, minimum)]
    if bits == 5:
        parts.append(np.bitwise_or.reduce((q >> 4) << np.arange(8, dtype=np.uint8)[None, :, None], axis=1))
    return np.concatenate([*parts, nibbles.reshape(len(q), 128)], axis=1)


def q5_k(x: np.ndarray) -> np.ndarray:
    return q4_k(x, bits=5)


def q6_k(x: np.ndarray) -> np.ndarray:
    groups = x.reshape(-1, 16, 16).astype(np.float64)
    step = np.abs(groups).max(axis=2) / 31
    d = rounded_to_halves(step.max(axis=1) / 127)
    scale = np.rint(ratio(step, d[:, None])).astype(np.int8)
    q = np.clip(np.rint(ratio(groups, (d[:, None] * scale)[:, :, None])), -32, 31) + 32
    q = q.astype(np.uint8).reshape(-1, 2, 4, 32)
    nibbles = np.concatenate([(q[:, :, k] & 15) | ((q[:, :, k + 2] & 15) << 4) for k in (0, 1)], axis=2)
    upper = np.bitwise_or.reduce((q >> 4) << (2 * np.arange(4, dtype=np.uint8))[None, None, :, None], axis=2)
    parts = [nibbles.reshape(len(q), 128), upper.reshape(len(q), 64), scale.view(np.uint8), halves(d)]
    return np.concatenate(parts, axis=1)


def q3_k(x: np.ndarray) -> np.ndarray:
    groups = x.reshape(-1, 16, 16).astype(np.float64)
    step = np.abs(groups).max(axis=2) / 4
    d = rounded_to_halves(step.max(axis=1) / 31)
    scale = np.clip(np.rint(ratio(step, d[:, None])), 0, 31)
    q = np.clip(np.rint(ratio(groups, (d[:, None] * scale)[:, :, None])), -4, 3) + 4
    q = q.astype(np.uint8).reshape(-1, 8, 32)
    third = np.bitwise_or.reduce((q >> 2) << np.arange(8, dtype=np.uint8)[None, :, None], axis=1)
    quarters = (q & 3).reshape(-1, 2, 4, 32)
    low = np.bitwise_or.reduce(quarters << (2 * np.arange(4, dtype=np.uint8))[None, None, :, None], axis=2)
    code = (scale + 32).astype(np.uint8)
    nibbles = (code[:, :8] & 15) | ((code[:, 8:] & 15) << 4)
    upper = np.bitwise_or.reduce((code >> 4).reshape(-1, 4, 4) << (2 * np.arange(4, dtype=np.uint8))[:, None], axis=1)
    return np.concatenate([third, low.reshape(len(q), 64), nibbles, upper, halves(d)], axis=1)


def q2_k(x: np.ndarray) -> np.ndarray:
    groups = x.reshape(-1, 16, 16).astype(np.float64)
    low = np.minimum(groups.min(axis=2), 0)
    step = (groups.max(axis=2) - low) / 3
    d, d_min = (rounded_to_halves(v.max(axis=1) / 15) for v in (step, -low))
    scale = np.clip(np.rint(ratio(step, d[:, None])), 0, 15).astype(np.uint8)
    minimum = np.clip(np.rint(ratio(-low, d_min[:, None])), 0, 15).astype(np.uint8)
    shifted = groups + (d_min[:, None] * minimum)[:, :, None]
    q = np.clip(np.rint(ratio(shifted, (d[:, None] * scale)[:, :, None])), 0, 3).astype(np.uint8).reshape(-1, 2, 4, 32)
    packed = np.bitwise_or.reduce(q << (2 * np.arange(4, dtype=np.uint8))[None, None, :, None], axis=2)
    return np.concatenate([scale | (minimum << 4), packed.reshape(len(q), 64), halves(d), halves(d_min)], axis=1)


K_FORMATS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Q2_K": q2_k,
    "Q3_K": q3_k,
    "Q4_K": q4_k,
    "Q5_K": q5_k,
    "Q6_K": q6_k,
}


def gguf_bytes(kind: str, x: np.ndarray) -> np.ndarray:
    """The rows of a matrix as stored bytes. The package quantizes all but the K formats, which it can only read."""
    if kind not in K_FORMATS:
        return quantize(x, Types[kind])
    stored = K_FORMATS[kind](x).reshape(x.shape[0], -1)
    error = np.abs(gguf.quants.dequantize(stored, Types[kind]) - x).max()
    assert error < 0.6 * np.abs(x).max(), f"{kind}: error {error} in the packing"
    return stored


def write_gguf(folder: Path, tensors: Tensors, kind: str) -> Path:
    path = folder / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(D)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_context_length(64)
    writer.add_feed_forward_length(D)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_key_length(WIDTH)
    writer.add_value_length(WIDTH)
    names = {"input_layernorm": "attn_norm", "self_attn.o_proj": "attn_output"}
    names |= {f"self_attn.{r}_proj": f"attn_{r}" for r in "qkv"}
    for name, x in tensors.items():
        new = name.replace("model.layers.", "blk.").replace("model.embed_tokens", "token_embd")
        for old, other in {**names, "model.norm": "output_norm"}.items():
            new = new.replace(old, other)
        if "_proj" in name:
            writer.add_tensor(new, gguf_bytes(kind, x), raw_dtype=Types[kind])
        else:
            writer.add_tensor(new, x)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


# --- Comparison -------------------------------------------------------------------------------------------------------

WRITERS: dict[str, tuple[bool, Callable[[Path, Tensors], Path]]] = {
    "F32": (True, lambda f, t: write_safetensors(f, t, "F32")),
    "F16": (True, lambda f, t: write_safetensors(f, t, "F16")),
    "BF16": (True, lambda f, t: write_safetensors(f, t, "BF16")),
    "F8_E4M3": (True, lambda f, t: write_safetensors(f, t, "F8_E4M3")),
    "F8_E4M3 scaled": (True, lambda f, t: write_safetensors(f, t, "F8_E4M3", scaled=True)),
}
for _kind in ("Q8_0", "Q6_K", "Q5_0", "Q5_1", "Q5_K", "Q4_0", "Q4_1", "Q4_K", "Q3_K", "Q2_K"):
    # With 2 or 3 bits, noise exceeds the smallest singular values of the planted heads: shown, not required.
    WRITERS[_kind] = (_kind not in ("Q3_K", "Q2_K"), partial(write_gguf, kind=_kind))


def found_ranks(program: str, model: Path, run: Path) -> dict[tuple[int, str, int], int]:
    command = [program, "relate", str(model), "-o", str(run), "--pairs", "OQ,KV", "--tokens-for", "none"]
    subprocess.run([*command, "--null", "isotropic", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    ranks = {}
    with (run / "heads.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            for role in "QKVO":
                ranks[int(row["layer"]), role, int(row["index"])] = int(row[f"rank_{role}"])
    return ranks


def count_wrong(program: str, kind: str, seed: int) -> dict[int, list[int]]:
    """Ranks found, by planted rank."""
    tensors, planted_ranks = planted(np.random.default_rng(seed))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model").mkdir()
        model = WRITERS[kind][1](Path(folder) / "model", tensors)
        found = found_ranks(program, model, Path(folder) / "run")
    result: dict[int, list[int]] = {}
    for key, rank in planted_ranks.items():
        result.setdefault(rank, []).append(found[key])
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--headscope", default="build/headscope")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=int, default=1, help="checkpoints of 128 heads per type")
    parser.add_argument("--types", default=",".join(WRITERS))
    arguments = parser.parse_args()
    print(f"Planted ranks of heads of width {WIDTH} in {D} dimensions; wrong of all, and the ranks found where wrong")
    failed = False
    for kind in arguments.types.split(","):
        found: dict[int, list[int]] = {}
        for i in range(arguments.models):
            for rank, ranks in count_wrong(arguments.headscope, kind, arguments.seed + i).items():
                found.setdefault(rank, []).extend(ranks)
        total = sum(len(ranks) for ranks in found.values())
        wrong = {p: [f for f in ranks if f != p] for p, ranks in found.items()}
        count = sum(len(ranks) for ranks in wrong.values())
        bad = WRITERS[kind][0] and count > MOST_WRONG * total
        failed = failed or bad
        details = "; ".join(f"{p}: {min(f)} to {max(f)}" for p, f in sorted(wrong.items()) if f)
        verdict = "FAILED" if bad else "ok" if WRITERS[kind][0] else "not required"
        print(f"{kind:15} {count:4} of {total:4}  {verdict:12} {details}".rstrip(), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
