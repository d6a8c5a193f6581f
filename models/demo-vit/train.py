"""Trains the demo's image model on scikit-learn's digits and measures what its heads are worth.

The result is a plain Hugging Face ViT checkpoint with its preprocessor_config.json, behavior.json (attention statistics
and ablation damage of every head on the test images) and a dozen test images as PNG with samples.json.

Usage: python train.py [--out FOLDER] [--seed N] [--threads N] [--digits FILE.npz]. The file holds `images` and `target`
of scikit-learn's digits, for a machine without scikit-learn. Uses a GPU if there is one; README.md has the times and
the numbers. Made with torch 2.11, transformers 5.17, scikit-learn 1.9.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import time
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # else cuBLAS is not deterministic; read when torch starts

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from PIL import Image
from transformers import ViTConfig, ViTForImageClassification

LAYERS, HEADS, WIDTH, INNER = 4, 6, 96, 192
SIDE, CLASSES = 8, 10
MEAN = STD = 0.5
TEST_SHARE, SPLIT_SEED = 0.2, 0
BATCH, STEPS, WARMUP = 128, 5000, 250
LEARNING_RATE, WEIGHT_DECAY, SMOOTHING = 2e-3, 0.3, 0.1
TURN, SHIFT, STRETCH = math.radians(12), 1.0, 0.12  # of the training images: radians, pixels, share


def load_digits(path: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Levels from 0 to 255, as a PNG stores them, [count, 8, 8]; and the digits."""
    if path is None:
        from sklearn.datasets import load_digits as load

        digits = load()
        images, target = digits.images, digits.target
    else:
        stored = np.load(path)
        images, target = stored["images"], stored["target"]
    return np.rint(images.astype(np.float64) * 255 / 16).astype(np.uint8), target.astype(np.int64)


def split(target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which images train and which test: the same share of every digit, the same images for every --seed."""
    order = np.random.RandomState(SPLIT_SEED).permutation(len(target))
    test = np.concatenate(
        [of[: round(TEST_SHARE * len(of))] for of in (order[target[order] == d] for d in range(CLASSES))]
    )
    return np.setdiff1d(order, test), np.sort(test)


def pixel_values(levels: np.ndarray) -> torch.Tensor:
    """What the image processor makes of the PNG: [count, 1, 8, 8], from -1 to 1."""
    return (torch.from_numpy(levels).float()[:, None] / 255 - MEAN) / STD


def distort(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Every image turned, shifted and stretched a little at random; what comes in from outside is black."""
    count = len(images)

    def around(size: float) -> torch.Tensor:
        return (2 * torch.rand(count, generator=generator) - 1) * size

    angle, wide, high = around(TURN), 1 + around(STRETCH), 1 + around(STRETCH)
    x, y = around(2 * SHIFT / SIDE), around(2 * SHIFT / SIDE)
    rows = [
        torch.stack([angle.cos() * wide, -angle.sin() * wide, x], 1),
        torch.stack([angle.sin() * high, angle.cos() * high, y], 1),
    ]
    grid = F.affine_grid(torch.stack(rows, 1), [count, 1, SIDE, SIDE], align_corners=False).to(images.device)
    return F.grid_sample(images + 1, grid, align_corners=False) - 1


def make_model() -> ViTForImageClassification:
    digits = [str(digit) for digit in range(CLASSES)]
    return ViTForImageClassification(
        ViTConfig(
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            intermediate_size=INNER,
            image_size=SIDE,
            patch_size=1,
            num_channels=1,
            encoder_stride=1,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            id2label=dict(enumerate(digits)),
            label2id={digit: i for i, digit in enumerate(digits)},
            attn_implementation="eager",  # the only one that returns attention patterns
        )
    )


def learning_rate(step: int) -> float:
    return LEARNING_RATE * min(1.0, step / WARMUP) * 0.5 * (1 + math.cos(math.pi * step / STEPS))


def train(model: ViTForImageClassification, images: torch.Tensor, target: torch.Tensor, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    matrices = [p for p in model.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if p.ndim != 2]
    groups = [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98))
    started = time.monotonic()
    recent: list[torch.Tensor] = []
    for step in range(1, STEPS + 1):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        chosen = torch.randint(len(images), (BATCH,), generator=generator).to(images.device)
        logits = model(distort(images[chosen], generator)).logits
        loss = F.cross_entropy(logits, target[chosen], label_smoothing=SMOOTHING)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recent = [*recent[-99:], (logits.argmax(-1) == target[chosen]).float().mean()]
        if step % 500 == 0:
            seconds, accuracy = time.monotonic() - started, torch.stack(recent).mean()
            print(f"step {step} ({seconds:.0f} s), distorted images: accuracy {accuracy:.4f}", flush=True)


@torch.no_grad()
def evaluate(model: ViTForImageClassification, images: torch.Tensor, target: torch.Tensor) -> tuple[float, float]:
    logits = model(images).logits
    return F.cross_entropy(logits.double(), target).item(), (logits.argmax(-1) == target).double().mean().item()


@contextmanager
def without(model: ViTForImageClassification, layer: int, heads: list[int]):
    """Zeroes these heads' outputs before the output projection."""

    def zero_heads(_module, arguments):
        mixed = arguments[0].clone()
        for head in heads:
            mixed[..., head * WIDTH // HEADS : (head + 1) * WIDTH // HEADS] = 0.0
        return (mixed, *arguments[1:])

    hook = model.vit.layers[layer].attention.o_proj.register_forward_pre_hook(zero_heads)
    try:
        yield
    finally:
        hook.remove()


@torch.no_grad()
def attention_statistics(model: ViTForImageClassification, images: torch.Tensor) -> list[dict[str, float]]:
    """Layer-major, means over the images: `identity`, the attention of a patch to itself; `to_cls`, to the class token;
    `distance`, from a patch to where in the image it looks, in patches (uniform: 4.1); `entropy` of a row in nats
    (uniform: ln 65 = 4.17); `cls_to_ink`, the class token's attention to patches not black (their share: `ink`)."""
    place = (
        torch.stack(torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij"), -1).reshape(-1, 2).double()
    )
    far = torch.cdist(place, place).to(images.device)
    ink = (images.reshape(len(images), -1) > -1).double()
    scores = []
    for pattern in model(images, output_attentions=True).attentions:
        pattern = pattern.double()
        patches = pattern[..., 1:, 1:]
        means = {
            "identity": patches.diagonal(0, -2, -1).mean((0, 2)),
            "to_cls": pattern[..., 1:, 0].mean((0, 2)),
            "distance": ((patches * far).sum(-1) / patches.sum(-1)).mean((0, 2)),
            "entropy": -torch.xlogy(pattern, pattern).sum(-1).mean((0, 2)),
            "cls_to_ink": (pattern[..., 0, 1:] * ink[:, None]).sum(-1).mean(0),
        }
        scores += [{name: round(mean[head].item(), 6) for name, mean in means.items()} for head in range(HEADS)]
    return scores


def measure(model: ViTForImageClassification, images: torch.Tensor, target: torch.Tensor) -> dict:
    """On the test images: loss and accuracy, for every head where it looks and what its removal costs, and what the
    removal of all heads of a layer costs."""
    loss, accuracy = evaluate(model, images, target)

    def damage(layer: int, heads: list[int]) -> dict[str, float]:
        with without(model, layer, heads):
            loss_without, accuracy_without = evaluate(model, images, target)
        return {"loss_increase": round(loss_without - loss, 6), "accuracy_drop": round(accuracy - accuracy_without, 6)}

    scores = attention_statistics(model, images)
    everyone = [divmod(i, HEADS) for i in range(LAYERS * HEADS)]
    ink = (images > -1).double().mean().item()
    return {
        "test": {"images": len(target), "loss": round(loss, 6), "accuracy": round(accuracy, 6), "ink": round(ink, 6)},
        "layers": [{"layer": layer} | damage(layer, list(range(HEADS))) for layer in range(LAYERS)],
        "heads": [
            {"layer": layer, "head": head} | scores[layer * HEADS + head] | damage(layer, [head])
            for layer, head in everyone
        ],
    }


def save_samples(
    model: ViTForImageClassification, levels: np.ndarray, target: np.ndarray, test: np.ndarray, out: Path
) -> None:
    """The first test image of every digit that the model reads rightly, and the two of whose digit it is least sure."""
    with torch.no_grad():
        sure = model(pixel_values(levels[test])).logits.softmax(-1).numpy()
    right = sure[np.arange(len(test)), target[test]]
    read = sure.argmax(-1) == target[test]
    chosen = [int(np.flatnonzero(read & (target[test] == digit))[0]) for digit in range(CLASSES)]
    chosen += [int(i) for i in np.argsort(right, kind="stable") if int(i) not in chosen][:2]
    folder = out / "samples"
    folder.mkdir(exist_ok=True)
    rows = []
    for number, i in enumerate(chosen):
        file = (
            f"digit-{target[test][i]}.png" if number < CLASSES else f"hard-{target[test][i]}-{number - CLASSES + 1}.png"
        )
        Image.fromarray(levels[test][i]).save(folder / file)
        rows.append(
            {
                "file": f"samples/{file}",
                "label": int(target[test][i]),
                "predicted": int(sure[i].argmax()),
                "probability": round(float(sure[i].max()), 4),
                "index": int(test[i]),
            }
        )
    write_json(
        out / "samples.json", {"source": "scikit-learn's digits, test part; index counts its images", "samples": rows}
    )


def save(model: ViTForImageClassification, behavior: dict, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(out)
    (out / "model.safetensors").chmod(0o644)  # safetensors leaves it readable by the owner only
    write_json(
        out / "preprocessor_config.json",
        {
            "image_processor_type": "ViTImageProcessor",
            "do_resize": True,
            "size": {"height": SIDE, "width": SIDE},
            "resample": 2,
            "do_rescale": True,
            "rescale_factor": 1 / 255,
            "do_normalize": True,
            "image_mean": [MEAN],
            "image_std": [STD],
            "do_convert_rgb": False,
        },
    )
    write_json(out / "behavior.json", behavior)


def write_json(path: Path, value: dict) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="on the CPU; changes the last bits, so 1 by default")
    parser.add_argument("--digits", type=Path)
    parser.add_argument(
        "--measure", action="store_true", help="measure the model in --out anew instead of training one"
    )
    arguments = parser.parse_args()

    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    levels, target = load_digits(arguments.digits)
    training, test = split(target)
    images, digits = pixel_values(levels), torch.from_numpy(target)
    if arguments.measure:
        model = ViTForImageClassification.from_pretrained(arguments.out, attn_implementation="eager")
        made = json.loads((arguments.out / "behavior.json").read_text())
    else:
        model = make_model().to(device)
        started = time.monotonic()
        train(model, images[training].to(device), digits[training].to(device), arguments.seed + 1000)
        made = {
            "seed": arguments.seed,
            "steps": STEPS,
            "training_images": len(training),
            "training_seconds": round(time.monotonic() - started),
            "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
            "versions": {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "transformers": transformers.__version__,
            },
        }
    model = model.cpu().eval()
    behavior = made | measure(model, images[test], digits[test])
    save(model, behavior, arguments.out)
    save_samples(model, levels, target, test, arguments.out)
    print(behavior["test"])
    for row in behavior["heads"]:
        print("  ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))


if __name__ == "__main__":
    main()
