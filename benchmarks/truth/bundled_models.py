"""Which metric finds what was measured in the three bundled models?"""

from __future__ import annotations

import json

import numpy as np
from harness import ROOT, scratch
from scoring import auc, average_precision, spearman

from affinities import METRICS, Affinities, layer_of, relate_all
from report import Answer, Check, markdown_table

ORDER = 2
THRESHOLD = 0.4  # of both detectors, as in models/demo/behavior.json


def behavior(name: str) -> dict:
    return json.loads((ROOT / f"models/{name}/behavior.json").read_text())


def heads_that(measured: dict, score: str) -> set[str]:
    return {f"L{one['layer']}H{one['head']}" for one in measured["heads"] if one[score] >= THRESHOLD}


def induction_scores(name: str) -> tuple[dict[str, tuple[float, float]], int, int]:
    """Of every metric, average precision and AUC for the OK pairs from previous-token heads to induction heads."""
    measured = behavior(name)
    sources, targets = heads_that(measured, "previous"), heads_that(measured, "induction")
    with scratch() as folder:
        found = Affinities(relate_all(ROOT / f"models/{name}", folder / "run", "OK"), "OK")
    pairs = found.earlier_to_later()
    truth = np.array([source in sources and target in targets for source, target in pairs])
    scores = {metric: np.array([found.score(metric, *pair) for pair in pairs]) for metric in METRICS}
    result = {metric: (average_precision(values, truth), auc(values, truth)) for metric, values in scores.items()}
    return result, int(truth.sum()), len(pairs)


def vision_scores() -> dict[str, tuple[float, float]]:
    """The digits model has no known edges. Its attention matters in layers 0 and 1 alone. So: AUC of the pairs between
    these layers against all others of the same distance, and rank correlation with the smaller cost of both heads."""
    cost = {f"L{one['layer']}H{one['head']}": one["loss_increase"] for one in behavior("demo-vit")["heads"]}
    roles = ("OQ", "OK", "OV")
    values: dict[str, list[float]] = {metric: [] for metric in METRICS}
    truth, costs = [], []
    with scratch() as folder:
        run = relate_all(ROOT / "models/demo-vit", folder / "run", ",".join(roles))
        for role in roles:
            found = Affinities(run, role)
            pairs = [(a, b) for a, b in found.earlier_to_later() if layer_of(b) == layer_of(a) + 1]
            truth += [layer_of(target) == 1 for _, target in pairs]
            costs += [min(cost[source], cost[target]) for source, target in pairs]
            for metric in METRICS:
                values[metric] += [found.score(metric, *pair) for pair in pairs]
    return {
        metric: (auc(np.array(one), np.array(truth)), spearman(np.array(one), np.array(costs)))
        for metric, one in values.items()
    }


def run(short: bool) -> Answer:
    induction, true, pairs = induction_scores("induction")
    demo, demo_true, demo_pairs = induction_scores("demo")
    vision = vision_scores()
    rows = [
        [f"`{metric}`", *(f"{score:.3f} ({area:.3f})" for score, area in (induction[metric], demo[metric])),
         f"{vision[metric][0]:.3f}", f"{vision[metric][1]:+.2f}"]
        for metric in METRICS
    ]  # fmt: skip
    header = ["metric", f"`induction`: {true} of {pairs} pairs", f"`demo`: {demo_true} of {demo_pairs} pairs",
              "`demo-vit`: AUC", "`demo-vit`: rank correlation"]  # fmt: skip
    text = "\n\n".join([
        "Truth in the first two: the OK pairs from heads that attend to the previous token to induction heads, both "
        "by attention "
        f"measured on random tokens (at least {THRESHOLD}); average precision, in parentheses the area under the ROC "
        f"curve. In the digits model no edge is known, "
        "but attention matters only in layers 0 and 1: AUC of the pairs between these layers against those of later "
        "adjacent layers, and "
        "rank correlation with the smaller ablation cost of the two heads. Layers differ in other ways, too, so "
        "these two are weak evidence.",
        markdown_table(header, rows),
    ])  # fmt: skip
    checks = [
        Check("average precision of pk in models/induction", induction["pk"][0], low=1.0),
        Check("average precision of pk in models/demo", demo["pk"][0], low=1.0),
    ]
    return Answer(text, checks)
