"""What callers got wrong, in words: parameters that do not exist, and values of the wrong type."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from os import PathLike, fspath
from typing import Any, ParamSpec, TypeVar

from . import _native
from ._errors import ArgumentError, ParameterError

_P = ParamSpec("_P")
_R = TypeVar("_R")


def checked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The same function; a wrong name or number of arguments is a ``ParameterError`` that suggests the right one."""
    signature = inspect.signature(function)
    name = function.__name__

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        check_call(name, signature, args, kwargs)
        return function(*args, **kwargs)

    return call


def check_call(name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises unless these are arguments of a function of this signature."""
    parameters = signature.parameters.values()
    named = [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]
    for key in kwargs:
        if key not in named and not any(one.kind is one.VAR_KEYWORD for one in parameters):
            raise ParameterError(f"{name}: there is no parameter '{key}'; {suggestion(key, named)}")
    positional = [one for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    if len(args) > len(positional):
        words = ", ".join(one.name for one in positional)
        raise ParameterError(f"{name}: found {len(args)} arguments without a name, expected at most {len(positional)} "
                             f"({words}); give the others by name")
    for place, one in enumerate(positional):
        if place < len(args) and one.name in kwargs:
            raise ParameterError(f"{name}: {one.name} is given twice, by its place and by its name")
        if place >= len(args) and one.name not in kwargs and one.default is one.empty:
            raise ParameterError(f"{name}: {one.name} is missing")


def suggestion(wrong: str, names: Iterable[str]) -> str:
    """The name that was probably meant, or all of them."""
    flag = "--" + wrong.replace("_", "-")
    known = list(names)
    # What the command line calls it: no_special, output.
    translated = _native.with_parameter_names(flag)
    if translated != flag and translated.partition("=")[0] in known:
        return f"did you mean {translated}?"
    close = difflib.get_close_matches(wrong, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"


def kind_of(value: Any) -> str:
    """What a value is, for messages: ``a list``, ``None``, ``a torch.nn.Linear``."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    if name == "bytes":
        return name
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def path_of(name: str, value: Any) -> str:
    """A path as text."""
    if not isinstance(value, (str, PathLike)):
        raise ArgumentError(f"{name}: expected a path, found {kind_of(value)}")
    path = fspath(value)
    if not isinstance(path, str):
        raise ArgumentError(f"{name}: expected a path of text, found bytes")
    if not path:
        raise ArgumentError(f"{name}: is empty, expected a path")
    return path


def index_of(name: str, value: Any) -> int:
    """A number that counts something."""
    try:
        number = -1 if isinstance(value, bool) else int(value.__index__())
    except (AttributeError, TypeError):
        number = -1
    if not 0 <= number < 2**31:
        found = f"{value}" if isinstance(value, int) and not isinstance(value, bool) else kind_of(value)
        raise ArgumentError(f"{name}: expected a non-negative integer, found {found}")
    return number
