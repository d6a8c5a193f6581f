"""Plots of how networks differ (``compare``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._errors import ArgumentError
from .drawing import COLORS, draw_image, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..results import Comparison


def distance_matrix(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Distances between all runs."""
    ax = new_axes(ax, 5, 4.2)
    values = comparison.distances
    draw_image(ax, values, comparison.names, comparison.names, "distance", "magma_r")
    if len(values) <= 12:
        for i, j in np.ndindex(values.shape):
            dark = values[i, j] > 0.6 * np.nanmax(values)
            color = "white" if dark else "black"
            ax.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center", color=color, fontsize=8)
    ax.set(title="Distance between runs")
    return ax


def compared_decay(comparison: Comparison, ax: Axes | None = None, feature: str = "decay") -> Axes:
    """The decay of Haar coefficients of every run, mean and extremes over inputs; or another curve of ``features``."""
    table = comparison.features
    chosen = table["feature"] == feature
    if not np.any(chosen) or np.isnan(np.asarray(table["x"], dtype=float)[chosen]).any():
        raise ArgumentError(f"'{feature}' is not a curve that was compared")
    ax = new_axes(ax, 5.5, 4)
    x, values = (np.asarray(table[name], dtype=float) for name in ("x", "value"))
    for i, name in enumerate(comparison.names):
        mine = chosen & (table["run"] == name)
        places = np.unique(x[mine])
        samples = [values[mine & (x == place)] for place in places]
        color = COLORS[i % len(COLORS)]
        ax.plot(places, [one.mean() for one in samples], "o-", markersize=3, color=color, label=name)
        ax.fill_between(places, [one.min() for one in samples], [one.max() for one in samples], color=color, alpha=0.2,
                        linewidth=0)
    ax.legend(frameon=False, fontsize=8)
    if feature == "decay":
        ax.set_xscale("log")
        ax.set(title="Decay of Haar coefficients", xlabel="share of the coefficients", ylabel="log10 magnitude / RMS")
    else:
        ax.set(title=feature, xlabel="rank", ylabel="value")
    return ax
