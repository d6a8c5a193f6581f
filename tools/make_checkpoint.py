#!/usr/bin/env python3
"""Write a seeded random checkpoint of any supported family at any size, as safetensors.

Makes OUT/config.json and OUT/model.safetensors, or shards with an index. Matrices and
biases are normal with standard deviation 0.02, norm gains and layer scales the same
around one. Every tensor has its own Philox stream, keyed by the seed (default 0) and its
name, so its values depend on nothing else. With --sparse the data is a hole in the file:
zeros that take no disk; --except REGEX gives the tensors whose names match their values.
Needs Python 3.11 and numpy.

    python tools/make_checkpoint.py OUT --family llama --layers 4 --d-model 64 --heads 8 --kv-heads 2
    python tools/make_checkpoint.py OUT --preset gpt2-small --seed 7
    python tools/make_checkpoint.py OUT --preset llama-3-8b --sparse --except 'layers\\.[0-3]\\.self_attn'
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import shutil
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from checkpoint_families import FAMILIES, fill_config
from checkpoint_sizes import PRESETS, SizeError, Sizes, resolve, symbols
from checkpoint_tables import Tensor, part_tensors

STD = 0.02
CHUNK = 1 << 20  # values made at once: 4 MiB of float32
ITEM_SIZE = {"F32": 4, "F16": 2, "BF16": 2}
TORCH_NAMES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


class UsageError(Exception):
    """A request that cannot be met; the message is for the user."""


# --- What to write -------------------------------------------------------------------


def checkpoint_tensors(family: str, sizes: Sizes) -> list[Tensor]:
    """All tensors, in the order of the model's layers."""
    tables = {other: symbols(sizes, other) for other in (False, True)}
    parts = FAMILIES[family].parts
    return [tensor for part in parts for tensor in part_tensors(part, tables[part.other], sizes.tied)]


def v5_rope(config: dict[str, Any]) -> None:
    """Move the rope keys of transformers 4 into rope_parameters, in place."""
    theta = config.pop("rope_theta", config.pop("rotary_emb_base", None))
    if theta is None:
        return
    rope = {"rope_type": "default", "rope_theta": float(theta)} | (config.pop("rope_scaling", None) or {})
    if "rotary_pct" in config:
        rope["partial_rotary_factor"] = config.pop("rotary_pct")
    if "rope_local_base_freq" in config:
        local = {"rope_type": "default", "rope_theta": config.pop("rope_local_base_freq")}
        rope = {"full_attention": rope, "sliding_attention": local}
    config["rope_parameters"] = rope


def checkpoint_config(family: str, sizes: Sizes, dtype: str, extra: dict[str, Any], style: str) -> dict[str, Any]:
    config = fill_config(FAMILIES[family].config, symbols(sizes)) | extra
    if "architecture" in config:  # timm says nothing about dtype or transformers
        return config
    config["torch_dtype" if style == "v4" else "dtype"] = TORCH_NAMES[dtype]
    config["transformers_version"] = "4.46.3" if style == "v4" else "5.17.0"
    if style == "v5":
        for part in (config, config.get("text_config", {})):
            v5_rope(part)
    return dict(sorted(config.items()))


def byte_count(tensor: Tensor, dtype: str) -> int:
    return math.prod(tensor.shape) * ITEM_SIZE[dtype]


def split_into_shards(tensors: list[Tensor], dtype: str, limit: int) -> list[list[Tensor]]:
    """Greedy, in model order; a tensor larger than the limit gets a shard of its own."""
    shards: list[list[Tensor]] = [[]]
    used = 0
    for tensor in tensors:
        size = byte_count(tensor, dtype)
        if shards[-1] and used + size > limit:
            shards.append([])
            used = 0
        shards[-1].append(tensor)
        used += size
    return shards


# --- Values --------------------------------------------------------------------------


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """Upper halves of finite float32 values, rounded to nearest even; overwrites its input."""
    bits = values.view("<u4")
    lowest_kept = bits >> 16
    lowest_kept &= 1
    bits += lowest_kept
    bits += 0x7FFF
    return bits.view("<u2")[1::2].copy()


def encode(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "BF16":
        return to_bfloat16(values)
    return values.astype("<f2" if dtype == "F16" else "<f4", copy=False)


def make_chunk(tensor: Tensor, index: int, dtype: str, seed: int) -> np.ndarray:
    """Values index * CHUNK and on of a tensor, from their own stretch of its stream."""
    digest = hashlib.sha256(f"{seed}:{tensor.name}".encode()).digest()
    stream = np.random.Philox(key=int.from_bytes(digest[:16], "little"), counter=index << 128)
    count = min(math.prod(tensor.shape) - index * CHUNK, CHUNK)
    values = np.random.Generator(stream).standard_normal(count, dtype=np.float32)
    values *= np.float32(STD)
    if tensor.center:
        values += np.float32(tensor.center)
    return encode(values, dtype)


def tensor_chunks(tensors: list[Tensor], dtype: str, seed: int) -> Iterator[np.ndarray]:
    """All data in order. Threads run a few chunks ahead; numpy lets go of the GIL."""
    threads = os.cpu_count() or 1
    waiting: deque[Future[np.ndarray]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for tensor in tensors:
            for index in range(-(-math.prod(tensor.shape) // CHUNK)):
                waiting.append(pool.submit(make_chunk, tensor, index, dtype, seed))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


# --- The safetensors format ------------------------------------------------------------


def safetensors_header(tensors: list[Tensor], dtype: str) -> bytes:
    """Length and JSON, padded with spaces to 8 bytes as the safetensors library does."""
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for tensor in tensors:
        end = offset + byte_count(tensor, dtype)
        entries[tensor.name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def write_shard(path: Path, tensors: list[Tensor], options: argparse.Namespace) -> None:
    dtype = options.dtype
    tensors = sorted(tensors)  # by name, the library's order for one dtype
    with path.open("wb") as file:
        header = safetensors_header(tensors, dtype)
        file.write(header)
        if not options.sparse:
            for chunk in tensor_chunks(tensors, dtype, options.seed):
                file.write(chunk.data)
            return
        end = len(header)
        for tensor in tensors:
            if options.filled is not None and options.filled.search(tensor.name):
                file.seek(end)
                for chunk in tensor_chunks([tensor], dtype, options.seed):
                    file.write(chunk.data)
            end += byte_count(tensor, dtype)
        file.truncate(end)


def shard_names(count: int) -> list[str]:
    if count == 1:
        return ["model.safetensors"]
    return [f"model-{i:05d}-of-{count:05d}.safetensors" for i in range(1, count + 1)]


def write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="ascii")


def write_checkpoint(folder: Path, shards: list[list[Tensor]], options: argparse.Namespace) -> None:
    names = shard_names(len(shards))
    for name, shard in zip(names, shards, strict=True):
        write_shard(folder / name, shard, options)
    if len(shards) > 1:
        places = {tensor.name: name for name, shard in zip(names, shards, strict=True) for tensor in shard}
        total = sum(byte_count(tensor, options.dtype) for shard in shards for tensor in shard)
        index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(places.items()))}
        write_json(folder / "model.safetensors.index.json", index)


# --- The output folder -----------------------------------------------------------------


def check_output(out: Path, force: bool) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError(f"{out} exists and is not a folder")
    entries = list(out.iterdir()) if out.is_dir() else []
    if entries and not force:
        raise UsageError(f"{out} is not empty (--force replaces it)")
    strangers = sorted(e.name for e in entries if e.is_dir() or e.suffix not in (".json", ".safetensors"))
    if strangers:
        raise UsageError(f"{out} holds more than a checkpoint ({strangers[0]}): not replacing it")


def check_space(out: Path, size: int) -> None:
    free = shutil.disk_usage(out.resolve().parent).free
    if size > free:
        raise UsageError(f"{out} needs {size / 1e9:.1f} GB, {free / 1e9:.1f} GB are free (--sparse needs none)")


def replace_folder(new: Path, out: Path) -> None:
    """Put `new` in the place of `out`, whose old content goes only after the new is there."""
    old = new.with_name(new.name + ".old")
    if out.exists():
        out.rename(old)
    try:
        new.rename(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def produce(options: argparse.Namespace, sizes: Sizes, extra: dict[str, Any]) -> str:
    tensors = checkpoint_tensors(options.family, sizes)
    shards = split_into_shards(tensors, options.dtype, options.shard_size)
    total = sum(byte_count(tensor, options.dtype) for tensor in tensors)
    options.out.resolve().parent.mkdir(parents=True, exist_ok=True)
    check_output(options.out, options.force)
    if not options.sparse:
        check_space(options.out, total)
    temporary = options.out.resolve().with_name(f".{options.out.resolve().name}.{os.getpid()}.tmp")
    started = time.perf_counter()
    try:
        temporary.mkdir()
        write_json(temporary / "config.json",
                   checkpoint_config(options.family, sizes, options.dtype, extra, options.config_style))  # fmt: skip
        write_checkpoint(temporary, shards, options)
        replace_folder(temporary, options.out.resolve())
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    seconds = time.perf_counter() - started
    return (f"{options.out}: {options.family}, {len(tensors)} tensors, {sum(math.prod(t.shape) for t in tensors):,} "
            f"values, {total / 1e6:.1f} MB {options.dtype} in {len(shards)} file(s), {seconds:.1f} s")  # fmt: skip


# --- Command line ------------------------------------------------------------------------


def parse_size(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]I?B)?", text.strip().upper())
    size = int(float(match[1]) * UNITS[match[2] or ""]) if match else 0
    if size < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 5GB or 200MiB")
    return size


def parse_pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a regular expression: {error}") from error


SIZE_OPTIONS = {
    "layers": "number of layers", "d_model": "residual width", "heads": "query heads a layer",
    "kv_heads": "key/value heads a layer", "head_dim": "head width", "d_mlp": "width of the MLP",
    "vocab": "tokens", "positions": "longest input", "image": "image side in pixels", "patch": "patch side in pixels",
    "classes": "classes of an image classifier", "registers": "register tokens (DINOv2)",
    "experts": "experts per layer", "d_expert": "width of an expert", "dense": "first layers without experts",
    "projection": "shared width (CLIP)", "other_layers": "layers of the other tower (CLIP text, Gemma 3 vision)",
    "chosen": "experts that a token uses",
    "other_d_model": "its width", "other_heads": "its heads", "other_d_mlp": "its MLP",
}  # fmt: skip


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n")[0], epilog=f"Presets: {', '.join(PRESETS)}. Any size given overrides them."
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to make")
    parser.add_argument("--family", choices=list(FAMILIES), metavar="NAME", help=", ".join(FAMILIES))
    parser.add_argument("--preset", choices=list(PRESETS), metavar="NAME", help="sizes of a known model")
    for name, text in SIZE_OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=text)
    parser.add_argument("--tied", action=argparse.BooleanOptionalAction, help="output matrix shared with embedding")
    parser.add_argument("--dtype", choices=list(ITEM_SIZE), help="default: the preset's, else F32")
    parser.add_argument("--shard-size", type=parse_size, default="5GB", metavar="SIZE", help="default 5GB")
    parser.add_argument("--config-style", choices=("v4", "v5"), default="v4", help="config keys of which transformers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sparse", action="store_true", help="all zeros, as holes that take no disk")
    parser.add_argument("--except", dest="filled", type=parse_pattern, metavar="REGEX",
                        help="with --sparse: tensors that have values, by name")  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace a checkpoint that is already there")
    return parser


def apply_preset(options: argparse.Namespace) -> dict[str, Any]:
    """Settle family and dtype; return the preset's sizes and extra config."""
    chosen = dict(PRESETS.get(options.preset, {}))
    family, dtype = chosen.pop("family", None), chosen.pop("dtype", "F32")
    if options.family and family and options.family != family:
        raise UsageError(f"preset {options.preset} is {family}, not {options.family}")
    options.family = options.family or family
    if options.family is None:
        raise UsageError("one of --family and --preset is needed")
    options.dtype = options.dtype or dtype
    return chosen


def main(arguments: list[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    try:
        chosen = apply_preset(options)
        if options.filled is not None and not options.sparse:
            raise UsageError("--except needs --sparse: without it every tensor has values")
        extra = chosen.pop("config", {})
        asked = {name: getattr(options, name) for name in (*SIZE_OPTIONS, "tied")}
        sizes = resolve(options.family, chosen | {k: v for k, v in asked.items() if v is not None})
        print(produce(options, sizes, extra))
    except (SizeError, UsageError) as error:
        print(f"make_checkpoint: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"make_checkpoint: {error}", file=sys.stderr)
        return 1
    if options.sparse:
        others = "every value" if options.filled is None else "what --except does not match"
        print(f"sparse: {others} is zero and takes no disk")
    return 0


if __name__ == "__main__":
    sys.exit(main())
