#!/usr/bin/env python3
"""Make tests/golden/packed: weights that quantization libraries packed, and what they stand for.

Every folder is one case, a LLaMA of one layer: config.json, model.safetensors and
expected.npz, which holds for two packed weights, under their names, the float32
numbers, and for one, under NAME.steps, the step between neighboring codes at each
element.

Each library packs the weights itself. Numbers and steps come from the published
formula, written here in NumPy without looking at the library's code, and must
equal the library's own dequantization after rounding to the type in which that
computes. MXFP4 has no CPU library here; its reference is the OCP Microscaling
specification 1.0.

Seed 26; made with torch 2.15.0, gptqmodel 7.7.0, autoawq 0.2.9,
bitsandbytes 0.50.2, compressed-tensors 0.20.0, numpy 2.4.6. gptqmodel and autoawq
are imported from their unpacked source packages: their installers want a GPU.

    PYTHONPATH=gptqmodel-7.7.0:autoawq-0.2.9 python make_packed.py OUT [--only CASE ...]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import save_file

SEED = 26
WIDTH, HEADS, KV_HEADS, HEAD = 32, 2, 2, 16
SHAPES = {
    "q_proj": (HEADS * HEAD, WIDTH),
    "k_proj": (KV_HEADS * HEAD, WIDTH),
    "v_proj": (KV_HEADS * HEAD, WIDTH),
    "o_proj": (WIDTH, HEADS * HEAD),
}

Parts = dict[str, torch.Tensor]
Decoded = tuple[np.ndarray, np.ndarray]  # numbers and steps


class Packing(NamedTuple):
    """One way to pack the weight of a linear map."""

    config: dict[str, Any]  # quantization_config
    pack: Callable[[torch.Tensor, torch.Generator], tuple[Parts, Decoded]]


def weights(seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {name: 0.05 * torch.randn(shape, generator=generator) for name, shape in SHAPES.items()}


def same_after_rounding(values: np.ndarray, library: torch.Tensor) -> bool:
    rounded = torch.from_numpy(values).to(library.dtype)
    return torch.equal(rounded, library)


def nibbles(words: torch.Tensor, bits: int) -> np.ndarray:
    """[.., n] int32 -> [.., n, 32 / bits], from the low bits up."""
    unsigned = words.numpy().astype(np.int64) & 0xFFFFFFFF
    return np.stack([(unsigned >> shift) & ((1 << bits) - 1) for shift in range(0, 32, bits)], axis=-1)


# --- GPTQ ------------------------------------------------------------------------


def grid(weight: torch.Tensor, group: int, bits: int, symmetric: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Scales and zero points of every row and group of columns, [out, groups]."""
    parts = weight.reshape(weight.shape[0], -1, group)
    top = 2**bits - 1
    if symmetric:
        scale = parts.abs().amax(-1) * 2 / top
        return scale.half().float(), torch.full_like(scale, 2 ** (bits - 1))
    low, high = parts.amin(-1).clamp(max=0), parts.amax(-1).clamp(min=0)
    scale = ((high - low) / top).half().float()
    return scale, torch.round(-low / scale).clamp(0, top)


def gptq(bits: int, symmetric: bool, act_order: bool, version: str) -> Packing:
    def pack(weight: torch.Tensor, generator: torch.Generator) -> tuple[Parts, Decoded]:
        from gptqmodel.nn_modules.qlinear.torch import TorchLinear
        from gptqmodel.utils.model import convert_gptq_v1_to_v2_format_module, convert_gptq_v2_to_v1_format_module

        group = 16
        outputs, inputs = weight.shape
        order = torch.randperm(inputs, generator=generator) if act_order else torch.arange(inputs)
        index = torch.empty(inputs, dtype=torch.int32)
        index[order] = torch.arange(inputs, dtype=torch.int32) // group
        scales, zeros = grid(weight[:, order], group, bits, symmetric)
        linear = torch.nn.Linear(inputs, outputs, bias=False)
        linear.weight.data = weight
        module = TorchLinear(bits=bits, group_size=group, sym=symmetric, desc_act=act_order, in_features=inputs,
                             out_features=outputs, bias=False)
        module.pack_original(linear, scales, zeros, index)
        module.post_init()
        library = module.dequantize_weight().T.contiguous()
        quantizer = types.SimpleNamespace(pack_dtype=torch.int32, bits=bits)
        if version == "gptq":
            convert_gptq_v2_to_v1_format_module(module=module, quantize_config=quantizer)
        parts = {name: getattr(module, name).clone().contiguous() for name in ("qweight", "qzeros", "scales", "g_idx")}
        parts["scales"] = parts["scales"].half()
        if version == "gptq":
            again = parts["qzeros"].clone()
            convert_gptq_v1_to_v2_format_module(module=module, bits=bits, pack_dtype=torch.int32)
            parts["qzeros"] = again

        codes = nibbles(parts["qweight"].T, bits).reshape(outputs, inputs)
        words = parts["qzeros"].numpy().view(np.uint32)
        if version == "gptq":
            words = words + np.uint32(0x11111111 if bits == 4 else 0x01010101)
        zero = nibbles(torch.from_numpy(words.view(np.int32)), bits).reshape(words.shape[0], outputs)
        groups = parts["g_idx"].numpy()
        scale = parts["scales"].numpy().astype(np.float32)
        values = (codes - zero.T[:, groups]).astype(np.float32) * scale.T[:, groups]
        assert same_after_rounding(values, library.half())
        if not act_order:
            del parts["g_idx"]
        return parts, (values, np.abs(scale.T[:, groups]))

    config = {"quant_method": "gptq", "bits": bits, "group_size": 16, "sym": symmetric, "desc_act": act_order,
                   "checkpoint_format": version}
    return Packing(config, pack)


# --- AWQ -------------------------------------------------------------------------


def awq() -> Packing:
    def pack(weight: torch.Tensor, generator: torch.Generator) -> tuple[Parts, Decoded]:
        from awq.modules.linear import gemm
        from awq.utils.packing_utils import dequantize_gemm

        gemm.get_best_device = lambda: "cpu"
        group = 16
        scales, zeros = grid(weight, group, 4, symmetric=False)
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        linear.weight.data = weight
        module = gemm.WQLinear_GEMM.from_linear(linear, 4, group, scales=scales.T.contiguous(),
                                                zeros=zeros.T.contiguous())
        parts = {name: getattr(module, name).contiguous() for name in ("qweight", "qzeros", "scales")}
        library = dequantize_gemm(parts["qweight"], parts["qzeros"], parts["scales"], 4, group).T

        place = np.argsort([0, 2, 4, 6, 1, 3, 5, 7])
        codes = nibbles(parts["qweight"], 4)[..., place].reshape(weight.shape[1], weight.shape[0])
        zero = nibbles(parts["qzeros"], 4)[..., place].reshape(-1, weight.shape[0])
        scale = np.repeat(parts["scales"].numpy().astype(np.float32), group, axis=0)
        values = ((codes - np.repeat(zero, group, axis=0)).astype(np.float32) * scale).T
        assert same_after_rounding(np.ascontiguousarray(values), library.contiguous())
        return parts, (values, np.abs(scale.T))

    config = {"quant_method": "awq", "bits": 4, "group_size": 16, "zero_point": True, "version": "gemm"}
    return Packing(config, pack)


# --- bitsandbytes -----------------------------------------------------------------


def book_steps(book: np.ndarray) -> np.ndarray:
    """sqrt((l^3 + r^3) / (l + r)) with the distances to the neighbors; one neighbor at the ends."""
    steps = []
    numbers = np.unique(book.astype(np.float64))
    for value in book.astype(np.float64):
        below, above = numbers[numbers < value], numbers[numbers > value]
        gaps = [value - below[-1]] if len(below) else []
        gaps += [above[0] - value] if len(above) else []
        left, right = gaps[0], gaps[-1]
        steps.append(np.sqrt((left**3 + right**3) / (left + right)))
    return np.array(steps).astype(np.float32)


def bnb4(kind: str, nested: bool) -> Packing:
    def pack(weight: torch.Tensor, generator: torch.Generator) -> tuple[Parts, Decoded]:
        import bitsandbytes as bnb

        packed = bnb.nn.Params4bit(weight.bfloat16(), requires_grad=False, quant_type=kind, blocksize=64,
                                   compress_statistics=nested)._quantize("cpu")
        # As one long row: the library's CPU kernel is wrong for rows that are shorter than a block.
        state = packed.quant_state
        inner = state.absmax
        if nested:
            inner = bnb.functional.dequantize_blockwise(state.absmax, state.state2) + state.offset
        library = torch.ops.bitsandbytes.dequantize_4bit(packed.data, inner.float(), state.blocksize, kind,
                                                         (1, weight.numel()), state.dtype).reshape(weight.shape)
        parts = {"weight": packed.data.clone()}
        for name, value in packed.quant_state.as_dict(packed=True).items():
            parts[f"weight.{name}"] = value.clone().contiguous()

        stored = {name.removeprefix("weight."): value.numpy() for name, value in parts.items()}
        state = json.loads(bytes(stored[f"quant_state.bitsandbytes__{kind}"]))
        flat = stored["weight"].reshape(-1)
        codes = np.stack([flat >> 4, flat & 15], axis=-1).reshape(-1)
        largest = stored["absmax"]
        if nested:
            outer = np.repeat(stored["nested_absmax"], state["nested_blocksize"])[: len(largest)]
            largest = stored["nested_quant_map"][largest] * outer + np.float32(state["nested_offset"])
        factor = np.repeat(largest, state["blocksize"])[: len(codes)]
        values = (stored["quant_map"][codes] * factor).reshape(state["shape"])
        assert values.dtype == np.float32 and same_after_rounding(values, library)
        return parts, (values, (book_steps(stored["quant_map"])[codes] * np.abs(factor)).reshape(state["shape"]))

    config = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": kind,
                   "bnb_4bit_use_double_quant": nested}
    return Packing(config, pack)


def bnb8() -> Packing:
    def pack(weight: torch.Tensor, generator: torch.Generator) -> tuple[Parts, Decoded]:
        import bitsandbytes as bnb

        codes, largest, _ = torch.ops.bitsandbytes.int8_vectorwise_quant(weight.half())
        library = bnb.functional.int8_vectorwise_dequant(codes, largest)
        parts = {"weight": codes, "SCB": largest, "weight_format": torch.tensor(0, dtype=torch.uint8)}
        scale = largest.numpy()[:, None]
        values = codes.numpy().astype(np.float32) * scale * np.float32(1 / 127)
        assert values.dtype == np.float32 and same_after_rounding(values, library)
        return parts, (values, np.broadcast_to(np.abs(scale * np.float32(1 / 127)), values.shape))

    config = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    return Packing(config, pack)


# --- compressed-tensors --------------------------------------------------------------


def compressed(form: str, dtype: torch.dtype, **arguments: object) -> Packing:
    def pack(weight: torch.Tensor, generator: torch.Generator) -> tuple[Parts, Decoded]:
        from compressed_tensors.compressors import BaseCompressor
        from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
        from compressed_tensors.quantization.utils import calculate_qparams

        args = QuantizationArgs(**arguments)
        outputs, inputs = weight.shape
        rows, columns = {"tensor": (outputs, inputs), "channel": (1, inputs), "group": (1, args.group_size),
                         "block": tuple(args.block_structure or (1, 1))}[str(args.strategy)]
        tiles = weight.reshape(outputs // rows, rows, inputs // columns, columns)
        scale, zero = calculate_qparams(tiles.amin((1, 3)), tiles.amax((1, 3)), args)
        scale = scale.to(dtype)
        if str(args.strategy) == "tensor":
            scale, zero = scale.reshape(1), zero.reshape(1)
        scheme = QuantizationScheme(targets=["Linear"], weights=args, format=form)
        compressor = BaseCompressor.get_value_from_registry(form)
        state = {"weight": weight.to(dtype), "weight_scale": scale, "weight_zero_point": zero.to(torch.int8)}
        parts = {name: value.contiguous() for name, value in compressor.compress(state, scheme).items()}
        library = compressor.decompress(dict(parts), scheme)["weight"]

        step = np.repeat(np.repeat(scale.float().numpy().reshape(outputs // rows, -1), rows, 0), columns, 1)
        if form == "float-quantized":
            numbers = parts["weight"].float().numpy()
            values = numbers * step
            ulp = 2.0 ** (np.maximum(np.floor(np.log2(np.maximum(np.abs(numbers), 2.0**-9))), -6) - 3)
            assert same_after_rounding(values, library)
            return parts, (values, (ulp.astype(np.float32) * step))
        half = 2 ** (args.num_bits - 1)
        if form == "pack-quantized":
            codes = nibbles(parts["weight_packed"], args.num_bits).reshape(outputs, -1)[:, :inputs] - half
        else:
            codes = parts["weight"].numpy().astype(np.int64)
        offset = np.zeros_like(codes)
        if not args.symmetric:
            stored = parts["weight_zero_point"]
            if stored.dtype == torch.int32:
                points = (
                    nibbles(stored.T.contiguous(), args.num_bits).reshape(stored.shape[1], -1)[:, :outputs].T - half
                )
            else:
                points = stored.numpy().astype(np.int64).reshape(outputs // rows, -1)
            offset = np.repeat(np.repeat(points, rows, 0), columns, 1)
        values = (codes - offset).astype(np.float32) * step
        assert same_after_rounding(values, library)
        return parts, (values, np.abs(step))

    weights_config = {"num_bits": 4, "type": "int", "symmetric": True, **arguments}
    config = {
        "quant_method": "compressed-tensors",
        "format": form,
        "quantization_status": "compressed",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights_config}},
        "ignore": ["lm_head"],
    }
    return Packing(config, pack)


# --- MXFP4 ---------------------------------------------------------------------------

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def mxfp4() -> Packing:
    def pack(weight: torch.Tensor, generator: torch.Generator) -> tuple[Parts, Decoded]:
        blocks = weight.numpy().reshape(weight.shape[0], -1, 32)
        exponent = np.floor(np.log2(np.abs(blocks).max(-1))) - 2
        scaled = blocks / 2.0 ** exponent[..., None]
        codes = np.abs(scaled[..., None] - E2M1).argmin(-1).astype(np.uint8)
        parts = {
            "weight_blocks": torch.from_numpy(codes[..., 0::2] | (codes[..., 1::2] << 4)),
            "weight_scales": torch.from_numpy((exponent + 127).astype(np.uint8)),
        }
        factor = (2.0 ** exponent[..., None]).astype(np.float32)
        values = (E2M1[codes] * factor).reshape(weight.shape)
        return parts, (values, (book_steps(E2M1)[codes] * factor).reshape(weight.shape))

    config = {"quant_method": "mxfp4"}
    return Packing(config, pack)


GROUP = {"strategy": "group", "group_size": 16}
CASES = {
    "gptq4": gptq(4, symmetric=True, act_order=False, version="gptq"),
    "gptq4_act_order": gptq(4, symmetric=False, act_order=True, version="gptq"),
    "gptq4_v2": gptq(4, symmetric=False, act_order=False, version="gptq_v2"),
    "gptq8": gptq(8, symmetric=False, act_order=True, version="gptq"),
    "awq": awq(),
    "bnb_nf4": bnb4("nf4", nested=False),
    "bnb_nf4_double": bnb4("nf4", nested=True),
    "bnb_fp4": bnb4("fp4", nested=False),
    "bnb_int8": bnb8(),
    "ct_int4_group": compressed("pack-quantized", torch.bfloat16, num_bits=4, symmetric=True, **GROUP),
    "ct_int4_zeros": compressed("pack-quantized", torch.float16, num_bits=4, symmetric=False, **GROUP),
    "ct_int8_packed": compressed("pack-quantized", torch.float16, num_bits=8, symmetric=True, strategy="channel"),
    "ct_int8_channel": compressed("int-quantized", torch.bfloat16, num_bits=8, symmetric=True, strategy="channel"),
    "ct_int8_zeros": compressed("int-quantized", torch.float32, num_bits=8, symmetric=False, strategy="channel"),
    "ct_fp8_channel": compressed("float-quantized", torch.bfloat16, num_bits=8, type="float", strategy="channel"),
    "ct_fp8_tensor": compressed("float-quantized", torch.float32, num_bits=8, type="float", strategy="tensor"),
    "ct_fp8_block": compressed("float-quantized", torch.bfloat16, num_bits=8, type="float", strategy="block",
                               block_structure=[8, 16]),
    "mxfp4": mxfp4(),
}


def make(name: str, folder: Path) -> None:
    packing = CASES[name]
    generator = torch.Generator().manual_seed(SEED)
    tensors: Parts = {}
    expected: dict[str, Any] = {}
    for module, weight in weights(SEED).items():
        begin = f"model.layers.0.self_attn.{module}."
        parts, (values, steps) = packing.pack(weight, generator)
        for part, tensor in parts.items():
            tensors[begin + part] = tensor.detach()
        if module in ("q_proj", "o_proj"):
            expected[begin + "weight"] = np.ascontiguousarray(values, np.float32)
        if module == "q_proj":
            expected[begin + "weight.steps"] = np.ascontiguousarray(steps, np.float32)
    tensors["model.layers.0.input_layernorm.weight"] = torch.ones(WIDTH)
    tensors["model.embed_tokens.weight"] = torch.zeros(8, WIDTH)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors")
    np.savez_compressed(folder / "expected.npz", **expected)
    config = {"model_type": "llama", "hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": HEADS,
              "num_key_value_heads": KV_HEADS, "head_dim": HEAD, "vocab_size": 8, "quantization_config": packing.config}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=list(CASES))
    options = parser.parse_args()
    spec = importlib.util.find_spec("awq")
    if spec and spec.submodule_search_locations:  # its __init__ imports all models
        package = types.ModuleType("awq")
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules["awq"] = package
    failed = 0
    for name in options.only:
        try:
            make(name, options.out / name)
            print("PASS", name)
        except Exception as error:
            failed += 1
            print("FAIL", name, type(error).__name__, error)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
