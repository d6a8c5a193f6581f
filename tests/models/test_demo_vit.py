"""The bundled image model is what its files say. Needs numpy, safetensors and pytest; forward pass and PNG by hand."""

from __future__ import annotations

import json
import math
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

FOLDER = Path(__file__).resolve().parents[2] / "models" / "demo-vit"


def read(name: str) -> dict:
    return json.loads((FOLDER / name).read_text())


@pytest.fixture(scope="module")
def tensors() -> dict[str, np.ndarray]:
    return {name: t.astype(np.float64) for name, t in load_file(FOLDER / "model.safetensors").items()}


def gray_png(path: Path) -> np.ndarray:
    """Levels of an 8-bit gray PNG without interlacing."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IHDR":
            width, height, *rest = struct.unpack(">IIBBBBB", data[at + 8 : at + 8 + size])
            assert rest == [8, 0, 0, 0, 0]
        if kind == b"IDAT":
            packed += data[at + 8 : at + 8 + size]
        at += size + 12
    raw = zlib.decompress(packed)
    image = np.zeros((height + 1, width + 1), dtype=int)  # a black row above and column to the left
    for y in range(height):
        how, *line = raw[y * (width + 1) : (y + 1) * (width + 1)]
        for x, byte in enumerate(line):
            left, up, corner = int(image[y + 1, x]), int(image[y, x + 1]), int(image[y, x])
            nearest = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
            image[y + 1, x + 1] = (byte + (0, left, up, (left + up) // 2, nearest)[how]) % 256
    return image[1:, 1:]


def probabilities(t: dict[str, np.ndarray], config: dict, pixels: np.ndarray) -> np.ndarray:
    """Of the classes, for one image [8, 8] of pixel values."""

    def linear(name: str, x: np.ndarray) -> np.ndarray:
        return x @ t[name + ".weight"].T + t[name + ".bias"]

    def norm(name: str, x: np.ndarray) -> np.ndarray:
        x = x - x.mean(-1, keepdims=True)
        return (
            x / np.sqrt((x**2).mean(-1, keepdims=True) + config["layer_norm_eps"]) * t[name + ".weight"]
            + t[name + ".bias"]
        )

    heads, erf = config["num_attention_heads"], np.vectorize(math.erf)
    patches = pixels.reshape(-1, 1) * t["vit.embeddings.patch_embeddings.projection.weight"].reshape(1, -1)
    patches += t["vit.embeddings.patch_embeddings.projection.bias"]
    x = np.concatenate([t["vit.embeddings.cls_token"][0], patches]) + t["vit.embeddings.position_embeddings"][0]
    for layer in range(config["num_hidden_layers"]):
        block = f"vit.encoder.layer.{layer}."
        y = norm(block + "layernorm_before", x)
        q, k, v = (
            linear(f"{block}attention.attention.{role}", y).reshape(len(x), heads, -1).transpose(1, 0, 2)
            for role in ("query", "key", "value")
        )
        scores = np.exp(q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1]))
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(x.shape)
        x = x + linear(block + "attention.output.dense", mixed)
        hidden = linear(block + "intermediate.dense", norm(block + "layernorm_after", x))
        x = x + linear(block + "output.dense", 0.5 * hidden * (1 + erf(hidden / math.sqrt(2))))
    logits = linear("classifier", norm("vit.layernorm", x)[0])
    share = np.exp(logits - logits.max())
    return share / share.sum()


def test_the_folder_is_small():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 2_000_000


def test_shapes_are_those_of_the_config(tensors):
    config = read("config.json")
    d, patches = config["hidden_size"], (config["image_size"] // config["patch_size"]) ** 2
    assert tensors["vit.embeddings.position_embeddings"].shape == (1, patches + 1, d)
    assert tensors["vit.embeddings.patch_embeddings.projection.weight"].shape == (d, config["num_channels"], 1, 1)
    assert tensors["classifier.weight"].shape == (len(config["id2label"]), d) == (10, d)
    for layer in range(config["num_hidden_layers"]):
        for role in ("query", "key", "value"):
            assert tensors[f"vit.encoder.layer.{layer}.attention.attention.{role}.weight"].shape == (d, d)


def test_behavior_names_every_head_and_layer_once():
    config, behavior = read("config.json"), read("behavior.json")
    layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    assert [(row["layer"], row["head"]) for row in behavior["heads"]] == [
        (a, b) for a in range(layers) for b in range(heads)
    ]
    assert [row["layer"] for row in behavior["layers"]] == list(range(layers))


def test_accuracies_are_counts_of_images():
    behavior = read("behavior.json")
    images, accuracy = behavior["test"]["images"], behavior["test"]["accuracy"]
    assert accuracy > 0.98
    for drop in [0, *(row["accuracy_drop"] for row in behavior["heads"] + behavior["layers"])]:
        right = (accuracy - drop) * images
        assert 0 <= right <= images + 0.01 and right == pytest.approx(round(right), abs=0.01)


def test_samples_are_read_as_samples_json_says(tensors):
    config, processor = read("config.json"), read("preprocessor_config.json")
    size = {"height": config["image_size"], "width": config["image_size"]}
    assert processor["size"] == size and processor["image_processor_type"] == "ViTImageProcessor"
    samples = read("samples.json")["samples"]
    assert len(samples) == 12 == len(list((FOLDER / "samples").glob("*.png")))
    for sample in samples:
        levels = gray_png(FOLDER / sample["file"])
        assert levels.shape == (size["height"], size["width"])  # so that resizing changes nothing
        pixels = (levels * processor["rescale_factor"] - processor["image_mean"][0]) / processor["image_std"][0]
        share = probabilities(tensors, config, pixels)
        assert share.argmax() == sample["predicted"]
        assert share.max() == pytest.approx(sample["probability"], abs=2e-4)
