"""Is the gain of organizing maps of random weights 1, and is none claimed?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from harness import Row, column, flag, headscope, random_model, scratch, table

ORDER = 5

LANGUAGE = ("--vocab", "500", "--dtype", "F32")
SMOLLM2 = ("--family", "llama", "--d-model", "576", "--heads", "9", "--kv-heads", "3", "--d-mlp", "1536")
MODELS = {
    "GPT-2 small": ("--preset", "gpt2-small", *LANGUAGE),
    "LLaMA, SmolLM2-135M's": (*SMOLLM2, *LANGUAGE),
    "ViT-base": ("--preset", "vit-base", "--image", "128", "--classes", "4"),
}
CONTROLS = {"gain": "same mask and row values", "gain_keys": "the same, and mean attention to every key"}


def write_input(name: str, path: Path, tokens: int, seed: int) -> list[str | Path]:
    """A random input, and the option that names it."""
    random = np.random.default_rng(seed)
    if name.startswith("ViT"):
        np.save(path, random.standard_normal((3, 128, 128)).astype(np.float32))
        return ["--pixels", path]
    np.save(path, random.integers(0, 500, tokens))
    return ["--ids", path]


def organized(
    name: str, layers: int, tokens: int, seed: int, input_seed: int | None = None, controls: int = 1
) -> list[dict[str, str]]:
    """sparsity.csv of a model with random weights on a random input: the network, then every head."""
    with scratch() as folder:
        model = random_model(folder / "model", *MODELS[name], "--layers", str(layers), "--seed", str(seed))
        source = write_input(name, folder / "input.npy", tokens, seed if input_seed is None else input_seed)
        headscope("capture", model, "-o", folder / "run", "--what", "pattern", "--no-output", "--quiet", *source)
        headscope("organize", folder / "run", "-o", folder / "run", "--quiet", "--controls", str(controls))
        return table(folder / "run/sparsity.csv")


def measure(name: str, layers: int, tokens: int, seeds: int, short: bool) -> list[Row]:
    tables = [organized(name, layers, tokens, seed) for seed in range(seeds)]
    heads = [row for rows in tables for row in rows if row["name"] != "network"]
    networks = [row for rows in tables for row in rows if row["name"] == "network"]
    column(heads, "control_l1")  # without it, gain compares with shuffled trees
    rows = []
    least = None if short else 0.95  # few tokens: the values of single heads scatter
    for gain, control in CONTROLS.items():
        found = column(heads, gain)
        within = float(np.mean((found >= 0.95) & (found <= 1.05)))
        rows.append(Row(name, f"heads with `{gain}` 0.95 to 1.05 ({control})", within, least, None, len(found)))
        rows.append(Row(name, f"mean `{gain}`", float(np.mean(found)), trials=len(found)))
        rows.append(Row(name, f"largest `{gain}`", float(np.max(found)), trials=len(found)))
    claimed = int(np.sum(flag(networks, "gains")))
    rows.append(Row(name, "networks that are said to gain", claimed, None, 0, len(networks)))
    rows.append(Row(name, "heads that are said to gain", float(np.mean(flag(heads, "gains"))), None, 0.05, len(heads)))
    return rows


def other_weights(name: str, layers: int, tokens: int, seeds: int) -> list[Row]:
    """What no control can improve on: another draw of the same random weights, on the same input.

    The gain of a head is the mean l1 of its layer in the other network divided by its own l1. Its spread is that of
    the heads of a random network."""
    tables = [organized(name, layers, tokens, seed, input_seed=seeds, controls=0) for seed in range(seeds)]
    l1 = np.stack([column(rows, "l1")[column(rows, "name", str) != "network"] for rows in tables])
    l1 = l1.reshape(seeds, layers, -1)
    gains = np.concatenate([l1.mean(axis=2, keepdims=True)[other] / l1[own]
                            for own in range(seeds) for other in range(seeds) if own != other], axis=None)
    within = float(np.mean((gains >= 0.95) & (gains <= 1.05)))
    case = f"{name}, over another draw of its weights"
    return [
        Row(case, "heads with a gain of 0.95 to 1.05", within, trials=len(gains)),
        Row(case, "mean gain", float(np.mean(gains)), 0.98, 1.02, len(gains)),
    ]


def exchangeable(heads: int, tokens: int, seeds: int) -> list[Row]:
    """Causal maps whose rows are softmaxes of independent numbers: permuting them changes nothing."""
    found = []
    for seed in range(seeds):
        scores = np.random.default_rng(seed).standard_normal((heads, tokens, tokens))
        weights = np.exp(scores) * np.tri(tokens)
        with scratch() as folder:
            np.save(folder / "maps.npy", (weights / weights.sum(axis=2, keepdims=True)).astype(np.float32))
            headscope("organize", folder / "maps.npy", "--mask", "causal", "-o", folder / "run", "--quiet")
            found += [row for row in table(folder / "run/sparsity.csv") if row["name"] != "network"]
    column(found, "control_l1")
    gains = column(found, "gain")
    within = float(np.mean((gains >= 0.95) & (gains <= 1.05)))
    case = f"random rows, {tokens} tokens"
    return [
        Row(case, "heads with `gain` 0.95 to 1.05", within, 0.95, None, len(gains)),
        Row(case, "mean `gain`", float(np.mean(gains)), 0.98, 1.02, len(gains)),
    ]


def run(short: bool) -> list[Row]:
    layers, tokens, seeds = (2, 32, 1) if short else (4, 64, 5)
    rows = exchangeable(24, 64 if short else 128, 1 if short else 4)
    for name in ("GPT-2 small",) if short else MODELS:
        rows += measure(name, layers, tokens, seeds, short)
        if not short:
            rows += other_weights(name, layers, tokens, seeds)
    return rows
