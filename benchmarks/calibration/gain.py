"""Is the gain of organizing maps of random weights 1, against maps with the same mask and row values?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from harness import Row, column, headscope, random_model, scratch, table

ORDER = 5

LANGUAGE = ("--vocab", "500", "--dtype", "F32")
SMOLLM2 = ("--family", "llama", "--d-model", "576", "--heads", "9", "--kv-heads", "3", "--d-mlp", "1536")
MODELS = {
    "GPT-2 small": ("--preset", "gpt2-small", *LANGUAGE),
    "LLaMA, SmolLM2-135M's": (*SMOLLM2, *LANGUAGE),
    "ViT-base": ("--preset", "vit-base", "--image", "128", "--classes", "4"),
}


def write_input(name: str, path: Path, tokens: int, seed: int) -> list[str | Path]:
    """A random input, and the option that names it."""
    random = np.random.default_rng(seed)
    if name.startswith("ViT"):
        np.save(path, random.standard_normal((3, 128, 128)).astype(np.float32))
        return ["--pixels", path]
    np.save(path, random.integers(0, 500, tokens))
    return ["--ids", path]


def gains(name: str, words: tuple[str, ...], layers: int, tokens: int, seed: int) -> np.ndarray:
    """The gain of every head of a model with random weights on a random input."""
    with scratch() as folder:
        model = random_model(folder / "model", *words, "--layers", str(layers), "--seed", str(seed))
        source = write_input(name, folder / "input.npy", tokens, seed)
        headscope("capture", model, "-o", folder / "run", "--what", "pattern", "--no-output", "--quiet", *source)
        headscope("organize", folder / "run", "-o", folder / "run", "--quiet")
        rows = [row for row in table(folder / "run/sparsity.csv") if row["name"] != "network"]
        column(rows, "control_l1")  # without it, gain compares with shuffled trees
        return column(rows, "gain")


def run(short: bool) -> list[Row]:
    rows = []
    layers, tokens, seeds = (2, 32, 1) if short else (4, 64, 5)
    for name, words in MODELS.items():
        if short and name != "GPT-2 small":
            continue
        found = np.concatenate([gains(name, words, layers, tokens, seed) for seed in range(seeds)])
        within = float(np.mean((found >= 0.95) & (found <= 1.05)))
        rows.append(Row(name, "heads with gain 0.95 to 1.05", within, 0.95, None, len(found)))
        rows.append(Row(name, "mean gain", float(np.mean(found)), trials=len(found)))
        rows.append(Row(name, "largest gain", float(np.max(found)), trials=len(found)))
    return rows
