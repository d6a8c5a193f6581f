"""Representations of results in notebooks."""

from __future__ import annotations

import html
import io
import re
import tempfile
from pathlib import Path
from typing import Any

from . import _call
from ._errors import UnsupportedError
from ._result import Result
from ._run import Run, folder_of

#: Pages larger than this are not put into a notebook whole.
_LARGEST_PAGE = 16 << 20
#: Results in memory larger than this are not written to a disk only to be shown.
_LARGEST_RESULT = 256 << 20


def page_text(run: Any, **options: Any) -> str:
    """The report with these options, for the ``srcdoc`` of a frame."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html")
        _call.report({"run": run, "page": file, "progress": False, **options})
        page = file.read_text(encoding="utf-8")
    # Without a base, links to parts of the page and its own address would be those of the notebook.
    return page.replace("<head>", '<head><base href="about:srcdoc">', 1)


def _report(run: str) -> str | None:
    """The report in a frame; None if it has nothing to show or is too large."""
    try:
        page = page_text(run)
    except UnsupportedError:
        return None
    if len(page) > _LARGEST_PAGE:
        return None
    return (f'<iframe srcdoc="{html.escape(page)}" style="width:100%;height:640px;border:1px solid #ccc" '
            'sandbox="allow-scripts allow-downloads"></iframe>')


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


def _verdict(result: Result) -> str:
    """The sentences of the verdict, the headline in bold."""
    sentences = [html.escape(sentence) for sentence in result.verdict]
    if not sentences:
        return ""
    return f"<p><b>{sentences[0]}</b></p>" + "".join(f"<p>{sentence}</p>" for sentence in sentences[1:])


def _static(result: Result) -> str:
    table = result._main_table()
    parts = [_verdict(result), f"<pre>{html.escape(result.summary.rstrip())}</pre>" if result.summary else ""]
    parts.append(_figure(result))
    parts.append(table._repr_html_(5) if table is not None else "")
    return f"<div><b>headscope {result.command}</b>{''.join(parts)}</div>"


def page(result: Result) -> str:
    if not result._in_report or result._files.size() > _LARGEST_RESULT:
        return _static(result)
    with folder_of(result) as folder:
        return _report(folder) or _static(result)


def run_page(run: Run) -> str:
    linked = _report(str(run.path))
    if linked is not None:
        return linked
    parts = [_static(found) for command in run.commands if (found := getattr(run, command, None)) is not None]
    return "".join(parts) or html.escape(repr(run))
