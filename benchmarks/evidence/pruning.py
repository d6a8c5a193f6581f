"""Which heads can be removed?"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from harness import headscope, table
from real_runs import RUNS, model_path, told
from texts import MORE_PROSE, PROSE

from report import markdown_table

ORDER = 7
MODEL = "smollm2"
CRITERIA = "variation,energy,information,redundancy,pk,norm,random"
CHOOSE_ON = 6
WORDS = ["--lines", "--choose-on", str(CHOOSE_ON), "--criteria", CRITERIA, "--fraction", "0.5", "--points", "5",
         "--seeds", "20", "--orders", "0", "--write", "none"]  # fmt: skip
SHARES = (0.1, 0.3, 0.5)


def pruned() -> dict[str, Path]:
    """Runs of prune with heads replaced by their mean (if the files of the model can hold it), and by zero."""
    RUNS.mkdir(parents=True, exist_ok=True)
    texts = RUNS / "prune.txt"
    texts.write_text("\n".join([*PROSE, *MORE_PROSE]) + "\n")
    runs = {}
    for title, replace in (("their mean", "mean"), ("zeros", "zero")):
        runs[title] = RUNS / f"prune-{replace}"
        words = [*WORDS, "--replace", replace, "-o", runs[title], "--force", "--quiet"]
        headscope("prune", model_path(MODEL), "--text-file", texts, *words)
    return runs


def damages(run: Path) -> dict[str, dict[int, list[float]]]:
    """Per criterion and number of removed heads the rise of the loss, one per order."""
    before: dict[tuple[str, str], float] = {}
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in table(run / "curve.csv"):
        order = row["criterion"], row["seed"]
        before.setdefault(order, float(row["loss"]))
        found[row["criterion"]][int(row["removed"])].append(float(row["loss"]) - before[order])
    return found


def rows_of(replace: str, run: Path) -> list[list[str]]:
    rows = []
    for criterion, curve in damages(run).items():
        heads = max(curve) * 2
        cells = []
        for share in SHARES:
            values = curve[min(curve, key=lambda count: abs(count - share * heads))]
            cells.append(f"{values[0]:+.3f}" if len(values) == 1 else f"{min(values):+.3f} to {max(values):+.3f}")
        rows.append([replace, f"`{criterion}`" if criterion != "random" else "20 random orders", *cells])
    return rows


def section(runs: dict[str, Path]) -> str:
    rows = [row for replace, run in runs.items() for row in rows_of(replace, run)]
    count = len(PROSE) + len(MORE_PROSE)
    return "\n\n".join([
        f"SmolLM2-135M, {count} short texts: {CHOOSE_ON} to choose heads, {count - CHOOSE_ON} others to measure. "
        f"Rise of the mean loss in nats:",
        markdown_table(["removed heads write", "criterion", *(f"{share:.0%} of 270 heads" for share in SHARES)], rows),
        f"`{told('prune', '--text-file TEXTS', *WORDS, '--replace mean -o RUN', model=MODEL)}`",
    ])  # fmt: skip


def run() -> str:
    return section(pruned())
