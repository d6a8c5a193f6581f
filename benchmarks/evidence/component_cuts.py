"""Does an edge to an MLP or to the unembedding matter? It is cut, and the loss is measured."""

from __future__ import annotations

from pathlib import Path

from harness import table
from patching import CASES, patched, random_llama
from real_runs import RUNS, model_path, told

from report import markdown_table

ORDER = 6.5
OPTIONS = "--ids IDS.npy --loss-from 33 --nodes mlp,unembedding --controls 2 -o RUN"


def strongest(cuts: list[dict[str, str]], pair: str) -> str:
    edges = [row for row in cuts if row["pair"] == pair and row["kind"] != "control"]
    best = sorted(edges, key=lambda row: -abs(float(row["effect"])))[:3]
    return ", ".join(f"{row['source']} > {row['target']} {float(row['effect']):+.3g}" for row in best)


def rows_of(case: str, run: Path) -> list[list[str]]:
    cuts = table(run / "patch_components.csv")
    rows = []
    for one in table(run / "patch_component_agreement.csv"):
        chance = int(one["chosen"]) / (int(one["controls"]) + 1)
        auc = f"{float(one['auc_overlap']):.2f}" if one["auc_overlap"] else ""
        rows.append([
            case, one["pair"], f"{float(one['median']):.2g} / {float(one['median_control']):.2g}",
            f"{one['above']} of {one['chosen']} ({chance:.1f})", auc, f"{float(one['p']):.2g}",
            strongest(cuts, one["pair"]),
        ])  # fmt: skip
    return rows


def run() -> str:
    RUNS.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, case in enumerate(CASES):
        model = random_llama() if case.model == "random weights" else model_path(case.model)
        nodes = "mlp,unembedding" if case.model in ("smollm2", "random weights") else "mlp"
        words = [*case.words(RUNS), "--nodes", nodes, "--controls", "2"]
        rows += rows_of(case.name, patched(model, RUNS / f"component-cuts-{number}", words))
    header = ["model and input", "pair", "median effect / controls", "above", "AUC of overlap", "p", "strongest edges"]
    return "\n\n".join([
        "The 20 edges of the largest overlap from heads to MLPs (OM) and to the unembedding (OU), and for each two "
        "other heads of the same layer into the same target, are cut one at a time. Effects in nats; above the 99 % "
        "quantile of the controls, with the number that chance would give. What the encoders make of the stream "
        "before their unembedding is not linear, so there are no overlaps with it.",
        markdown_table(header, rows),
        f"`{told('patch', OPTIONS, model='smollm2')}`",
    ])  # fmt: skip
