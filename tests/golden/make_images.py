"""Writes tests/golden/images/: small pictures and what PIL, transformers and timm make of them.

    /tmp/venv-hf/bin/python tests/golden/make_images.py

Needs numpy, Pillow 12.0, torch 2.11, torchvision 0.26, transformers 5.17, timm 1.0.30, and the program cjpeg of
libjpeg-turbo. Seed 2601.

    *.png, *.jpg   the pictures
    expected.npz   decoded/NAME, gray/NAME: PIL's convert("RGB") and convert("L"), uint8 [height, width(, 3)]
                   resized/NAME/FILTER/HEIGHTxWIDTH: PIL's resize of the decoded picture, uint8
                   case/NAME: pixel_values of a case, every STRIDE-th row and column, float32
    cases.json     the cases: which picture, what the model's files say, stride, whole shape

The processors are those on PIL, found by AutoImageProcessor from the files as a model folder has them. The script
also prints how far the ones on torchvision are from them, in levels of 255.
"""

import io
import json
import pathlib
import struct
import subprocess
import tempfile
import zlib
from typing import Any

import numpy as np
import timm.data
import torch
from PIL import Image
from transformers import AutoImageProcessor

FOLDER = pathlib.Path(__file__).parent / "images"
SEED = 2601
FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4}


def picture(height, width, channels, seed, levels=256):
    """Slopes, hard edges and noise: what filters treat differently."""
    random = np.random.default_rng([SEED, seed])
    y, x = np.mgrid[0:height, 0:width] / max(height, width)
    planes = []
    for c in range(channels):
        a, b, r = random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(0.1, 0.4)
        plane = 0.5 + 0.4 * (a * x + b * y)
        plane[(x - random.uniform(0, 1)) ** 2 + (y - random.uniform(0, 1)) ** 2 < r * r] = random.uniform(0, 1)
        plane[:, width // 3 : width // 3 + 2] = c % 2
        planes.append(plane + random.normal(0, 0.03, plane.shape))
    return np.clip(np.stack(planes, -1) * levels, 0, levels - 1).astype(np.uint16 if levels > 256 else np.uint8)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, color, rows, interlace=0, extra=b""):
    """What PIL does not write: 16-bit colors, transparent colors, interlaced rows. Every row with filter 0."""
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    half = len(data) // 2  # in two chunks
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", data[:half])
            + chunk(b"IDAT", data[half:]) + chunk(b"IEND", b""))


def big_endian_rows(array):
    return [row.astype(">u2").tobytes() for row in array]


def adam7_rows(array):
    for y0, x0, dy, dx in [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]:
        part = array[y0::dy, x0::dx]
        if part.size:
            yield from (row.tobytes() for row in part)


def saved(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def cjpeg(image, *options):
    """Subsampling that PIL does not write."""
    return subprocess.run(["cjpeg", *options], input=saved(image, "PPM"), capture_output=True, check=True).stdout


def pictures():
    rgb = Image.fromarray(picture(45, 61, 3, 1))
    tall = Image.fromarray(picture(70, 33, 3, 2))
    gray = Image.fromarray(picture(28, 28, 1, 3)[..., 0])
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees
    rgb16 = picture(12, 17, 3, 8, 65536)
    rgba16 = picture(12, 17, 4, 9, 65536)
    gray16 = picture(12, 17, 1, 10, 65536)[..., 0]
    gray16[:, ::2] //= 200
    small = picture(13, 19, 3, 11)
    files = {
        "rgb.png": saved(rgb, "PNG"),
        "tall.png": saved(tall, "PNG"),
        "gray.png": saved(gray, "PNG"),
        "gray1.png": saved(gray.convert("1"), "PNG"),
        "gray2.png": png(20, 7, 2, 0, picture(7, 5, 1, 13)[..., 0]),
        "gray4.png": png(17, 9, 4, 0, picture(9, 9, 1, 4)[..., 0]),
        "gray_alpha.png": saved(Image.fromarray(picture(20, 31, 2, 5), "LA"), "PNG"),
        "rgba.png": saved(Image.fromarray(picture(20, 31, 4, 6)), "PNG"),
        "palette.png": saved(rgb.quantize(40), "PNG"),
        "palette4_transparent.png": saved(tall.quantize(11), "PNG", transparency=3, bits=4),
        "palette_short.png": png(5, 1, 8, 3, [b"\0\1\2\3\xc8"], extra=chunk(b"PLTE", bytes(range(50, 56)))),
        "transparent_color.png": png(19, 13, 8, 2, [row.tobytes() for row in small],
                                     extra=chunk(b"tRNS", bytes([0, small[3, 3, 0], 0, small[3, 3, 1], 0, small[3, 3, 2]]))),
        "interlaced.png": png(19, 13, 8, 2, adam7_rows(small), interlace=1),
        "interlaced_thin.png": png(1, 5, 8, 0, adam7_rows(picture(5, 1, 1, 12)[..., 0]), interlace=1),
        "rgb16.png": png(17, 12, 16, 2, big_endian_rows(rgb16)),
        "rgb16_interlaced.png": png(17, 12, 16, 2, adam7_rows(rgb16.astype(">u2")), interlace=1),
        "gray_alpha16.png": png(17, 12, 16, 4, big_endian_rows(rgba16[..., :2])),
        "palette_interlaced.png": png(19, 13, 8, 3, adam7_rows(small[..., 0]), interlace=1,
                                      extra=chunk(b"PLTE", picture(16, 16, 3, 14).tobytes()) + chunk(b"tRNS", bytes(9))),
        "rgba16.png": png(17, 12, 16, 6, big_endian_rows(rgba16)),
        "gray16.png": png(17, 12, 16, 0, big_endian_rows(gray16)),
        "baseline420.jpg": saved(rgb, "JPEG", quality=90),
        "baseline444.jpg": saved(rgb, "JPEG", quality=90, subsampling=0),
        "baseline422.jpg": saved(rgb, "JPEG", quality=75, subsampling=1, restart_marker_blocks=3),
        "baseline440.jpg": cjpeg(rgb, "-quality", "90", "-sample", "1x2"),
        "baseline411.jpg": cjpeg(rgb, "-quality", "90", "-sample", "4x1"),
        "progressive444.jpg": saved(rgb, "JPEG", quality=95, subsampling=0, progressive=True),
        "progressive_gray.jpg": saved(gray, "JPEG", quality=60, progressive=True),
        "rgb.jpg": saved(rgb, "JPEG", quality=90, keep_rgb=True),
        "progressive.jpg": saved(tall, "JPEG", quality=85, progressive=True),
        "gray.jpg": saved(gray, "JPEG", quality=90),
        "oriented.jpg": saved(tall, "JPEG", quality=90, exif=exif),
    }
    return files


HALF = [0.5, 0.5, 0.5]
IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
VIT = {"image_processor_type": "ViTImageProcessor", "do_resize": True, "do_rescale": True, "do_normalize": True,
       "rescale_factor": 0.00392156862745098, "image_mean": HALF, "image_std": HALF, "resample": 2}
DINO = {"image_processor_type": "BitImageProcessor", "crop_size": {"height": 28, "width": 28}, "do_center_crop": True,
        "do_convert_rgb": True, "resample": 3, "size": {"shortest_edge": 32}, **IMAGENET}

# name, picture, preprocessor_config.json, config.json, stride
CASES: list[tuple[str, str, dict[str, Any], dict[str, Any], int]] = [
    ("vit", "rgb.png", {**VIT, "size": {"height": 32, "width": 32}}, {"model_type": "vit"}, 2),
    ("vit_fast_name", "tall.png", {**VIT, "image_processor_type": "ViTImageProcessorFast", "size": {"height": 20, "width": 36}},
     {"model_type": "vit"}, 2),
    ("vit_defaults", "rgb.png", {"image_processor_type": "ViTImageProcessor"}, {"model_type": "vit"}, 16),
    ("vit_legacy", "rgb.png", {"feature_extractor_type": "ViTFeatureExtractor", "do_normalize": True, "do_resize": True,
                               "image_mean": HALF, "image_std": HALF, "resample": 2, "size": 24}, {"model_type": "vit"}, 2),
    ("vit_untyped", "rgb.png", {"do_normalize": True, "do_resize": True, "image_mean": HALF, "image_std": HALF, "size": 24},
     {"model_type": "vit"}, 2),
    ("vit_levels", "tall.png", {**VIT, "do_rescale": False, "do_normalize": False, "size": {"height": 16, "width": 16}},
     {"model_type": "vit"}, 1),
    ("vit_scaled", "tall.png", {**VIT, "do_normalize": False, "size": {"height": 16, "width": 16}}, {"model_type": "vit"}, 1),
    ("vit_unscaled", "tall.png", {**VIT, "do_rescale": False, "size": {"height": 16, "width": 16}}, {"model_type": "vit"}, 1),
    ("vit_lanczos", "rgb.png", {**VIT, "resample": 1, "size": {"height": 18, "width": 18}}, {"model_type": "vit"}, 1),
    ("vit_nearest", "rgb.png", {**VIT, "resample": 0, "size": {"height": 18, "width": 18}}, {"model_type": "vit"}, 1),
    ("vit_box", "rgb.png", {**VIT, "resample": 4, "size": {"height": 18, "width": 18}}, {"model_type": "vit"}, 1),
    ("vit_no_resize", "rgba.png", {**VIT, "do_convert_rgb": True, "do_resize": False}, {"model_type": "vit"}, 2),
    ("vit_gray", "gray.png", {**VIT, "image_mean": [0.1307], "image_std": [0.3081], "size": {"height": 28, "width": 28}},
     {"model_type": "vit", "num_channels": 1}, 1),
    ("vit_gray_of_color", "rgb.png", {**VIT, "image_mean": 0.25, "image_std": 0.5, "size": {"height": 20, "width": 20}},
     {"model_type": "vit", "num_channels": 1}, 1),
    ("deit_defaults", "tall.png", {"image_processor_type": "DeiTImageProcessor"}, {"model_type": "deit"}, 16),
    ("deit_legacy", "rgb.png", {"feature_extractor_type": "DeiTFeatureExtractor", "crop_size": 24, "do_center_crop": True,
                                "do_normalize": True, "do_resize": True, "resample": 3, "size": 33, **IMAGENET},
     {"model_type": "deit"}, 1),
    ("clip_defaults", "tall.png", {"image_processor_type": "CLIPImageProcessor"}, {"model_type": "clip"}, 16),
    ("clip_legacy", "rgb.png", {"crop_size": 30, "do_center_crop": True, "do_normalize": True, "do_resize": True,
                                "feature_extractor_type": "CLIPFeatureExtractor", "resample": 3, "size": 30},
     {"model_type": "clip"}, 1),
    ("clip_odd", "tall.png", {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 31},
                              "crop_size": {"height": 28, "width": 30}}, {"model_type": "clip"}, 1),
    ("clip_padded", "tall.png", {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 15},
                                 "crop_size": {"height": 20, "width": 20}}, {"model_type": "clip"}, 1),
    ("clip_padded_both", "rgb.png", {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 11},
                                     "crop_size": 22}, {"model_type": "clip"}, 1),
    ("clip_palette", "palette.png", {"image_processor_type": "CLIPImageProcessor", "size": 20, "crop_size": 20},
     {"model_type": "clip"}, 1),
    ("dinov2", "rgb.png", DINO, {"model_type": "dinov2"}, 1),
    ("dinov2_jpeg", "progressive.jpg", DINO, {"model_type": "dinov2"}, 1),
    ("dinov2_oriented", "oriented.jpg", DINO, {"model_type": "dinov2"}, 2),
    ("dinov2_untyped", "tall.png", {k: v for k, v in DINO.items() if k != "image_processor_type"},
     {"model_type": "dinov2"}, 1),
]


def timm_config(**keys):
    return {"architecture": "vit_tiny_patch16_224", "pretrained_cfg": {"tag": "x", **keys}}


TIMM_CASES = [
    ("timm", "rgb.png", timm_config(input_size=[3, 32, 32], fixed_input_size=True, interpolation="bicubic", crop_pct=0.9,
                                    crop_mode="center", mean=HALF, std=HALF), 1),
    ("timm_odd", "tall.png", timm_config(input_size=[3, 25, 25], interpolation="bilinear", crop_pct=0.95), 1),
    ("timm_defaults", "rgb.png", timm_config(input_size=[3, 24, 24]), 1),
    ("timm_bare", "rgb.png", timm_config(), 16),
    ("timm_squash", "tall.png", timm_config(input_size=[3, 22, 22], crop_pct=1.0, crop_mode="squash"), 1),
    ("timm_oblong", "tall.png", timm_config(input_size=[3, 20, 31], crop_pct=0.9), 1),
    ("timm_padded", "tall.png", timm_config(input_size=[3, 20, 20], crop_pct=1.2), 1),
]


def opened(name, channels=3):
    return Image.open(FOLDER / name).convert("RGB" if channels == 3 else "L")


def run_processor(image, preprocessor, config, backend):
    with tempfile.TemporaryDirectory() as folder:
        for file, content in [("preprocessor_config.json", preprocessor), ("config.json", config)]:
            (pathlib.Path(folder) / file).write_text(json.dumps(content))
        processor = AutoImageProcessor.from_pretrained(folder, backend=backend)
    return type(processor).__name__, np.asarray(processor(image, return_tensors="np")["pixel_values"])[0]


def fast_distance(image, preprocessor, config, values):
    try:
        name, fast = run_processor(image, preprocessor, config, "torchvision")
    except Exception as error:
        return f"torchvision refuses: {str(error)[:60]}"
    if fast.shape != values.shape:
        return f"{name} gives {fast.shape}"
    std = np.asarray(preprocessor.get("image_std", 0.27)).reshape(-1, 1, 1)
    unit = std if preprocessor.get("do_normalize", True) else 1
    levels = np.abs(fast.astype(float) - values) * unit * (255 if preprocessor.get("do_rescale", True) else 1)
    return f"{name} differs by at most {levels.max():.2f} levels"


def main():
    FOLDER.mkdir(exist_ok=True)
    arrays = {}
    for name, data in pictures().items():
        (FOLDER / name).write_bytes(data)
        arrays[f"decoded/{name}"] = np.array(opened(name))
        arrays[f"gray/{name}"] = np.array(opened(name, 1))
    for name in ["rgb.png", "gray.png"]:
        for label, code in FILTERS.items():
            for height, width in [(16, 23), (53, 24), (45, 20), (1, 1), (3, 61)]:
                channels = 1 if name == "gray.png" else 3
                resized = opened(name, channels).resize((width, height), resample=code)
                arrays[f"resized/{name}/{label}/{height}x{width}"] = np.array(resized)

    cases = []

    def add(name, picture_name, files, values, stride):
        arrays[f"case/{name}"] = np.ascontiguousarray(values[:, ::stride, ::stride], dtype=np.float32)
        cases.append({"name": name, "image": picture_name, "stride": stride, "shape": list(values.shape), **files})

    for name, picture_name, preprocessor, config, stride in CASES:
        image = opened(picture_name, config.get("num_channels", 3))
        used, values = run_processor(image, preprocessor, config, "pil")
        add(name, picture_name, {"preprocessor": preprocessor, "config": config}, values, stride)
        print(f"{name}: {used} {values.shape}; {fast_distance(image, preprocessor, config, values)}")
    for name, picture_name, config, stride in TIMM_CASES:
        data = timm.data.resolve_data_config(pretrained_cfg=config["pretrained_cfg"])
        values = timm.data.create_transform(**data, is_training=False)(opened(picture_name)).numpy()
        add(name, picture_name, {"config": config}, values, stride)
        print(f"{name}: {values.shape}")

    np.savez_compressed(FOLDER / "expected.npz", **arrays)  # type: ignore[arg-type]  # NumPy's allow_pickle
    (FOLDER / "cases.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
    print(sum(f.stat().st_size for f in FOLDER.iterdir()), "bytes")


if __name__ == "__main__":
    torch.manual_seed(SEED)
    main()
