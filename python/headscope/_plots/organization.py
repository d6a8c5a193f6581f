"""Plots of organized maps (``organize``, ``softmax``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._errors import ArgumentError
from .drawing import COLORS, MOST_LABELS, draw_image, label_axis, new_axes
from .trees import tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..results import Invariance, Organization


def _names(organization: Organization, axis: str) -> list[str]:
    tree_ = organization.trees[axis]
    return [tree_.names[i] for i in organization.order[axis]]


def organized_map(organization: Organization, ax: Axes | None = None, head: str | None = None) -> Axes:
    """One head's map with queries and keys in the order of their trees."""
    maps = organization.maps
    names = organization.trees["head"].names
    if maps is None:
        raise ArgumentError("the maps that were organized are not available; organize the result of capture")
    head = head or names[int(organization.order["head"][0])]
    if head not in names:
        raise ArgumentError(f"there is no head '{head}'")
    chosen = maps[names.index(head)] if maps.ndim == 3 else maps
    ax = new_axes(ax, 5.5, 4.8)
    values = chosen[np.ix_(organization.order["query"], organization.order["key"])]
    draw_image(ax, values, _names(organization, "query"), _names(organization, "key"), "attention")
    ax.set(title=f"{head}, organized", xlabel="key", ylabel="query")
    return ax


def organization_tree(organization: Organization, ax: Axes | None = None, axis: str = "head") -> Axes:
    return tree(organization.trees[axis], ax)


def axis_affinity(organization: Organization, ax: Axes | None = None, axis: str = "head") -> Axes:
    """The affinity an axis' tree was made from, in the order of the tree."""
    ax = new_axes(ax, 5.5, 4.8)
    order = organization.order[axis]
    names = _names(organization, axis)
    draw_image(ax, organization.affinity[axis][np.ix_(order, order)], names, names, "affinity")
    ax.set(title=f"Affinity of the {axis} axis, organized")
    return ax


def embedding(organization: Organization, ax: Axes | None = None, axis: str = "head") -> Axes:
    """The first two coordinates of a diffusion map."""
    ax = new_axes(ax, 5.5, 4.8)
    points = organization.embedding[axis]
    second = points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
    ax.scatter(points[:, 0], second, c=range(len(points)), cmap="viridis", s=18)
    names = organization.trees[axis].names
    if len(names) <= MOST_LABELS:
        for name, x, y in zip(names, points[:, 0], second, strict=True):
            ax.annotate(name.replace("$", r"\$"), (x, y), xytext=(3, 3), textcoords="offset points", fontsize=7)
    ax.set(title=f"Diffusion map of the {axis} axis", xlabel="first coordinate", ylabel="second coordinate")
    return ax


def _gain(organization: Organization, name: str) -> str:
    """The gain over the control with the same mask and row values, in words."""
    table = organization.sparsity
    row = next((row for row in table if row["name"] == name), None) if "gain_low" in table else None
    if row is None or np.isnan(row["gain"]):
        return "gain unknown"
    interval = f"{row['gain']:.2f} ({row['gain_low']:.2f}-{row['gain_high']:.2f})"
    return f"gain {interval}" if row["gains"] else f"no gain over the control, {interval}"


def decay(organization: Organization, ax: Axes | None = None, name: str = "network") -> Axes:
    """Sorted Haar coefficients, beside those of the controls. The title has the gain of ``name`` over the control."""
    ax = new_axes(ax, 5.5, 4)
    chosen = organization.decay["name"] == name
    if not np.any(chosen):
        raise ArgumentError(f"there is no decay curve of '{name}'")
    rank = organization.decay["rank"][chosen]
    for column, color in (("found", COLORS[0]), ("control", COLORS[1]), ("shuffled", COLORS[7])):
        if column not in organization.decay:
            continue
        values = np.asarray(organization.decay[column], dtype=float)[chosen]
        ax.loglog(rank[values > 0], values[values > 0], color=color, label=column)
    ax.legend(frameon=False, loc="lower left")
    ax.set(title=f"Decay of Haar coefficients, {name}: {_gain(organization, name)}", xlabel="rank",
           ylabel="magnitude / norm")
    return ax


def paraproduct_errors(invariance: Invariance, ax: Axes | None = None) -> Axes:
    """How well the paraproduct approximates every head's softmax."""
    ax = new_axes(ax, 7, 3.6)
    names = [str(head) for head in invariance.heads["head"]]
    for column, color in (("error_first", COLORS[0]), ("error_second", COLORS[1]),
                          ("error_second_shuffled", COLORS[7])):
        ax.plot(range(len(names)), np.asarray(invariance.heads[column], dtype=float), "o-", markersize=3, linewidth=0.8,
                color=color, label=column.removeprefix("error_").replace("_", ", "))
    label_axis(ax.xaxis, names, 90)
    ax.legend(frameon=False, fontsize=8, loc="upper right")
    ax.set(title="Paraproduct of the softmax", ylabel="relative error")
    return ax
