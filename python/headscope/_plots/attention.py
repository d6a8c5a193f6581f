"""Plots of attention maps and of what heads attend to (``capture``, ``detect``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .drawing import draw_image, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..results import Capture, Detection


def attention_map(capture: Capture, ax: Axes | None = None, head: str | None = None, what: str | None = None) -> Axes:
    """One head's map."""
    what = what or ("pattern" if capture.pattern is not None else "scores")
    head = head or capture.heads[0]
    ax = new_axes(ax, 5.5, 4.8)
    first = int(capture.description.get("first_query", 0))
    values = capture.map(head, what)
    draw_image(ax, values, capture.tokens[first:first + values.shape[0]], capture.tokens, what)
    ax.set(title=f"{head}, {what}", xlabel="key", ylabel="query")
    return ax


def detectors(detection: Detection, ax: Axes | None = None) -> Axes:
    """The scores of all heads by detector, and at the second length where there is one."""
    scores = detection.scores
    known = [name for kind in detection.detectors for name in (kind, f"{kind}_second") if name in scores.names]
    columns = [name for name in known if not np.isnan(scores[name]).all()]  # detectors that apply to the model
    ax = new_axes(ax, 8, 0.6 * len(columns) + 1)
    values = np.array([scores[name] for name in columns])
    names = [name.replace("_second", " (2nd)") for name in columns]
    draw_image(ax, values, names, [str(head) for head in scores["head"]], "score")
    found = sum(bool(text) for text in scores["detected"])
    ax.set(title=f"Behavior: {found} of {len(scores)} heads detected")
    return ax
