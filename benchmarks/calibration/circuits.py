"""Do trained models keep the circuits that ablation found in them?"""

from __future__ import annotations

import os
from pathlib import Path

from harness import ROOT, Row, column, flag, headscope, scratch, table

ORDER = 4

# Previous-token heads to the keys of induction heads, as ablation found them: models/*/README.md. Edges of SmolLM2 cost
# 1.2 to 3.9 nats when they are cut.
EDGES = {
    "models/induction": [("L0H6", "L1H0"), ("L0H6", "L1H3"), ("L0H6", "L1H7")],
    "models/demo": [(source, target) for source in ("L0H6", "L1H4") for target in ("L2H1", "L2H3", "L2H7")],
    "SmolLM2-135M": [("L16H0", "L17KV1"), ("L16H0", "L18KV2"), ("L17H8", "L18KV2")],
}
# All attention that matters in the vision model is in layers 0 and 1, shared by many heads.
VISION = "models/demo-vit"


def known_edges(name: str, model: Path) -> Row:
    with scratch() as folder:
        options = ["--top", "1000000", "--earlier-only", "--pairs", "OK", "--tokens-for", "none", "--quiet"]
        headscope("relate", model, "-o", folder / "run", *options)
        edges = table(folder / "run/edges.csv")
    beyond = flag(edges, "beyond_chance")
    found = {(edge["source"], edge["target"]) for edge, kept in zip(edges, beyond, strict=True) if kept}
    known = EDGES[name]
    return Row(name, f"of its {len(known)} known OK edges, beyond chance", sum(edge in found for edge in known),
               len(known), None, len(edges))  # fmt: skip


def vision() -> Row:
    with scratch() as folder:
        headscope("relate", ROOT / VISION, "-o", folder / "run", "--earlier-only", "--layers", "0-1", "--quiet")
        everything = [row for row in table(folder / "run/wiring.csv") if row["pair"] == "all"]
    count = int(column(everything, "beyond_chance")[0])
    return Row(VISION, "edges beyond chance between its layers 0 and 1", count, 1, None, int(everything[0]["pairs"]))


def run(short: bool) -> list[Row]:
    rows = [known_edges(name, ROOT / name) for name in ("models/induction", "models/demo")]
    rows.append(vision())
    path = os.environ.get("HEADSCOPE_SMOLLM2")
    if path and not short:
        rows.append(known_edges("SmolLM2-135M", Path(path)))
    elif not short:
        rows.append(Row("SmolLM2-135M", "known OK edges", skipped="HEADSCOPE_SMOLLM2 names no file"))
    return rows
