"""How networks differ: the result of ``compare``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._result import Result
from .._tables import Table


class Comparison(Result):
    """Which differences between networks exceed the spread over inputs (``compare``)."""

    command = "compare"
    _in_report = False

    @cached_property
    def comparison(self) -> Table:
        """Every feature of every two runs: means, difference, spread, p, verdict."""
        return self.table("comparison.csv")

    @cached_property
    def features(self) -> Table:
        """Every feature of every run on every input, curves point by point."""
        return self.table("features.csv")

    @cached_property
    def distances(self) -> NDArray[np.float32]:
        """Distances between runs, [run, run]."""
        return self.array("distances.npy")

    @cached_property
    def runs(self) -> list[dict[str, Any]]:
        """Names, paths, kinds and sizes of what was compared."""
        return list(json.loads(self._text("compare.json"))["runs"])

    @property
    def names(self) -> list[str]:
        """Names of the runs, in the order of ``distances``."""
        return [str(run["name"]) for run in self.runs]

    def _main_table(self) -> Table:
        return self.comparison

    def _plots(self) -> Mapping[str, str]:
        drawn = {"distances": "distance_matrix", "decay": "compared_decay"}
        return drawn if "decay" in self.features["feature"] else {"distances": "distance_matrix"}
