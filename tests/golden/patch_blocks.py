"""Where the parts of a block are in the models of make_patch.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

ROLES = ("Q", "K", "V")


@dataclass
class Block:
    """One layer: the modules that the hooks attach to."""

    whole: nn.Module  # its first argument is the stream
    norm: nn.Module | None  # before attention
    # By role: the last module, and where a head is in its output, after the token. Empty if they are those of an
    # earlier layer.
    read: dict[str, tuple[nn.Module, Callable[[int], slice | int]]]
    out: Tensor  # O as [heads * width, d]
    out_module: nn.Module  # its first argument is the heads' outputs
    scale: Tensor | None = None  # on what attention adds to the stream
    branch_norm: nn.Module | None = None  # of what attention adds
    sum_norms: list[nn.Module] = field(default_factory=list)  # of the stream, in a post-norm model
    order: Tensor | None = None  # the token of each row inside attention, if they are not in order
    # By role: how the last module's output comes from what attention reads, if that is more than the module.
    steps: dict[str, list[Callable[[Tensor], Tensor]]] = field(default_factory=dict)
    after: Tensor | None = None  # a factor on the stream after the block
    altup: Any = None  # what mixes several streams before and after the block
    width: int = 0  # of a head's output, and
    kv_heads: int = 0  # if layers differ


def separate(q: nn.Module, k: nn.Module, v: nn.Module, width: int) -> dict[str, Any]:
    columns = lambda head: slice(head * width, (head + 1) * width)  # noqa: E731
    return {"Q": (q, columns), "K": (k, columns), "V": (v, columns)}


def every(stride: int, first: int, width: int) -> Callable[[int], slice | int]:
    """Where heads are that begin `stride` columns apart."""
    return lambda head: slice(first + head * stride, first + head * stride + width)


def fused(module: nn.Module, firsts: tuple[int, int, int], stride: int, width: int) -> dict[str, Any]:
    return {role: (module, every(stride, first, width)) for role, first in zip(ROLES, firsts, strict=True)}


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
        norm = getattr(block, "input_layernorm", None)
        yield Block(block, norm, reads, a.o_proj.weight.T, a.o_proj)


def granite_blocks(model: Any, width: int) -> Iterator[Block]:
    for block, layer in zip(llama_blocks(model, width), model.model.layers, strict=True):
        block.scale = torch.tensor(layer.residual_multiplier).double()
        yield block


def olmo2_blocks(model: Any, width: int) -> Iterator[Block]:
    """Norms of queries and keys over all heads together; no norm before attention."""
    for block, layer in zip(llama_blocks(model, width), model.model.layers, strict=True):
        a = layer.self_attn
        block.steps = {"Q": [a.q_proj, a.q_norm], "K": [a.k_proj, a.k_norm]}
        block.read["Q"], block.read["K"] = (a.q_norm, block.read["Q"][1]), (a.k_norm, block.read["K"][1])
        block.norm, block.branch_norm = None, layer.post_attention_layernorm
        yield block


def latent_blocks(model: Any, width: int) -> Iterator[Block]:
    """Q (in large models), K and V read latents; the rotary key that they share belongs to no head."""
    key, rank = model.config.qk_nope_head_dim, model.config.kv_lora_rank
    for block in model.model.layers:
        a = block.self_attn
        latent = [lambda x, a=a: a.kv_a_proj_with_mqa(x)[..., :rank], a.kv_a_layernorm]
        query = a.q_proj if model.config.q_lora_rank is None else a.q_b_proj
        reads = {
            "Q": (query, every(a.qk_head_dim, 0, a.qk_head_dim)),
            "K": (a.kv_b_proj, every(key + width, 0, key)),
            "V": (a.kv_b_proj, every(key + width, key, width)),
        }
        steps = {role: [*latent, a.kv_b_proj] for role in "KV"}
        if model.config.q_lora_rank is not None:
            steps["Q"] = [a.q_a_proj, a.q_a_layernorm, a.q_b_proj]
        yield Block(block, block.input_layernorm, reads, a.o_proj.weight.T, a.o_proj, steps=steps)


def gemma_blocks(model: Any, width: int) -> Iterator[Block]:
    for block, layer in zip(llama_blocks(model, width), model.model.layers, strict=True):
        block.branch_norm = layer.post_attention_layernorm
        yield block


def normed_keys(attention: Any, norm: Any) -> Callable[[Tensor], Tensor]:
    return lambda x: norm.forward(attention.k_proj.forward(x).unflatten(-1, (-1, attention.head_dim)))


def gemma4_blocks(model: Any, _width: int) -> Iterator[Block]:
    """Widths and KV heads per layer. The last layers may use earlier keys and values; values may be keys."""
    for block in model.model.layers:
        a = block.self_attn
        columns = lambda head, width=a.head_dim: slice(head * width, (head + 1) * width)  # noqa: E731
        norm = block.post_attention_layernorm
        one = Block(block, block.input_layernorm, {"Q": (a.q_proj, columns)}, a.o_proj.weight.T, a.o_proj)
        one.branch_norm, one.after, one.width = norm, block.layer_scalar, a.head_dim
        if not a.is_kv_shared_layer:
            one.kv_heads = a.k_proj.weight.shape[0] // a.head_dim
            one.read |= {"K": (a.k_proj, columns), "V": (a.v_proj, columns)}
        if not a.is_kv_shared_layer and a.v_proj is None:  # one projection: cuts change what follows its norms
            for role, normed in (("K", a.k_norm), ("V", a.v_norm)):
                one.read[role] = (normed, lambda head: head)
                one.steps[role] = [normed_keys(a, normed)]
        yield one


def gemma3n_blocks(model: Any, width: int) -> Iterator[Block]:
    """Attention reads the first of several streams, and the stream after it is divided by the root of 2 (Laurel)."""
    for layer in model.model.layers:
        a = layer.self_attn
        norm = layer.input_layernorm
        reads = separate(a.q_proj, a.k_proj, a.v_proj, width) if not a.is_kv_shared_layer else {}
        reads["Q"] = (a.q_proj, every(width, 0, width))
        one = Block(norm, norm, reads, a.o_proj.weight.T, a.o_proj)
        one.branch_norm, one.altup, one.width = layer.post_attention_layernorm, layer.altup, width
        one.kv_heads = 0 if a.is_kv_shared_layer else a.k_proj.weight.shape[0] // width
        one.scale = torch.tensor(0.5).double().sqrt()
        yield one


def falcon_h1_blocks(model: Any, width: int) -> Iterator[Block]:
    """Constant factors on what attention reads and writes; beside it, a state-space model reads the stream as it is."""
    for block, layer in zip(llama_blocks(model, width), model.model.layers, strict=True):
        block.scale = torch.tensor(layer.attn_out_multiplier).double()
        for role, (module, _) in block.read.items():
            block.steps[role] = [partial(torch.mul, other=layer.attention_in_multiplier), module]
        yield block


def lfm2_blocks(model: Any, width: int) -> Iterator[Block]:
    """The layers with attention; between them are convolutions."""
    for block in model.model.layers:
        if not block.is_attention_layer:
            continue
        a = block.self_attn
        reads = separate(a.q_proj, a.k_proj, a.v_proj, width)
        yield Block(block, block.operator_norm, reads, a.out_proj.weight.T, a.out_proj)


def nemotron_h_blocks(model: Any, width: int) -> Iterator[Block]:
    """The layers with attention; the others are state-space models or MLPs."""
    for block in model.model.layers:
        a = block.mixer
        if hasattr(a, "q_proj"):
            yield Block(block, block.norm, separate(a.q_proj, a.k_proj, a.v_proj, width), a.o_proj.weight.T, a.o_proj)


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


def mpnet_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.base_model.encoder.layer:
        a = block.attention.attn
        norms = [block.attention.LayerNorm, block.output.LayerNorm]
        yield Block(block, None, separate(a.q, a.k, a.v, width), a.o.weight.T, a.o, sum_norms=norms)


def bloom_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.transformer.h:
        a = block.self_attention
        reads = fused(a.query_key_value, (0, width, 2 * width), 3 * width, width)
        yield Block(block, block.input_layernorm, reads, a.dense.weight.T, a.dense)


def deberta_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.base_model.encoder.layer:
        a, out = block.attention.self, block.attention.output
        reads = separate(a.query_proj, a.key_proj, a.value_proj, width)
        norms = [out.LayerNorm, block.output.LayerNorm]
        yield Block(block, None, reads, out.dense.weight.T, out.dense, sum_norms=norms)


def deberta_v1_blocks(model: Any, width: int) -> Iterator[Block]:
    """The biases of queries and values follow the projection."""
    for block in model.base_model.encoder.layer:
        a, out = block.attention.self, block.attention.output
        reads = fused(a.in_proj, (0, width, 2 * width), 3 * width, width)
        norms = [out.LayerNorm, block.output.LayerNorm]
        yield Block(block, None, reads, out.dense.weight.T, out.dense, sum_norms=norms)


def transfo_xl_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.layers:
        a = block.dec_attn
        d = a.o_net.weight.shape[1]
        norms = [a.layer_norm, block.pos_ff.layer_norm]
        reads = fused(a.qkv_net, (0, d, 2 * d), width, width)
        yield Block(block, None, reads, a.o_net.weight.T, a.o_net, sum_norms=norms)


def pixtral_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.transformer.layers:
        a = block.attention
        reads = separate(a.q_proj, a.k_proj, a.v_proj, width)
        yield Block(block, block.attention_norm, reads, a.o_proj.weight.T, a.o_proj)


def dinov3_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.model.layer:
        a = block.attention
        reads = separate(a.q_proj, a.k_proj, a.v_proj, width)
        yield Block(block, block.norm1, reads, a.o_proj.weight.T, a.o_proj, scale=block.layer_scale1.lambda1)


def window_order(block: Any, rows: int, columns: int) -> Tensor:
    """The patches in the order in which Swin puts them into windows, which fit into the grid."""
    side, shift = block.window_size, block.shift_size
    places = torch.arange(rows * columns).reshape(rows, columns).roll((-shift, -shift), (0, 1))
    return places.reshape(rows // side, side, columns // side, side).transpose(1, 2).flatten()


def swin_blocks(model: Any, width: int) -> Iterator[Block]:
    """Those of the second stage."""
    for block in model.swin.encoder.layers[1].blocks:
        a = block.attention
        reads = separate(a.q_proj, a.k_proj, a.v_proj, width)
        order = window_order(block, *block.input_resolution)
        yield Block(block, block.layernorm_before, reads, a.o_proj.weight.T, a.o_proj, order=order)


def swinv2_blocks(model: Any, width: int) -> Iterator[Block]:
    """Those of the first stage."""
    for block in model.swinv2.encoder.layers[0].blocks:
        a, out = block.attention.self, block.attention.output.dense
        reads = separate(a.query, a.key, a.value, width)
        order = window_order(block, *block.input_resolution)
        yield Block(block, None, reads, out.weight.T, out, branch_norm=block.layernorm_before, order=order)


def qwen_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.tower.blocks:
        a = block.attn
        d = a.proj.weight.shape[1]
        yield Block(block, block.norm1, fused(a.qkv, (0, d, 2 * d), width, width), a.proj.weight.T, a.proj)


def vit_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.base_model.layers:
        a = block.attention
        reads = separate(a.q_proj, a.k_proj, a.v_proj, width)
        yield Block(block, block.layernorm_before, reads, a.o_proj.weight.T, a.o_proj)


def beit_blocks(model: Any, width: int) -> Iterator[Block]:
    for block, layer in zip(vit_blocks(model, width), model.base_model.layers, strict=True):
        block.scale = layer.lambda_1
        yield block


def dinov2_blocks(model: Any, width: int) -> Iterator[Block]:
    for block in model.base_model.encoder.layer:
        a, out = block.attention.attention, block.attention.output.dense
        reads = separate(a.query, a.key, a.value, width)
        yield Block(block, block.norm1, reads, out.weight.T, out, scale=block.layer_scale1.lambda1)
