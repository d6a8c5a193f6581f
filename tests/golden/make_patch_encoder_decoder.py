#!/usr/bin/env python3
"""Make the tiny checkpoints with an encoder and a decoder that cuts and screens of edges are tested against.

As make_patch.py and make_patch_components.py, with two streams. The attention of the decoder's layers is two blocks,
which take turns: self-attention, then cross-attention. Q of cross-attention reads the stream of the decoder before it;
its K and V read what the encoder ends with, whose last norm is computed again. An edge stays in one stream. The MLP of
a decoder's layer comes after its cross-attention.

Output, per case: OUT/<case>/config.json, model.safetensors, case.json, expected.npz, components.npz as there, and in
expected.npz also
    target_lengths, target_ids   what the decoder reads, of inputs and paired inputs alike; instead of ids, audio has
                                 features and paired_features float32 [inputs, bands, frames].
Sources and targets are the heads of the encoder, of the decoder's self-attention, then of its cross-attention. In the
screen, x of cross-attention is the stream of the decoder. Rows of readouts are tokens of the target.

Made with torch 2.11.0, transformers 5.17.0, safetensors 0.8.

    python make_patch_encoder_decoder.py OUT [--only CASE ...]
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from torch import Tensor, nn

import golden_cases
from make_encoder_decoder import use_eager
from make_forward import Case, build, seed_of
from make_hf_checkpoints import start_torch
from make_patch import FIRST, LENGTHS, REPLACEMENTS, divided, hooked, values_of
from patch_blocks import ROLES

TARGET_LENGTHS = (6, 8, 5)
BANDS, FRAMES = 6, 20


# --- The parts of a model ---------------------------------------------------------------------


@dataclass
class Attention:
    """One layer of attention: the modules that hooks attach to."""

    name: str  # encoder, decoder or cross
    read: dict[str, nn.Linear]  # by role
    out: nn.Linear
    norm: nn.Module | None  # before it
    sum_norms: list[nn.Module] = field(default_factory=list)  # of the stream, in a post-norm model
    mlp: nn.Module | None = None  # its first argument is the stream that only the MLP reads

    @property
    def stream_reader(self) -> nn.Module:
        return self.norm or self.read["Q"]


@dataclass
class Parts:
    encoder: list[Attention]
    decoder: list[Attention]  # self- and cross-attention in turn
    end: nn.Module | None  # the last norm of the encoder
    final: nn.Module  # its first argument is the stream that only the unembedding reads


def bart_attention(name: str, module: Any, norm: nn.Module, post: bool) -> Attention:
    read = {"Q": module.q_proj, "K": module.k_proj, "V": module.v_proj}
    return Attention(name, read, module.out_proj, None if post else norm, [norm] if post else [])


def bart_parts(model: Any) -> Parts:
    encoder, decoder = model.model.encoder, model.model.decoder
    post = not hasattr(encoder, "layer_norm")

    def with_mlp(attention: Attention, layer: Any) -> Attention:
        attention.mlp = layer.fc1 if post else layer.final_layer_norm
        if post:
            attention.sum_norms.append(layer.final_layer_norm)
        return attention

    first, last = [], []
    for layer in encoder.layers:
        attention = bart_attention("encoder", layer.self_attn, layer.self_attn_layer_norm, post)
        first.append(with_mlp(attention, layer))
    for layer in decoder.layers:
        last.append(bart_attention("decoder", layer.self_attn, layer.self_attn_layer_norm, post))
        attention = bart_attention("cross", layer.encoder_attn, layer.encoder_attn_layer_norm, post)
        last.append(with_mlp(attention, layer))
    head = model.lm_head if hasattr(model, "lm_head") else model.proj_out
    return Parts(first, last, None if post else encoder.layer_norm, head if post else decoder.layer_norm)


def t5_attention(name: str, module: Any, norm: nn.Module) -> Attention:
    return Attention(name, {"Q": module.q, "K": module.k, "V": module.v}, module.o, norm)


def t5_parts(model: Any) -> Parts:
    first, last = [], []
    for block in model.encoder.block:
        first.append(t5_attention("encoder", block.layer[0].SelfAttention, block.layer[0].layer_norm))
        first[-1].mlp = block.layer[1].layer_norm
    for block in model.decoder.block:
        last.append(t5_attention("decoder", block.layer[0].SelfAttention, block.layer[0].layer_norm))
        last.append(t5_attention("cross", block.layer[1].EncDecAttention, block.layer[1].layer_norm))
        last[-1].mlp = block.layer[2].layer_norm
    return Parts(first, last, model.encoder.final_layer_norm, model.decoder.final_layer_norm)


# --- One model and its inputs -------------------------------------------------------------------


@dataclass
class Clean:
    """What a pass over one input computed: inputs of modules."""

    of: dict[nn.Module, Tensor]
    logits: Tensor


class Subject:
    def __init__(self, model: Any, parts: Parts) -> None:
        self.model, self.parts = model, parts
        self.heads = model.config.num_attention_heads
        self.width = parts.encoder[0].out.weight.shape[1] // self.heads
        decoder = parts.decoder
        self.order = [*parts.encoder, *decoder[::2], *decoder[1::2]]  # of the golden arrays
        self.memory = parts.end or next(one for one in decoder if one.name == "cross").read["K"]

    def columns(self, head: int) -> slice:
        return slice(head * self.width, (head + 1) * self.width)

    def logits(self, one: dict[str, Tensor]) -> Tensor:
        with torch.no_grad():
            result: Tensor = self.model(**one, use_cache=False).logits[0]
        return result

    def clean(self, one: dict[str, Tensor]) -> Clean:
        of: dict[nn.Module, Tensor] = {}

        def keep(module: nn.Module, arguments: tuple[Tensor, ...]) -> None:
            of[module] = arguments[0].detach().reshape(-1, arguments[0].shape[-1])

        modules = {self.memory}
        for attention in self.order:
            modules |= {attention.stream_reader, attention.out, *attention.sum_norms}
        with hooked([module.register_forward_pre_hook(keep) for module in modules]):
            logits = self.logits(one)
        return Clean(of, logits)

    def stream_of(self, attention: Attention) -> list[Attention]:
        return self.parts.encoder if attention.name == "encoder" else self.parts.decoder

    def change(self, source: Attention, head: int, instead: Tensor, clean: Clean, end: int) -> Tensor:
        """m_s - o_s in the source's stream, before its attention number `end`."""
        columns = self.columns(head)
        change = (instead - clean.of[source.out][:, columns]) @ source.out.weight[:, columns].T
        stream = self.stream_of(source)
        for attention in stream[stream.index(source) : end]:
            for norm in attention.sum_norms:
                change = divided(norm, change, clean.of[norm])
        return change

    def with_read(
        self, one: dict[str, Tensor], target: Attention, role: str, head: int, read: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The logits, and the heads' outputs of the layer, if one role of one head reads `read`."""
        z: list[Tensor] = []

        def edit(projection: nn.Module, _arguments: Any, output: Tensor) -> Tensor:
            changed = output.clone()
            changed[0, :, self.columns(head)] = projection.forward(read[None])[0, :, self.columns(head)]
            return changed

        handles = [
            target.read[role].register_forward_hook(edit),
            target.out.register_forward_pre_hook(lambda _module, arguments: z.append(arguments[0].detach()[0])),
        ]
        with hooked(handles):
            return self.logits(one), z[0]

    def with_change(self, one: dict[str, Tensor], reader: nn.Module, change: Tensor) -> Tensor:
        def edit(_module: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return (arguments[0] + change.reshape(arguments[0].shape), *arguments[1:])

        with hooked([reader.register_forward_pre_hook(edit)]):
            return self.logits(one)


# --- Cuts and screens ---------------------------------------------------------------------------


@dataclass
class Run:
    """The inputs and what was computed on them."""

    inputs: list[dict[str, Tensor]]
    cleans: list[Clean]
    paired: list[Clean]
    readouts: np.ndarray

    def mean_values(self, logits: list[Tensor]) -> np.ndarray:
        parts = [values_of(one, self.readouts[self.readouts[:, 0] == i]) for i, one in enumerate(logits)]
        mean: np.ndarray = np.sum(parts, axis=0) / len(self.readouts)
        return mean

    def replacements(self, module: nn.Module, columns: slice) -> dict[str, list[Tensor]]:
        outputs = [clean.of[module][:, columns] for clean in self.cleans]
        mean = torch.cat(outputs).mean(0)
        return {
            "mean": [mean.expand_as(output) for output in outputs],
            "zero": [torch.zeros_like(output) for output in outputs],
            "pair": [clean.of[module][:, columns] for clean in self.paired],
        }


def read_at(subject: Subject, target: Attention, role: str) -> tuple[list[Attention], int, nn.Module, nn.Module | None]:
    """Of what a role reads: the stream, the number of its attention before which it is, who sees it, the norm."""
    if target.name == "cross" and role != "Q":
        return subject.parts.encoder, len(subject.parts.encoder), subject.memory, subject.parts.end
    stream = subject.stream_of(target)
    return stream, stream.index(target), target.stream_reader, target.norm


def edge_values(
    subject: Subject, run: Run, source: tuple[Attention, int], role: str, target: tuple[Attention, int],
    instead: list[Tensor],
) -> tuple[float, np.ndarray]:  # fmt: skip
    """The screen's value, and the mean readouts after the cut."""
    attention, head = target
    _, end, reader, norm = read_at(subject, attention, role)
    columns = subject.columns(head)
    squares, tokens, logits = 0.0, 0, []
    for one, clean, replacement in zip(run.inputs, run.cleans, instead, strict=True):
        change = subject.change(*source, replacement, clean, end)
        x = clean.of[reader]
        read = frozen = x + change
        if norm is not None:
            read = norm(read)
            frozen = norm(x) + divided(norm, change, x)
        logits.append(subject.with_read(one, attention, role, head, read)[0])
        moved = subject.with_read(one, attention, role, head, frozen)[1] - clean.of[attention.out]
        elsewhere = moved.clone()
        elsewhere[:, columns] = 0
        if float(elsewhere.abs().max()) > 0:
            raise ValueError("another head of the layer changed")
        added = moved[:, columns] @ attention.out.weight[:, columns].T
        stream = clean.of[attention.stream_reader]
        squares += float((added.square().sum(-1) / stream.square().sum(-1)).sum())
        tokens += len(stream)
    return (squares / tokens) ** 0.5, run.mean_values(logits)


def measure_edges(subject: Subject, run: Run) -> dict[str, np.ndarray]:
    heads, count = subject.heads, len(subject.order) * subject.heads
    arrays = {"before": run.mean_values([clean.logits for clean in run.cleans])}
    arrays |= {
        f"{kind}_{role}": np.zeros((len(REPLACEMENTS), count, count))
        for kind in ("screen", "loss", "difference") for role in ROLES
    }  # fmt: skip
    for a, source in enumerate(subject.order):
        for s in range(heads):
            instead = run.replacements(source.out, subject.columns(s))
            for b, target in enumerate(subject.order):
                for role in ROLES:
                    stream, end, _, _ = read_at(subject, target, role)
                    if source not in stream or stream.index(source) >= end:
                        continue
                    for t in range(heads):
                        for k, name in enumerate(REPLACEMENTS):
                            local, after = edge_values(subject, run, (source, s), role, (target, t), instead[name])
                            place = (k, a * heads + s, b * heads + t)
                            arrays[f"screen_{role}"][place] = local
                            arrays[f"loss_{role}"][place], arrays[f"difference_{role}"][place] = after
    return arrays


def component_readers(
    subject: Subject, source: Attention
) -> Iterator[tuple[str, int, nn.Module, int, list[nn.Module]]]:
    """Letter, column, reader; the number of the attention before which its read begins, and norms from there."""
    stream = subject.stream_of(source)
    for position in range(stream.index(source), len(stream)):
        attention = stream[position]
        if attention.mlp is not None:
            yield "M", subject.order.index(attention), attention.mlp, position, attention.sum_norms[:1]
    if source.name != "encoder":
        yield "U", 0, subject.parts.final, len(stream), []


def measure_components(subject: Subject, run: Run) -> dict[str, np.ndarray]:
    heads, layers = subject.heads, len(subject.order)
    arrays = {}
    for kind in ("loss", "difference"):
        arrays[f"{kind}_M"] = np.zeros((len(REPLACEMENTS), layers * heads, layers))
        arrays[f"{kind}_U"] = np.zeros((len(REPLACEMENTS), layers * heads, 1))
    for a, source in enumerate(subject.order):
        for s in range(heads):
            instead = run.replacements(source.out, subject.columns(s))
            for letter, column, reader, end, norms in component_readers(subject, source):
                for k, name in enumerate(REPLACEMENTS):
                    logits = []
                    for one, clean, replacement in zip(run.inputs, run.cleans, instead[name], strict=True):
                        change = subject.change(source, s, replacement, clean, end)
                        for norm in norms:
                            change = divided(norm, change, clean.of[norm])
                        logits.append(subject.with_change(one, reader, change))
                    loss, difference = run.mean_values(logits)
                    arrays[f"loss_{letter}"][k, a * heads + s, column] = loss
                    arrays[f"difference_{letter}"][k, a * heads + s, column] = difference
    return arrays


# --- The cases ------------------------------------------------------------------------------------

BART = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 12, "decoder_ffn_dim": 12}
BART |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "vocab_size": 32}
BART |= {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
WHISPER = BART | {"num_mel_bins": BANDS, "max_source_positions": FRAMES // 2, "max_target_positions": 12}
T5 = {"d_model": 16, "d_kv": 6, "d_ff": 12, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2, "vocab_size": 32}
T5 |= {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 10}
T5 |= {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}


def case(model: str, config: str, options: dict[str, Any], **rest: Any) -> Case:
    return Case(model, lambda: getattr(hf, config)(**options), **{"sharpen": 2.0} | rest)


CASES = {
    "bart": case("BartForConditionalGeneration", "BartConfig", BART | {"max_position_embeddings": 16}),
    "whisper": case("WhisperForConditionalGeneration", "WhisperConfig", WHISPER, tokens=0),
    "t5": case("T5ForConditionalGeneration", "T5Config", T5),
}


def draw_inputs(name: str, one: Case) -> tuple[dict[str, np.ndarray], list[dict[str, Tensor]], list[dict[str, Tensor]]]:
    """The arrays that describe inputs, paired inputs and readouts, and both kinds of inputs for transformers."""
    generator = torch.Generator().manual_seed(seed_of("patch " + name, one) + 1)

    def texts(lengths: tuple[int, ...]) -> list[Tensor]:
        return [torch.randint(5, 32, (length,), generator=generator) for length in lengths]

    targets = texts(TARGET_LENGTHS)
    arrays = {"target_lengths": np.array(TARGET_LENGTHS), "target_ids": torch.cat(targets).numpy()}
    if one.tokens:
        sources, paired = texts(LENGTHS), texts(LENGTHS)
        arrays |= {"lengths": np.array(LENGTHS), "ids": torch.cat(sources).numpy()}
        arrays["paired_ids"] = torch.cat(paired).numpy()
        key = "input_ids"
    else:
        sources, paired = torch.randn((2, len(targets), BANDS, FRAMES), generator=generator).unbind()
        arrays |= {"features": sources.numpy(), "paired_features": paired.numpy()}
        key, sources, paired = "input_features", list(sources.double()), list(paired.double())
    readouts = []
    for i, target in enumerate(targets):
        for row in range(FIRST, len(target) - 1):
            other = int(torch.randint(5, 32, (1,), generator=generator))
            readouts.append([i, row, int(target[row + 1]), other])
    arrays["readouts"] = np.array(readouts)
    first, second = (
        [{key: source[None], "decoder_input_ids": target[None]} for source, target in zip(kind, targets, strict=True)]
        for kind in (sources, paired)
    )
    return arrays, first, second


def make_case(name: str, folder: Path) -> str:
    one = CASES[name]
    shutil.rmtree(folder, ignore_errors=True)
    build("patch " + name, one).half().save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    model = getattr(hf, one.model).from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
    subject = Subject(use_eager(model), t5_parts(model) if hasattr(model, "shared") else bart_parts(model))
    with torch.no_grad():
        arrays, inputs, paired = draw_inputs(name, one)
        run = Run(inputs, [subject.clean(i) for i in inputs], [subject.clean(i) for i in paired], arrays["readouts"])
        arrays |= measure_edges(subject, run)
        components = measure_components(subject, run)
    (folder / "case.json").write_text(json.dumps({"input": "ids" if one.tokens else "features"}) + "\n")
    np.savez_compressed(folder / "expected.npz", **arrays)  # type: ignore[arg-type]  # NumPy's allow_pickle
    np.savez_compressed(folder / "components.npz", **components)  # type: ignore[arg-type]
    effects = {}
    for kind, values in [*((r, arrays[f"loss_{r}"]) for r in ROLES), *((c, components[f"loss_{c}"]) for c in "MU")]:
        effects[kind] = np.median(np.abs(values - arrays["before"][0])[values != 0])
    local = np.median(np.concatenate([arrays[f"screen_{r}"][arrays[f"screen_{r}"] != 0] for r in ROLES]))
    if min(effects.values()) < 1e-3 or local < 1e-3:
        raise ValueError(f"the effects are too small to be compared: {effects}, {local}")
    size = sum(path.stat().st_size for path in folder.iterdir())
    medians = " ".join(f"{kind} {value:.4f}" for kind, value in effects.items())
    return f"before {arrays['before'].round(3)} medians {medians} screen {local:.4f} {size // 1024} KiB"


def main() -> int:
    return golden_cases.main(__doc__, CASES, lambda name, out: make_case(name, out / name), prepare=start_torch)


if __name__ == "__main__":
    sys.exit(main())
