"""Where a result's files are: in memory, or in a RUN folder."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._errors import FileError, FormatError


class Files(Protocol):
    """``size`` is what they take in memory."""

    def names(self) -> list[str]: ...
    def content(self, name: str) -> bytes: ...
    def array(self, name: str) -> NDArray[Any]: ...
    def size(self) -> int: ...
    def save(self, path: str, force: bool) -> None: ...


class Held:
    """Arrays and texts that Python made, under the names ``capture`` would give them."""

    def __init__(self, command: str, identity: Mapping[str, str], arrays: Mapping[str, NDArray[Any]],
                 texts: Mapping[str, tuple[str, str, str]], axes: Mapping[str, tuple[str, list[str]]]) -> None:
        self._command, self._identity = command, dict(identity)
        self._arrays, self._texts, self._axes = dict(arrays), dict(texts), dict(axes)

    def names(self) -> list[str]:
        return [*self._arrays, *self._texts]

    def content(self, name: str) -> bytes:
        if name in self._texts:
            return self._texts[name][2].encode()
        stream = io.BytesIO()
        np.save(stream, self._arrays[name])
        return stream.getvalue()

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
        _native.Run.of(self._command, [self._command], self._identity, {}, files).save(path, force)


class Folder:
    """What one command left in a RUN folder. Arrays are mapped, not read."""

    def __init__(self, path: str | Path, command: str) -> None:
        self.path, self.command = Path(path), command
        self._manifest = manifest(self.path)
        self._names = [name for name, entry in self._manifest["files"].items() if entry.get("command") == command]

    def names(self) -> list[str]:
        return list(self._names)

    def content(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def array(self, name: str) -> NDArray[Any]:
        mapped: NDArray[Any] = np.load(self.path / name, mmap_mode="r", allow_pickle=False)
        return mapped

    def size(self) -> int:
        """In memory: nothing."""
        return 0

    def save(self, path: str, force: bool) -> None:
        said = self._manifest["commands"][self.command]
        files = []
        for name in self._names:
            entry = self._manifest["files"][name]
            files.append((name, entry["kind"], entry["about"], entry.get("shape", []), entry.get("dtype", ""),
                          entry.get("axes", []), self.content(name)))
        _native.Run.of(self.command, said["arguments"], said["identity"], said["circumstances"], files).save(path, force)


def manifest(path: Path) -> dict[str, Any]:
    """The manifest of a RUN folder."""
    file = path / "manifest.json"
    try:
        root = json.loads(file.read_bytes())
    except OSError as error:
        raise FileError(f"{file}: {error.strerror}; expected a folder that a command wrote with -o") from None
    except ValueError as error:
        raise FormatError(f"{file}: {error}") from None
    if not isinstance(root, dict) or not all(isinstance(root.get(key), dict) for key in ("files", "commands")):
        raise FormatError(f"{file}: is not a manifest: expected objects 'files' and 'commands'")
    return root
