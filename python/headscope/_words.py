"""Python arguments as the words of a command line, and a command line run inside this process."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._files import Files, Folder

Path: TypeAlias = "str | PathLike[str]"
#: One thing or several, e.g. ``"L4H7"``, ``3``, ``["0", "3-5"]``.
Some: TypeAlias = "str | int | Iterable[str | int]"


def words_of(options: dict[str, Any]) -> list[str]:
    """``top=20`` is ``--top=20``, ``force=True`` is ``--force``; None and False are left out."""
    words = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, (str, PathLike, int, float, np.integer, np.floating)):
            words.append(f"{option}={fspath(value) if isinstance(value, PathLike) else value}")
        else:
            words.append(f"{option}={','.join(str(one) for one in value)}")
    return words


def as_positional(word: str) -> str:
    """A path that begins like an option, so that it is none."""
    return "./" + word if word.startswith("-") else word


class Bar:
    """A tqdm bar for work over a second; nothing where tqdm is not installed or nobody looks."""

    def __init__(self, wanted: bool | None) -> None:
        self._wanted = wanted
        self._bar: Any = None
        self._what = ""

    def __call__(self, what: str, share: float) -> None:
        if self._wanted is False or (self._wanted is None and not _somebody_looks()):
            return
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            return
        if self._bar is None or what != self._what:
            self.close()
            self._bar, self._what = tqdm(total=100, desc=what, unit="%", leave=False, delay=1), what
        self._bar.update(100 * share - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _somebody_looks() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def run_command(
    command: str,
    positional: list[str],
    options: dict[str, Any],
    *,
    model: _native.Model | None = None,
    arrays: dict[str, NDArray[np.float32]] | None = None,
    tokens: dict[str, str] | None = None,
    ids: dict[str, NDArray[np.int64]] | None = None,
    pixels: dict[str, NDArray[np.float32]] | None = None,
    repeated: list[str] | None = None,
    run: Path | None = None,
    progress: bool | None = None,
) -> tuple[Files, str]:
    """Gives the files a command wrote, in memory or in ``run``, and what it printed."""
    folder = fspath(run) if run is not None else "memory"
    words = [command, *map(as_positional, positional), *words_of(options), *(repeated or []), f"--output={folder}"]
    with Bar(progress) as bar:
        held, printed = _native.run_command(
            words, model, arrays or {}, tokens or {}, ids or {}, pixels or {}, run is None, bar
        )
    return (held if run is None else Folder(folder, command)), printed


def run_report(folder: Path, page: Path, options: dict[str, Any], progress: bool | None = None) -> str:
    """Gives what was printed."""
    words = ["report", as_positional(fspath(folder)), *words_of(options), f"--output={fspath(page)}"]
    with Bar(progress) as bar:
        return _native.run_command(words, None, {}, {}, {}, {}, False, bar)[1]
