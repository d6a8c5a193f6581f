"""How often does the rule of `compare` claim a difference between inputs of one kind? (compare.py draws them)"""

from __future__ import annotations

import importlib

import numpy as np
from harness import Row

ORDER = 9

KINDS = ("normal", "heavy (t, 2 df)", "skewed (log-normal)", "two values")
SIZES = ((2, 12), (4, 4), (12, 12))


def run(short: bool) -> list[Row]:
    try:
        compare = importlib.import_module("compare")
    except ModuleNotFoundError as missing:
        return [Row("made-up features", "comparisons with a false claim", skipped=str(missing))]
    rows = []
    trials = 60 if short else 400
    for kind in KINDS[-2:] if short else KINDS:
        for n, m in SIZES[1:2] if short else SIZES:
            random = np.random.default_rng([n, m, KINDS.index(kind)])
            found, _ = compare.false_claims(
                lambda count, kind=kind, random=random: compare.made_up(kind, random, count), n, m, trials, random
            )
            most = 0.05 + 3 * np.sqrt(0.05 * 0.95 / trials)  # 5 %, and three standard errors
            rows.append(Row(f"17 features, {kind}, {n} and {m} inputs", "comparisons with a false claim", found, None,
                            round(most, 3), trials))  # fmt: skip
    return rows
