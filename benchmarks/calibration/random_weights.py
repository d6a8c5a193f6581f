"""Is nothing claimed of random weights of the shapes that people use?"""

from __future__ import annotations

import json
from pathlib import Path

from harness import MissingColumnError, Row, column, flag, headscope, random_model, scratch, table

ORDER = 3

# What relate does not look at is small.
SMALL = ("--d-mlp", "16", "--vocab", "64", "--dtype", "F32")
SMOLLM2 = ("--family", "llama", "--layers", "30", "--d-model", "576", "--heads", "9", "--kv-heads", "3")
FULL = {
    "GPT-2 small": ("--preset", "gpt2-small", *SMALL),
    "LLaMA, SmolLM2-135M's": (*SMOLLM2, *SMALL),
    "LLaMA, 4 layers of 3.2-1B's": ("--preset", "llama-3.2-1b", "--layers", "4", *SMALL),
    "ViT-base": ("--preset", "vit-base", "--d-mlp", "16", "--classes", "4"),
}
FIGURES = {
    "edges": "seeds without an edge beyond chance",
    "headline": "seeds whose headline says so",
    "hubs": "seeds without a significant hub",
}
SHORT = {
    "3 layers of GPT-2 small's": (*FULL["GPT-2 small"], "--layers", "3"),
    "4 layers of SmolLM2-135M's": (*FULL["LLaMA, SmolLM2-135M's"], "--layers", "4"),
    "3 layers of ViT-base": (*FULL["ViT-base"], "--layers", "3"),
}


def claims(model: Path, run: Path) -> dict[str, bool]:
    """What a run on that model claims: edges beyond chance, a headline other than none, significant hubs."""
    printed = headscope("relate", model, "-o", run, "--earlier-only", "--tokens-for", "none", "--quiet")
    wiring = table(run / "wiring.csv")
    everything = [row for row in wiring if row["pair"] == "all"]
    verdict = json.loads((run / "manifest.json").read_text())["commands"]["relate"].get("verdict")
    if not verdict:
        raise MissingColumnError("no verdict in manifest.json")
    silent = all("no wiring beyond chance" in text.lower() for text in (verdict[0], printed.splitlines()[0]))
    hubs = table(run / "hubs.csv")
    return {
        "edges": bool(column(everything, "beyond_chance")[0] > 0),
        "headline": not silent,
        "hubs": bool(hubs) and bool(flag(hubs, "significant").any()),
    }


def run(short: bool) -> list[Row]:
    rows = []
    seeds = 3 if short else 20
    for name, words in (SHORT if short else FULL).items():
        found = []
        for seed in range(seeds):
            with scratch() as folder:
                found.append(claims(random_model(folder / "model", *words, "--seed", str(seed)), folder / "run"))
        for what, figure in FIGURES.items():
            rows.append(Row(name, figure, sum(not claim[what] for claim in found), seeds - 1, None, seeds))
    return rows
