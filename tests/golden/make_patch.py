#!/usr/bin/env python3
"""Make the tiny checkpoints that cuts and screens of edges are tested against.

An independent implementation of "does the edge matter?" (METHODS 12), with hooks on the modules of transformers. An
edge runs from a query head s of layer a to role r (Q, K or V) of head t in a later layer b; under grouped queries the
target of K and V is a KV head.

Cut: the columns of t in the projection of r are computed again from norm(x + c), where x is the stream before layer b
and c = m_s - o_s. o_s is what s adds to x; m_s is the same of its replacement: its mean over all tokens of all inputs,
zero, or its output on the paired input. The norm is computed again. Nothing else changes by hand, so everything else in
layer b reads x, and later layers run on what follows.

Between O and x there can be more than a sum. What is linear is applied as it is (DINOv2's layer scale). A norm on the
branch (Gemma), and the norms of the sums in post-norm models (BERT) from layer a to layer b - 1, are made linear by
keeping what they divided by in the clean pass: c becomes (c - mean c) / sd * gain, or c / rms * gain.

Screen: as the cut, but the norm before attention keeps what it divided by as well. The value of an edge is the root
mean square over all tokens of ||change of what t adds to the stream|| / ||x||. A KV head adds what its query heads add
together. A norm on the branch keeps what it divided by; a norm of the sum (post-norm) comes later and does not count.

Output, per case: OUT/<case>/config.json, model.safetensors, case.json, expected.npz
case.json         {"input": "ids" | "pixels"}
expected.npz      lengths, ids and paired_ids int64, the inputs one after another; or pixels and paired_pixels
                  float32 [inputs, c, h, w];
                  readouts int64 [predictions, 4]: input, row, answer, other;
                  before [2]: the mean loss -ln p(answer), and the mean of logit(answer) - logit(other);
                  screen_<role>, loss_<role>, difference_<role> [3, sources, targets] for the replacements mean, zero
                  and pair: the screen, and what `before` becomes if the edge is cut. Sources and targets are all
                  heads of all layers in order; 0 where the target is not later.

The models compute in float64, apart from what transformers itself does in float32. Weights as in make_forward.py.
Made with torch 2.11.0, transformers 5.17.0, safetensors 0.8.

    python make_patch.py OUT [--only CASE ...]
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from torch import Tensor, nn

import golden_cases
from make_forward import Case, build, rope, seed_of
from make_hf_checkpoints import start_torch
from patch_blocks import (
    ROLES,
    Block,
    bert_blocks,
    dinov2_blocks,
    gated_blocks,
    gemma_blocks,
    gpt2_blocks,
    gpt_neox_blocks,
    lfm2_blocks,
    llama_blocks,
    opt_blocks,
    phi3_blocks,
    vit_blocks,
)

REPLACEMENTS = ("mean", "zero", "pair")
LENGTHS = (9, 14, 5)
FIRST = 2  # the first row whose next token counts
MASK = 4  # the id that stands for a masked token

# --- Norms whose divisor is kept --------------------------------------------------------------


def divided(norm: nn.Module, change: Tensor, clean: Tensor) -> Tensor:
    """What a change of the norm's input becomes if the norm divides by what it divides `clean` by."""
    less_one = type(norm).__name__.startswith(("Gemma", "Qwen3Next", "Qwen3_5"))
    weight = norm.weight + 1 if less_one else norm.weight
    if isinstance(norm, nn.LayerNorm):
        spread = (clean.var(-1, unbiased=False, keepdim=True) + norm.eps).sqrt()
        return (change - change.mean(-1, keepdim=True)) / spread * weight
    eps = norm.eps if hasattr(norm, "eps") else norm.variance_epsilon
    return change / (clean.square().mean(-1, keepdim=True) + eps).sqrt() * weight


# --- One model and its inputs ------------------------------------------------------------------


@dataclass
class Clean:
    """What a pass over one input computed, by layer."""

    x: list[Tensor]
    z: list[Tensor]  # outputs of all heads, before O
    normed: dict[nn.Module, Tensor]  # inputs of the norms after branches
    logits: Tensor


@contextmanager
def hooked(handles: list[Any]) -> Iterator[None]:
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class Subject:
    def __init__(self, model: Any, blocks: list[Block], heads: int, kv_heads: int, width: int) -> None:
        self.model, self.blocks, self.heads, self.kv_heads, self.width = model, blocks, heads, kv_heads, width

    def targets(self, role: str) -> int:
        return self.heads if role == "Q" else self.kv_heads

    def logits(self, one: dict[str, Tensor]) -> Tensor:
        with torch.no_grad():
            result = self.model(**one).logits[0]
        return result if result.ndim == 2 else result[None]

    def clean(self, one: dict[str, Tensor]) -> Clean:
        x: list[Tensor] = []
        z: list[Tensor] = []
        normed: dict[nn.Module, Tensor] = {}

        def keep(to: list[Tensor]) -> Callable[..., None]:
            return lambda _module, arguments, keywords: to.append(
                (arguments[0] if arguments else keywords["hidden_states"]).detach()[0]
            )

        def keep_norm(module: nn.Module, arguments: Any) -> None:
            d = arguments[0].shape[-1]
            normed[module] = arguments[0].detach().reshape(-1, d)

        handles = []
        for block in self.blocks:
            handles.append(block.whole.register_forward_pre_hook(keep(x), with_kwargs=True))
            handles.append(block.out_module.register_forward_pre_hook(keep(z), with_kwargs=True))
            for norm in [*block.sum_norms, *([block.branch_norm] if block.branch_norm else [])]:
                handles.append(norm.register_forward_pre_hook(keep_norm))
        with hooked(handles):
            logits = self.logits(one)
        return Clean(x, z, normed, logits)

    def columns(self, head: int) -> slice:
        return slice(head * self.width, (head + 1) * self.width)

    def contribution(self, layer: int, z: Tensor, columns: slice, clean: Clean) -> Tensor:
        """What outputs (or changes) of some heads of a layer add to the stream, before a norm of the sum."""
        block = self.blocks[layer]
        written = z @ block.out[columns]
        if block.scale is not None:
            written = written * block.scale
        return divided(block.branch_norm, written, clean.normed[block.branch_norm]) if block.branch_norm else written

    def stream_change(self, source: tuple[int, int], target: int, instead: Tensor, clean: Clean) -> Tensor:
        """m_s - o_s before layer `target`; `instead` replaces the source's output before O."""
        layer, head = source
        columns = self.columns(head)
        change = self.contribution(layer, instead - clean.z[layer][:, columns], columns, clean)
        for block in self.blocks[layer:target]:
            for norm in block.sum_norms:
                change = divided(norm, change, clean.normed[norm])
        return change

    def with_read(
        self, one: dict[str, Tensor], layer: int, role: str, head: int, read: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The logits, and the heads' outputs of the layer, if one role of one head reads `read`."""
        block = self.blocks[layer]
        module, columns = block.read[role]
        z: list[Tensor] = []

        def edit(projection: nn.Module, _arguments: Any, output: Tensor) -> Tensor:
            changed = output.clone()
            changed[0, :, columns(head)] = projection.forward(read[None])[0, :, columns(head)]
            return changed

        handles = [
            module.register_forward_hook(edit),
            block.out_module.register_forward_pre_hook(lambda _module, arguments: z.append(arguments[0].detach()[0])),
        ]
        with hooked(handles):
            return self.logits(one), z[0]


# --- Cuts and screens ----------------------------------------------------------------------------


def values_of(logits: Tensor, readouts: np.ndarray) -> np.ndarray:
    """Sums of -ln p(answer) and of logit(answer) - logit(other) over the readouts of one input."""
    total = np.zeros(2)
    log_p = torch.log_softmax(logits.double(), dim=-1)
    for _, row, answer, other in readouts:
        total[0] -= float(log_p[row, answer])
        total[1] += float(logits[row, answer] - logits[row, other])
    return total


def edge_values(
    subject: Subject, inputs: list[dict[str, Tensor]], cleans: list[Clean], instead: list[Tensor],
    readouts: np.ndarray, edge: tuple[tuple[int, int], str, tuple[int, int]],
) -> tuple[float, np.ndarray]:  # fmt: skip
    """The screen's value, and the mean readouts after the cut."""
    source, role, (layer, head) = edge
    block = subject.blocks[layer]
    own = subject.heads // subject.targets(role)  # query heads that change
    columns = slice(head * own * subject.width, (head + 1) * own * subject.width)
    squares, tokens, totals = 0.0, 0, np.zeros(2)
    for index, (one, clean, replacement) in enumerate(zip(inputs, cleans, instead, strict=True)):
        x = clean.x[layer]
        change = subject.stream_change(source, layer, replacement, clean)
        read = x + change
        frozen = read
        if block.norm is not None:
            read = block.norm(read)
            frozen = block.norm(x) + divided(block.norm, change, x)
        logits, _ = subject.with_read(one, layer, role, head, read)
        totals += values_of(logits, readouts[readouts[:, 0] == index])
        _, z = subject.with_read(one, layer, role, head, frozen)
        moved = z - clean.z[layer]
        elsewhere = moved.clone()
        elsewhere[:, columns] = 0
        if float(elsewhere.abs().max()) > 0:
            raise ValueError("another head of the layer changed")
        added = subject.contribution(layer, moved[:, columns], columns, clean)
        squares += float((added.square().sum(-1) / x.square().sum(-1)).sum())
        tokens += len(x)
    return (squares / tokens) ** 0.5, totals / len(readouts)


def measure(
    subject: Subject, inputs: list[dict[str, Tensor]], paired: list[dict[str, Tensor]], readouts: np.ndarray
) -> dict[str, np.ndarray]:
    cleans = [subject.clean(one) for one in inputs]
    others = [subject.clean(one) for one in paired]
    layers, heads = len(subject.blocks), subject.heads
    before = [values_of(clean.logits, readouts[readouts[:, 0] == i]) for i, clean in enumerate(cleans)]
    arrays = {"before": np.sum(before, axis=0) / len(readouts)}
    for role in ROLES:
        shape = (len(REPLACEMENTS), layers * heads, layers * subject.targets(role))
        for kind in ("screen", "loss", "difference"):
            arrays[f"{kind}_{role}"] = np.zeros(shape)
    for a in range(layers):
        for s in range(heads):
            outputs = [clean.z[a][:, subject.columns(s)] for clean in cleans]
            mean = torch.cat(outputs).mean(0)
            instead = {
                "mean": [mean.expand_as(output) for output in outputs],
                "zero": [torch.zeros_like(output) for output in outputs],
                "pair": [clean.z[a][:, subject.columns(s)] for clean in others],
            }
            for b in range(a + 1, layers):
                for role in ROLES:
                    for t in range(subject.targets(role)):
                        for k, name in enumerate(REPLACEMENTS):
                            edge = ((a, s), role, (b, t))
                            local, after = edge_values(subject, inputs, cleans, instead[name], readouts, edge)
                            place = (k, a * heads + s, b * subject.targets(role) + t)
                            arrays[f"screen_{role}"][place] = local
                            arrays[f"loss_{role}"][place], arrays[f"difference_{role}"][place] = after
    return arrays


# --- The cases -----------------------------------------------------------------------------------


SIZES = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2}
TEXT = SIZES | {"intermediate_size": 12, "vocab_size": 32, "max_position_embeddings": 16}
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
CAUSAL = TEXT | TOKENS | {"num_key_value_heads": 2}
GROUPED = TEXT | TOKENS | {"num_attention_heads": 4, "num_key_value_heads": 2}
ONE_GROUP = TEXT | TOKENS | {"num_key_value_heads": 1}
GPT2 = {"n_embd": 16, "n_layer": 3, "n_head": 2, "n_inner": 12, "n_positions": 16, "vocab_size": 32}
GPT2 |= {"bos_token_id": 1, "eos_token_id": 2}
GEMMA2: dict[str, Any] = GROUPED | {"head_dim": 6, "query_pre_attn_scalar": 8, "sliding_window": 5}
GEMMA2 |= {"attn_logit_softcapping": 6.0, "final_logit_softcapping": 5.0}
MIXTURE = {"num_hidden_layers": 2, "num_key_value_heads": 1, "head_dim": 8, "sliding_window": 4}
MIXTURE |= {"num_local_experts": 3, "num_experts_per_tok": 2}
LFM2 = GROUPED | {"num_hidden_layers": 5, "full_attn_idxs": [0, 2, 3], "block_auto_adjust_ff_dim": False}
LFM2 |= {"tie_word_embeddings": True}
GATED = GROUPED | {"head_dim": 8, "layer_types": ["full_attention", "linear_attention", "full_attention"]}
GATED |= {"linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 4, "linear_value_head_dim": 4}
GATED |= {"num_experts": 0, "mlp_only_layers": [0, 1, 2]}
IMAGE = SIZES | {"image_size": 12, "patch_size": 4, "num_channels": 3, "num_labels": 5}
OPT = {k: v for k, v in TEXT.items() if k != "intermediate_size"} | TOKENS | {"ffn_dim": 12}
OPT |= {"word_embed_proj_dim": 16, "do_layer_norm_before": False}


def case(model: str, config: str, options: dict[str, Any], **rest: Any) -> Case:
    return Case(model, lambda: getattr(hf, config)(**options), **{"sharpen": 2.0} | rest)


CASES: dict[str, tuple[Case, Callable[[Any, int], Iterator[Block]]]] = {
    "gpt2": (case("GPT2LMHeadModel", "GPT2Config", GPT2), gpt2_blocks),
    "llama": (case("LlamaForCausalLM", "LlamaConfig", GROUPED | rope("default")), llama_blocks),
    "bert": (case("BertForMaskedLM", "BertConfig", TEXT), bert_blocks),
    "vit": (case("ViTForImageClassification", "ViTConfig", IMAGE | {"intermediate_size": 12}, tokens=0), vit_blocks),
    "gemma2": (case("Gemma2ForCausalLM", "Gemma2Config", GEMMA2), gemma_blocks),
    "qwen3": (case("Qwen3ForCausalLM", "Qwen3Config", GROUPED | {"head_dim": 6}), llama_blocks),
    "gpt_neox": (
        case("GPTNeoXForCausalLM", "GPTNeoXConfig", TEXT | TOKENS | rope("default", partial_rotary_factor=0.5)),
        gpt_neox_blocks,
    ),
    "dinov2": (
        case("Dinov2ForImageClassification", "Dinov2Config", IMAGE | {"mlp_ratio": 1}, tokens=0), dinov2_blocks
    ),
    "mistral": (case("MistralForCausalLM", "MistralConfig", ONE_GROUP | {"sliding_window": 4}), llama_blocks),
    "phi3": (case("Phi3ForCausalLM", "Phi3Config", GROUPED | {"sliding_window": None}), phi3_blocks),
    "opt_post": (case("OPTForCausalLM", "OPTConfig", OPT), opt_blocks),
    "lfm2": (case("Lfm2ForCausalLM", "Lfm2Config", LFM2), lfm2_blocks),
    "qwen3_next": (case("Qwen3NextForCausalLM", "Qwen3NextConfig", GATED), gated_blocks),
    "gpt_oss": (
        case("GptOssForCausalLM", "GptOssConfig", TEXT | TOKENS | MIXTURE | rope("default"), sharpen=3.0), llama_blocks
    ),
}  # fmt: skip


# --- Making a case ---------------------------------------------------------------------------------


def draw_inputs(
    name: str, one: Case, config: Any, masked: bool
) -> tuple[dict[str, np.ndarray], list[dict[str, Tensor]], list[dict[str, Tensor]]]:
    """The arrays that describe inputs, paired inputs and readouts, and both kinds of inputs for transformers."""
    generator = torch.Generator().manual_seed(seed_of("patch " + name, one) + 1)

    def integers(low: int, high: int, size: tuple[int, ...]) -> Tensor:
        return torch.randint(low, high, size, generator=generator)

    readouts = []
    if not one.tokens:
        shape = (2, 3, config.num_channels, config.image_size, config.image_size)
        pixels = torch.randn(shape, generator=generator).float()
        for i in range(3):
            readouts.append([i, 0, i, (i + 2) % config.num_labels])
        arrays = {"pixels": pixels[0].numpy(), "paired_pixels": pixels[1].numpy(), "readouts": np.array(readouts)}
        first, second = ([{"pixel_values": image[None].double()} for image in kind] for kind in pixels)
        return arrays, first, second
    vocabulary = config.vocab_size
    texts = [integers(5, vocabulary, (length,)) for length in LENGTHS]
    paired = [integers(5, vocabulary, (length,)) for length in LENGTHS]
    for i, text in enumerate(texts):
        rows = list(range(1, len(text), 3)) if masked else list(range(FIRST, len(text) - 1))
        for row in rows:
            answer = int(text[row] if masked else text[row + 1])
            readouts.append([i, row, answer, int(integers(5, vocabulary, (1,)))])
            if masked:
                text[row] = MASK
    arrays = {
        "lengths": np.array(LENGTHS), "ids": torch.cat(texts).numpy(), "paired_ids": torch.cat(paired).numpy(),
        "readouts": np.array(readouts),
    }  # fmt: skip
    return arrays, [{"input_ids": text[None]} for text in texts], [{"input_ids": text[None]} for text in paired]


def open_case(name: str, folder: Path) -> tuple[Any, Subject]:
    """The model of a case, as a reader meets it."""
    one, find_blocks = CASES[name]
    model = getattr(hf, one.model).from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
    config = model.config
    if hasattr(config, "num_local_experts"):
        model.set_experts_implementation("eager")  # the other one does not compute in float64
    heads = config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    with torch.no_grad():
        return model, Subject(model, list(find_blocks(model, width)), heads, kv_heads, width)


def make_case(name: str, folder: Path) -> str:
    one, _ = CASES[name]
    if folder.exists():
        shutil.rmtree(folder)
    build("patch " + name, one).half().save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    model, subject = open_case(name, folder)
    with torch.no_grad():
        arrays, inputs, paired = draw_inputs(name, one, model.config, masked="MaskedLM" in one.model)
        arrays |= measure(subject, inputs, paired, arrays["readouts"])
    (folder / "case.json").write_text(json.dumps({"input": "ids" if one.tokens else "pixels"}) + "\n")
    np.savez_compressed(folder / "expected.npz", **arrays)  # type: ignore[arg-type]  # NumPy's allow_pickle
    effects = np.concatenate([(arrays[f"loss_{r}"] - arrays["before"][0])[arrays[f"loss_{r}"] != 0] for r in ROLES])
    local = np.concatenate([arrays[f"screen_{r}"][arrays[f"screen_{r}"] != 0] for r in ROLES])
    if np.median(np.abs(effects)) < 1e-3 or np.median(local) < 1e-3:
        raise ValueError("the effects are too small to be compared")
    size = sum(path.stat().st_size for path in folder.iterdir())
    return (
        f"before {arrays['before'].round(3)} {effects.size} cuts, median {np.median(np.abs(effects)):.4f} "
        f"largest {np.abs(effects).max():.3f} nats, screen median {np.median(local):.4f} {size // 1024} KiB"
    )


def main() -> int:
    return golden_cases.main(__doc__, CASES, lambda name, out: make_case(name, out / name), prepare=start_torch)


if __name__ == "__main__":
    sys.exit(main())
