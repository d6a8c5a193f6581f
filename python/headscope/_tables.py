"""Tables with typed columns."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._check import suggestion
from ._errors import ColumnError

if TYPE_CHECKING:
    import pandas


class Table:
    """A table: ``table["column"]`` is an array, iteration gives rows as dicts.

    The types of the columns are those of the file format: text (object arrays of str), int64, float64 with NaN for
    integers that may be missing, float32, float64 and bool.
    """

    def __init__(self, native: _native.Table) -> None:
        self._native = native
        #: Names of the columns.
        self.names: list[str] = native.names
        self._columns: dict[str, NDArray[Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"_native": self._native, "names": self.names, "_columns": {}}

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.names:
            raise ColumnError(f"there is no column '{name}'; {suggestion(str(name), self.names)}")
        if name not in self._columns:
            values = self._native.column(name)
            self._columns[name] = np.array(values, dtype=object) if isinstance(values, list) else values
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def row(self, i: int) -> dict[str, Any]:
        return {name: self[name][i] for name in self.names}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self.row(i) for i in range(len(self)))

    def to_pandas(self) -> pandas.DataFrame:
        import pandas

        return pandas.DataFrame({name: self[name] for name in self.names})

    def _shown(self, rows: int) -> list[list[str]]:
        def text(value: Any) -> str:
            return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)

        return [[text(self[name][i]) for name in self.names] for i in range(min(rows, len(self)))]

    def __repr__(self) -> str:
        cells = [self.names, *self._shown(10)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.names))]
        padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in cells]
        lines = ["  ".join(row).rstrip() for row in padded]
        if len(self) > 10:
            lines.append(f"... {len(self)} rows")
        return "\n".join(lines)

    def _repr_html_(self, rows: int = 10) -> str:
        def line(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(line(cells, "td") for cells in self._shown(rows))
        more = f"<caption style='caption-side:bottom'>{len(self)} rows</caption>" if len(self) > rows else ""
        return f"<table>{more}<thead>{line(self.names, 'th')}</thead><tbody>{body}</tbody></table>"
