"""How many pairs of heads are beyond chance, and how many stand out?"""

from __future__ import annotations

import json

from harness import headscope, random_model, scratch
from real_runs import MODELS, related, told

from report import markdown_table

ORDER = 1
# Random weights of the same shapes: normal, nothing learned. (family, layers, width, heads, KV heads)
SHAPES = {
    "smollm2": ("llama", 30, 576, 9, 3),
    "minilm": ("bert", 6, 384, 12, 12),
    "rxnfp": ("bert", 12, 256, 4, 4),
    "antiberty": ("bert", 8, 512, 8, 8),
}


def random_wiring(name: str) -> dict:
    family, layers, width, heads, kv_heads = SHAPES[name]
    words = ["--family", family, "--layers", layers, "--d-model", width, "--heads", heads]
    words += ["--kv-heads", kv_heads] if kv_heads != heads else []
    with scratch() as folder:
        model = random_model(folder / "model", *map(str, words))
        output = headscope("relate", model, "-o", folder / "run", "--quiet", "--json", "--tokens-for", "none")
    return next(row for row in json.loads(output)["wiring"] if row["pair"] == "all")


def cell(row: dict) -> str:
    return f"{row['beyond_chance']:,} of {row['pairs']:,} ({row['stands_out']})"


def run() -> str:
    rows = []
    for name, title in MODELS.items():
        wiring = {row["pair"]: row for row in related(name)[1]["wiring"]}
        chance = random_wiring(name)
        rows.append([title, *(cell(wiring[pair]) for pair in ("OQ", "OK", "OV", "all")), cell(chance)])
    header = ["model", "OQ", "OK", "OV", "all", "random weights of the same shape"]
    return "\n\n".join([
        "Pairs beyond chance, of all pairs of an earlier and a later head; in parentheses how many of them stand out "
        "among the pairs of "
        "their roles and layer distance. The last column is the same for random weights.",
        markdown_table(header, rows),
        f"`{told('relate', '-o RUN', model='smollm2')}`, and so on; random weights: `tools/make_checkpoint.py`.",
    ])  # fmt: skip
