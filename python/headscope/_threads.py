"""The number of threads."""

from __future__ import annotations

from . import _native
from ._check import checked, index_of


@checked
def set_threads(threads: int) -> None:
    """Sets the number of threads; 0 for all processors. Results do not depend on it."""
    _native.set_threads(index_of("threads", threads))
