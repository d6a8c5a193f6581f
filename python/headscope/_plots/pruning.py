"""Plots of what removing heads costs (``prune``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._errors import ArgumentError
from .drawing import COLORS, draw_image, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..results import Pruning


def _measure(pruning: Pruning, measure: str | None) -> str:
    measures = ("loss", "kl", "change", "accuracy", "agreement")
    known = [name for name in measures if not np.isnan(pruning.curve[name]).all()]
    if measure is None:
        return known[0]
    if measure not in known:
        raise ArgumentError(f"measure: found '{measure}', expected one of {', '.join(known)}")
    return measure


def damage_curves(pruning: Pruning, ax: Axes | None = None, measure: str | None = None) -> Axes:
    """Damage by the number of heads removed; for random orders the mean and the range."""
    measure = _measure(pruning, measure)
    ax = new_axes(ax, 6, 4)
    curve = pruning.curve
    values = np.asarray(curve[measure], dtype=float)
    colors = iter((*COLORS[:7], "#332288"))  # as many as there are criteria besides random
    for criterion in dict.fromkeys(curve["criterion"]):
        chosen = curve["criterion"] == criterion
        removed = np.unique(curve["removed"][chosen])
        orders = np.array([values[chosen & (curve["removed"] == n)] for n in removed])
        color = COLORS[7] if criterion == "random" else next(colors)
        ax.plot(removed, orders.mean(axis=1), "-" if criterion == "random" else "o-", color=color, markersize=3,
                linewidth=1.2, label=criterion)
        if orders.shape[1] > 1:
            ax.fill_between(removed, orders.min(axis=1), orders.max(axis=1), color=color, alpha=0.25, linewidth=0)
    ax.locator_params(axis="x", integer=True)
    ax.legend(frameon=False, fontsize=8, loc="best")
    units = {"loss": "loss, nats", "kl": "KL to the unpruned output, nats", "change": "relative change of the output"}
    ax.set(title="What the model loses", xlabel="heads removed", ylabel=units.get(measure, measure))
    return ax


def head_ranking(pruning: Pruning, ax: Axes | None = None, criterion: str | None = None) -> Axes:
    """The rank of every head under a criterion; heads that the budget removes are marked."""
    ranking = pruning.ranking
    criterion = criterion or str(ranking["criterion"][0])
    chosen = np.flatnonzero(ranking["criterion"] == criterion)
    if len(chosen) == 0:
        raise ArgumentError(f"criterion '{criterion}' was not requested")
    layers, heads = int(max(ranking["layer"])) + 1, int(max(ranking["index"])) + 1
    values = np.full((layers, heads), np.nan)
    ax = new_axes(ax, 5.5, 4.4)
    for i in chosen[:layers * heads]:  # of random orders the first
        layer, head = int(ranking["layer"][i]), int(ranking["index"][i])
        if not np.isnan(values[layer, head]):
            break
        values[layer, head] = ranking["rank"][i]
        if ranking["removed"][i]:
            ax.plot(head, layer, "x", color="white", markersize=4)
    draw_image(ax, values, [str(i) for i in range(layers)], [str(i) for i in range(heads)], "rank, 1 is removed first")
    ax.set(title=f"Order of {criterion}; crosses are removed", xlabel="head", ylabel="layer")
    return ax
