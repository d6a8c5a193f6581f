"""How well scores find true edges: average precision, area under the ROC curve, rank correlation. Ties count half."""

from __future__ import annotations

import numpy as np


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1, the mean rank for ties."""
    order = np.argsort(values, kind="stable")
    _, group, counts = np.unique(values[order], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    result = np.empty(len(values))
    result[order] = (ends - (counts - 1) / 2)[group]
    return result


def auc(scores: np.ndarray, truth: np.ndarray) -> float:
    """Chance that a true edge scores higher than another one."""
    true = int(truth.sum())
    if true in (0, len(truth)):
        return float("nan")
    return float((ranks(scores)[truth].sum() - true * (true + 1) / 2) / (true * (len(truth) - true)))


def average_precision(scores: np.ndarray, truth: np.ndarray) -> float:
    """Mean over the true edges of the precision among all that score at least as high. All of a tie come together."""
    if not truth.any():
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(truth[order])
    last_of_tie = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    precision = hits[last_of_tie] / (last_of_tie + 1)
    return float((np.diff(hits[last_of_tie], prepend=0) * precision).sum() / truth.sum())


def spearman(one: np.ndarray, two: np.ndarray) -> float:
    """Correlation of the ranks."""
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return float("nan")
    return float(np.corrcoef(ranks(one), ranks(two))[0, 1])
