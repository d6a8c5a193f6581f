"""Progress bars."""

from __future__ import annotations

import sys
from typing import Any


class Bar:
    """Shows a tqdm bar for work that takes over a second.

    ``wanted`` is None for a bar on terminals and in notebooks only. Without tqdm there is none.
    """

    def __init__(self, wanted: bool | None) -> None:
        self._wanted = _has_viewer() if wanted is None else wanted
        self._bar: Any = None
        self._stage = ""

    def __call__(self, stage: str, fraction: float) -> None:
        if not self._wanted:
            return
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            return
        if self._bar is None or stage != self._stage:
            self.close()
            self._bar, self._stage = tqdm(total=100, desc=stage, unit="%", leave=False, delay=1), stage
        self._bar.update(100 * fraction - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _has_viewer() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
