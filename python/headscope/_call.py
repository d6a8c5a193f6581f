"""Runs the functions in ``_functions.py``: parameters become a request, its outcome becomes a result."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from enum import Enum
from functools import cache
from os import PathLike, fspath
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._arrays import ArrayLike, array_of, float_array
from ._check import checked, kind_of, path_of
from ._errors import ArgumentError
from ._files import Files, Folder
from ._inputs import give_inputs, give_paired
from ._labels import label_text
from ._model import model_of
from ._progress import Bar
from ._result import Result
from ._run import Run, folder_of
from ._tables import Table
from .results import Capture

__all__ = ["checked", "compare", "report", "run"]

_R = TypeVar("_R", bound=Result)
_Value: TypeAlias = "bool | int | float | str | list[str]"
_log = logging.getLogger("headscope")


def run(kind: type[_R], parameters: dict[str, Any]) -> _R:
    """Runs the command of a kind of results. ``parameters`` are those of its function."""
    with ExitStack() as stack:
        outcome = _run(kind.command, _with_all_inputs(parameters, stack))
    files: Files
    if outcome.folder is not None:
        files = Folder(outcome.folder, kind.command)
    else:
        assert outcome.memory is not None
        files = outcome.memory
    return kind._from_call(files, outcome.summary, parameters)


def _with_all_inputs(parameters: dict[str, Any], stack: ExitStack) -> dict[str, Any]:
    """The parameters, with a capture of several inputs or blocks as a folder: an array in memory is the maps of one."""
    source = parameters.get("source")
    if not isinstance(source, Capture) or source._folder or (len(source.inputs) < 2 and not source.blocks):
        return parameters
    return {**parameters, "source": stack.enter_context(folder_of(source))}


def compare(kind: type[_R], parameters: dict[str, Any]) -> _R:
    """Runs ``compare``. Results in memory are written to temporary folders."""
    runs = parameters["runs"]
    if isinstance(runs, Mapping):
        parameters["names"], runs = list(runs), list(runs.values())
    if isinstance(runs, (str, PathLike, Result)) or not isinstance(runs, Iterable):
        raise ArgumentError(f"runs: expected a list of at least two runs, found {kind_of(runs)}")
    runs = list(runs)
    for one in runs:
        if not isinstance(one, (str, PathLike, Result)):
            raise ArgumentError(f"runs: expected folders of results, or results, found {kind_of(one)}")
    if not parameters["names"] and any(isinstance(one, Result) for one in runs):
        parameters["names"] = [
            f"{one.command} {i}" if isinstance(one, Result) else fspath(one) for i, one in enumerate(runs)
        ]
    with ExitStack() as stack:
        parameters["runs"] = [stack.enter_context(folder_of(one)) for one in runs]
        return run(kind, parameters)


def report(parameters: dict[str, Any]) -> str:
    """Runs ``report`` and returns its summary. Results in memory are written to a temporary folder."""
    path_of("page", parameters["page"])
    with folder_of(parameters["run"]) as folder:
        parameters["run"] = folder
        return _run("report", parameters).summary


def _run(command: str, parameters: dict[str, Any]) -> _native.Outcome:
    request = _native.Request(command)
    objects = request.objects
    if objects.get("text") == "inputs":
        parameters = give_inputs(request, parameters)
    paths = _paths_of(command)
    for name, value in parameters.items():
        kind = objects.get(name, "")
        if name == "progress" or (value is None and kind not in _REQUIRED):  # None is the default
            continue
        give = _GIVE.get(kind)
        if give is None or not give(request, value, parameters):
            request.set(name, _checked_paths(name, value) if name in paths else _plain(name, value))
    with Bar(parameters.get("progress")) as bar:
        return request.run(bar, _log.info)


@cache
def _paths_of(command: str) -> frozenset[str]:
    """The parameters that are paths."""
    return frozenset(one.parameter for one in _native.Request(command).options if one.holds_paths)


def _checked_paths(name: str, value: Any) -> _Value:
    """A path, or paths. A number is none, although a folder may have its name."""
    if isinstance(value, (list, tuple)):
        return [path_of(name, one) for one in value]
    return path_of(name, value)


def _plain(name: str, value: Any) -> _Value:
    """A value as the application layer takes it."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, PathLike):
        path: str = fspath(value)
        return path
    if isinstance(value, (int, np.integer)):
        number = int(value)
        return number if -(2**63) <= number < 2**63 else str(number)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if not isinstance(value, Iterable) or isinstance(value, (bytes, Mapping)):
        raise ArgumentError(f"{name}: cannot use {kind_of(value)}")
    if getattr(value, "ndim", 1) != 1:
        raise ArgumentError(f"{name}: expected a list, found an array of shape {list(getattr(value, 'shape', []))}")
    return [_text(name, one) for one in value]


def _text(name: str, value: Any) -> str:
    plain = _plain(name, value)
    if isinstance(plain, (list, bool)):
        raise ArgumentError(f"{name}: cannot use {kind_of(value)} in a list")
    return str(plain)


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, PathLike))


def _integers(name: str, values: ArrayLike, axes: Sequence[int], expected: str) -> NDArray[np.int64]:
    if isinstance(values, Mapping) or not (hasattr(values, "__iter__") or hasattr(values, "__dlpack__")):
        raise ArgumentError(f"{name}: expected {expected}, found {kind_of(values)}")
    array = array_of(name, values)
    if array.ndim not in axes or array.size == 0 or array.dtype.kind not in "iu":
        raise ArgumentError(f"{name}: expected {expected}, found {array.dtype} of shape {list(array.shape)}")
    return np.ascontiguousarray(array, dtype=np.int64)


# Each of these gives an object to a request, or returns False if the value is text.


def _give_model(request: _native.Request, model: Any, parameters: Mapping[str, Any]) -> bool:
    if isinstance(model, str) or (isinstance(model, PathLike) and not isinstance(model, Run)):
        path_of("model", model)
        return False
    named = [parameters.get(name) for name in ("revision", "family", "tower")]
    request.give_model(model_of(model, *named)._native)
    return True


def _give_labels(request: _native.Request, labels: Any, _: Mapping[str, Any]) -> bool:
    if _is_path(labels):
        return False
    request.give_labels(_integers("labels", labels, (1,), "integers, one per input"))
    return True


def _give_signed_labels(request: _native.Request, labels: Any, _: Mapping[str, Any]) -> bool:
    if _is_path(labels):
        return False
    expected = "integers, one per input or [inputs, tokens]"
    request.give_labels(np.ravel(_integers("labels", labels, (1, 2), expected)))
    return True


def _give_head_labels(request: _native.Request, labels: Any, _: Mapping[str, Any]) -> bool:
    if isinstance(labels, Run):
        if labels.detect is None:
            raise ArgumentError(f"labels: {labels.path} has no result of detect")
        labels = labels.detect
    if _is_path(labels):
        return False
    request.give_head_labels(label_text(labels))
    return True


def _give_paired(request: _native.Request, inputs: Any, _: Mapping[str, Any]) -> bool:
    return give_paired(request, inputs)


def _give_edges(request: _native.Request, edges: Any, _: Mapping[str, Any]) -> bool:
    if _is_path(edges):
        return False
    expected = "pair, source and target"
    names = ("pair", "source", "target")
    fields = getattr(getattr(edges, "dtype", None), "names", None)  # of a structured array
    if fields or isinstance(edges, (Mapping, Table)) or hasattr(edges, "columns"):
        for name in names:
            if name not in (fields or edges):
                raise ArgumentError(f"edges: has no column '{name}', expected {expected}")
        columns = [list(edges[name]) for name in names]
        if len({len(column) for column in columns}) > 1:
            raise ArgumentError("edges: the columns differ in length")
        edges = zip(*columns, strict=True)
    if not isinstance(edges, Iterable) or isinstance(edges, bytes):
        raise ArgumentError(f"edges: cannot use {kind_of(edges)}")
    rows = [[str(text) for text in row] if _is_row(row) else [] for row in edges]
    if not rows or any(len(row) != len(names) for row in rows):
        raise ArgumentError(f"edges: expected a table with columns {expected}, or triples of these, and at least one")
    request.give_edges(rows)
    return True


def _is_row(row: Any) -> bool:
    return isinstance(row, Iterable) and not isinstance(row, (str, bytes, Mapping))


def _give_maps(request: _native.Request, source: Any, parameters: Mapping[str, Any]) -> bool:
    if _is_path(source):
        return False
    description = ""
    if isinstance(source, Capture):
        maps = source._maps_of(parameters.get("what") or "scores")
        description = source._text(source._folder + "tokens.json")
        source = maps
    if isinstance(source, Result):
        raise ArgumentError(f"source: this is the result of {source.command}, expected what capture returned, a "
                            "folder of results, a file or an array")
    if not (hasattr(source, "shape") or isinstance(source, (list, tuple))):
        raise ArgumentError("source: expected what capture returned, a folder of results, a file or an array, found "
                            f"{kind_of(source)}")
    if isinstance(source, (list, tuple)) and not source:
        raise ArgumentError("source: is empty, expected maps [head, query, key]")
    request.give_maps(float_array("source", source), description)
    return True


def _give_mask(request: _native.Request, mask: Any, _: Mapping[str, Any]) -> bool:
    if _is_path(mask):
        return False
    request.give_mask(float_array("mask", mask))
    return True


#: Objects that a function cannot do without.
_REQUIRED = ("model", "maps")
_GIVE: dict[str, Callable[[_native.Request, Any, Mapping[str, Any]], bool]] = {
    "model": _give_model,
    "head_labels": _give_head_labels,
    "labels": _give_labels,
    "signed_labels": _give_signed_labels,
    "paired": _give_paired,
    "edges": _give_edges,
    "maps": _give_maps,
    "mask": _give_mask,
}
