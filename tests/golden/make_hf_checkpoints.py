#!/usr/bin/env python3
"""Make the tiny Hugging Face checkpoints that the readers are tested against.

For every case this builds a model from a tiny config, fills all parameters with
seeded normals, saves it with save_pretrained and writes, beside it, the head
matrices sliced from the live PyTorch modules. The slices never look at the names
in the file, so they are an independent answer to what a reader should find.

Output, per case:  OUT/<case>/config.json
                   OUT/<case>/model.safetensors  (or shards and an index)
                   OUT/<case>/expected.npz
expected.npz holds Q, K, V, O and folded_Q, ..., folded_O, float32, each
[layers, heads of that role, d_model, d_head]. The first four are `raw`
(output scales included, one float32 multiply), the others `folded` (computed in
float64, stored as float32).

Seed: BASE_SEED mixed with the case's seed name; cases that share a seed name
share their weights. Made with torch 2.11.0, transformers 5.17.0, safetensors 0.8.

    python make_hf_checkpoints.py OUT [--only CASE ...] [--names FILE]
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers as hf
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from torch import Tensor, nn

import golden_cases

BASE_SEED = 2601
ROLES = ("Q", "K", "V", "O")


# --- Filling a model with seeded values ----------------------------------------


def draw(module: nn.Module, shape: torch.Size, leaf: str, generator: torch.Generator) -> Tensor:
    """Values for one parameter, spread enough that attention is far from uniform."""
    noise = torch.randn(shape, generator=generator)
    kind = type(module).__name__
    if "Norm" in kind and leaf == "weight":
        return 0.3 * noise if kind.startswith("Gemma") else 1.0 + 0.3 * noise
    if "LayerScale" in kind:
        return 0.5 + 0.3 * noise
    return (0.2 if len(shape) < 2 else 0.3) * noise


def fill(model: nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    done: set[int] = set()  # tied parameters are drawn once
    for module in model.modules():
        for leaf, parameter in module.named_parameters(recurse=False):
            if id(parameter) not in done:
                done.add(id(parameter))
                parameter.data.copy_(draw(module, parameter.shape, leaf, generator))


# --- Reading heads from live modules --------------------------------------------


class Layer(NamedTuple):
    """One attention layer; projections are [out, in], heads in contiguous blocks."""

    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor
    gain: Tensor | None = None  # of the norm before attention
    gain_offset: float = 0.0  # Gemma multiplies by 1 + weight
    scale: Tensor | None = None  # per channel, on what o writes


Reader = Callable[[Any], Iterator[Layer]]


def read_gpt2(model: Any) -> Iterator[Layer]:
    for block in getattr(model, "transformer", model).h:
        q, k, v = block.attn.c_attn.weight.T.chunk(3)  # Conv1D stores [in, out]
        yield Layer(q, k, v, block.attn.c_proj.weight.T, block.ln_1.weight)


def read_gpt_neox(model: Any) -> Iterator[Layer]:
    heads = model.config.num_attention_heads
    for block in model.gpt_neox.layers:
        fused = block.attention.query_key_value.weight
        parts = fused.reshape(heads, 3, -1, fused.shape[1]).unbind(1)
        q, k, v = (part.reshape(-1, fused.shape[1]) for part in parts)
        yield Layer(q, k, v, block.attention.dense.weight, block.input_layernorm.weight)


def read_gptj(model: Any) -> Iterator[Layer]:
    for block in model.transformer.h:
        a = block.attn
        yield Layer(a.q_proj.weight, a.k_proj.weight, a.v_proj.weight, a.out_proj.weight, block.ln_1.weight)


def read_opt(model: Any) -> Iterator[Layer]:
    for block in model.model.decoder.layers:
        a, norm = block.self_attn, block.self_attn_layer_norm
        yield Layer(a.q_proj.weight, a.k_proj.weight, a.v_proj.weight, a.out_proj.weight, norm.weight)


def read_llama(model: Any) -> Iterator[Layer]:
    for block in model.model.layers:
        a = block.self_attn
        yield Layer(a.q_proj.weight, a.k_proj.weight, a.v_proj.weight, a.o_proj.weight, block.input_layernorm.weight)


def read_phi3(model: Any) -> Iterator[Layer]:
    config = model.config
    width = config.hidden_size // config.num_attention_heads
    rows = [config.num_attention_heads * width] + 2 * [config.num_key_value_heads * width]
    for block in model.model.layers:
        q, k, v = block.self_attn.qkv_proj.weight.split(rows)
        yield Layer(q, k, v, block.self_attn.o_proj.weight, block.input_layernorm.weight)


def read_gemma(model: Any) -> Iterator[Layer]:
    text = getattr(model.model, "language_model", model.model)
    for block in text.layers:
        a = block.self_attn
        yield Layer(
            a.q_proj.weight, a.k_proj.weight, a.v_proj.weight, a.o_proj.weight,
            gain=block.input_layernorm.weight, gain_offset=1.0,
            scale=1.0 + block.post_attention_layernorm.weight,
        )  # fmt: skip


def read_bert(model: Any) -> Iterator[Layer]:
    for block in model.base_model.encoder.layer:
        a = block.attention.self
        yield Layer(a.query.weight, a.key.weight, a.value.weight, block.attention.output.dense.weight)


def read_distilbert(model: Any) -> Iterator[Layer]:
    for block in model.distilbert.transformer.layer:
        a = block.attention
        yield Layer(a.q_lin.weight, a.k_lin.weight, a.v_lin.weight, a.out_lin.weight)


def read_vit(model: Any) -> Iterator[Layer]:
    for block in model.base_model.layers:
        a, norm = block.attention, block.layernorm_before
        yield Layer(a.q_proj.weight, a.k_proj.weight, a.v_proj.weight, a.o_proj.weight, norm.weight)


def read_clip_vision(model: Any) -> Iterator[Layer]:
    for block in getattr(model, "vision_model", model).encoder.layers:
        a = block.self_attn
        yield Layer(a.q_proj.weight, a.k_proj.weight, a.v_proj.weight, a.out_proj.weight, block.layer_norm1.weight)


def read_dinov2(model: Any) -> Iterator[Layer]:
    for block in model.base_model.encoder.layer:
        a, out = block.attention.attention, block.attention.output.dense
        yield Layer(
            a.query.weight, a.key.weight, a.value.weight, out.weight,
            gain=block.norm1.weight, scale=block.layer_scale1.lambda1,
        )  # fmt: skip


# --- From layers to the expected arrays ------------------------------------------


def to_numpy(tensor: Tensor) -> np.ndarray:
    return tensor.detach().float().cpu().numpy()


def reading_heads(matrix: Tensor, width: int) -> np.ndarray:
    """[heads * width, d] -> [heads, d, width]."""
    weight = to_numpy(matrix)
    return weight.reshape(-1, width, weight.shape[1]).transpose(0, 2, 1)


def writing_heads(layer: Layer, width: int) -> np.ndarray:
    """[d, heads * width] -> [heads, d, width], rows scaled by the layer's output scale."""
    weight = to_numpy(layer.o)
    heads = weight.reshape(weight.shape[0], -1, width).transpose(1, 0, 2)
    return heads if layer.scale is None else to_numpy(layer.scale)[:, None] * heads


def centered(heads: np.ndarray) -> np.ndarray:
    return heads - heads.mean(axis=1, keepdims=True)


def fold(raw: dict[str, np.ndarray], layer: Layer, norm: str) -> dict[str, np.ndarray]:
    """gain into the reading matrices; LayerNorm models are centered as well."""
    if norm == "post":
        return raw
    if layer.gain is None:  # attention reads the stream itself
        return raw | ({"O": centered(raw["O"].astype(np.float64))} if norm == "layer" else {})
    gain = to_numpy(layer.gain).astype(np.float64) + layer.gain_offset
    folded = {role: gain[:, None] * raw[role].astype(np.float64) for role in "QKV"}
    folded["O"] = raw["O"].astype(np.float64)
    return {role: centered(heads) if norm == "layer" else heads for role, heads in folded.items()}


def expected_arrays(layers: Iterable[Layer], heads: int, norm: str) -> dict[str, np.ndarray]:
    raw_layers, folded_layers = [], []
    for layer in layers:
        width = layer.q.shape[0] // heads
        raw = {role: reading_heads(m, width) for role, m in zip("QKV", (layer.q, layer.k, layer.v), strict=True)}
        raw["O"] = writing_heads(layer, width)
        raw_layers.append(raw)
        folded_layers.append(fold(raw, layer, norm))
    arrays = {role: np.stack([layer[role] for layer in raw_layers]) for role in ROLES}
    arrays |= {f"folded_{role}": np.stack([layer[role] for layer in folded_layers]) for role in ROLES}
    return {name: np.ascontiguousarray(values, np.float32) for name, values in arrays.items()}


# --- Rewriting saved files into the other forms found in the wild -----------------


def rename_to_gamma_beta(folder: Path, _model: Any) -> None:
    """The LayerNorm names of the first BERT files, which came from TensorFlow."""
    path = folder / "model.safetensors"
    names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    tensors = {re.sub("|".join(names), lambda m: names[m[0]], k): v for k, v in load_file(path).items()}
    save_file(tensors, path, metadata={"format": "pt"})


def rewrite_config_v4(folder: Path, model: Any) -> None:
    """The keys that transformers 4 wrote: rope at top level, torch_dtype, no derived head_dim."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    config |= {"rope_theta": rope["rope_theta"], "rope_scaling": None, "torch_dtype": config.pop("dtype")}
    if config["head_dim"] == model.config.hidden_size // model.config.num_attention_heads:
        del config["head_dim"]
    config["transformers_version"] = "4.46.3"
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


TIMM_NAMES = {
    "vit.embeddings.cls_token": "cls_token",
    "vit.embeddings.position_embeddings": "pos_embed",
    "vit.embeddings.patch_embeddings.projection": "patch_embed.proj",
    "vit.layernorm": "norm",
    "classifier": "head",
    "attention.o_proj": "attn.proj",
    "layernorm_before": "norm1",
    "layernorm_after": "norm2",
    "mlp.fc1": "mlp.fc1",
    "mlp.fc2": "mlp.fc2",
}


def timm_tensors(model: Any) -> dict[str, Tensor]:
    """The model's state under timm's names, q, k and v stacked into one qkv."""
    state, tensors = model.state_dict(), {}
    for name, value in state.items():
        block = re.match(r"vit\.layers\.(\d+)\.(.+)", name)
        stem = f"blocks.{block[1]}." if block else ""
        rest = block[2] if block else name
        if "q_proj" in rest:
            parts = [state[name.replace("q_proj", p)] for p in ("q_proj", "k_proj", "v_proj")]
            tensors[stem + rest.replace("attention.q_proj", "attn.qkv")] = torch.cat(parts)
        elif "k_proj" not in rest and "v_proj" not in rest:
            base, _, leaf = rest.rpartition(".")
            timm = TIMM_NAMES.get(rest) or f"{TIMM_NAMES[base]}.{leaf}"
            tensors[stem + timm] = value
    return tensors


def rewrite_as_timm(folder: Path, model: Any) -> None:
    tensors = {name: to_numpy(value) for name, value in timm_tensors(model).items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    c = model.config
    config = {
        "architecture": "vit_tiny_patch16_224",
        "num_classes": c.num_labels,
        "num_features": c.hidden_size,
        "global_pool": "token",
        "model_args": {
            "img_size": c.image_size, "patch_size": c.patch_size, "embed_dim": c.hidden_size,
            "depth": c.num_hidden_layers, "num_heads": c.num_attention_heads,
            "mlp_ratio": c.intermediate_size / c.hidden_size,
        },
        "pretrained_cfg": {"input_size": [3, c.image_size, c.image_size], "num_classes": c.num_labels},
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


# --- The cases ---------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    model: str  # class in transformers
    config: Callable[[], Any]
    read: Reader
    norm: str  # "layer", "rms" or "post"
    seed_name: str = ""  # the case's own name if empty
    dtype: torch.dtype = torch.float32
    save: dict[str, Any] = field(default_factory=dict)
    rewrite: Callable[[Path, Any], None] | None = None
    loads_in_hf: bool = True


HEADS = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
TEXT = HEADS | {"intermediate_size": 16, "vocab_size": 40, "max_position_embeddings": 32}
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
GROUPED = TEXT | TOKENS | {"num_key_value_heads": 2}
WIDE_HEADS = GROUPED | {"head_dim": 8}  # heads * head_dim = 32, not d_model
GEMMA = WIDE_HEADS | {"query_pre_attn_scalar": 8, "sliding_window": 8}
ROPE = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}
NEOX = TEXT | TOKENS | {"hidden_size": 32, "rope_parameters": ROPE}  # rotary dims: 4 of 8
GPT2 = {"n_embd": 24, "n_layer": 2, "n_head": 4, "n_inner": 16, "n_positions": 32, "vocab_size": 40}
GPT2 |= {"bos_token_id": 1, "eos_token_id": 2}
OPT = {k: v for k, v in TEXT.items() if k != "intermediate_size"} | TOKENS | {"ffn_dim": 16}
DISTILBERT = {"dim": 24, "n_layers": 2, "n_heads": 4, "hidden_dim": 16, "vocab_size": 40, "max_position_embeddings": 32}
IMAGE = HEADS | {"image_size": 8, "patch_size": 4}
VISION = IMAGE | {"intermediate_size": 16}
DINO = IMAGE | {"mlp_ratio": 1}
CLIP_TEXT = TEXT | {"num_hidden_layers": 1, "hidden_size": 16}  # another width: easy to tell apart


def gemma3_config() -> Any:
    return hf.Gemma3Config(
        text_config=hf.Gemma3TextConfig(**GEMMA),
        vision_config=hf.SiglipVisionConfig(**VISION | {"num_hidden_layers": 1}, vision_use_head=False),
        mm_tokens_per_image=4, boi_token_index=37, eoi_token_index=38, image_token_index=39,
    )  # fmt: skip


def clip_config() -> Any:
    return hf.CLIPConfig(text_config=CLIP_TEXT | TOKENS, vision_config=VISION, projection_dim=20)


def llama(config: dict[str, Any] = WIDE_HEADS, **options: Any) -> Case:
    return Case("LlamaForCausalLM", lambda: hf.LlamaConfig(**config), read_llama, "rms", **options)


def vit(**options: Any) -> Case:
    config = lambda: hf.ViTConfig(**VISION, num_labels=3)  # noqa: E731
    return Case("ViTForImageClassification", config, read_vit, "layer", seed_name="vit", **options)


def bert(**options: Any) -> Case:
    return Case("BertForMaskedLM", lambda: hf.BertConfig(**TEXT), read_bert, "post", seed_name="bert", **options)


CASES: dict[str, Case] = {
    "gpt2": Case("GPT2LMHeadModel", lambda: hf.GPT2Config(**GPT2), read_gpt2, "layer"),
    "gpt2_bare": Case("GPT2Model", lambda: hf.GPT2Config(**GPT2), read_gpt2, "layer"),
    "gpt_neox": Case("GPTNeoXForCausalLM", lambda: hf.GPTNeoXConfig(**NEOX), read_gpt_neox, "layer"),
    "gptj": Case("GPTJForCausalLM", lambda: hf.GPTJConfig(**GPT2, rotary_dim=4), read_gptj, "layer"),
    "opt": Case("OPTForCausalLM", lambda: hf.OPTConfig(**OPT, word_embed_proj_dim=24), read_opt, "layer"),
    "opt_post": Case(
        "OPTForCausalLM",
        lambda: hf.OPTConfig(**OPT, word_embed_proj_dim=12, do_layer_norm_before=False),
        read_opt, "post",
    ),
    "llama": llama(),
    "llama_bias": llama(TEXT | TOKENS | {"attention_bias": True, "tie_word_embeddings": True}),
    "llama_sharded": llama(seed_name="llama", save={"max_shard_size": "12KB"}),
    "llama_bf16": llama(seed_name="llama", dtype=torch.bfloat16),
    "llama_fp16": llama(seed_name="llama", dtype=torch.float16),
    "llama_v4config": llama(GROUPED, rewrite=rewrite_config_v4),
    "llama_wide": llama(GROUPED | {"hidden_size": 32, "intermediate_size": 32}),
    "mistral": Case("MistralForCausalLM", lambda: hf.MistralConfig(**WIDE_HEADS, sliding_window=8), read_llama, "rms"),
    "qwen2": Case("Qwen2ForCausalLM", lambda: hf.Qwen2Config(**GROUPED), read_llama, "rms"),
    "qwen3": Case("Qwen3ForCausalLM", lambda: hf.Qwen3Config(**WIDE_HEADS), read_llama, "rms"),
    "phi3": Case("Phi3ForCausalLM", lambda: hf.Phi3Config(**GROUPED), read_phi3, "rms"),
    "gemma2": Case(
        "Gemma2ForCausalLM", lambda: hf.Gemma2Config(**GEMMA | {"num_hidden_layers": 3}), read_gemma, "rms"
    ),
    "gemma3_text": Case("Gemma3ForCausalLM", lambda: hf.Gemma3TextConfig(**GEMMA), read_gemma, "rms"),
    "gemma3": Case("Gemma3ForConditionalGeneration", gemma3_config, read_gemma, "rms"),
    "bert": bert(),
    "bert_gamma": bert(rewrite=rename_to_gamma_beta),
    "roberta": Case(
        "RobertaForMaskedLM", lambda: hf.RobertaConfig(**TEXT, **TOKENS, type_vocab_size=1), read_bert, "post"
    ),
    "distilbert": Case("DistilBertForMaskedLM", lambda: hf.DistilBertConfig(**DISTILBERT), read_distilbert, "post"),
    "vit": vit(),
    "vit_new": vit(save={"save_original_format": False}),
    "timm_vit": vit(rewrite=rewrite_as_timm, loads_in_hf=False),
    "deit": Case("DeiTForImageClassification", lambda: hf.DeiTConfig(**VISION, num_labels=3), read_vit, "layer"),
    "clip": Case("CLIPModel", clip_config, read_clip_vision, "layer"),
    "clip_vision": Case(
        "CLIPVisionModel", lambda: hf.CLIPVisionConfig(**VISION, projection_dim=20), read_clip_vision, "layer"
    ),
    "dinov2": Case("Dinov2Model", lambda: hf.Dinov2Config(**DINO), read_dinov2, "layer"),
    "dinov2_registers": Case(
        "Dinov2WithRegistersForImageClassification",
        lambda: hf.Dinov2WithRegistersConfig(**DINO, num_register_tokens=2, num_labels=3),
        read_dinov2, "layer",
    ),
}  # fmt: skip


# --- Making a case -------------------------------------------------------------------


def query_heads(config: Any) -> int:
    for part in (config, getattr(config, "vision_config", None), getattr(config, "text_config", None)):
        heads = getattr(part, "num_attention_heads", None)
        if heads is not None:
            return int(heads)
    raise ValueError(f"no head count in {type(config).__name__}")


def build(name: str, case: Case) -> Any:
    seed = BASE_SEED ^ zlib.crc32((case.seed_name or name).encode())
    torch.manual_seed(seed)
    model = getattr(hf, case.model)(case.config()).float().eval()
    fill(model, seed)
    return model.to(case.dtype)


def check_loads(folder: Path, model: Any) -> None:
    """save_pretrained and our rewriting must not have changed what the file means."""
    again = type(model).from_pretrained(folder, dtype=model.dtype).state_dict()
    for name, value in model.state_dict().items():
        if not torch.equal(value, again[name]):
            raise ValueError(f"{name} differs after loading {folder}")


def make_case(name: str, case: Case, folder: Path) -> str:
    model = build(name, case)
    if folder.exists():
        shutil.rmtree(folder)
    model.save_pretrained(folder, **case.save)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if case.rewrite:
        case.rewrite(folder, model)
    if case.loads_in_hf:
        check_loads(folder, model)
    arrays = expected_arrays(case.read(model), query_heads(model.config), case.norm)
    np.savez_compressed(folder / "expected.npz", **arrays)  # type: ignore[arg-type]  # NumPy's allow_pickle
    size = sum(path.stat().st_size for path in folder.iterdir())
    return f"Q{list(arrays['Q'].shape)} K{list(arrays['K'].shape)} {size // 1024} KiB"


def tensor_shapes(folder: Path) -> dict[str, list[int]]:
    shapes: dict[str, list[int]] = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "np") as file:
            shapes |= {key: list(file.get_slice(key).get_shape()) for key in file.keys()}  # noqa: SIM118 - not a dict
    return dict(sorted(shapes.items()))


def write_names(out: Path, names: list[str], target: Path) -> None:
    """Tensor names and shapes of every case: one line a case, to keep the file readable in a diff."""
    versions = {"torch": torch.__version__, "transformers": hf.__version__}
    lines = [f'"versions": {json.dumps(versions)}']
    lines += [f'"{name}": {json.dumps(tensor_shapes(out / name))}' for name in names]
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def start_torch() -> None:
    """One thread, so that every run gives the same bytes."""
    hf.utils.logging.set_verbosity_error()
    hf.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, transformers {hf.__version__}, numpy {np.__version__}")


def main() -> int:
    parser = golden_cases.argument_parser(__doc__, CASES)
    parser.add_argument("--names", type=Path, help="write tensor names and shapes as JSON")
    arguments = parser.parse_args()
    start_torch()
    arguments.out.mkdir(parents=True, exist_ok=True)
    names = arguments.only or list(CASES)
    failed = golden_cases.make_each(names, lambda name, out: make_case(name, CASES[name], out / name), arguments.out)
    if arguments.names:
        write_names(arguments.out, [name for name in names if name not in failed], arguments.names)
    return golden_cases.report(failed, arguments.out)


if __name__ == "__main__":
    sys.exit(main())
