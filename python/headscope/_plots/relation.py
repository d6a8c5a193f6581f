"""Plots of which heads talk to which (``relate``)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._errors import ArgumentError
from .._tables import Table
from .drawing import COLORS, draw_image, new_axes, place_of
from .trees import tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..results import Relation

#: How far left of the query heads of its layer a KV head is drawn.
_KV_SHIFT = 0.22


def _places(heads: Table) -> dict[str, tuple[float, float]]:
    """Where heads are in the wiring: query heads by layer and number, a KV head beside the middle of its queries."""
    counts = dict.fromkeys(("query", "kv"), 0)
    for kind, index in zip(heads["kind"], heads["index"], strict=True):
        counts[str(kind)] = max(counts[str(kind)], int(index) + 1)
    group = max(counts["query"] / max(counts["kv"], 1), 1)
    places: dict[str, tuple[float, float]] = {}
    for name, kind in zip(heads["head"], heads["kind"], strict=True):
        layer, number = place_of(str(name))
        is_kv = kind == "kv"
        places[str(name)] = (layer - _KV_SHIFT, (number + 0.5) * group - 0.5) if is_kv else (layer, number)
    return places


def _curve(begin: tuple[float, float], end: tuple[float, float], bend: float) -> NDArray[Any]:
    """A parabola between two points, so that parallel edges do not overlap."""
    t = np.linspace(0, 1, 16)[:, None]
    a, b = np.asarray(begin, dtype=float), np.asarray(end, dtype=float)
    points: NDArray[Any] = a + (b - a) * t + 4 * bend * np.array([0.0, 1.0]) * t * (1 - t)
    return points


#: How a line shows what the null models say about an edge: the largest part of its width that z gives, opacity, style.
_STANDINGS = {"stands out": (3.0, 0.9, "-"), "beyond chance": (1.2, 0.6, "-"), "significance unknown": (1.2, 0.4, "-"),
              "not beyond chance": (0.0, 0.5, (0, (1, 3)))}


def _standings(edges: Table) -> list[str]:
    """What the null models say about each edge, a key of ``_STANDINGS``."""
    if "beyond_chance" not in edges:
        return ["significance unknown"] * len(edges)
    flags = zip(edges["beyond_chance"], edges["stands_out"], strict=True)
    return ["stands out" if out else "beyond chance" if beyond else "not beyond chance" for beyond, out in flags]


def _count(relation: Relation, pair: str) -> dict[str, Any] | None:
    """The row of wiring.csv; None for older runs, which do not have it."""
    table = relation._optional("wiring.csv")
    return next((row for row in table if row["pair"] == pair), None) if table is not None else None


def _counts(relation: Relation, pair: str = "all") -> str:
    """How many pairs of heads are beyond chance, in words."""
    row = _count(relation, pair)
    if row is None:
        return "significance unknown"
    if row["beyond_chance"] == 0:
        return f"no wiring beyond chance (of {row['pairs']} pairs)" if pair == "all" else "no pair beyond chance"
    return f"{row['beyond_chance']} of {row['pairs']} pairs beyond chance, {row['stands_out']} stand out"


def wiring(relation: Relation, ax: Axes | None = None, pairs: list[str] | None = None) -> Axes:
    """The kept edges, layers from left to right. Wide lines stand out; dotted gray lines are not beyond chance.

    With grouped queries, KV heads are squares left of their query heads: edges OK and OV end there, OQ at query heads.
    """
    from matplotlib.collections import LineCollection

    ax = new_axes(ax, 8, 5)
    edges = relation.edges
    known = list(dict.fromkeys(edges["pair"]))
    shown = known if pairs is None else [pairs] if isinstance(pairs, str) else list(pairs)
    for pair in shown:
        if pair not in known:
            raise ArgumentError(f"pairs: there is no edge of '{pair}', only of {', '.join(known)}")
    # Never the z of the isotropic null: any anisotropy exceeds it.
    headline = next((name for name in ("z_matched", "z_span") if name in edges), "score")
    strength = np.nan_to_num(np.asarray(edges[headline], dtype=float))
    widest = max(float(np.max(np.abs(strength), initial=0)), 1e-12)
    busy: Counter[str] = Counter()
    places = _places(relation.heads)
    standings = _standings(edges)
    for standing in [name for name in reversed(_STANDINGS) if name in standings]:  # what stands out is on top
        most, opacity, style = _STANDINGS[standing]
        curves, colors, widths = [], [], []
        for edge, z, found in zip(edges, strength, standings, strict=True):
            if edge["pair"] not in shown or found != standing:
                continue
            chance = standing == "not beyond chance"
            if not chance:
                busy.update((edge["source"], edge["target"]))
            number = shown.index(edge["pair"])
            bend = 0.12 * (number - (len(shown) - 1) / 2)
            curves.append(_curve(places[edge["source"]], places[edge["target"]], bend))
            colors.append("#888888" if chance else COLORS[number % len(COLORS)])
            widths.append(0.6 + most * abs(z) / widest)
        ax.add_collection(LineCollection(curves, colors=colors, linewidths=widths, alpha=opacity, linestyles=[style]))
        ax.plot([], [], color="#888888" if standing == "not beyond chance" else "#444444", linestyle=style,
                linewidth=0.6 + most, label=standing)
    kinds = dict(zip(map(str, relation.heads["head"]), map(str, relation.heads["kind"]), strict=True))
    grouped = "kv" in kinds.values()
    for kind, marker, label in (("query", "o", "query head"), ("kv", "s", "KV head")):
        names = [name for name in places if kinds[name] == kind]
        at = np.array([places[name] for name in names]).reshape(-1, 2)
        ax.scatter(at[:, 0], at[:, 1], s=[8 + 12 * busy[name] for name in names], zorder=3, marker=marker,
                   color="#444444" if kind == "query" else "#999999", label=label if grouped else None)
    for name, _ in busy.most_common(20):
        ax.annotate(name, places[name], xytext=(3, 3), textcoords="offset points", fontsize=7)
    for i, pair in enumerate(shown):
        ax.plot([], [], color=COLORS[i % len(COLORS)], label=pair)
    if shown:
        ax.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    ax.set(xlabel="layer", ylabel="head", title=f"Wiring: {_counts(relation)}")
    ax.locator_params(integer=True)
    return ax


def affinity_matrix(relation: Relation, ax: Axes | None = None, pair: str | None = None,
                    metric: str | None = None) -> Axes:
    """One affinity, source heads by target heads."""
    name = next(iter(relation.affinities))
    metric, pair = metric or name.rpartition("_")[0], pair or name.rpartition("_")[2]
    values = relation.affinity(pair, metric)
    ax = new_axes(ax)

    def side(size: int, role: str) -> list[str]:
        names, kinds = relation.heads["head"], relation.heads["kind"]
        kind = "kv" if role in "KV" and "kv" in kinds and size != np.sum(kinds == "query") else "query"
        return [str(name) for name in names[kinds == kind]]

    first = metric == name.rpartition("_")[0] and pair in relation.edges["pair"]  # edges are of the first metric
    count = _count(relation, pair) if first else None
    # Without a pair beyond chance, the differences mean nothing.
    cmap = "viridis" if count is None or count["beyond_chance"] > 0 else "Greys"
    draw_image(ax, values, side(values.shape[0], pair[0]), side(values.shape[1], pair[1]), metric, cmap)
    ax.set(title=f"{metric}, {pair}" + (f": {_counts(relation, pair)}" if first else ""), ylabel="source head",
           xlabel="target head")
    return ax


def relation_tree(relation: Relation, ax: Axes | None = None) -> Axes:
    return tree(relation.tree, ax)
