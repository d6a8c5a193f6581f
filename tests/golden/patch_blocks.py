"""Where the parts of a block are in the models of make_patch.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

ROLES = ("Q", "K", "V")


@dataclass
class Block:
    """One layer: the modules that the hooks attach to."""

    whole: nn.Module  # its first argument is the stream
    norm: nn.Module | None  # before attention
    read: dict[str, tuple[nn.Module, Callable[[int], slice]]]  # by role: the projection, and the columns of a head
    out: Tensor  # O as [heads * width, d]
    out_module: nn.Module  # its first argument is the heads' outputs
    scale: Tensor | None = None  # on what attention adds to the stream
    branch_norm: nn.Module | None = None  # of what attention adds
    sum_norms: list[nn.Module] = field(default_factory=list)  # of the stream, in a post-norm model


def separate(q: nn.Module, k: nn.Module, v: nn.Module, width: int) -> dict[str, Any]:
    columns = lambda head: slice(head * width, (head + 1) * width)  # noqa: E731
    return {"Q": (q, columns), "K": (k, columns), "V": (v, columns)}


def fused(module: nn.Module, firsts: tuple[int, int, int], stride: int, width: int) -> dict[str, Any]:
    def columns(first: int) -> Callable[[int], slice]:
        return lambda head: slice(first + head * stride, first + head * stride + width)

    return {role: (module, columns(first)) for role, first in zip(ROLES, firsts, strict=True)}


def gpt2_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.transformer.h:
        d = block.attn.c_proj.weight.shape[1]
        reads = fused(block.attn.c_attn, (0, d, 2 * d), width, width)
        yield Block(block, block.ln_1, reads, block.attn.c_proj.weight, block.attn.c_proj)


def gpt_neox_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.gpt_neox.layers:
        a = block.attention
        reads = fused(a.query_key_value, (0, width, 2 * width), 3 * width, width)
        yield Block(block, block.input_layernorm, reads, a.dense.weight.T, a.dense)


def phi3_blocks(model: Any, width: int) -> Iterator[Block]:
    heads, groups = model.config.num_attention_heads, model.config.num_key_value_heads
    for block in model.model.layers:
        a = block.self_attn
        reads = fused(a.qkv_proj, (0, heads * width, (heads + groups) * width), width, width)
        yield Block(block, block.input_layernorm, reads, a.o_proj.weight.T, a.o_proj)


def llama_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.model.layers:
        a = block.self_attn
        reads = separate(a.q_proj, a.k_proj, a.v_proj, width)
        yield Block(block, block.input_layernorm, reads, a.o_proj.weight.T, a.o_proj)


def gemma_blocks(model: Any, width: int) -> Iterator[Block]:
    for block, layer in zip(llama_blocks(model, width), model.model.layers, strict=True):
        block.branch_norm = layer.post_attention_layernorm
        yield block


def lfm2_blocks(model: Any, width: int) -> Iterator[Block]:
    """The layers with attention; between them are convolutions."""
    for block in model.model.layers:
        if not block.is_attention_layer:
            continue
        a = block.self_attn
        reads = separate(a.q_proj, a.k_proj, a.v_proj, width)
        yield Block(block, block.operator_norm, reads, a.out_proj.weight.T, a.out_proj)


def gated_blocks(model: Any, width: int) -> Iterator[Block]:
    """The layers with attention. Each head's gate follows its query: an edge into Q does not change it."""
    for block in model.model.layers:
        if not hasattr(block, "self_attn"):
            continue
        a = block.self_attn
        reads = separate(a.q_proj, a.k_proj, a.v_proj, width)
        reads["Q"] = (a.q_proj, lambda head: slice(2 * head * width, (2 * head + 1) * width))
        yield Block(block, block.input_layernorm, reads, a.o_proj.weight.T, a.o_proj)


def opt_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.model.decoder.layers:
        a = block.self_attn
        reads = separate(a.q_proj, a.k_proj, a.v_proj, width)
        norms = [block.self_attn_layer_norm, block.final_layer_norm]
        yield Block(block, None, reads, a.out_proj.weight.T, a.out_proj, sum_norms=norms)


def bert_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.base_model.encoder.layer:
        a, out = block.attention.self, block.attention.output
        reads = separate(a.query, a.key, a.value, width)
        norms = [out.LayerNorm, block.output.LayerNorm]
        yield Block(block, None, reads, out.dense.weight.T, out.dense, sum_norms=norms)


def vit_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.base_model.layers:
        a = block.attention
        reads = separate(a.q_proj, a.k_proj, a.v_proj, width)
        yield Block(block, block.layernorm_before, reads, a.o_proj.weight.T, a.o_proj)


def dinov2_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.base_model.encoder.layer:
        a, out = block.attention.attention, block.attention.output.dense
        reads = separate(a.query, a.key, a.value, width)
        yield Block(block, block.norm1, reads, out.weight.T, out, scale=block.layer_scale1.lambda1)
