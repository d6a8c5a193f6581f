"""The plot of what cutting edges changes (``patch``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._errors import ArgumentError
from .drawing import COLORS, MOST_LABELS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..results import Patching


def _effect(patching: Patching) -> tuple[str, bool]:
    """Whether chosen edges change more than random ones, in words, and whether edges may have labels."""
    p = np.asarray(patching.agreement["p"], dtype=float)
    count = len(patching.circuit["edges"])
    if np.isnan(p).all():
        return "no random edges to compare with", True
    beyond = bool(np.any(p * len(p) <= 0.05))  # corrected for the number of samples
    return (f"{count} in the circuit" if beyond else "none beyond that of random edges"), beyond


def cut_effects(patching: Patching, ax: Axes | None = None, pairs: list[str] | None = None) -> Axes:
    """What every cut changes, by z of the weights. Controls are gray; edges of the circuit have labels."""
    edges = patching.edges
    found = list(dict.fromkeys(edges["pair"]))
    shown = pairs if pairs is not None else found
    if missing := [pair for pair in shown if pair not in found]:
        raise ArgumentError(f"no edge of '{missing[0]}' was cut, only of {', '.join(found)}")
    ax = new_axes(ax, 6.5, 4.6)
    size = np.abs(np.asarray(edges["effect"], dtype=float))
    # A logarithm has no place for 0: such effects are at the bottom.
    size = np.maximum(size, np.min(size[size > 0], initial=1) / 2)
    control = edges["kind"] == "control"
    levels = patching.circuit["levels"]
    words, labeled = _effect(patching)
    for i, pair in enumerate(found):
        here = edges["pair"] == pair
        if pair not in shown:
            continue
        ax.scatter(edges["z"][here & control], size[here & control], s=14, color=COLORS[7], marker="x", linewidth=0.8,
                   label="random edges" if pair == shown[0] else None)
        ax.scatter(edges["z"][here & ~control], size[here & ~control], s=18, color=COLORS[i], label=pair, zorder=3)
        if levels.get(pair):
            ax.axhline(levels[pair], color=COLORS[i], linewidth=0.8, linestyle="--")
        named = np.flatnonzero(here & ~control & edges["in_circuit"] & labeled)[:MOST_LABELS]
        for k, j in enumerate(named[np.argsort(-size[named])]):
            left = edges["z"][j] > np.mean([np.min(edges["z"]), np.max(edges["z"])])
            ax.annotate(f"{edges['source'][j]} > {edges['target'][j]}", (edges["z"][j], size[j]),
                        xytext=(-4 if left else 4, -4 if k % 2 else 4), textcoords="offset points", fontsize=7,
                        ha="right" if left else "left", va="top" if k % 2 else "bottom")
    ax.set_yscale("log")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=8, loc="best")
    unit = "loss, nats" if patching.circuit["metric"] == "loss" else "logit difference"
    ax.set(title=f"Effect of cutting an edge: {words}", xlabel="z of the projection kernel",
           ylabel=f"|change of the {unit}|")
    return ax
