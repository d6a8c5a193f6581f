"""Tables as the command line writes them."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas


def _column(cells: list[str]) -> NDArray[Any]:
    """Integers or floats (an empty cell is NaN) where all cells are, else text."""
    try:
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        if any(cells):
            return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        pass
    return np.array(cells, dtype=object)


class Table:
    """Rows of a CSV file: ``table["column"]`` is an array, iteration gives rows as dicts."""

    def __init__(self, text: str) -> None:
        rows = list(csv.reader(io.StringIO(text, newline="")))
        self.names: list[str] = rows[0] if rows else []
        body = rows[1:]
        self._length = len(body)
        self._columns = {name: _column([row[i] for row in body]) for i, name in enumerate(self.names)}

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            raise KeyError(f"no column '{name}', only {', '.join(self.names)}")
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def row(self, i: int) -> dict[str, Any]:
        return {name: column[i] for name, column in self._columns.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self.row(i) for i in range(len(self)))

    def to_pandas(self) -> pandas.DataFrame:
        import pandas

        return pandas.DataFrame(dict(self._columns))

    def _shown(self, rows: int) -> list[list[str]]:
        def text(value: Any) -> str:
            return f"{value:.4g}" if isinstance(value, float) else str(value)

        return [[text(self._columns[name][i]) for name in self.names] for i in range(min(rows, len(self)))]

    def __repr__(self) -> str:
        cells = [self.names, *self._shown(10)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.names))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
        if len(self) > 10:
            lines.append(f"... {len(self)} rows")
        return "\n".join(lines)

    def _repr_html_(self, rows: int = 10) -> str:
        def line(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(line(cells, "td") for cells in self._shown(rows))
        more = f"<caption style='caption-side:bottom'>{len(self)} rows</caption>" if len(self) > rows else ""
        return f"<table>{more}<thead>{line(self.names, 'th')}</thead><tbody>{body}</tbody></table>"
