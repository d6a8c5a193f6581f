"""The files of a result: in memory, or in a RUN folder."""

from __future__ import annotations

import copyreg
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._errors import ArgumentError


class Files(Protocol):
    """``size`` is the memory that they take, ``content`` the bytes that a file has on disk."""

    def names(self) -> list[str]: ...
    def verdict(self) -> list[str]: ...
    def content(self, name: str) -> bytes: ...
    def table(self, name: str) -> _native.Table: ...
    def array(self, name: str) -> NDArray[Any]: ...
    def size(self) -> int: ...
    def save(self, path: str, force: bool) -> None: ...


# What the module has in memory does not change: pickle stores its contents.


def _run_of(command: Any, files: Any) -> _native.Run:
    return _native.run_of_state(command, files)


def _table_of(state: Any) -> _native.Table:
    return _native.table_of_state(state)


copyreg.pickle(_native.Run, lambda run: (_run_of, _native.state_of_run(run)))
copyreg.pickle(_native.Table, lambda table: (_table_of, (_native.state_of_table(table),)))


class Held:
    """Arrays and texts that Python made, with the names that ``capture`` would give them."""

    def __init__(self, command: str, identity: Mapping[str, str], arrays: Mapping[str, NDArray[Any]],
                 texts: Mapping[str, tuple[str, str, str]], axes: Mapping[str, tuple[str, list[str]]]) -> None:
        self._command, self._identity = command, dict(identity)
        self._arrays, self._texts, self._axes = dict(arrays), dict(texts), dict(axes)

    def names(self) -> list[str]:
        return [*self._arrays, *self._texts]

    def verdict(self) -> list[str]:
        return []

    def content(self, name: str) -> bytes:
        if name in self._texts:
            return self._texts[name][2].encode()
        stream = io.BytesIO()
        np.save(stream, self._arrays[name])
        return stream.getvalue()

    def table(self, name: str) -> _native.Table:
        raise ArgumentError(f"'{name}' is not a table")

    def array(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    def size(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    def save(self, path: str, force: bool) -> None:
        files = []
        for name, array in self._arrays.items():
            about, axes = self._axes[name]
            files.append((name, "array", about, list(array.shape), str(array.dtype), axes, self.content(name)))
        for name, (kind, about, _) in self._texts.items():
            files.append((name, kind, about, [], "", [], self.content(name)))
        _native.Run.of(self._command, self._identity, files).save(path, force)


class Folder:
    """What one command left in a RUN folder. Arrays are mapped, not read. A pickle has the path, not the files."""

    def __init__(self, path: str | Path, command: str) -> None:
        self.path, self.command = Path(path), command
        self._contents = _native.RunContents(self.path)
        manifest = self._contents.manifest()
        if command not in manifest["commands"]:
            raise ArgumentError(f"{self.path}: holds no result of '{command}'")
        self._identity: dict[str, Any] = manifest["commands"][command].get("identity", {})
        self._verdict = [str(sentence) for sentence in manifest["commands"][command].get("verdict", [])]
        self._names = [
            name for name, entry in manifest["files"].items()
            if isinstance(entry, dict) and entry.get("command") == command
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (str(self.path.absolute()), self.command, self._identity)

    def names(self) -> list[str]:
        return list(self._names)

    def verdict(self) -> list[str]:
        return list(self._verdict)

    def content(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def table(self, name: str) -> _native.Table:
        return self._contents.table(name)

    def array(self, name: str) -> NDArray[Any]:
        mapped: NDArray[Any] = np.load(self.path / name, mmap_mode="r", allow_pickle=False)
        return mapped

    def size(self) -> int:
        return 0

    def save(self, path: str, force: bool) -> None:
        self._contents.save(self.command, path, force)

    def manifest(self) -> dict[str, Any]:
        """The contents of manifest.json."""
        return self._contents.manifest()


def _reopened(path: str, command: str, identity: Mapping[str, Any]) -> Folder:
    folder = Folder(path, command)
    if folder._identity != identity:
        raise ArgumentError(f"{path}: '{command}' has been run there with other options or inputs since this was "
                            "pickled")
    return folder
