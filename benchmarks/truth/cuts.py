"""Which metric finds the edges that cost something when they are cut? (`headscope patch`)"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from harness import ROOT, column, headscope, scratch, table
from scoring import auc, spearman

from affinities import METRICS, Affinities, relate_all
from report import Answer, Check, markdown_table

ORDER = 3
QUANTILE = 0.99  # of the controls' |effect|: an edge above it matters
HALF = 32  # tokens before their repetition
ROLES = ("OQ", "OK", "OV")


def has_patch() -> bool:
    """Whether the program has the command. An unknown one gives the help of all."""
    return "--controls" in headscope("patch", "--help")


def smollm2() -> Path | None:
    """The model that `make models` fetched."""
    words = [sys.executable, str(ROOT / "tools/fetch_models.py"), "--path", "smollm2"]
    path = Path(subprocess.check_output(words, text=True).strip())
    return path if path.is_file() else None


def repeated_tokens(path: Path, sequences: int = 4, half: int = HALF, vocabulary: int = 49152, seed: int = 0) -> Path:
    """Random tokens and their repetition, after the token that begins a text: (sequences, 2 * half + 1) ids."""
    draws = np.random.default_rng(seed).integers(100, vocabulary, (sequences, half))
    np.save(path, np.concatenate([np.ones((sequences, 1), int), draws, draws], axis=1).astype(np.int64))
    return path


def scores_of(cut: list[dict[str, str]], found: Affinities) -> dict[str, np.ndarray]:
    """Every metric of the edges that were cut; `screen` is the local effect that patch gives."""
    ends = [(row["source"], row["target"]) for row in cut]
    scores = {metric: np.array([found.score(metric, *pair) for pair in ends]) for metric in found.arrays}
    scores["z of pk"] = column(cut, "z")
    scores["screen"] = np.abs(column(cut, "local"))
    return scores


def judge(cut: list[dict[str, str]], found: Affinities) -> tuple[dict[str, tuple[float, float]], int, float]:
    """For every metric, AUC for |effect| above the controls' quantile, and Spearman's correlation with |effect|; the
    number of edges above it; and the quantile itself."""
    effect = np.abs(column(cut, "effect"))
    control = column(cut, "kind", str) == "control"
    level = float(np.quantile(effect[control], QUANTILE))
    matters = effect > level
    return (
        {
            name: (auc(values, matters), spearman(values, effect))
            for name, values in scores_of(cut, found).items()
            if np.isfinite(values).all()
        },
        int(matters.sum()),
        level,
    )


def judge_run(patched: Path, related: Path, metrics: list[str] = METRICS) -> tuple[str, dict[str, float]]:
    """The table of one run of patch, and the AUC of pk and of the screen per role."""
    edges = table(patched / "patch.csv")
    columns: dict[str, dict[str, tuple[float, float]]] = {}
    header: list[str] = ["metric"]
    said: dict[str, float] = {}
    for role in ROLES:
        # Edges that the screen chose are left out: a metric is judged on what the kernel chose, and random edges.
        cut = [row for row in edges if row["pair"] == role and row["sample"] == "top"]
        if not cut:
            continue
        columns[role], count, level = judge(cut, Affinities(related, role, metrics))
        header.append(f"{role}: {count} of {len(cut)} above {level:.2g} nats")
        said |= {f"{name} {role}": columns[role][name][0] for name in ("pk", "screen") if name in columns[role]}
    names = list(dict.fromkeys(name for one in columns.values() for name in one))
    rows = [
        [f"`{name}`" if name in metrics else name,
         *(f"{one[name][0]:.2f} ({one[name][1]:+.2f})" if name in one else "" for one in columns.values())]
        for name in names
    ]  # fmt: skip
    return markdown_table(header, rows), said


def run(short: bool) -> Answer:
    model = smollm2()
    if short or model is None or not has_patch():
        reason = "run `make models` first" if model is None else "this program has no command `patch`"
        return Answer(f"Not measured: {'the short run leaves it out' if short else reason}.")
    with scratch() as folder:
        ids = repeated_tokens(folder / "ids.npy")
        words = ["--ids", ids, "--loss-from", "32", "--top", "20", "--controls", "20", "--quiet"]
        headscope("patch", model, "-o", folder / "cuts", *words)
        relate_all(model, folder / "run", ",".join(ROLES))
        text, said = judge_run(folder / "cuts", folder / "run")
    about = (
        "SmolLM2-135M, 4 x 65 tokens (32 random tokens and their repetition), effect on the repetition's loss; the 20 "
        "closest edges by `pk` and two random edges between the same layers for each. Area under the ROC "
        "curve for an |effect| above the 99 % quantile of the random controls, in parentheses Spearman's correlation "
        "with |effect|:"
    )
    checks = [
        Check(f"AUC of {name}", value, low=0.95 if name.startswith("screen") else 0.65) for name, value in said.items()
    ]
    return Answer(f"{about}\n\n{text}", checks)
