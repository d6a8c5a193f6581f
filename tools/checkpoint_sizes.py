"""Sizes of a checkpoint: what was asked for, the family's defaults, the presets, the checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checkpoint_families import FAMILIES, Family


class SizeError(ValueError):
    """Sizes that no model of the family can have."""


@dataclass(frozen=True)
class Sizes:
    layers: int
    d_model: int
    heads: int
    kv_heads: int
    head_dim: int
    d_mlp: int
    vocab: int
    positions: int
    image: int
    patch: int
    classes: int
    registers: int
    experts: int
    d_expert: int
    dense: int  # layers before the first one with experts
    projection: int
    other_layers: int  # the tower that is not the subject: CLIP's text, Gemma 3's vision
    other_d_model: int
    other_heads: int
    other_d_mlp: int
    chosen: int  # experts per token
    tied: bool


REQUIRED = ("layers", "d_model", "heads")
FALLBACKS = {"vocab": 32000, "positions": 2048, "image": 224, "patch": 16, "classes": 1000, "registers": 4}
FALLBACKS |= {"experts": 4, "d_expert": 16, "dense": 1}


def default_d_mlp(family: Family, d_model: int) -> int:
    """Four times the width; with a gate 8/3, rounded up to a multiple of 8."""
    return -(-8 * d_model // 24) * 8 if family.gated else 4 * d_model


def resolve(family_name: str, asked: dict[str, Any]) -> Sizes:
    """Fill in what was not asked for, then check. Values of None count as not asked for."""
    family = FAMILIES[family_name]
    given = {key: value for key, value in asked.items() if value is not None}
    missing = [f"--{key.replace('_', '-')}" for key in REQUIRED if key not in given]
    if missing:
        raise SizeError(f"{family_name}: {', '.join(missing)} missing (or use --preset)")
    for key, value in given.items():
        if key != "tied" and value < 1:
            raise SizeError(f"--{key.replace('_', '-')} is {value}, expected at least 1")
    sizes: dict[str, Any] = FALLBACKS | family.defaults | given
    if "head_dim" not in sizes:
        if sizes["d_model"] % sizes["heads"]:
            raise SizeError(f"d_model {sizes['d_model']} is not divisible by {sizes['heads']} heads")
        sizes["head_dim"] = sizes["d_model"] // sizes["heads"]
    derived = {
        "kv_heads": sizes["heads"], "d_mlp": default_d_mlp(family, sizes["d_model"]), "projection": sizes["d_model"],
        "other_layers": sizes["layers"], "other_d_model": sizes["d_model"], "other_heads": sizes["heads"],
        "other_d_mlp": 4 * sizes.get("other_d_model", sizes["d_model"]), "tied": family.tied,
        "chosen": min(2, sizes["experts"]),
    }  # fmt: skip
    result = Sizes(**(derived | sizes))
    check(family_name, result)
    return result


def check(name: str, sizes: Sizes) -> None:
    family = FAMILIES[name]
    width = sizes.heads * sizes.head_dim
    problems = {
        f"{sizes.heads} heads are not divisible by {sizes.kv_heads} KV heads": sizes.heads % sizes.kv_heads,
        f"{name} has as many KV heads as heads, {sizes.heads}, not {sizes.kv_heads}":
            not family.grouped and sizes.kv_heads != sizes.heads,
        f"{name} needs heads * head_dim = d_model, but {sizes.heads} * {sizes.head_dim} = {width}, "
        f"not {sizes.d_model}": not family.free_head_dim and width != sizes.d_model,
        f"head_dim {sizes.head_dim} is odd, but {name} rotates pairs": family.rotary and sizes.head_dim % 2,
        f"image size {sizes.image} is not divisible by patch size {sizes.patch}":
            family.images and sizes.image % sizes.patch,
        f"{name} needs d_mlp to be a multiple of d_model {sizes.d_model}, not {sizes.d_mlp}":
            name.startswith("dinov2") and sizes.d_mlp % sizes.d_model,
        f"a token uses {sizes.chosen} of {sizes.experts} experts": sizes.chosen > sizes.experts,
        f"the other tower's width {sizes.other_d_model} is not divisible by {sizes.other_heads} heads":
            sizes.other_d_model % sizes.other_heads,
        f"{name} always shares its output matrix with the embedding or has none":
            sizes.tied != family.tied and not any(part.table.startswith("head") for part in family.parts),
    }  # fmt: skip
    for message, wrong in problems.items():
        if wrong:
            raise SizeError(message)


def symbols(sizes: Sizes, other: bool = False) -> dict[str, Any]:
    """The letters of the tables. `other` gives the second tower's D, H, L and M."""
    s = sizes
    patches = (s.image // s.patch) ** 2
    table = {
        "D": s.d_model, "H": s.heads, "K": s.kv_heads, "h": s.head_dim, "L": s.layers, "M": s.d_mlp,
        "A": s.heads * s.head_dim, "B": s.kv_heads * s.head_dim, "F": (s.heads + 2 * s.kv_heads) * s.head_dim,
        "V": s.vocab, "P": s.positions, "N": patches, "image": s.image, "patch": s.patch,
        "classes": s.classes, "registers": s.registers, "projection": s.projection, "chosen": s.chosen,
        "other_D": s.other_d_model, "other_H": s.other_heads, "other_L": s.other_layers, "other_M": s.other_d_mlp,
        "E": s.experts, "X": s.d_expert, "dense": min(s.dense, s.layers),
        # Latent attention, in the proportions of DeepSeek V3.
        "R": s.head_dim // 2, "q_rank": 12 * s.head_dim, "kv_rank": 4 * s.head_dim,
        "latent": 4 * s.head_dim + s.head_dim // 2,
        "QK": s.heads * (s.head_dim + s.head_dim // 2), "KV": 2 * s.heads * s.head_dim,
        "tied": s.tied, "rotary_dim": min(64, s.head_dim - s.head_dim % 2),
        "own_h": s.head_dim if s.head_dim * s.heads != s.d_model else None,
        "own_M": s.d_mlp if s.d_mlp != 4 * s.d_model else None,
        "mlp_ratio": s.d_mlp // s.d_model if s.d_mlp % s.d_model == 0 else s.d_mlp / s.d_model,
        "id2label": {str(i): f"LABEL_{i}" for i in range(s.classes)},
        "label2id": {f"LABEL_{i}": i for i in range(s.classes)},
        "mm_tokens": 256 if patches == 4096 else patches,
    }  # fmt: skip
    if other:
        table |= {key: table[f"other_{key}"] for key in "DHLM"}
    return table


def preset(family: str, layers: int, d_model: int, heads: int, dtype: str = "F32", **more: Any) -> dict[str, Any]:
    return {"family": family, "layers": layers, "d_model": d_model, "heads": heads, "dtype": dtype} | more


_LLAMA3 = {"kv_heads": 8, "vocab": 128256, "config": {"rope_theta": 500000.0}}

PRESETS: dict[str, dict[str, Any]] = {
    "gpt2-small": preset("gpt2", 12, 768, 12),
    "gpt2-medium": preset("gpt2", 24, 1024, 16),
    "gpt2-large": preset("gpt2", 36, 1280, 20),
    "gpt2-xl": preset("gpt2", 48, 1600, 25),
    "pythia-70m": preset("gpt_neox", 6, 512, 8, "F16"),
    "pythia-160m": preset("gpt_neox", 12, 768, 12, "F16"),
    "pythia-1b": preset("gpt_neox", 16, 2048, 8, "F16"),
    "gpt-j-6b": preset("gptj", 28, 4096, 16, "F16"),
    "opt-125m": preset("opt", 12, 768, 12, "F16"),
    "opt-1.3b": preset("opt", 24, 2048, 32, "F16"),
    "llama-2-7b": preset("llama", 32, 4096, 32, "F16", d_mlp=11008, vocab=32000, positions=4096),
    "llama-3-8b": preset("llama", 32, 4096, 32, "BF16", d_mlp=14336, **_LLAMA3),
    "llama-3-70b": preset("llama", 80, 8192, 64, "BF16", d_mlp=28672, **_LLAMA3),
    "llama-3.2-1b": preset("llama", 16, 2048, 32, "BF16", d_mlp=8192, tied=True, **_LLAMA3),
    "deepseek-v3": preset("deepseek_v3", 61, 7168, 128, "BF16", head_dim=128, d_mlp=18432, vocab=129280,
                          positions=163840, experts=256, d_expert=2048, dense=3),
    "mistral-7b": preset("mistral", 32, 4096, 32, "BF16", kv_heads=8, d_mlp=14336),
    "qwen2-7b": preset("qwen2", 28, 3584, 28, "BF16", kv_heads=4, d_mlp=18944),
    "qwen3-0.6b": preset("qwen3", 28, 1024, 16, "BF16", kv_heads=8, head_dim=128, d_mlp=3072, tied=True),
    "qwen3-8b": preset("qwen3", 36, 4096, 32, "BF16", kv_heads=8, head_dim=128, d_mlp=12288),
    "qwen3-235b-a22b": preset("qwen3_moe", 94, 4096, 64, "BF16", kv_heads=4, head_dim=128, d_mlp=12288, experts=128,
                              d_expert=1536, chosen=8),
    "gpt-oss-120b": preset("gpt_oss", 36, 2880, 64, "BF16", kv_heads=8, head_dim=64, d_mlp=2880, experts=128, chosen=4),
    "phi-3-mini": preset("phi3", 32, 3072, 32, "BF16", d_mlp=8192),
    "gemma-2-2b": preset("gemma2", 26, 2304, 8, "BF16", kv_heads=4, head_dim=256, d_mlp=9216),
    "gemma-2-9b": preset("gemma2", 42, 3584, 16, "BF16", kv_heads=8, head_dim=256, d_mlp=14336),
    "gemma-2-27b": preset("gemma2", 46, 4608, 32, "BF16", kv_heads=16, head_dim=128, d_mlp=36864,
                          config={"query_pre_attn_scalar": 144}),
    "gemma-3-1b": preset("gemma3_text", 26, 1152, 4, "BF16", kv_heads=1, head_dim=256, d_mlp=6912,
                         config={"query_pre_attn_scalar": 256, "sliding_window": 512}),
    "gemma-3-4b": preset("gemma3", 34, 2560, 8, "BF16", kv_heads=4, head_dim=256, d_mlp=10240,
                         other_layers=27, other_d_model=1152, other_heads=16, other_d_mlp=4304),
    "bert-base": preset("bert", 12, 768, 12),
    "bert-large": preset("bert", 24, 1024, 16),
    "roberta-base": preset("roberta", 12, 768, 12),
    "distilbert-base": preset("distilbert", 6, 768, 12),
    "vit-base": preset("vit", 12, 768, 12),
    "vit-large": preset("vit", 24, 1024, 16),
    "deit-small": preset("deit", 12, 384, 6),
    "deit-base": preset("deit", 12, 768, 12),
    "clip-vit-base": preset("clip", 12, 768, 12, patch=32, projection=512,
                            other_layers=12, other_d_model=512, other_heads=8),
    "clip-vit-large": preset("clip", 24, 1024, 16, projection=768,
                             other_layers=12, other_d_model=768, other_heads=12),
    "dinov2-small": preset("dinov2", 12, 384, 6),
    "dinov2-base": preset("dinov2", 12, 768, 12),
    "dinov2-large": preset("dinov2", 24, 1024, 16),
    "dinov2-registers-base": preset("dinov2_with_registers", 12, 768, 12),
    "timm-vit-base": preset("timm_vit", 12, 768, 12),
}  # fmt: skip
