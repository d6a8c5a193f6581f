"""What all results have: the files of a command, in memory or in a RUN folder, and ways to show them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from numpy.typing import NDArray

from ._check import check_call, kind_of, path_of
from ._errors import ArgumentError
from ._files import Files, Folder
from ._tables import Table
from ._trees import Tree

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_T = TypeVar("_T", bound="Result")


class Result:
    """What one command computed. ``print(result)`` shows what the command line prints."""

    command: ClassVar[str] = ""
    #: Whether the report has views of its own for it, beyond its tables.
    _in_report: ClassVar[bool] = True

    def __init__(self, files: Files, summary: str = "") -> None:
        self._files = files
        self.summary = summary

    #: What a copy has; everything else is computed from it.
    _state: ClassVar[tuple[str, ...]] = ("_files", "summary")

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self._state}

    def __copy__(self: _T) -> _T:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__getstate__())
        return other

    def __deepcopy__(self: _T, _: dict[int, Any]) -> _T:
        return self.__copy__()  # files do not change

    @classmethod
    def open(cls: type[_T], run: str | PathLike[str]) -> _T:
        """What ``headscope COMMAND -o RUN``, or ``save``, left in a folder."""
        return cls(Folder(path_of("run", run), cls.command))

    @classmethod
    def _from_call(cls: type[_T], files: Files, summary: str, parameters: Mapping[str, Any]) -> _T:
        """The result of the function with these parameters."""
        return cls(files, summary)

    def save(self, run: str | PathLike[str], force: bool = False) -> None:
        """Writes the files the command line would write to the folder ``run``."""
        self._files.save(path_of("run", run), bool(force))

    @property
    def files(self) -> list[str]:
        """Names of the files that ``save`` writes."""
        return self._files.names()

    @property
    def verdict(self) -> list[str]:
        """What the numbers support, in sentences; the first one is the headline. Empty for commands without one."""
        return self._files.verdict()

    def array(self, file: str) -> NDArray[Any]:
        """One of its .npy files."""
        return self._files.array(file)

    def table(self, file: str) -> Table:
        """One of its .csv files."""
        return Table(self._files.table(file))

    def _text(self, file: str) -> str:
        return self._files.content(file).decode("utf-8", "replace")

    def _optional(self, file: str) -> Table | None:
        return self.table(file) if file in self.files else None

    def _tree(self, file: str) -> Tree:
        return Tree.parse(self._text(file))

    def _main_table(self) -> Table | None:
        tables = [name for name in self.files if name.endswith(".csv")]
        return self.table(tables[0]) if tables else None

    def to_pandas(self) -> pandas.DataFrame:
        """The main table."""
        table = self._main_table()
        if table is None:
            raise ArgumentError(f"the result of '{self.command}' has no table")
        return table.to_pandas()

    def plot(self, kind: str | None = None, ax: Axes | None = None, **options: Any) -> Axes:
        """Draws the result with matplotlib and returns the axes. ``kind`` is one of ``kinds``; default: the first."""
        from . import _plots

        drawn = self._plots()
        if not drawn:
            raise ArgumentError(f"there is no picture of the result of '{self.command}'")
        chosen = kind if kind is not None else next(iter(drawn))
        if chosen not in drawn:
            raise ArgumentError(f"plot: found '{chosen}', expected one of {', '.join(drawn)}")
        if ax is not None and not hasattr(ax, "add_collection"):
            raise ArgumentError(f"ax: expected axes of matplotlib, found {kind_of(ax)}")
        draw = getattr(_plots, drawn[chosen])
        signature = inspect.signature(draw)
        own = signature.replace(parameters=list(signature.parameters.values())[2:])  # without the result and the axes
        check_call(f"plot('{chosen}')", own, (), options)
        axes: Axes = draw(self, ax, **options)
        return axes

    @property
    def kinds(self) -> list[str]:
        """Kinds of plots."""
        return list(self._plots())

    def _plots(self) -> Mapping[str, str]:
        return {}

    def __repr__(self) -> str:
        summary = self.summary.rstrip()
        # The summary begins with the headline.
        if summary:
            return summary
        return "\n".join([*self.verdict, f"<headscope {self.command}: {len(self.files)} files>"])

    def _repr_html_(self) -> str:
        from . import _html

        return _html.page(self)
