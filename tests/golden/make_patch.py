#!/usr/bin/env python3
"""Make the tiny checkpoints that cuts and screens of edges are tested against.

An independent implementation of "does the edge matter?" (METHODS 12), with hooks on the modules of transformers. An
edge runs from a query head s of layer a to role r (Q, K or V) of head t in a later layer b; under grouped queries the
target of K and V is a KV head.

Cut: the columns of t in the projection of r, or in what follows it over all heads together, are computed again from
norm(x + c), where x is the stream before layer b and c = m_s - o_s. o_s is what s adds to x; m_s is the same of its
replacement: its mean over all tokens of all inputs, zero, or its output on the paired input. The norm is computed
again. Nothing else changes by hand, so everything else in layer b reads x, and later layers run on what follows.

Between O and x there can be more than a sum. What is linear is applied as it is (DINOv2's layer scale). A norm on the
branch (Gemma), and the norms of the sums in post-norm models (BERT) from layer a to layer b - 1, are made linear by
keeping what they divided by in the clean pass: c becomes (c - mean c) / sd * gain, or c / rms * gain.

Screen: as the cut, but the norm before attention keeps what it divided by as well, and so do norms of latents and of
all heads together. The value of an edge is the root mean square over all tokens of ||change of what t adds to the
stream|| / ||x||. A KV head adds what its query heads add together. A norm on the branch keeps what it divided by; a
norm of the sum (post-norm) comes later and does not count.

Output, per case: OUT/<case>/config.json, model.safetensors, case.json, expected.npz
case.json         {"input": "ids" | "pixels", "tower": ..., "output": "hidden"}; tower: which one, or which stage;
                  hidden: there is no output head, and readouts take components of the last hidden state for logits
expected.npz      lengths, ids and paired_ids int64, the inputs one after another; or pixels and paired_pixels
                  float32 [inputs, c, h, w];
                  readouts int64 [predictions, 4]: input, row, answer, other;
                  before [2]: the mean loss -ln p(answer), and the mean of logit(answer) - logit(other);
                  screen_<role>, loss_<role>, difference_<role> [3, sources, targets] for the replacements mean, zero
                  and pair: the screen, and what `before` becomes if the edge is cut. Sources and targets are all
                  heads of all layers in order, KV heads of the layers that have some; 0 where the target is not later.

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
from make_forward import Case, build, seed_of
from make_hf_checkpoints import start_torch
from patch_blocks import ROLES, Block
from patch_cases import CASES, IMAGE_SIZES, TOWERS
from patch_qwen import QwenTower
from patch_transfo_xl import TransfoXLModel

REPLACEMENTS = ("mean", "zero", "pair")
LENGTHS = (9, 14, 5)
FIRST = 2  # the first row whose next token counts
MASK = 4  # the id that stands for a masked token

# --- Norms whose divisor is kept --------------------------------------------------------------


def divided(norm: nn.Module, change: Tensor, clean: Tensor) -> Tensor:
    """What a change of the norm's input becomes if the norm divides by what it divides `clean` by."""
    less_one = type(norm).__name__.startswith(("Gemma2", "Qwen3Next", "Qwen3_5"))
    weight = getattr(norm, "weight", torch.ones(())) + less_one
    eps = getattr(norm, "eps", getattr(norm, "variance_epsilon", 1e-5))
    if type(norm).__name__ in ("LayerNorm", "OlmoLayerNorm", "DebertaLayerNorm"):
        spread = (clean.var(-1, unbiased=False, keepdim=True) + eps).sqrt()
        return (change - change.mean(-1, keepdim=True)) / spread * weight
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


def in_order(rows: Tensor, order: Tensor | None) -> Tensor:
    """One row per token. `order` has the token of each row, if they are not in order."""
    rows = rows.detach().reshape(-1, rows.shape[-1])
    return rows if order is None else rows[order.argsort()]


class Subject:
    def __init__(self, model: Any, blocks: list[Block], heads: int, kv_heads: int, width: int) -> None:
        self.model, self.blocks, self.heads, self.kv_heads, self.width = model, blocks, heads, kv_heads, width

    def targets(self, role: str, layer: int) -> int:
        if role == "Q":
            return self.heads
        return self.blocks[layer].kv_heads if self.blocks[layer].width else self.kv_heads

    def first_target(self, role: str, layer: int) -> int:
        return sum(self.targets(role, earlier) for earlier in range(layer))

    def logits(self, one: dict[str, Tensor]) -> Tensor:
        """The logits, or the last hidden state of a model without an output head."""
        with torch.no_grad():
            result = self.model(**one)
        rows = result.logits[0] if hasattr(result, "logits") else result.last_hidden_state[0]
        return rows if rows.ndim == 2 else rows[None]

    def clean(self, one: dict[str, Tensor]) -> Clean:
        x: list[Tensor] = []
        z: list[Tensor] = []
        normed: dict[nn.Module, Tensor] = {}

        def keep(to: list[Tensor], order: Tensor | None = None) -> Callable[..., None]:
            return lambda _module, arguments, keywords: to.append(
                in_order(arguments[0] if arguments else keywords["hidden_states"], order)
            )

        def keep_norm(module: nn.Module, arguments: Any) -> None:
            d = arguments[0].shape[-1]
            normed[module] = arguments[0].detach().reshape(-1, d)

        def keep_output(module: nn.Module, _arguments: Any, output: Tensor) -> None:
            normed[module] = output.detach().reshape(-1, output.shape[-1])

        handles = []
        for block in self.blocks:
            handles.append(block.whole.register_forward_pre_hook(keep(x), with_kwargs=True))
            handles.append(block.out_module.register_forward_pre_hook(keep(z, block.order), with_kwargs=True))
            for norm in [*block.sum_norms, *([block.branch_norm] if block.branch_norm else [])]:
                handles.append(norm.register_forward_pre_hook(keep_norm))
        for altup in (block.altup for block in self.blocks if block.altup is not None):
            for module in (altup.prediction_coefs, altup.correction_coefs):
                handles.append(module.register_forward_hook(keep_output))
        with hooked(handles):
            logits = self.logits(one)
        return Clean(x, z, normed, logits)

    def columns(self, layer: int, head: int, count: int = 1) -> slice:
        width = self.blocks[layer].width or self.width
        return slice(head * width, (head + count) * width)

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
        columns = self.columns(layer, head)
        change = self.contribution(layer, instead - clean.z[layer][:, columns], columns, clean)
        if self.blocks[layer].altup is not None:
            return self.mixed_change(change, layer, target, clean) if target > layer else change
        for block in self.blocks[layer:target]:
            for norm in block.sum_norms:
                change = divided(norm, change, clean.normed[norm])
            if block.after is not None:
                change = change * block.after
        return change

    def mixed_change(self, change: Tensor, layer: int, target: int, clean: Clean) -> Tensor:
        """The change of the stream that `target` reads, of one after the attention of `layer`."""
        corrections = 1 + clean.normed[self.blocks[layer].altup.correction_coefs]
        streams = torch.stack([change * one[:, None] for one in corrections.T])
        for block in self.blocks[layer + 1 : target + 1]:
            coefficients = clean.normed[block.altup.prediction_coefs]
            to_from = coefficients.reshape(len(coefficients), len(streams), len(streams))
            streams = streams + torch.einsum("tab,btd->atd", to_from, streams)
            if block is self.blocks[target]:
                break
            innovation = streams[0] * block.scale - streams[0]
            corrections = 1 + clean.normed[block.altup.correction_coefs]
            streams = streams + torch.stack([innovation * one[:, None] for one in corrections.T])
        return streams[0]

    def reads(self, layer: int, role: str, x: Tensor, change: Tensor, frozen: bool) -> Tensor:
        """What all heads of a role read from x + change; `frozen`: with the scales that norms have at x."""
        block = self.blocks[layer]
        steps = [*([block.norm] if block.norm else []), *block.steps.get(role, [block.read[role][0]])]
        for step in steps:
            apply = step.forward if isinstance(step, nn.Module) else step  # past the hooks
            at_x = apply(x[None])[0]
            is_norm = "Norm" in type(step).__name__
            change = divided(step, change, x) if frozen and is_norm else apply((x + change)[None])[0] - at_x
            x = at_x
        return x + change

    def with_read(
        self, one: dict[str, Tensor], layer: int, role: str, head: int, read: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The logits, and the heads' outputs of the layer, if one role of one head gives its columns of `read`."""
        block = self.blocks[layer]
        module, columns = block.read[role]
        z: list[Tensor] = []
        edits: list[int] = []

        def edit(_module: nn.Module, _arguments: Any, output: Tensor) -> Tensor | None:
            edits.append(1)
            if len(edits) > 1:
                return None  # DeBERTa projects its table of positions, too
            changed = output.clone()
            own = read if block.order is None else read[block.order]
            if isinstance(columns(head), int):  # [..., token, head, component]
                changed[..., columns(head), :] = own[:, columns(head)]
            else:
                changed[..., columns(head)] = own[:, columns(head)].reshape(changed[..., columns(head)].shape)
            return changed

        handles = [
            module.register_forward_hook(edit),
            block.out_module.register_forward_pre_hook(
                lambda _module, arguments: z.append(in_order(arguments[0], block.order))
            ),
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
    own = subject.heads // subject.targets(role, layer)  # query heads that change
    columns = subject.columns(layer, head * own, own)
    squares, tokens, totals = 0.0, 0, np.zeros(2)
    for index, (one, clean, replacement) in enumerate(zip(inputs, cleans, instead, strict=True)):
        x = clean.x[layer]
        change = subject.stream_change(source, layer, replacement, clean)
        read = subject.reads(layer, role, x, change, frozen=False)
        logits, _ = subject.with_read(one, layer, role, head, read)
        totals += values_of(logits, readouts[readouts[:, 0] == index])
        _, z = subject.with_read(one, layer, role, head, subject.reads(layer, role, x, change, frozen=True))
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
        shape = (len(REPLACEMENTS), layers * heads, subject.first_target(role, layers))
        for kind in ("screen", "loss", "difference"):
            arrays[f"{kind}_{role}"] = np.zeros(shape)
    for a in range(layers):
        for s in range(heads):
            outputs = [clean.z[a][:, subject.columns(a, s)] for clean in cleans]
            mean = torch.cat(outputs).mean(0)
            instead = {
                "mean": [mean.expand_as(output) for output in outputs],
                "zero": [torch.zeros_like(output) for output in outputs],
                "pair": [clean.z[a][:, subject.columns(a, s)] for clean in others],
            }
            for b in range(a + 1, layers):
                for role in ROLES:
                    for t in range(subject.targets(role, b)):
                        for k, name in enumerate(REPLACEMENTS):
                            edge = ((a, s), role, (b, t))
                            local, after = edge_values(subject, inputs, cleans, instead[name], readouts, edge)
                            place = (k, a * heads + s, subject.first_target(role, b) + t)
                            arrays[f"screen_{role}"][place] = local
                            arrays[f"loss_{role}"][place], arrays[f"difference_{role}"][place] = after
    return arrays


# --- Making a case ---------------------------------------------------------------------------------


OWN: dict[str, Any] = {"TransfoXLModel": TransfoXLModel, "QwenTower": QwenTower}  # not classes of transformers


def is_headless(one: Case) -> bool:
    """Whether the output is the last hidden state."""
    return one.model.endswith(("Model", "Tower")) and "LMHead" not in one.model


def load(one: Case, folder: Path) -> Any:
    if one.model in OWN:
        return OWN[one.model](folder)
    model = getattr(hf, one.model).from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
    if hasattr(model.config, "num_local_experts"):
        model.set_experts_implementation("eager")  # the other one does not compute in float64
    return model


def make_gemma_uneven(model: Any) -> None:
    """Gives blocks of Gemma 4 factors of their own, and norms gains around 1: they are stored as they are."""
    with torch.no_grad():
        for i, layer in enumerate(model.model.layers):
            if hasattr(layer, "layer_scalar"):
                layer.layer_scalar.fill_(0.75 + 0.25 * i)
        for module in model.modules():
            if type(module).__name__ in ("Gemma3nRMSNorm", "Gemma4RMSNorm") and module.with_scale:
                module.weight += 1


def save_checkpoint(name: str, one: Case, folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    if one.model in OWN:
        OWN[one.model].save(folder, seed_of("patch " + name, one))
        return
    model = build("patch " + name, one)
    if one.model.startswith(("Gemma3n", "Gemma4")):
        make_gemma_uneven(model)
    model.half().save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)


def draw_inputs(
    name: str, one: Case, config: Any
) -> tuple[dict[str, np.ndarray], list[dict[str, Tensor]], list[dict[str, Tensor]]]:
    """The arrays that describe inputs, paired inputs and readouts, and both kinds of inputs for transformers."""
    generator = torch.Generator().manual_seed(seed_of("patch " + name, one) + 1)
    masked, hidden = "MaskedLM" in one.model, is_headless(one)

    def integers(low: int, high: int, size: tuple[int, ...]) -> Tensor:
        return torch.randint(low, high, size, generator=generator)

    readouts = []
    if not one.tokens:
        height, width = IMAGE_SIZES.get(name) or (config.image_size, config.image_size)
        shape = (2, 3, 3, height, width)
        pixels = torch.randn(shape, generator=generator).float()
        for i in range(3):
            if not hidden:
                readouts.append([i, 0, i, (i + 2) % config.num_labels])
            for row in range(3 if hidden else 0):  # components of the last hidden state stand for classes
                readouts.append([i, row, 3 * i + row, i + row + 7])
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
            other = int(integers(5, vocabulary, (1,)))
            if hidden:
                answer, other = answer % config.hidden_size, other % config.hidden_size
            readouts.append([i, row, answer, other])
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
    model = load(one, folder)
    config = model.config
    config.allow_global_per_layer_attribute_access = True  # Gemma 4: blocks know their own
    heads = config.num_attention_heads
    if isinstance(heads, list):
        stage = int(TOWERS[name].removeprefix("stage")) - 1
        width = config.embed_dim * 2**stage // heads[stage]
        return model, Subject(model, list(find_blocks(model, width)), heads[stage], heads[stage], width)
    width = getattr(config, "v_head_dim", None) or getattr(config, "head_dim", None) or config.hidden_size // heads
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    with torch.no_grad():
        return model, Subject(model, list(find_blocks(model, width)), heads, kv_heads, width)


def make_case(name: str, folder: Path) -> str:
    one, _ = CASES[name]
    save_checkpoint(name, one, folder)
    model, subject = open_case(name, folder)
    with torch.no_grad():
        arrays, inputs, paired = draw_inputs(name, one, model.config)
        arrays |= measure(subject, inputs, paired, arrays["readouts"])
    about = {"input": "ids" if one.tokens else "pixels"} | ({"output": "hidden"} if is_headless(one) else {})
    about |= {"tower": TOWERS[name]} if name in TOWERS else {}
    (folder / "case.json").write_text(json.dumps(about) + "\n")
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
