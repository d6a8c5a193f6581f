"""Are the p-values of token profiles uniform, and are few tokens named where none is close?"""

from __future__ import annotations

import numpy as np
from harness import Row, column, headscope, random_model, scratch, table

ORDER = 7

TOKENS = 2000


def run(short: bool) -> list[Row]:
    shares, profiles, false = [], 0, 0
    for seed in range(1 if short else 8):
        with scratch() as folder:
            words = ["--family", "llama", "--layers", "2", "--d-model", "64", "--heads", "4", "--head-dim", "16"]
            model = random_model(folder / "model", *words, "--vocab", str(TOKENS), "--seed", str(seed))
            (model / "vocab.txt").write_text("".join(f"token{i}\n" for i in range(TOKENS)))
            options = ["--tokens-for", "all", "--tokens", str(TOKENS), "--null", "isotropic", "--quiet"]
            headscope("relate", model, "-o", folder / "run", *options)
            rows = table(folder / "run/tokens.csv")
        p, q = 10.0 ** column(rows, "log10_p"), column(rows, "q")
        shares.append(p < 0.05)
        names = np.char.add(column(rows, "head", str), column(rows, "role", str))
        for name in np.unique(names):
            profiles += 1
            false += bool(np.any(q[names == name] < 0.05))
    values = np.concatenate(shares)
    case, most = "random weights, d64 h16", 0.25 if short else 0.1
    return [
        Row(case, "P(p < .05)", float(np.mean(values)), 0.04, 0.07, len(values)),
        Row(case, "profiles with any q < .05", false / profiles, None, most, profiles),
    ]
