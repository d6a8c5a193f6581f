"""Writes tests/golden/label_scores.json: rankings and what scikit-learn says about them.

    python -m venv /tmp/venv-graph
    /tmp/venv-graph/bin/pip install scikit-learn==1.9.1 numpy==2.4.6
    /tmp/venv-graph/bin/python tests/golden/make_label_scores.py

Each case holds `scores`, `truth` (0 or 1), `roc_auc` and `average_precision`. The seed is 2605, mixed with the position
of the case.
"""

import json
import pathlib

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

FILE = pathlib.Path(__file__).parent / "label_scores.json"
SEED = 2605


def cases():
    """Name, number of pairs, share of positives, number of distinct scores (0: no ties), signal."""
    yield "no_ties", 150, 0.3, 0, 1.0
    yield "few_positives", 400, 0.02, 0, 0.5
    yield "many_ties", 200, 0.25, 6, 0.7
    yield "two_scores", 60, 0.5, 2, 0.3
    yield "one_score", 20, 0.4, 1, 0.0
    yield "worse_than_chance", 90, 0.2, 9, -1.0


def make(rng, count, share, distinct, signal):
    truth = (rng.random(count) < share).astype(int)
    truth[:2] = [0, 1]
    scores = rng.normal(size=count) + signal * truth
    if distinct:
        scores = np.digitize(scores, np.linspace(-1.5, 1.5, distinct + 1)[1:-1]) / 8
    return {
        "scores": [float(s) for s in scores],
        "truth": [int(t) for t in truth],
        "roc_auc": float(roc_auc_score(truth, scores)),
        "average_precision": float(average_precision_score(truth, scores)),
    }


def main():
    lines = []
    for position, (name, *arguments) in enumerate(cases()):
        case = make(np.random.default_rng([SEED, position]), *arguments)
        lines.append(f"  {json.dumps(name)}: {json.dumps(case)}")
        print(f"{name}: ROC-AUC {case['roc_auc']:.4f}, average precision {case['average_precision']:.4f}")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
