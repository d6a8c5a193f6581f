#!/usr/bin/env python3
"""Run the image processors of the families in towers/ on pictures of images/.

Output: OUT/tower_cases.json and OUT/tower_expected.npz, as those of make_images.py. The processors are those on PIL;
DINOv3 has only one on torchvision.
Made with torch 2.15.0, torchvision 0.29.2, transformers 5.22.2, Pillow 13.0.

    python make_tower_images.py OUT
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from transformers import AutoImageProcessor

HALF = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
PIXTRAL = {"image_processor_type": "PixtralImageProcessor", "patch_size": {"height": 7, "width": 7}}
QWEN = {"image_processor_type": "Qwen2VLImageProcessor", "patch_size": 5, "merge_size": 2, "temporal_patch_size": 2}
QWEN |= {"size": {"shortest_edge": 100, "longest_edge": 9999}}
DINO = {"image_processor_type": "DINOv3ViTImageProcessorFast", "do_resize": True, "do_rescale": True}

# name, picture, preprocessor_config.json, config.json, stride
CASES: list[tuple[str, str, dict[str, Any], dict[str, Any], int]] = [
    ("siglip", "rgb.png", {"image_processor_type": "SiglipImageProcessor", "size": {"height": 24, "width": 24}, **HALF},
     {"model_type": "siglip"}, 1),
    ("siglip_defaults", "tall.png", {"image_processor_type": "SiglipImageProcessor"}, {"model_type": "siglip"}, 16),
    ("beit", "rgb.png", {"image_processor_type": "BeitImageProcessor", "size": {"height": 32, "width": 32},
                         "do_center_crop": True, "crop_size": {"height": 28, "width": 28}}, {"model_type": "beit"}, 2),
    ("beit_defaults", "rgb.png", {"image_processor_type": "BeitImageProcessor"}, {"model_type": "beit"}, 16),
    ("gemma3", "rgb.png", {"image_processor_type": "Gemma3ImageProcessor", "size": {"height": 28, "width": 28}},
     {"model_type": "gemma3"}, 1),
    ("internvl", "rgb.png", {"image_processor_type": "GotOcr2ImageProcessor", "size": {"height": 28, "width": 28}},
     {"model_type": "internvl"}, 1),
    ("llava", "rgb.png", {"image_processor_type": "LlavaImageProcessor", "size": {"shortest_edge": 20},
                           "crop_size": {"height": 20, "width": 20}}, {"model_type": "llava"}, 1),
    ("pixtral_shrunk", "rgb.png", {**PIXTRAL, "size": {"longest_edge": 21}}, {"model_type": "mistral3"}, 1),
    ("pixtral", "tall.png", {**PIXTRAL, "size": {"longest_edge": 999}}, {"model_type": "mistral3"}, 2),
    ("qwen2_vl", "rgb.png", {**QWEN, "patch_size": 7, "merge_size": 2}, {"model_type": "qwen2_vl"}, 2),
    ("qwen2_vl_shrunk", "tall.png", {**QWEN, "size": {"shortest_edge": 100, "longest_edge": 1200}},
     {"model_type": "qwen2_vl"}, 1),
    ("qwen3_vl_grown", "rgb.png", {**QWEN, "patch_size": 4, "size": {"shortest_edge": 4000, "longest_edge": 9000}},
     {"model_type": "qwen3_vl"}, 4),
    ("blip", "rgb.png", {"image_processor_type": "BlipImageProcessor"}, {"model_type": "blip"}, 16),
    ("chinese_clip", "tall.png", {"image_processor_type": "ChineseCLIPImageProcessor"},
     {"model_type": "chinese_clip"}, 16),
    ("siglip2", "rgb.png", {"image_processor_type": "Siglip2ImageProcessor", "patch_size": 4, "max_num_patches": 40},
     {"model_type": "siglip2"}, 1),
    ("siglip2_grown", "tall.png", {"image_processor_type": "Siglip2ImageProcessor", "patch_size": 7},
     {"model_type": "siglip2"}, 4),
    ("dinov3", "rgb.png", {**DINO, "size": {"height": 24, "width": 18}}, {"model_type": "dinov3_vit"}, 1),
    ("dinov3_larger", "tall.png", {**DINO, "size": {"height": 60, "width": 70}}, {"model_type": "dinov3_vit"}, 4),
]  # fmt: skip


def run(folder: Path, picture: str, preprocessor: dict[str, Any], config: dict[str, Any]) -> np.ndarray:
    with tempfile.TemporaryDirectory() as model:
        for file, content in [("preprocessor_config.json", preprocessor), ("config.json", config)]:
            (Path(model) / file).write_text(json.dumps(content))
        backend = "torchvision" if config["model_type"] == "dinov3_vit" else "pil"
        processor = AutoImageProcessor.from_pretrained(model, backend=backend)
    image = Image.open(folder / picture).convert("RGB")
    result = processor(image, return_tensors="np")
    values = np.asarray(result["pixel_values"])
    if "spatial_shapes" in result:  # patches, pixel by pixel, then padding
        rows, columns = result["spatial_shapes"][0]
        size = preprocessor["patch_size"]
        patches = values[0, : rows * columns].reshape(rows, columns, size, size, 3)
        return patches.transpose(4, 0, 2, 1, 3).reshape(3, rows * size, columns * size)
    if "image_grid_thw" not in result:
        return values[0]
    _, rows, columns = result["image_grid_thw"][0]  # Qwen: two equal frames of patches, in the order of the merger
    size, merge = preprocessor["patch_size"], preprocessor["merge_size"]
    patches = values.reshape(rows // merge, columns // merge, merge, merge, 3, 2, size, size)[:, :, :, :, :, 0]
    return patches.transpose(4, 0, 2, 5, 1, 3, 6).reshape(3, rows * size, columns * size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    arrays, cases = {}, []
    for name, picture, preprocessor, config, stride in CASES:
        values = run(out, picture, preprocessor, config)
        arrays[f"case/{name}"] = np.ascontiguousarray(values[:, ::stride, ::stride], dtype=np.float32)
        files = {"preprocessor": preprocessor, "config": config}
        cases.append({"name": name, "image": picture, "stride": stride, "shape": list(values.shape), **files})
        print(name, values.shape)
    np.savez_compressed(out / "tower_expected.npz", **arrays)  # type: ignore[arg-type]
    (out / "tower_cases.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
