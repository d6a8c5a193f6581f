"""RUN folders."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from . import _native
from ._check import checked, kind_of, path_of
from ._errors import ArgumentError
from ._files import Folder
from ._result import Result
from .results import Capture, Comparison, Detection, Invariance, Organization, Patching, Pruning, Relation

_KINDS: tuple[type[Result], ...] = (
    Relation, Capture, Detection, Organization, Invariance, Pruning, Patching, Comparison,
)  # fmt: skip
_RESULTS = {kind.command: kind for kind in _KINDS}


class Run:
    """A RUN folder: the results of the commands that wrote to it; None for the others."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path_of("run", path))
        #: The contents of manifest.json.
        self.manifest: dict[str, Any] = _native.RunContents(self.path).manifest()

    @property
    def commands(self) -> list[str]:
        return list(self.manifest["commands"])

    def _result(self, command: str) -> Any:
        return _RESULTS[command].open(self.path) if command in self.commands else None

    @cached_property
    def relate(self) -> Relation | None:
        found: Relation | None = self._result("relate")
        return found

    @cached_property
    def capture(self) -> Capture | None:
        found: Capture | None = self._result("capture")
        return found

    @cached_property
    def detect(self) -> Detection | None:
        found: Detection | None = self._result("detect")
        return found

    @cached_property
    def organize(self) -> Organization | None:
        found: Organization | None = self._result("organize")
        return found

    @cached_property
    def softmax(self) -> Invariance | None:
        found: Invariance | None = self._result("softmax")
        return found

    @cached_property
    def prune(self) -> Pruning | None:
        found: Pruning | None = self._result("prune")
        return found

    @cached_property
    def patch(self) -> Patching | None:
        found: Patching | None = self._result("patch")
        return found

    @cached_property
    def compare(self) -> Comparison | None:
        found: Comparison | None = self._result("compare")
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Run, (str(self.path.absolute()),)

    def __repr__(self) -> str:
        return f"<headscope run {self.path}: {', '.join(self.commands)}>"

    def _repr_html_(self) -> str:
        from . import _html

        return _html.run_page(self)

    def __fspath__(self) -> str:
        return str(self.path)


@contextmanager
def folder_of(source: str | PathLike[str] | Result | Iterable[Result]) -> Iterator[str]:
    """The RUN folder of a result; for results in memory a temporary one."""
    if isinstance(source, (str, PathLike)):
        yield path_of("run", source)
    elif isinstance(source, Result) and isinstance(source._files, Folder):
        yield fspath(source._files.path)
    else:
        results = [source] if isinstance(source, Result) else list(source) if isinstance(source, Iterable) else []
        for one in results:
            if not isinstance(one, Result):
                raise ArgumentError(f"run: expected a folder of results, or results, found {kind_of(one)} in the list")
        if not results:
            found = kind_of(source) if not isinstance(source, Iterable) else "nothing"
            raise ArgumentError(f"run: expected a folder of results, or results, found {found}")
        with tempfile.TemporaryDirectory() as folder:
            run = f"{folder}/headscope"
            for result in results:
                result.save(run)
            yield run


@checked
def open_run(run: str | PathLike[str]) -> Run:
    """Opens a RUN folder that commands or ``save`` wrote to."""
    return Run(run)
