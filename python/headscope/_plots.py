"""Plots of results. Every function draws on the given axes, or on new ones, and returns them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._errors import ArgumentError
from ._tables import Table
from ._trees import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .results import Capture, Comparison, Detection, Invariance, Organization, Patching, Pruning, Relation

#: Colors of pairs of roles, distinct for color-blind people (Okabe and Ito).
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
#: Maximum number of labels on an axis.
_MOST_LABELS = 40


def _axes(ax: Axes | None, width: float = 6.4, height: float = 4.8) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def _label(axis: Any, names: list[str], rotation: float = 0) -> None:
    """Labels an axis with names, or with some of them if there are many."""
    step = max(1, -(-len(names) // _MOST_LABELS))
    places = list(range(0, len(names), step))
    axis.set_ticks(places, [names[i][:16].replace("$", r"\$") for i in places], fontsize=7, rotation=rotation)


def _image(ax: Axes, values: NDArray[Any], rows: list[str], columns: list[str], label: str,
           cmap: str = "viridis") -> None:
    image = ax.imshow(values, cmap=cmap, aspect="auto", interpolation="nearest", rasterized=values.size > 10000)
    ax.figure.colorbar(image, ax=ax, label=label)
    _label(ax.yaxis, rows)
    _label(ax.xaxis, columns, 90)


def _place(head: str) -> tuple[int, int]:
    layer, _, number = head[1:].replace("KV", "H").partition("H")
    return int(layer), int(number)


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
        layer, number = _place(str(name))
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

    ax = _axes(ax, 8, 5)
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
            colors.append("#888888" if chance else _COLORS[number % len(_COLORS)])
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
        ax.plot([], [], color=_COLORS[i % len(_COLORS)], label=pair)
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
    ax = _axes(ax)

    def side(size: int, role: str) -> list[str]:
        names, kinds = relation.heads["head"], relation.heads["kind"]
        kind = "kv" if role in "KV" and "kv" in kinds and size != np.sum(kinds == "query") else "query"
        return [str(name) for name in names[kinds == kind]]

    first = metric == name.rpartition("_")[0] and pair in relation.edges["pair"]  # edges are of the first metric
    count = _count(relation, pair) if first else None
    # Without a pair beyond chance, the differences mean nothing.
    cmap = "viridis" if count is None or count["beyond_chance"] > 0 else "Greys"
    _image(ax, values, side(values.shape[0], pair[0]), side(values.shape[1], pair[1]), metric, cmap)
    ax.set(title=f"{metric}, {pair}" + (f": {_counts(relation, pair)}" if first else ""), ylabel="source head",
           xlabel="target head")
    return ax


def relation_tree(relation: Relation, ax: Axes | None = None) -> Axes:
    return tree(relation.tree, ax)


def informativeness(relation: Relation, ax: Axes | None = None, pair: str | None = None) -> Axes:
    """KL(random || observed) by roles; with ``pair`` the two distributions it compares."""
    table = relation.informativeness
    if table is None:
        raise ArgumentError("informativeness is computed only for the metric pk")
    ax = _axes(ax, 4.8, 4)
    if pair is not None:
        return _distributions(relation, table, ax, pair)
    roles = "QKVO"
    values = np.full((4, 4), np.nan)
    for row in table:
        values[roles.index(row["pair"][0]), roles.index(row["pair"][1])] = row["kl"]
    # Up to the ceiling, so that divergences of noise are not dark.
    ceilings = table["kl_ceiling"] if "kl_ceiling" in table else np.zeros(1)
    end = float(np.nanmax([0.5, np.nanmax(values), *ceilings]))
    image = ax.imshow(values, cmap="magma_r", vmin=0, vmax=end)
    ax.figure.colorbar(image, ax=ax, label="KL(random || observed), nats")
    for row in table:
        i, j = roles.index(row["pair"][0]), roles.index(row["pair"][1])
        dark = values[i, j] > 0.6 * end
        ax.text(j, i, _divergence(row), ha="center", va="center", color="white" if dark else "black", fontsize=7)
    ax.set_xticks(range(4), list(roles))
    ax.set_yticks(range(4), list(roles))
    ax.set(xlabel="target role", ylabel="source role", title="Informativeness of role pairs")
    return ax


def _divergence(row: dict[str, Any]) -> str:
    """KL with its interval; at the ceiling no number."""
    if row.get("at_ceiling", False):
        return "at the\nceiling"
    low = row.get("kl_low", np.nan)
    return f"{row['kl']:.2f}" + ("" if np.isnan(low) else f"\n{low:.2f}-{row['kl_high']:.2f}")


def _distributions(relation: Relation, table: Table, ax: Axes, pair: str) -> Axes:
    row = next((row for row in table if row["pair"] == pair), None)
    if row is None:
        raise ArgumentError(f"informativeness of '{pair}' was not computed")
    values = relation.affinity(pair, "pk")
    names = [str(head) for head in relation.heads["head"]]
    query = [_place(n)[0] for n, kind in zip(names, relation.heads["kind"], strict=True) if kind == "query"]
    other = [_place(n)[0] for n, kind in zip(names, relation.heads["kind"], strict=True) if kind == "kv"]
    rows = query if values.shape[0] == len(query) else other
    columns = query if values.shape[1] == len(query) else other
    later = np.asarray(rows)[:, None] < np.asarray(columns)[None, :]
    observed = np.asarray(values)[later & ~np.isnan(values)]
    ax.hist(observed, bins=60, density=True, color=_COLORS[5], label="observed")
    x = np.linspace(*ax.get_xlim(), 400)
    deviation = max(float(row["random_sd"]), 1e-12)
    ax.plot(x, np.exp(-(((x - row["random_mean"]) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi)),
            color=_COLORS[1], label="random")
    ax.legend(frameon=False, loc="upper right")
    ax.set(xlabel=f"pk, {pair}", ylabel="density", title=f"{pair}: KL {_divergence(row)}".replace("\n", " "))
    return ax


def tree(shown: Tree, ax: Axes | None = None) -> Axes:
    """A partition tree, leaves at the bottom."""
    ax = _axes(ax, 8, 4)
    place = {element: i for i, element in enumerate(shown.order)}
    above: dict[int, float] = {}
    for level, folders in enumerate(shown.levels):
        here: dict[int, float] = {}
        for folder in folders:
            x = float(np.mean([place[element] for element in folder]))
            if level > 0:
                ax.plot([above[folder[0]], x], [-(level - 1), -level], color="#666666", linewidth=0.8)
            ax.scatter([x], [-level], s=4 + 2 * min(len(folder), 30), color=_COLORS[0], zorder=3)
            here.update(dict.fromkeys(folder, x))
        above = here
    _label(ax.xaxis, [shown.names[i] for i in shown.order], 90)
    ax.set_yticks([])
    ax.set(title=f"Tree of {shown.n} elements, {len(shown.levels)} levels")
    ax.spines[["left", "top", "right"]].set_visible(False)
    return ax


def attention_map(capture: Capture, ax: Axes | None = None, head: str | None = None, what: str | None = None) -> Axes:
    """One head's map."""
    what = what or ("pattern" if capture.pattern is not None else "scores")
    head = head or capture.heads[0]
    ax = _axes(ax, 5.5, 4.8)
    first = int(capture.description.get("first_query", 0))
    values = capture.map(head, what)
    _image(ax, values, capture.tokens[first:first + values.shape[0]], capture.tokens, what)
    ax.set(title=f"{head}, {what}", xlabel="key", ylabel="query")
    return ax


def detectors(detection: Detection, ax: Axes | None = None) -> Axes:
    """The scores of all heads by detector, and at the second length where there is one."""
    scores = detection.scores
    columns = [name for kind in detection.detectors for name in (kind, f"{kind}_second") if name in scores]
    ax = _axes(ax, 8, 0.6 * len(columns) + 1)
    values = np.array([scores[name] for name in columns])
    names = [name.replace("_second", " (2nd)") for name in columns]
    _image(ax, values, names, [str(head) for head in scores["head"]], "score")
    found = sum(bool(text) for text in scores["detected"])
    ax.set(title=f"Behavior: {found} of {len(scores)} heads detected")
    return ax


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
    ax = _axes(ax, 5.5, 4.8)
    _image(ax, chosen[np.ix_(organization.order["query"], organization.order["key"])], _names(organization, "query"),
           _names(organization, "key"), "attention")
    ax.set(title=f"{head}, organized", xlabel="key", ylabel="query")
    return ax


def organization_tree(organization: Organization, ax: Axes | None = None, axis: str = "head") -> Axes:
    return tree(organization.trees[axis], ax)


def axis_affinity(organization: Organization, ax: Axes | None = None, axis: str = "head") -> Axes:
    """The affinity an axis' tree was made from, in the order of the tree."""
    ax = _axes(ax, 5.5, 4.8)
    order = organization.order[axis]
    names = _names(organization, axis)
    _image(ax, organization.affinity[axis][np.ix_(order, order)], names, names, "affinity")
    ax.set(title=f"Affinity of the {axis} axis, organized")
    return ax


def embedding(organization: Organization, ax: Axes | None = None, axis: str = "head") -> Axes:
    """The first two coordinates of a diffusion map."""
    ax = _axes(ax, 5.5, 4.8)
    points = organization.embedding[axis]
    second = points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
    ax.scatter(points[:, 0], second, c=range(len(points)), cmap="viridis", s=18)
    names = organization.trees[axis].names
    if len(names) <= _MOST_LABELS:
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
    ax = _axes(ax, 5.5, 4)
    chosen = organization.decay["name"] == name
    if not np.any(chosen):
        raise ArgumentError(f"there is no decay curve of '{name}'")
    rank = organization.decay["rank"][chosen]
    for column, color in (("found", _COLORS[0]), ("control", _COLORS[1]), ("shuffled", _COLORS[7])):
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
    ax = _axes(ax, 7, 3.6)
    names = [str(head) for head in invariance.heads["head"]]
    for column, color in (("error_first", _COLORS[0]), ("error_second", _COLORS[1]),
                          ("error_second_shuffled", _COLORS[7])):
        ax.plot(range(len(names)), np.asarray(invariance.heads[column], dtype=float), "o-", markersize=3, linewidth=0.8,
                color=color, label=column.removeprefix("error_").replace("_", ", "))
    _label(ax.xaxis, names, 90)
    ax.legend(frameon=False, fontsize=8, loc="upper right")
    ax.set(title="Paraproduct of the softmax", ylabel="relative error")
    return ax


def _measure(pruning: Pruning, measure: str | None) -> str:
    measures = ("loss", "kl", "change", "accuracy", "agreement")
    known = [name for name in measures if not np.isnan(pruning.curve[name]).all()]
    if measure is None:
        return known[0]
    if measure not in known:
        raise ArgumentError(f"measure '{measure}' is none of {', '.join(known)}")
    return measure


def damage_curves(pruning: Pruning, ax: Axes | None = None, measure: str | None = None) -> Axes:
    """Damage by the number of heads removed; for random orders the mean and the range."""
    measure = _measure(pruning, measure)
    ax = _axes(ax, 6, 4)
    curve = pruning.curve
    values = np.asarray(curve[measure], dtype=float)
    colors = iter((*_COLORS[:7], "#332288"))  # as many as there are criteria besides random
    for criterion in dict.fromkeys(curve["criterion"]):
        chosen = curve["criterion"] == criterion
        removed = np.unique(curve["removed"][chosen])
        orders = np.array([values[chosen & (curve["removed"] == n)] for n in removed])
        color = _COLORS[7] if criterion == "random" else next(colors)
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
    ax = _axes(ax, 5.5, 4.4)
    for i in chosen[:layers * heads]:  # of random orders the first
        layer, head = int(ranking["layer"][i]), int(ranking["index"][i])
        if not np.isnan(values[layer, head]):
            break
        values[layer, head] = ranking["rank"][i]
        if ranking["removed"][i]:
            ax.plot(head, layer, "x", color="white", markersize=4)
    _image(ax, values, [str(i) for i in range(layers)], [str(i) for i in range(heads)], "rank, 1 is removed first")
    ax.set(title=f"Order of {criterion}; crosses are removed", xlabel="head", ylabel="layer")
    return ax


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
    ax = _axes(ax, 6.5, 4.6)
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
        ax.scatter(edges["z"][here & control], size[here & control], s=14, color=_COLORS[7], marker="x", linewidth=0.8,
                   label="random edges" if pair == shown[0] else None)
        ax.scatter(edges["z"][here & ~control], size[here & ~control], s=18, color=_COLORS[i], label=pair, zorder=3)
        if levels.get(pair):
            ax.axhline(levels[pair], color=_COLORS[i], linewidth=0.8, linestyle="--")
        named = np.flatnonzero(here & ~control & edges["in_circuit"] & labeled)[:_MOST_LABELS]
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


def distance_matrix(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Distances between all runs."""
    ax = _axes(ax, 5, 4.2)
    values = comparison.distances
    _image(ax, values, comparison.names, comparison.names, "distance", "magma_r")
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
    ax = _axes(ax, 5.5, 4)
    x, values = (np.asarray(table[name], dtype=float) for name in ("x", "value"))
    for i, name in enumerate(comparison.names):
        mine = chosen & (table["run"] == name)
        places = np.unique(x[mine])
        samples = [values[mine & (x == place)] for place in places]
        color = _COLORS[i % len(_COLORS)]
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
