"""The plot of how informative pairs of roles are (``relate``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import ArgumentError
from .._tables import Table
from .drawing import COLORS, new_axes, place_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..results import Relation


def informativeness(relation: Relation, ax: Axes | None = None, pair: str | None = None) -> Axes:
    """KL(random || observed) by roles; with ``pair`` the two distributions it compares."""
    table = relation.informativeness
    if table is None:
        raise ArgumentError("informativeness is computed only for the metric pk")
    ax = new_axes(ax, 4.8, 4)
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
    query = [place_of(n)[0] for n, kind in zip(names, relation.heads["kind"], strict=True) if kind == "query"]
    other = [place_of(n)[0] for n, kind in zip(names, relation.heads["kind"], strict=True) if kind == "kv"]
    rows = query if values.shape[0] == len(query) else other
    columns = query if values.shape[1] == len(query) else other
    later = np.asarray(rows)[:, None] < np.asarray(columns)[None, :]
    observed = np.asarray(values)[later & ~np.isnan(values)]
    ax.hist(observed, bins=60, density=True, color=COLORS[5], label="observed")
    x = np.linspace(*ax.get_xlim(), 400)
    deviation = max(float(row["random_sd"]), 1e-12)
    ax.plot(x, np.exp(-(((x - row["random_mean"]) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi)),
            color=COLORS[1], label="random")
    ax.legend(frameon=False, loc="upper right")
    ax.set(xlabel=f"pk, {pair}", ylabel="density", title=f"{pair}: KL {_divergence(row)}".replace("\n", " "))
    return ax
