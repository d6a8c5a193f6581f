"""Which edges are the strongest, and which heads are hubs?"""

from __future__ import annotations

from harness import table
from real_runs import MODELS, related, told

from report import markdown_table

ORDER = 2
SHOWN = 3


def edge(row: dict) -> str:
    return f"{row['source']} > {row['target']} ({row['score']:.1f}, z {row['z_matched']:.0f})"


def strongest(edges: list[dict], pair: str, key: str) -> str:
    kept = [row for row in edges if row["pair"] == pair and row["beyond_chance"]]
    return "; ".join(edge(row) for row in sorted(kept, key=lambda row: -row[key])[:SHOWN])


def run() -> str:
    rows = []
    for name, title in MODELS.items():
        edges = related(name)[1]["edges"]
        for pair in ("OQ", "OK", "OV"):
            cells = [strongest(edges, pair, key) for key in ("score", "z_matched")]
            rows.append([title, pair, cells[0], cells[1] if cells[1] != cells[0] else "the same"])
    hubs = []
    for name, title in MODELS.items():
        ranked = table(related(name)[0] / "hubs.csv")
        significant = [row for row in ranked if row["significant"] == "yes"]
        first = "; ".join(f"{row['head']} ({row['reason']})" for row in significant[:SHOWN])
        hubs.append([title, f"{len(significant)} of {len(ranked)}", first or "none"])
    return "\n\n".join([
        "By the projection kernel itself, and by its z under the matched null, which takes the ranks of the two "
        "heads into account:",
        markdown_table(["model", "pair", "strongest by pk", "strongest of the kept 20 by z"], rows),
        "Hubs: heads whose edges sum to more than with z permuted within blocks of layers, corrected for the number "
        "of heads.",
        markdown_table(["model", "hubs", "the first ones, and what their kept edges say"], hubs),
        f"`{told('relate', '-o RUN', model='smollm2')}`: edges.csv, hubs.csv.",
    ])  # fmt: skip
