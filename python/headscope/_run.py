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
from ._arrays import float_array
from ._files import Folder
from ._result import Result
from .results import Capture, Comparison, Detection, Invariance, Organization, Patching, Pruning, Relation

_RESULTS: dict[str, type[Result]] = {
    kind.command: kind
    for kind in (Relation, Capture, Detection, Organization, Invariance, Pruning, Patching, Comparison)
}


class Run:
    """A RUN folder: the results of the commands that wrote to it; None for the others."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
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
        if found is not None and self.capture is not None:
            identity = self.manifest["commands"]["organize"]["identity"]
            maps = self.capture.scores if identity.get("what") == "scores" else self.capture.pattern
            selections = ("skip_first", "layers", "heads", "queries", "keys")
            if maps is None or any(identity.get(name) not in ("", "0") for name in selections):
                return found
            # The maps in this folder need not be those that were organized.
            if _native.map_fingerprint(float_array(maps)) == identity.get("source"):
                found._maps = lambda: maps
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
        yield fspath(source)
    elif isinstance(source, Result) and isinstance(source._files, Folder):
        yield fspath(source._files.path)
    else:
        with tempfile.TemporaryDirectory() as folder:
            run = f"{folder}/headscope"
            for result in [source] if isinstance(source, Result) else source:
                result.save(run)
            yield run


def open_run(run: str | PathLike[str]) -> Run:
    """Opens a RUN folder that commands or ``save`` wrote to."""
    return Run(run)
