"""What notebooks show."""

from __future__ import annotations

import html
import io
import re
import tempfile
from typing import TYPE_CHECKING

from ._words import has_command

if TYPE_CHECKING:
    from .results import Result, Run

#: Pages larger than this are not put into a notebook whole.
_LARGEST = 16 << 20


def _frame(page: str) -> str:
    return (f'<iframe srcdoc="{html.escape(page)}" style="width:100%;height:640px;border:1px solid #ccc" '
            'sandbox="allow-scripts allow-downloads"></iframe>')


def _report(run: str) -> str | None:
    """The linked report in a frame; None where this version has none, or it is too large."""
    from ._commands import page_of

    if not has_command("report"):
        return None
    page = page_of(run)
    return _frame(page) if len(page) <= _LARGEST else None


def _figure(result: Result) -> str:
    """The first picture as SVG; nothing without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return ""
    if not result.kinds:
        return ""
    figure = Figure(figsize=(7, 4), layout="constrained")
    result.plot(ax=figure.add_subplot())
    stream = io.StringIO()
    figure.savefig(stream, format="svg")
    svg = stream.getvalue()
    return re.sub(r"^.*?(?=<svg)", "", svg, flags=re.DOTALL)


def _static(result: Result) -> str:
    table = result._main_table()
    parts = [f"<pre>{html.escape(result.summary.rstrip())}</pre>" if result.summary else "", _figure(result)]
    parts.append(table._repr_html_(5) if table is not None else "")
    return f"<div><b>headscope {result.command}</b>{''.join(parts)}</div>"


def page(result: Result) -> str:
    if not has_command("report"):
        return _static(result)
    with tempfile.TemporaryDirectory() as folder:
        result.save(folder)
        return _report(folder) or _static(result)


def run_page(run: Run) -> str:
    linked = _report(str(run.path))
    if linked is not None:
        return linked
    parts = [_static(found) for command in run.commands if (found := getattr(run, command, None)) is not None]
    return "".join(parts) or html.escape(repr(run))
