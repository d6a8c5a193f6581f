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
ROLES = ("OQ", "OK", "OV")
WORDS = ["--loss-from", "32", "--top", "20", "--controls", "2"]


def has_patch() -> bool:
    """Whether the program has the command. An unknown one gives the help of all."""
    return "--controls" in headscope("patch", "--help")


def smollm2() -> Path | None:
    """The model that `make models` fetched."""
    words = [sys.executable, str(ROOT / "tools/fetch_models.py"), "--path", "smollm2"]
    path = Path(subprocess.check_output(words, text=True).strip())
    return path if path.is_file() else None


def repeated_tokens(path: Path, sequences: int = 4, half: int = 32, vocabulary: int = 49152, seed: int = 0) -> Path:
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


def judge(cut: list[dict[str, str]], found: Affinities, level: float) -> tuple[dict[str, tuple[float, float]], int]:
    """For every metric, AUC for an |effect| above the level, and Spearman's correlation with |effect|; and the "
    "number of
    edges above it."""
    effect = np.abs(column(cut, "effect"))
    matters = effect > level
    judged = {
        name: (auc(values, matters), spearman(values, effect))
        for name, values in scores_of(cut, found).items()
        if np.isfinite(values).all()
    }
    return judged, int(matters.sum())


def judge_run(
    patched: Path, related: Path, sample: str = "", metrics: list[str] = METRICS
) -> tuple[str, dict[str, float]]:
    """The table of one run of patch: all edges that were cut, or one sample with its own controls. Also the AUC of "
    "pk, of
    its z and of the screen per role."""
    edges = table(patched / "patch.csv")
    columns: dict[str, dict[str, tuple[float, float]]] = {}
    header: list[str] = ["metric"]
    said: dict[str, float] = {}
    for role in ROLES:
        of_role = [row for row in edges if row["pair"] == role]
        if not of_role:
            continue
        controls = [row for row in of_role if row["kind"] == "control"]
        level = float(np.quantile(np.abs(column(controls, "effect")), QUANTILE))
        cut = [row for row in of_role if not sample or row["sample"] == sample]
        columns[role], count = judge(cut, Affinities(related, role, metrics), level)
        header.append(f"{role}: {count} of {len(cut)} above {level:.2g} nats")
        shown = [name for name in ("pk", "z of pk", "screen") if name in columns[role]]
        said |= {f"{name} {role}": columns[role][name][0] for name in shown}
    names = list(dict.fromkeys(name for one in columns.values() for name in one))
    rows = [
        [f"`{name}`" if name in metrics else name,
         *(f"{one[name][0]:.2f} ({one[name][1]:+.2f})" if name in one else "" for one in columns.values())]
        for name in names
    ]  # fmt: skip
    return markdown_table(header, rows), said


def answer(patched: Path, related: Path) -> Answer:
    """What the page says of a run: the edges chosen by pk with their controls, and everything that was cut."""
    top, said = judge_run(patched, related, "top")
    everything, _ = judge_run(patched, related)
    text = "\n\n".join([
        "SmolLM2-135M, 4 x 65 tokens (32 random tokens and their repetition), effect on the repetition's loss. Area "
        "under "
        "the ROC curve for an |effect| above the 99 % quantile of the random controls, in parentheses Spearman's "
        "correlation with |effect|. First the 20 strongest edges by `pk` of every role and their controls, random "
        "edges "
        "between the same layers:",
        top,
        "Now with the edges that the screen chose, and their controls. The screen finds edges that weights alone do "
        "not "
        "show, so every metric of weights does worse:",
        everything,
        f"`headscope patch $smollm2 --ids IDS.npy {' '.join(WORDS)} -o RUN`, then relate with every metric.",
    ])  # fmt: skip
    checks = [
        Check(f"AUC of {name}", value, low=0.95 if name.startswith("screen") else 0.65) for name, value in said.items()
    ]
    return Answer(text, checks)


def run(short: bool) -> Answer:
    model = smollm2()
    if short or model is None or not has_patch():
        reason = "run `make models` first" if model is None else "this program has no command `patch`"
        return Answer(f"Not measured: {'the short run leaves it out' if short else reason}.")
    with scratch() as folder:
        ids = repeated_tokens(folder / "ids.npy")
        headscope("patch", model, "-o", folder / "cuts", "--ids", ids, *WORDS, "--quiet")
        relate_all(model, folder / "run", ",".join(ROLES))
        return answer(folder / "cuts", folder / "run")
