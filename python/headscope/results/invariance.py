"""Whether the softmax keeps the organization: the result of ``softmax``."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._errors import ArgumentError
from .._result import Result
from .._tables import Table


class Invariance(Result):
    """Whether the softmax keeps the organization of the scores (``softmax``)."""

    command = "softmax"

    @cached_property
    def heads(self) -> Table:
        """Errors, exponents and agreements, one row per head."""
        return self.table("invariance.csv")

    @cached_property
    def levels(self) -> Table:
        """Adjusted Rand index, level by level."""
        return self.table("invariance_levels.csv")

    def paraproduct(self, head: str) -> dict[str, NDArray[np.float64]]:
        """Scores, softmax and its approximations of a head whose arrays were kept."""
        name = f"paraproduct/{head}.npz"
        if name not in self.files:
            raise ArgumentError(f"the arrays of '{head}' were not kept; request them with heads= or paraproduct='all'")
        with np.load(io.BytesIO(self._files.content(name)), allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}

    def _main_table(self) -> Table:
        return self.heads

    def _plots(self) -> Mapping[str, str]:
        return {"errors": "paraproduct_errors"}
