#!/usr/bin/env python3
"""Make the tiny checkpoints that the forward pass is tested against.

Every case is built from a tiny config, filled with seeded values, saved with
save_pretrained, loaded again from that folder, and run on seeded inputs with the
eager attention of transformers. Its config.json is therefore proven to mean what
the expected arrays say, also where it is rewritten into the keys of transformers 4.

Output, per case:  OUT/<case>/config.json, model.safetensors, case.json, expected.npz
case.json    {"input": "ids" | "pixels", "output": "logits" | "hidden"}
expected.npz input_ids int64 [batch, n] or pixel_values float32 [batch, c, h, w];
             scores     [layers, batch, heads, n, n], scaled q.k, soft-capped where the
                        family does so, before the mask;
             attentions [layers, batch, heads, n, n];
             output     logits, or last_hidden_state where the checkpoint has no head.

All parameters are float16 values, so that most files can hold them in half the space
without rounding; the arrays are computed in float32. Seed: BASE_SEED mixed with the case's seed name.
Made with torch 2.11.0, transformers 5.17.0, safetensors 0.8.

    python make_forward.py OUT [--only CASE ...]
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from safetensors.numpy import load_file, save_file
from torch import Tensor, nn

import golden_cases
from make_hf_checkpoints import BASE_SEED, fill, rewrite_as_timm, start_torch, to_numpy

TOKENS_PER_ROW = 24
Arrays = dict[str, np.ndarray]
QK_NORM = re.compile(r"[qk]_norm\.weight")
QK_MATRIX = re.compile(r"([qk]_proj|[qk]_lin|query|key|c_attn|query_key_value|qkv_proj)\.weight")


# --- Scores, from inside the attention function ---------------------------------------


class Recorder:
    """Scores before the mask and attention after it, in the order the layers ran."""

    def __init__(self) -> None:
        self.scores: list[Tensor] = []
        self.attentions: list[Tensor] = []

    def add(self, scores: Tensor, mask: Tensor | None, attention: Tensor) -> None:
        masked = scores if mask is None else scores + mask
        again = torch.softmax(masked, dim=-1)
        if not torch.allclose(again, attention, rtol=0, atol=1e-6):
            raise ValueError("mask and softmax of the recorded scores do not give the attention")
        self.scores.append(scores)
        self.attentions.append(attention)


def scaled_scores(query: Tensor, key: Tensor, scaling: float, softcap: float | None) -> Tensor:
    key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    scores = torch.matmul(query, key.transpose(-1, -2)) * scaling
    return scores if softcap is None else softcap * torch.tanh(scores / softcap)


def record_eager(original: Callable[..., Any], record: Recorder) -> Callable[..., Any]:
    def wrapper(module, query, key, value, attention_mask, scaling=None, softcap=None, **rest):
        scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
        extra = {} if softcap is None else {"softcap": softcap}
        result = original(module, query, key, value, attention_mask, scaling=scaling, **extra, **rest)
        record.add(scaled_scores(query, key, scaling, softcap), attention_mask, result[1])
        return result

    return wrapper


def record_gptj(original: Callable[..., Any], record: Recorder) -> Callable[..., Any]:
    def wrapper(self, query, key, value, attention_mask=None):
        result = original(self, query, key, value, attention_mask)
        record.add(scaled_scores(query, key, 1.0 / self.scale_attn, None), attention_mask, result[1])
        return result

    return wrapper


@contextmanager
def recording(model: Any) -> Iterator[Recorder]:
    record, module = Recorder(), sys.modules[type(model).__module__]
    if hasattr(module, "eager_attention_forward"):
        owner, name, wrap = module, "eager_attention_forward", record_eager
    else:
        owner, name, wrap = module.GPTJAttention, "_attn", record_gptj
    original = getattr(owner, name)
    setattr(owner, name, wrap(original, record))
    try:
        yield record
    finally:
        setattr(owner, name, original)


# --- The config keys of transformers 4, which nearly all published checkpoints use ---------


def edit_config(folder: Path, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config = config | {"torch_dtype": config.pop("dtype"), "transformers_version": "4.46.3"}
    path.write_text(json.dumps(edit(config), indent=2, sort_keys=True) + "\n")


def rope_to_v4(folder: Path, _model: Any) -> None:
    def edit(config: dict[str, Any]) -> dict[str, Any]:
        rope = config.pop("rope_parameters")
        theta, part, kind = rope.pop("rope_theta"), rope.pop("partial_rotary_factor", None), rope.pop("rope_type")
        if config["model_type"] == "gpt_neox":
            return config | {"rotary_emb_base": theta, "rotary_pct": part}
        scaling: Any = None if kind == "default" else rope | {"rope_type" if kind == "llama3" else "type": kind}
        if config["model_type"] == "phi3":  # kept at top level there
            scaling.pop("original_max_position_embeddings")
        keys = {"rope_theta": theta, "rope_scaling": scaling}
        return config | keys | ({"partial_rotary_factor": part} if part else {})

    edit_config(folder, edit)


def gemma3_to_v4(folder: Path, _model: Any) -> None:
    def edit(config: dict[str, Any]) -> dict[str, Any]:
        rope, kinds = config.pop("rope_parameters"), config.pop("layer_types")
        scaling = rope["full_attention"]
        return config | {
            "rope_theta": scaling.pop("rope_theta"),
            "rope_local_base_freq": rope["sliding_attention"]["rope_theta"],
            "rope_scaling": scaling,
            "sliding_window_pattern": kinds.index("full_attention") + 1,
        }

    edit_config(folder, edit)


def rewrite_as_half_timm(folder: Path, model: Any) -> None:
    rewrite_as_timm(folder, model)
    path = folder / "model.safetensors"
    save_file({name: value.astype(np.float16) for name, value in load_file(path).items()}, path)


# --- The cases -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    model: str  # class in transformers
    config: Callable[[], Any]
    tokens: int = TOKENS_PER_ROW  # 0: pixels
    batch: int = 2
    seed_name: str = ""  # the case's own name if empty
    sharpen: float = 1.25  # factor on the query and key matrices, or on the gains of their norms
    half: bool = True  # the file holds float16; the values are the same
    rewrite: Callable[[Path, Any], None] | None = None
    part: str = ""  # the submodule to run
    arguments: dict[str, Any] = field(default_factory=dict)  # of the model class
    loads_in_hf: bool = True


SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
TEXT = SIZES | {"intermediate_size": 20, "vocab_size": 64, "max_position_embeddings": 40}
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
GROUPED = TEXT | TOKENS | {"num_attention_heads": 4, "num_key_value_heads": 2}
SMALL = TEXT | TOKENS | {"num_key_value_heads": 1, "tie_word_embeddings": True}
GEMMA = SMALL | {"head_dim": 12, "query_pre_attn_scalar": 8, "sliding_window": 7}
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_inner": 24, "n_positions": 40, "vocab_size": 64}
GPT2 |= {"bos_token_id": 1, "eos_token_id": 2}
OPT = {k: v for k, v in TEXT.items() if k != "intermediate_size"} | TOKENS | {"ffn_dim": 24}
DISTILBERT = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "vocab_size": 64, "max_position_embeddings": 40}
IMAGE = SIZES | {"image_size": 16, "patch_size": 4}
VISION = IMAGE | {"intermediate_size": 24}
DINO = IMAGE | {"mlp_ratio": 1}
CLIP_TEXT = TEXT | {"num_hidden_layers": 1, "hidden_size": 16}


def rope(kind: str, theta: float = 1000.0, **keys: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": theta, **keys}}


def causal(family: str, options: dict[str, Any], config: str = "", **rest: Any) -> Case:
    return Case(f"{family}ForCausalLM", lambda: getattr(hf, config or f"{family}Config")(**deepcopy(options)), **rest)


def gpt2(options: dict[str, Any], **rest: Any) -> Case:
    return Case("GPT2LMHeadModel", lambda: hf.GPT2Config(**GPT2 | options), **rest)


def opt(sharpen: float = 1.25, **options: Any) -> Case:
    return causal("OPT", OPT | options, sharpen=sharpen)


def image(model: str, config: str, options: dict[str, Any], **rest: Any) -> Case:
    return Case(model, lambda: getattr(hf, config)(**options), tokens=0, **{"batch": 1} | rest)


def clip_config() -> Any:
    return hf.CLIPConfig(text_config=CLIP_TEXT | TOKENS, vision_config=VISION, projection_dim=20)


def vit(more: dict[str, Any] | None = None, **rest: Any) -> Case:
    options = VISION | {"num_labels": 5} | (more or {})
    return image("ViTForImageClassification", "ViTConfig", options, seed_name="vit", **{"batch": 2} | rest)


def gemma3_multimodal_config() -> Any:
    vision = IMAGE | {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "patch_size": 8}
    return hf.Gemma3Config(
        text_config=hf.Gemma3TextConfig(**GEMMA3),
        vision_config=hf.SiglipVisionConfig(**vision, vision_use_head=False),
        mm_tokens_per_image=4, boi_token_index=0, eoi_token_index=1, image_token_index=2,
    )  # fmt: skip


LLAMA3 = {"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
YARN = {"factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 4.0, "beta_slow": 1.0}
LONGROPE: dict[str, Any] = {
    "partial_rotary_factor": 0.5,
    "short_factor": [1.0, 1.25, 1.5, 2.0],
    "long_factor": [1.5, 3.0, 5.0, 9.0],
}
LONG = {"original_max_position_embeddings": 16, "sliding_window": 9}
BIASES = {"attention_bias": True, "mlp_bias": True}
LOCAL = {"rope_type": "default", "rope_theta": 50.0}
LINEAR = {"rope_type": "linear", "rope_theta": 2000.0, "factor": 8.0}
GEMMA2 = GEMMA | {"attn_logit_softcapping": 8.0, "final_logit_softcapping": 5.0}
GEMMA3: dict[str, Any] = GEMMA | {"layer_types": ["sliding_attention", "full_attention"]}
GEMMA3 |= {"rope_parameters": {"sliding_attention": LOCAL, "full_attention": LOCAL | {"rope_theta": 2000.0}}}
GEMMA3_LINEAR = GEMMA3 | {"rope_parameters": {"sliding_attention": LOCAL, "full_attention": LINEAR}}
PARALLEL = rope("default", 10000.0, partial_rotary_factor=0.25)  # the base a GGUF file implies
ROBERTA = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "type_vocab_size": 1}
LABELS = {"num_labels": 5}
REGISTERS = LABELS | {"num_register_tokens": 3}

CASES: dict[str, Case] = {
    "gpt2": gpt2({}),
    "gpt2_inverse_layer": gpt2({"scale_attn_by_inverse_layer_idx": True, "activation_function": "gelu"}, sharpen=1.8),
    "gpt2_relu": gpt2({"activation_function": "relu", "scale_attn_weights": False}, batch=1, sharpen=0.7),
    "gpt2_untied": gpt2({"tie_word_embeddings": False}, batch=1),
    "gpt_neox": causal("GPTNeoX", TEXT | TOKENS | PARALLEL),
    "gpt_neox_sequential": causal(
        "GPTNeoX",
        TEXT | TOKENS | PARALLEL | {"use_parallel_residual": False, "hidden_act": "gelu_fast"},
        batch=1, rewrite=rope_to_v4,
    ),
    "gptj": Case("GPTJForCausalLM", lambda: hf.GPTJConfig(**GPT2, rotary_dim=8)),
    "opt": opt(word_embed_proj_dim=32),
    "opt_post": opt(sharpen=1.6, word_embed_proj_dim=20, do_layer_norm_before=False),
    "llama": causal("Llama", GROUPED | rope("default"), half=False),
    "llama_llama3": causal("Llama", SMALL | rope("llama3", **LLAMA3), batch=1, rewrite=rope_to_v4),
    "llama_linear": causal("Llama", SMALL | rope("linear", factor=3.0), batch=1, rewrite=rope_to_v4),
    "llama_yarn": causal("Llama", SMALL | rope("yarn", **YARN), batch=1),
    "llama_dynamic": causal("Llama", SMALL | rope("dynamic", factor=3.0) | {"max_position_embeddings": 16}, batch=1),
    "llama_bias": causal("Llama", SMALL | BIASES, batch=1),
    "llama_head_dim": causal("Llama", SMALL | {"head_dim": 20}, batch=1),
    "mistral": causal("Mistral", SMALL | {"sliding_window": 7}),
    "qwen2": causal("Qwen2", SMALL),
    "qwen2_window": causal(
        "Qwen2", SMALL | {"use_sliding_window": True, "sliding_window": 7, "max_window_layers": 1}, batch=1
    ),
    "qwen3": causal("Qwen3", SMALL | {"head_dim": 12}, sharpen=1.8),
    "phi3": causal("Phi3", SMALL | {"tie_word_embeddings": False, "sliding_window": None}),
    "phi3_partial": causal("Phi3", SMALL | rope("default", partial_rotary_factor=0.5), batch=1),
    "phi3_longrope_short": causal(
        "Phi3", SMALL | rope("longrope", **LONGROPE) | {"original_max_position_embeddings": 32}, batch=1
    ),
    "phi3_longrope_long": causal("Phi3", SMALL | rope("longrope", **LONGROPE) | LONG, batch=1, rewrite=rope_to_v4),
    "gemma2": causal("Gemma2", GEMMA2),
    "gemma2_default_scale": causal("Gemma2", GEMMA2 | {"query_pre_attn_scalar": 12}, batch=1),
    "gemma3_text": causal("Gemma3", GEMMA3 | {"query_pre_attn_scalar": 12}, config="Gemma3TextConfig", sharpen=1.8),
    "gemma3_linear": causal(
        "Gemma3", GEMMA3_LINEAR, config="Gemma3TextConfig", batch=1, sharpen=1.8, rewrite=gemma3_to_v4
    ),
    "gemma3": Case("Gemma3ForConditionalGeneration", gemma3_multimodal_config, batch=1, sharpen=1.8),
    "bert": Case("BertForMaskedLM", lambda: hf.BertConfig(**TEXT), sharpen=1.6),
    "bert_base": Case("BertModel", lambda: hf.BertConfig(**TEXT), batch=1, sharpen=1.6),
    "roberta": Case("RobertaForMaskedLM", lambda: hf.RobertaConfig(**TEXT, **ROBERTA), sharpen=1.6),
    "distilbert": Case("DistilBertForMaskedLM", lambda: hf.DistilBertConfig(**DISTILBERT), batch=1, sharpen=1.6),
    "vit": vit(half=False),
    "vit_base": image(
        "ViTModel", "ViTConfig", VISION | {"qkv_bias": False}, arguments={"add_pooling_layer": False}
    ),
    "timm_vit": vit({"layer_norm_eps": 1e-6}, batch=1, rewrite=rewrite_as_half_timm, loads_in_hf=False),
    "deit": image("DeiTForImageClassification", "DeiTConfig", VISION | LABELS),
    "deit_teacher": image("DeiTForImageClassificationWithTeacher", "DeiTConfig", VISION | LABELS),
    "clip_vision": image("CLIPVisionModel", "CLIPVisionConfig", VISION | {"projection_dim": 20}),
    "clip": Case("CLIPModel", clip_config, tokens=0, batch=1, part="vision_model"),
    "dinov2": image("Dinov2Model", "Dinov2Config", DINO),
    "dinov2_classes": image("Dinov2ForImageClassification", "Dinov2Config", DINO | LABELS),
    "dinov2_swiglu": image("Dinov2Model", "Dinov2Config", DINO | {"use_swiglu_ffn": True}),
    "dinov2_registers": image(
        "Dinov2WithRegistersForImageClassification", "Dinov2WithRegistersConfig", DINO | REGISTERS
    ),
}  # fmt: skip


# --- Making a case ---------------------------------------------------------------------------


def seed_of(name: str, case: Case) -> int:
    return BASE_SEED ^ zlib.crc32(("forward " + (case.seed_name or name)).encode())


def sharpen(parameter: nn.Parameter, case: Case) -> None:
    offset = 1.0 if case.model.startswith("Gemma") else 0.0  # Gemma multiplies by 1 + weight
    is_gain = parameter.ndim == 1
    values = parameter.data + (offset if is_gain else 0.0)
    parameter.data.copy_(case.sharpen * values - (offset if is_gain else 0.0))


def build(name: str, case: Case) -> Any:
    seed = seed_of(name, case)
    torch.manual_seed(seed)
    model = getattr(hf, case.model)(case.config(), **case.arguments).float().eval()
    fill(model, seed)
    normed = any(QK_NORM.search(parameter_name) for parameter_name, _ in model.named_parameters())
    for parameter_name, parameter in model.named_parameters():
        if (QK_NORM if normed else QK_MATRIX).search(parameter_name):
            sharpen(parameter, case)
        parameter.data.copy_(parameter.data.half().float())
        if not parameter.data.all():
            raise ValueError(f"{parameter_name} has a zero in it")
    return model


def inputs_of(name: str, case: Case, config: Any) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed_of(name, case) + 1)
    if case.tokens:  # not the three special tokens: padding would move RoBERTa's positions
        size = (case.batch, case.tokens)
        return {"input_ids": torch.randint(3, config.get_text_config().vocab_size, size, generator=generator)}
    vision = getattr(config, "vision_config", config)
    shape = (case.batch, vision.num_channels, vision.image_size, vision.image_size)
    return {"pixel_values": torch.randn(shape, generator=generator)}


def run(model: Any, case: Case, inputs: dict[str, Tensor]) -> tuple[str, Arrays]:
    part = getattr(model, case.part) if case.part else model
    with recording(model) as record, torch.no_grad():
        result = part(**inputs, output_attentions=True)
    attentions = torch.stack(result.attentions)
    if not torch.equal(attentions, torch.stack(record.attentions)):
        raise ValueError("the recorded attention is not the returned one")
    kind = "logits" if "logits" in result else "hidden"
    output = result.logits if kind == "logits" else result.last_hidden_state
    arrays = {"scores": torch.stack(record.scores), "attentions": attentions, "output": output}
    return kind, {name: to_numpy(value) for name, value in arrays.items()}


def loaded(folder: Path, model: Any, case: Case) -> Any:
    """The checkpoint as a reader meets it; its parameters must be those that were saved."""
    options = {"dtype": torch.float32, "attn_implementation": "eager"} | case.arguments
    again = type(model).from_pretrained(folder, **options).eval()
    for name, value in again.state_dict().items():
        if not torch.equal(value, model.state_dict()[name]):
            raise ValueError(f"{name} differs after loading {folder}")
    return again


def sharpness(attentions: np.ndarray) -> float:
    """Mean of the largest attention of a row; rows that see few tokens are left out."""
    largest = attentions[..., 4:, :].max(axis=-1)
    if largest.mean() < 0.5 or largest.min() > 0.95 or not np.isfinite(attentions).all():
        raise ValueError(f"attention is too flat or too sharp: mean of maxima {largest.mean():.3f}")
    return float(largest.mean())


def make_case(name: str, case: Case, folder: Path) -> str:
    model = build(name, case)
    if folder.exists():
        shutil.rmtree(folder)
    (model.half() if case.half else model).save_pretrained(folder)
    model.float()
    (folder / "generation_config.json").unlink(missing_ok=True)
    if case.rewrite:
        case.rewrite(folder, model)
    model.set_attn_implementation("eager")
    runner = loaded(folder, model, case) if case.loads_in_hf else model
    inputs = inputs_of(name, case, runner.config)
    kind, arrays = run(runner, case, inputs)
    sharp = sharpness(arrays["attentions"])
    answer = {"input": "ids" if case.tokens else "pixels", "output": kind}
    (folder / "case.json").write_text(json.dumps(answer) + "\n")
    arrays = {k: v.numpy() for k, v in inputs.items()} | arrays
    np.savez_compressed(folder / "expected.npz", **arrays)  # type: ignore[arg-type]  # NumPy's allow_pickle
    size = sum(path.stat().st_size for path in folder.iterdir())
    scores = np.abs(arrays["scores"]).max()
    return (
        f"{kind} attention{list(arrays['attentions'].shape)} max {sharp:.2f} |scores| {scores:.0f} {size // 1024} KiB"
    )


def main() -> int:
    return golden_cases.main(
        __doc__, CASES, lambda name, out: make_case(name, CASES[name], out / name), prepare=start_torch
    )


if __name__ == "__main__":
    sys.exit(main())
