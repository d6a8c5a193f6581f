"""Do heads of low rank keep their rank in every type they may be stored in? (ranks.py plants them)"""

from __future__ import annotations

import importlib

from harness import PROGRAM, Row

ORDER = 8

SHORT = ("BF16", "Q8_0", "Q4_0")


def run(short: bool) -> list[Row]:
    try:
        ranks = importlib.import_module("ranks")
    except ModuleNotFoundError as missing:
        return [Row("planted ranks", "heads with another rank", skipped=str(missing))]
    rows = []
    for kind, (required, _) in ranks.WRITERS.items():
        if short and kind not in SHORT:
            continue
        found = [(planted, rank) for seed in range(1 if short else 2)
                 for planted, each in ranks.count_wrong(str(PROGRAM), kind, seed).items() for rank in each]  # fmt: skip
        wrong = sum(planted != rank for planted, rank in found)
        most = ranks.MOST_WRONG if required else None
        rows.append(Row(kind, "share of heads with another rank", wrong / len(found), None, most, len(found)))
    return rows
