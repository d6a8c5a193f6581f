"""The plot of a partition tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._trees import Tree
from .drawing import COLORS, label_axis, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def tree(shown: Tree, ax: Axes | None = None) -> Axes:
    """A partition tree, leaves at the bottom."""
    ax = new_axes(ax, 8, 4)
    place = {element: i for i, element in enumerate(shown.order)}
    above: dict[int, float] = {}
    for level, folders in enumerate(shown.levels):
        here: dict[int, float] = {}
        for folder in folders:
            x = float(np.mean([place[element] for element in folder]))
            if level > 0:
                ax.plot([above[folder[0]], x], [-(level - 1), -level], color="#666666", linewidth=0.8)
            ax.scatter([x], [-level], s=4 + 2 * min(len(folder), 30), color=COLORS[0], zorder=3)
            here.update(dict.fromkeys(folder, x))
        above = here
    label_axis(ax.xaxis, [shown.names[i] for i in shown.order], 90)
    ax.set_yticks([])
    ax.set(title=f"Tree of {shown.n} elements, {len(shown.levels)} levels")
    ax.spines[["left", "top", "right"]].set_visible(False)
    return ax
