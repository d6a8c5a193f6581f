"""What all plots share: axes, colors, labels, images, and where a head is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colors of pairs of roles, distinct for color-blind people (Okabe and Ito).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
#: Maximum number of labels on an axis.
MOST_LABELS = 40


def new_axes(ax: Axes | None, width: float = 6.4, height: float = 4.8) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def label_axis(axis: Any, names: list[str], rotation: float = 0) -> None:
    """Labels an axis with names, or with some of them if there are many."""
    step = max(1, -(-len(names) // MOST_LABELS))
    places = list(range(0, len(names), step))
    axis.set_ticks(places, [names[i][:16].replace("$", r"\$") for i in places], fontsize=7, rotation=rotation)


def draw_image(ax: Axes, values: NDArray[Any], rows: list[str], columns: list[str], label: str,
               cmap: str = "viridis") -> None:
    image = ax.imshow(values, cmap=cmap, aspect="auto", interpolation="nearest", rasterized=values.size > 10000)
    ax.figure.colorbar(image, ax=ax, label=label)
    label_axis(ax.yaxis, rows)
    label_axis(ax.xaxis, columns, 90)


def place_of(head: str) -> tuple[int, int]:
    layer, _, number = head[1:].replace("KV", "H").partition("H")
    return int(layer), int(number)
