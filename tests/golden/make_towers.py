#!/usr/bin/env python3
"""Make tiny image models and models with an image and a text tower, with heads and forward passes of each tower.

Made like the cases of make_families.py: seeded float16 values, saved with save_pretrained,
loaded again from that folder and run with eager attention; heads are sliced from the live
PyTorch modules.

Output, per case:  OUT/<case>/config.json, model.safetensors, expected_vision.npz,
expected_text.npz, expected_stage1.npz ..., as there are; the arrays are those of make_families.py, with
pixel_values in place of input_ids for images. Towers that headscope does not run have heads only.
Made with torch 2.15.0, transformers 5.22.2, safetensors 0.8.

    python make_towers.py OUT [--only CASE ...]
"""

from __future__ import annotations

import re
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from safetensors.torch import load_file, save_file
from torch import Tensor

import golden_cases
from make_families import SHARPEN, compact, fused, split, thirds
from make_hf_checkpoints import BASE_SEED, Layer, expected_arrays, fill, start_torch, to_numpy

QK = re.compile(r"([qk](uery|ey)?(_proj)?|qkv|(self_attn|attention)\.[qk]_norm)\.weight$")
TOKENS = 9


@dataclass(frozen=True)
class Tower:
    module: str  # path in the model; empty for the model itself
    read: Callable[[Any], Any]
    norm: str = "layer"
    runs: bool = True
    image: tuple[int, int] = (8, 8)  # height and width
    arguments: dict[str, Any] = field(default_factory=dict)  # of the call
    packed: bool = False  # takes the patches of two equal frames, in the order in which Qwen merges them
    masked: bool = False  # takes a mask of patches
    any_shape: bool = False  # takes a list of patches
    heads: int = 0  # if the configuration lists several numbers
    head: str = ""  # path of the module that makes the output of the last hidden state
    ends_with: str = ""  # path of the module after the last layer, if more follows
    stage: int | None = None  # of a model whose patches attend within windows, and are merged between stages


@dataclass(frozen=True)
class Case:
    model: str
    config: str
    options: dict[str, Any]
    vision: Tower | None = None
    text: Tower | None = None
    stages: tuple[Tower, ...] = ()
    transposed: bool = False  # stacked experts are [in, out], as in the files on the hub


V = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
V |= {"image_size": 8, "patch_size": 2}
SMALL = V | {"image_size": 6}
T = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
T |= {"vocab_size": 20, "max_position_embeddings": 16, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
G = T | {"num_key_value_heads": 1, "tie_word_embeddings": False}
QWEN_VISION = {"depth": 2, "num_heads": 2, "patch_size": 2, "spatial_merge_size": 2, "in_channels": 3}
ROPE = {"rope_type": "default", "rope_theta": 100.0}

SWIN = {"patch_size": 2, "embed_dim": 4, "window_size": 2, "mlp_ratio": 2.0}

CLIP = "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj"
AIMV2 = "attention.q_proj attention.k_proj attention.v_proj attention.out_proj"
VIT = "attention.q_proj attention.k_proj attention.v_proj attention.o_proj"
clip_blocks = split("encoder.layers", CLIP, "layer_norm1")
pixtral_blocks = split("transformer.layers", VIT, "attention_norm")
internvl_blocks = split(
    "encoder.layer", VIT.replace("o_proj", "projection_layer"), "layernorm_before", scale="lambda_1"
)
qwen_blocks = fused("blocks", "attn.qkv", "attn.proj", "norm1", thirds)
llama_blocks = split("layers")


def gemma_blocks(model: Any) -> Iterator[Layer]:
    layers: Iterator[Any] = split("layers", offset=1.0)(model)
    for block, layer in zip(model.layers, layers, strict=True):
        yield layer._replace(scale=1 + block.post_attention_layernorm.weight)


def gemma_blocks_of(path: str) -> Any:
    return lambda model: gemma_blocks(attrgetter(path)(model))


def swin_blocks(stage: int) -> Any:
    blocks = split("blocks", VIT, "layernorm_before")
    return lambda model: blocks(model.swin.encoder.layers[stage])


def swinv2_blocks(stage: int) -> Any:
    names = "attention.self.query attention.self.key attention.self.value attention.output.dense"
    blocks = split("blocks", names, "", scale="layernorm_before.weight")

    def read(model: Any) -> Any:
        body: Any = getattr(model, "swinv2", model)
        return blocks(body.encoder.layers[stage])

    return read


def stages(read: Any, heads: list[int], image: tuple[int, int], norm: str = "layer") -> tuple[Tower, ...]:
    return tuple(Tower("", read(i), norm, image=image, heads=count, stage=i) for i, count in enumerate(heads))


def text(read: Any = llama_blocks) -> Tower:
    return Tower("model.language_model", read, "rms", head="lm_head")


def multimodal(name: str, vision: Tower, options: dict[str, Any], read: Any = llama_blocks) -> Case:
    return Case(f"{name}ForConditionalGeneration", f"{name}Config", options, vision, text(read))


CASES: dict[str, Case] = {
    "clip_both": Case(
        "CLIPModel", "CLIPConfig", {"text_config": T, "vision_config": SMALL, "projection_dim": 6},
        Tower("vision_model", clip_blocks, image=(6, 6)), Tower("text_model", clip_blocks),
    ),
    "siglip": Case(
        "SiglipModel", "SiglipConfig", {"text_config": T, "vision_config": SMALL},
        Tower("vision_model", clip_blocks, image=(6, 6)), Tower("text_model", clip_blocks),
    ),
    "siglip_classifier": Case(
        "SiglipForImageClassification", "SiglipConfig",
        {"vision_config": V, "text_config": T, "num_labels": 3},
        Tower("", split("vision_model.encoder.layers", CLIP, "layer_norm1")),
    ),
    "siglip2": Case(
        "Siglip2Model", "Siglip2Config",
        {"text_config": T, "vision_config": {k: v for k, v in V.items() if k != "image_size"} | {"num_patches": 16}},
        Tower("vision_model", clip_blocks, any_shape=True, image=(6, 14)), Tower("text_model", clip_blocks),
    ),
    "dinov3": Case(
        "DINOv3ViTModel", "DINOv3ViTConfig", V | {"num_register_tokens": 2, "image_size": [6, 8]},
        Tower("", split("model.layer", VIT, "norm1", scale="layer_scale1.lambda1"), image=(6, 8)),
    ),
    "dinov3_gated": Case(
        "DINOv3ViTModel", "DINOv3ViTConfig",
        V | {"num_register_tokens": 1, "use_gated_mlp": True, "hidden_act": "silu", "key_bias": True,
            "value_bias": False},
        Tower("", split("model.layer", VIT, "norm1", scale="layer_scale1.lambda1")),
    ),
    "vit_mae": Case(
        "ViTMAEForPreTraining", "ViTMAEConfig",
        V | {"mask_ratio": 0.0, "decoder_hidden_size": 4, "decoder_num_hidden_layers": 1,
             "decoder_num_attention_heads": 1, "decoder_intermediate_size": 4},
        Tower("vit", split("layers", VIT, "layernorm_before"), arguments={"noise": torch.arange(16.0)[None]}),
    ),
    "beit": Case(
        "BeitForImageClassification", "BeitConfig",
        V | {"use_relative_position_bias": True, "num_labels": 3},
        Tower("", split("beit.layers", VIT, "layernorm_before", scale="lambda_1")),
    ),
    "beit_shared": Case(
        "BeitModel", "BeitConfig",
        V | {"use_shared_relative_position_bias": True, "use_absolute_position_embeddings": True,
             "use_mean_pooling": False, "layer_scale_init_value": 0.0},
        Tower("", split("layers", VIT, "layernorm_before")),
    ),
    "swin": Case(
        "SwinForImageClassification", "SwinConfig",
        SWIN | {"image_size": [8, 16], "depths": [2, 2], "num_heads": [1, 2]},
        stages=stages(swin_blocks, [1, 2], (8, 16)),  # windows of the last stage, 2 x 4 patches, are not shifted
    ),
    "swinv2": Case(
        "Swinv2Model", "Swinv2Config",
        SWIN | {"image_size": [8, 16], "depths": [2, 1], "num_heads": [1, 2], "pretrained_window_sizes": [0, 3]},
        stages=stages(swinv2_blocks, [1, 2], (8, 16), "none"),
    ),
    "llava": multimodal(
        "Llava", Tower("model.vision_tower", clip_blocks),
        {"vision_config": V | {"model_type": "clip_vision_model"}, "text_config": G | {"model_type": "llama"},
         "image_token_index": 3},
    ),
    "mistral3": multimodal(
        "Mistral3", Tower("model.vision_tower", pixtral_blocks, "rms", image=(6, 8)),
        {"vision_config": V | {"model_type": "pixtral"}, "text_config": G | {"model_type": "mistral"},
         "image_token_index": 3},
    ),
    "internvl": multimodal(
        "InternVL", Tower("model.vision_tower", internvl_blocks, image=(6, 6)),
        {"vision_config": SMALL, "text_config": G | {"model_type": "qwen2"}, "image_token_id": 3},
    ),
    # All of the prompt sees all of it, also in the layer with a window.
    "paligemma2": Case(
        "PaliGemmaForConditionalGeneration", "PaliGemmaConfig",
        {"vision_config": SMALL | {"model_type": "siglip_vision_model", "vision_use_head": False},
         "text_config": G | {"model_type": "gemma2", "head_dim": 6, "tie_word_embeddings": True, "sliding_window": 4},
         "image_token_index": 3, "projection_dim": 8},
        None,
        Tower("model", gemma_blocks_of("language_model"), "rms", head="lm_head",
              arguments={"token_type_ids": torch.zeros(1, TOKENS, dtype=torch.long)}),
    ),
    "blip": Case(
        "BlipVisionModel", "BlipVisionConfig", SMALL,
        Tower("", fused("encoder.layers", "self_attn.qkv", "self_attn.projection", "layer_norm1", thirds),
              image=(6, 6)),
    ),
    "ijepa": Case(
        "IJepaForImageClassification", "IJepaConfig", SMALL | {"num_labels": 3},
        Tower("", split("ijepa.layers", VIT, "layernorm_before"), image=(6, 6)),
    ),
    "vit_msn": Case(
        "ViTMSNModel", "ViTMSNConfig", SMALL,
        Tower("", split("layers", VIT, "layernorm_before"), image=(6, 6)),
    ),
    "chinese_clip": Case(
        "ChineseCLIPVisionModel", "ChineseCLIPVisionConfig", SMALL,
        Tower("", split("encoder.layers", CLIP, "layer_norm1"), image=(6, 6)),
    ),
    "smolvlm": Case(
        "SmolVLMForConditionalGeneration", "SmolVLMConfig",
        {"vision_config": SMALL, "text_config": G | {"model_type": "llama"}, "image_token_id": 3, "scale_factor": 2},
        Tower("model.vision_model", clip_blocks, image=(6, 6), masked=True),
        Tower("model.text_model", llama_blocks, "rms", head="lm_head"),
    ),
    "qwen3_vl_moe": Case(
        "Qwen3VLMoeForConditionalGeneration", "Qwen3VLMoeConfig",
        {"vision_config": QWEN_VISION | {"hidden_size": 8, "out_hidden_size": 8, "intermediate_size": 8,
                                         "num_position_embeddings": 16, "deepstack_visual_indexes": []},
         "text_config": G | {"head_dim": 6, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 4,
                             "hidden_size": 16,
                             "rope_parameters": ROPE | {"mrope_section": [1, 1, 1]}}, "image_token_id": 3},
        None,
        text(),
        transposed=True,
    ),
    "glm4v": Case(
        "Glm4vForConditionalGeneration", "Glm4vConfig",
        {"vision_config": {"depth": 2, "hidden_size": 8, "num_heads": 2, "patch_size": 2, "image_size": 8,
                           "intermediate_size": 8, "out_hidden_size": 8},
         "text_config": G | {"hidden_size": 16, "rope_parameters": ROPE | {"partial_rotary_factor": 0.5,
                                                                           "mrope_section": [1, 1]}},
         "image_token_id": 3},
        Tower("model.visual", qwen_blocks, "rms", packed=True, image=(4, 8), ends_with="post_layernorm"),
        Tower("model.language_model", split("layers", scale="post_self_attn_layernorm.weight"), "rms",
              head="lm_head"),
    ),
    "aimv2": Case(
        "Aimv2VisionModel", "Aimv2VisionConfig", SMALL,
        Tower("", split("encoder.layers", AIMV2, "rms_norm1"), "rms", image=(6, 6)),
    ),
    "llama4_vision": Case(
        "Llama4VisionModel", "Llama4VisionConfig", V | {"projector_input_dim": 8, "projector_output_dim": 8},
        Tower("", split("model.layers"), runs=False),
    ),

    # A prompt is read in both directions; without the types of its tokens, transformers reads it forward.
    "paligemma": Case(
        "PaliGemmaForConditionalGeneration", "PaliGemmaConfig",
        {"vision_config": V | {"model_type": "siglip_vision_model", "vision_use_head": False},
         "text_config": G | {"model_type": "gemma", "head_dim": 6, "tie_word_embeddings": True},
         "image_token_index": 3, "projection_dim": 8},
        Tower("model.vision_tower", clip_blocks),
        Tower("model", split("language_model.layers", offset=1.0), "rms", head="lm_head",
              arguments={"token_type_ids": torch.zeros(1, TOKENS, dtype=torch.long)}),
    ),
    "gemma3_both": multimodal(
        "Gemma3", Tower("model.vision_tower", clip_blocks, image=(6, 6)),
        {"vision_config": SMALL | {"model_type": "siglip_vision_model", "vision_use_head": False},
         "text_config": G | {"head_dim": 6, "tie_word_embeddings": True, "sliding_window": 4},
         "mm_tokens_per_image": 4, "image_token_index": 3},
        gemma_blocks,
    ),
    "qwen2_vl": multimodal(
        "Qwen2VL", Tower("model.visual", qwen_blocks, packed=True, image=(4, 8)),
        {"vision_config": QWEN_VISION | {"embed_dim": 8, "hidden_size": 8, "temporal_patch_size": 2, "mlp_ratio": 2},
         "text_config": G | {"rope_parameters": ROPE | {"mrope_section": [1, 1]}}, "image_token_id": 3},
    ),
    # Windows of 4 x 4 patches, cut off at the right and the bottom.
    "qwen2_5_vl": multimodal(
        "Qwen2_5_VL", Tower("model.visual", qwen_blocks, "rms", packed=True, image=(12, 12)),
        {"vision_config": QWEN_VISION | {"hidden_size": 8, "out_hidden_size": 8, "intermediate_size": 8,
                                         "window_size": 8, "fullatt_block_indexes": [1]},
         "text_config": G | {"rope_parameters": ROPE | {"mrope_section": [1, 1]}}, "image_token_id": 3},
    ),
    "qwen3_vl": multimodal(
        "Qwen3VL", Tower("model.visual", qwen_blocks, packed=True, image=(4, 8)),
        {"vision_config": QWEN_VISION | {"hidden_size": 8, "out_hidden_size": 8, "intermediate_size": 8,
                                         "num_position_embeddings": 16, "deepstack_visual_indexes": []},
         "text_config": G | {"head_dim": 6, "rope_parameters": ROPE | {"mrope_section": [1, 1, 1]}},
         "image_token_id": 3},
    ),
}  # fmt: skip


# --- Making a case ----------------------------------------------------------------------------


def seed_of(name: str) -> int:
    return BASE_SEED ^ zlib.crc32(("tower " + name).encode())


def part(model: Any, tower: Tower) -> Any:
    return attrgetter(tower.module)(model) if tower.module else model


def build(name: str, case: Case, sharpen: float) -> Any:
    torch.manual_seed(seed_of(name))
    model = getattr(hf, case.model)(getattr(hf, case.config)(**case.options)).float().eval()
    fill(model, seed_of(name))
    normed = any(re.search(r"self_attn\.[qk]_norm", parameter_name) for parameter_name, _ in model.named_parameters())
    for parameter_name, parameter in model.named_parameters():
        text_weight = normed and "language_model" in parameter_name and "_norm" not in parameter_name
        if QK.search(parameter_name) and not text_weight:
            parameter.data.mul_(sharpen)
        parameter.data.copy_(parameter.data.half().float())
    model.set_attn_implementation("eager")
    return model


def inputs_of(name: str, kind: str, tower: Tower) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed_of(name) + 1)
    if kind == "text":
        return {"input_ids": torch.randint(4, 20, (1, TOKENS), generator=generator)}
    return {"pixel_values": torch.randn((1, 3, *tower.image), generator=generator).half().float()}


def run_packed(module: Any, pixels: Tensor, ends_with: str) -> dict[str, np.ndarray]:
    """Maps and output with the patches row by row. transformers does not return these maps."""
    size, merge = module.config.patch_size, module.config.spatial_merge_size
    rows, columns = pixels.shape[2] // size, pixels.shape[3] // size
    frames = pixels.repeat(2, 1, 1, 1).reshape(1, 2, 3, rows // merge, merge, size, columns // merge, merge, size)
    patches = frames.permute(0, 3, 6, 4, 7, 2, 1, 5, 8).reshape(rows * columns, -1)
    places = torch.arange(rows * columns).reshape(rows // merge, merge, columns // merge, merge)
    places = places.permute(0, 2, 1, 3).flatten()  # of the patches, in their order
    grid = torch.tensor([[1, rows, columns]])
    source: Any = sys.modules[type(module).__module__]
    seen = places
    if hasattr(source, "get_vision_window_index"):  # patches come in the order of windows, a window at a time
        order, _ = source.get_vision_window_index(grid, merge, module.window_size, size)
        seen = places.reshape(-1, merge * merge)[order].flatten()
    original, maps = source.eager_attention_forward, []

    def attend(*arguments: Any, **options: Any) -> Any:
        found = original(*arguments, **options)
        maps.append(found[1])
        return found

    source.eager_attention_forward = attend
    ends: list[Tensor] = []
    hooks = [attrgetter(ends_with)(module).register_forward_hook(lambda m, i, o: ends.append(o))] if ends_with else []
    try:
        with torch.no_grad():
            last = module(patches, grid_thw=grid).last_hidden_state
            output = (ends[0] if ends else last)[None, seen.argsort()]
    finally:
        source.eager_attention_forward = original
        for hook in hooks:
            hook.remove()
    layers = []
    while maps:
        full, first = torch.zeros(maps[0].shape[1], rows * columns, rows * columns), 0
        while first < rows * columns:
            part_of_map = maps.pop(0)[0]
            own = seen[first : first + part_of_map.shape[-1]]
            full[:, own[:, None], own] = part_of_map
            first += part_of_map.shape[-1]
        layers.append(full[None])
    return {"attentions": to_numpy(torch.stack(layers)), "output": to_numpy(output)}


def run_any_shape(module: Any, pixels: Tensor) -> dict[str, np.ndarray]:
    """Patches of an image of any shape, pixel by pixel, without padding."""
    size = module.config.patch_size
    rows, columns = (side // size for side in pixels.shape[2:])
    patches = pixels.reshape(3, rows, size, columns, size).permute(1, 3, 2, 4, 0).reshape(1, rows * columns, -1)
    with torch.no_grad():
        result = module(patches, torch.ones(1, rows * columns), torch.tensor([[rows, columns]]), output_attentions=True)
    return {
        "attentions": to_numpy(torch.stack(result.attentions)),
        "output": to_numpy(result.last_hidden_state),
    }


def run_stage(model: Any, stage: int, pixels: Tensor) -> dict[str, np.ndarray]:
    """Maps over all patches of a stage, 0 outside of the windows; the logits, or what the stage ends with."""
    stages = getattr(model, "swin", getattr(model, "swinv2", model)).encoder.layers
    kept: dict[Any, Tensor] = {}
    hooks = [stages[stage].blocks[-1].register_forward_hook(lambda m, i, o: kept.update({"end": o[0]}))]
    for block in stages[stage].blocks:
        attention = getattr(block.attention, "self", block.attention)
        hooks.append(attention.register_forward_hook(lambda m, i, o, block=block: kept.update({block: o[1]})))
    with torch.no_grad():
        result = model(pixels, output_attentions=True)
    for hook in hooks:
        hook.remove()
    partition = sys.modules[type(stages[0]).__module__].window_partition
    rows, columns = (side // model.config.patch_size >> stage for side in pixels.shape[2:])
    maps = []
    for block in stages[stage].blocks:
        places = torch.arange(rows * columns).reshape(1, rows, columns, 1)
        places = torch.roll(places, (-block.shift_size, -block.shift_size), (1, 2)) if block.shift_size else places
        windows = partition(places, block.window_size).flatten(1)  # the patches of each
        full = torch.zeros(kept[block].shape[1], rows * columns, rows * columns)
        for patches, own in zip(windows, kept[block], strict=True):
            full[:, patches[:, None], patches] = own
        full[full < 1e-30] = 0  # the mask of transformers is -100
        maps.append(full[None])
    last = stage + 1 == len(stages)
    end = result.last_hidden_state if last and not hasattr(result, "logits") else kept["end"]
    output = result.logits if hasattr(result, "logits") else end
    return {"attentions": to_numpy(torch.stack(maps)), "output": to_numpy(output)}


def run(model: Any, tower: Tower, inputs: dict[str, Tensor]) -> dict[str, np.ndarray]:
    module = part(model, tower)
    if tower.stage is not None:
        return run_stage(module, tower.stage, inputs["pixel_values"])
    if tower.any_shape:
        return run_any_shape(module, inputs["pixel_values"])
    if tower.packed:
        return run_packed(module, inputs["pixel_values"], tower.ends_with)
    arguments = dict(tower.arguments)
    if tower.masked:
        size = module.config.patch_size
        arguments["patch_attention_mask"] = torch.ones(1, *(side // size for side in tower.image), dtype=torch.bool)
    with torch.no_grad():
        result = module(**inputs, **arguments, output_attentions=True)
        output = result.logits if hasattr(result, "logits") else result.last_hidden_state
        if tower.head:
            output = attrgetter(tower.head)(model)(output)
    return {"attentions": to_numpy(torch.stack(result.attentions)), "output": to_numpy(output)}


def is_sharp(attentions: np.ndarray) -> bool:
    largest = attentions[..., 4:, :].max(axis=-1)
    return bool(np.isfinite(attentions).all() and 0.3 < largest.mean() < 0.9)


def towers(case: Case) -> dict[str, Tower]:
    named = {"vision": case.vision, "text": case.text}
    named |= {f"stage{i + 1}": tower for i, tower in enumerate(case.stages)}
    return {kind: tower for kind, tower in named.items() if tower is not None}


def sharp_model(name: str, case: Case) -> tuple[Any, float]:
    for factor in SHARPEN:
        model = build(name, case, factor)
        maps = [
            run(model, tower, inputs_of(name, kind, tower))["attentions"]
            for kind, tower in towers(case).items()
            if tower.runs
        ]
        if all(map(is_sharp, maps)):
            return model, factor
    raise ValueError("attention is too flat or too sharp")


def make_case(name: str, case: Case, folder: Path) -> str:
    model, factor = sharp_model(name, case)
    shutil.rmtree(folder, ignore_errors=True)
    model.half().save_pretrained(folder)
    if case.transposed:
        tensors = load_file(folder / "model.safetensors")
        turned = {k: v.mT.contiguous() if "mlp.experts." in k else v for k, v in tensors.items()}
        save_file(turned, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "generation_config.json").unlink(missing_ok=True)
    options = {"dtype": torch.float32, "attn_implementation": "eager"}
    runner = type(model).from_pretrained(folder, **options).eval()
    for key, value in runner.state_dict().items():
        if not torch.equal(value, model.float().state_dict()[key]):
            raise ValueError(f"{key} differs after loading {folder}")
    for kind, tower in towers(case).items():
        arrays: dict[str, np.ndarray] = {}
        if tower.runs:
            inputs = inputs_of(name, kind, tower)
            arrays = run(runner, tower, inputs) | {key: value.numpy() for key, value in inputs.items()}
        module = part(runner, tower)
        config = module.config
        config = getattr(config, "vision_config", config) if kind == "vision" else config.get_text_config()
        heads = tower.heads or getattr(config, "num_attention_heads", None) or config.num_heads
        layers = list(tower.read(module))
        arrays |= compact(expected_arrays(layers, heads, tower.norm))
        np.savez_compressed(folder / f"expected_{kind}.npz", **arrays)  # type: ignore[arg-type]
    size = sum(path.stat().st_size for path in folder.iterdir())
    if size > 40_000:
        raise ValueError(f"{size} bytes")
    return f"{', '.join(towers(case))}, factor {factor}, {size / 1024:.1f} KiB"


def main() -> int:
    return golden_cases.main(
        __doc__, CASES, lambda name, out: make_case(name, CASES[name], out / name), prepare=start_torch
    )


if __name__ == "__main__":
    sys.exit(main())
