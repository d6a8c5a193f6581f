"""The page of results as a widget for notebooks, with its selection."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any

from ._check import checked
from ._errors import ArgumentError
from ._result import Result

if TYPE_CHECKING:
    from ._widget import View

#: The page is one message from the kernel to the browser, and in the notebook if that keeps the state of its widgets.
_LARGEST_PAGE = 64 << 20
_HEAD = re.compile(r"L\d{1,6}(H|KV)\d{1,6}")


@checked
def view(
    run: str | PathLike[str] | Result | Iterable[Result],
    *,
    height: int = 640,
    title: str | None = None,
    max_data: str | int | None = None,
    keep: str | Iterable[str] | None = None,
    thumbnails: bool | None = None,
) -> View:
    """The page of ``report`` as a widget for notebooks. Needs anywidget: ``pip install 'headscope[notebook]'``.

    ``run`` is what ``report`` takes: a RUN folder, a ``Run``, a result or several results. ``height`` is in pixels; the
    other parameters are those of ``report``. The widget's ``selected_heads`` and ``selected_edge`` are the selection in
    the page, in both directions.
    """
    try:
        import anywidget  # noqa: F401
    except ImportError:
        raise ImportError("headscope.view needs anywidget: pip install 'headscope[notebook]'") from None
    from . import _html
    from ._widget import View

    page = _html.page_text(run, title=title, max_data=max_data, keep=keep, thumbnails=thumbnails)
    if len(page) > _LARGEST_PAGE:
        raise ArgumentError(f"view: the page has {len(page) / 1e6:.0f} MB, more than the {_LARGEST_PAGE / 1e6:.0f} MB "
                            "that a notebook is given; use a smaller max_data, or headscope.report")
    return View(page, heads_of(page), height)


def heads_of(page: str) -> frozenset[str]:
    """The names of the heads that a page can select; web/src/data/run.ts finds the same."""
    doc = _data(page)
    tables = doc.get("tables", {})
    names: set[str] = set()
    for table in ("heads", "detectors", "sparsity", "invariance", "ranking"):
        names.update(_column(tables.get(table), "head"))
    for column in ("source", "target"):
        names.update(_column(tables.get("patch"), column))
    for one in doc.get("inputs", []):
        names.update(one["tokens"]["heads"])
    names.update(doc.get("trees", {}).get("head", {}).get("names", []))
    for axis in doc.get("comparison", {}).get("axes", []):
        if axis["axis"] == "head":
            names.update(axis["tree"].get("names", []))
    prune = doc["manifest"]["commands"].get("prune", {})
    names.update(prune.get("identity", {}).get("protect", "").split(","))
    return frozenset(name for name in names if isinstance(name, str) and _HEAD.fullmatch(name))


def _column(table: Any, name: str) -> list[Any]:
    columns = table["columns"] if table else []
    return next((column["values"] for column in columns if column["name"] == name), [])


def _data(page: str) -> dict[str, Any]:
    """The main block of a page; src/report/page.cpp writes it."""
    main = re.search(r'<meta name="headscope-main" content="(\d+)">', page)
    assert main is not None
    begin = f'<script type="application/octet-stream" id="block-{main[1]}">'
    at = page.index(begin) + len(begin)
    packed = base64.b64decode(page[at:page.index("</script>", at)])
    data: dict[str, Any] = json.loads(zlib.decompress(packed))
    return data
