"""Progress in percent."""

from __future__ import annotations

import sys
import time
from typing import Any

from ._check import kind_of
from ._errors import ArgumentError

#: Seconds before work is long enough to be watched.
_PATIENCE = 1.0
#: Without a bar, and where lines cannot be replaced, there is a line for each of these steps in percent.
_STEP = 10


class Bar:
    """Shows how much of the work is done once it takes over a second: a bar of tqdm, or plain text without it.

    ``wanted`` is None for terminals and notebooks only.
    """

    def __init__(self, wanted: bool | None) -> None:
        if wanted is not None and not isinstance(wanted, bool):
            raise ArgumentError(f"progress: expected True, False or None, found {kind_of(wanted)}")
        self._wanted = _has_viewer() if wanted is None else wanted
        self._shown: Any = None
        self._stage = ""

    def __call__(self, stage: str, fraction: float) -> None:
        if not self._wanted:
            return
        if self._shown is None or stage != self._stage:
            self.close()
            self._shown, self._stage = _shown(stage), stage
        percent = min(100, int(100 * fraction))
        self._shown.update(percent - self._shown.n)

    def close(self) -> None:
        if self._shown is not None:
            self._shown.close()
        self._shown = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Plain:
    """What is used of a tqdm bar, as text: one line that changes, or one line per step."""

    def __init__(self, stage: str) -> None:
        self.n = 0
        self._stage, self._begin = stage, time.monotonic()
        self._replaces = _has_viewer()
        self._written = ""
        self._next = 0

    def update(self, percent: int) -> None:
        self.n += percent
        if time.monotonic() - self._begin < _PATIENCE:
            return
        text = f"{self._stage}: {self.n} %"
        if self._replaces:
            if text != self._written:
                sys.stderr.write("\r" + text.ljust(len(self._written)))
                self._written = text
        elif self.n >= self._next:
            sys.stderr.write(text + "\n")
            self._next = (self.n // _STEP + 1) * _STEP
        sys.stderr.flush()

    def close(self) -> None:
        if self._written:
            sys.stderr.write("\r" + " " * len(self._written) + "\r")
            sys.stderr.flush()


def _shown(stage: str) -> Any:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return _Plain(stage)
    layout = "{desc}: {percentage:3.0f} %|{bar}| {elapsed}, {remaining} left"
    return tqdm(total=100, desc=stage, bar_format=layout, leave=False, delay=_PATIENCE)


def _has_viewer() -> bool:
    """Whether somebody looks: on a terminal, or in a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return sys.stderr.isatty() or hasattr(shell, "kernel")
