"""What heads attend to: the result of ``detect``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._errors import ArgumentError
from .._result import Result
from .._tables import Table


class Detection(Result):
    """What heads attend to on random tokens (``detect``)."""

    command = "detect"
    detectors: ClassVar[tuple[str, ...]] = ("previous", "identity", "duplicate", "induction", "next", "first")

    @cached_property
    def scores(self) -> Table:
        """One row per head, one column per detector."""
        return self.table("detectors.csv")

    @cached_property
    def labels(self) -> dict[str, Any]:
        """The detected heads by class, as ``relate`` takes them: its ``labels`` may also be this result."""
        if "labels.json" in self.files:
            written: dict[str, Any] = json.loads(self._text("labels.json"))
            return written
        # A detector that could not be used, e.g. on a bidirectional model, has no scores.
        known = [name for name in self.detectors if name in self.scores.names]  # older runs lack some
        used = [name for name in known if not np.isnan(np.asarray(self.scores[name], dtype=float)).all()]
        heads = list(zip(self.scores["head"], self.scores["detected"], strict=True))
        classes = {name: [str(head) for head, found in heads if name in str(found).split()] for name in used}
        ignored = [name for name in ("identity",) if name in classes]
        return {"name": "detected", "source": "headscope detect", "classes": classes, "ignored": ignored}

    @cached_property
    def lengths(self) -> Table | None:
        """Per detector and length: sequences, the score of uniform attention, and how many heads are detected."""
        return self._optional("detector_lengths.csv")

    def heads(self, detector: str) -> list[str]:
        """Heads that pass the threshold of a detector at all lengths, best first."""
        if detector not in self.detectors:
            raise ArgumentError(f"detector: found '{detector}', expected one of {', '.join(self.detectors)}")
        score = np.nan_to_num(np.asarray(self.scores[detector], dtype=float), nan=-1.0)
        detected = [str(names).split() for names in self.scores["detected"]]
        passed = [i for i in np.argsort(-score, kind="stable") if detector in detected[i]]
        return [str(self.scores["head"][i]) for i in passed]

    def _plots(self) -> Mapping[str, str]:
        return {"detectors": "detectors"}
