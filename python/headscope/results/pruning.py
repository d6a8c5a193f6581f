"""Which heads a model can do without: the result of ``prune``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from .._files import Folder
from .._result import Result
from .._tables import Table


class Pruning(Result):
    """Rankings of heads for removal, and what the model loses without them (``prune``)."""

    command = "prune"
    _in_report = False

    @cached_property
    def ranking(self) -> Table:
        """The heads in the order in which each criterion removes them."""
        return self.table("ranking.csv")

    @cached_property
    def curve(self) -> Table:
        """Loss, accuracy and KL by the number of heads removed, per ranking."""
        return self.table("curve.csv")

    @cached_property
    def orders(self) -> Table:
        """The random orders at the full budget that the criteria are compared with: any heads, or as many per layer."""
        return self.table("orders.csv")

    @cached_property
    def chosen(self) -> dict[str, Any]:
        """pruned.json: the criterion that was chosen, its heads, and what the model does before and after."""
        chosen: dict[str, Any] = json.loads(self._text("pruned.json"))
        return chosen

    @property
    def removed(self) -> list[str]:
        """The heads of ``chosen``."""
        return list(self.chosen["removed"])

    @property
    def checkpoint(self) -> Path | None:
        """The folder of the pruned model; None if none was written or the result is in memory (``save`` writes it)."""
        folder = self._files.path / "pruned" if isinstance(self._files, Folder) else None
        return folder if folder is not None and any(name.startswith("pruned/") for name in self.files) else None

    def _main_table(self) -> Table:
        return self.ranking

    def _plots(self) -> Mapping[str, str]:
        return {"curve": "damage_curves", "ranking": "head_ranking"}
