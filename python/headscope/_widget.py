"""The widget that ``view`` returns. Only this module imports anywidget."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ._errors import ArgumentError

#: Heads in the tray of the page; web/src/ui/store.ts.
_MAX_PINS = 6
_EDGE = re.compile(r"([A-Za-z]{1,8}):([A-Za-z0-9]{1,24})>([A-Za-z0-9]{1,24})")
_Edge = tuple[str, str, str]


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


class _Trait(traitlets.TraitType[Any, Any]):
    """A trait that only its validator checks: ``Any`` lets None pass, and the others do not say what they expect."""


class View(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
    """The page in a notebook.

    ``selected_heads``: the selected head, the source and the target of the selected edge, then the heads in the tray,
    the oldest first; each once. Set to names of heads, the first one is selected; several are put into the tray.
    ``selected_edge``: (pair, source, target) as in the columns of ``Relation.edges``, or None.
    ``height``: in pixels. All three are traits: ``view.observe(function, "selected_heads")``.
    """

    _esm = Path(__file__).with_name("_view.js").read_text(encoding="utf-8")
    _page = traitlets.Unicode().tag(sync=True)
    #: What the page shows: {"head": name or None, "edge": "OK:L0H1>L1H2" or None, "pins": names}.
    _selection = _Trait().tag(sync=True)
    height = _Trait(640).tag(sync=True)
    selected_heads = _Trait()
    selected_edge = _Trait()

    def __init__(self, page: str, heads: frozenset[str], height: int) -> None:
        self._heads = heads
        super().__init__(_page=page, height=height, selected_heads=[], selected_edge=None)

    def __repr__(self) -> str:
        return f"<headscope view: {len(self._heads)} heads, {self.height} pixels high>"

    @traitlets.default("_selection")
    def _nothing(self) -> dict[str, Any]:
        return {"head": None, "edge": None, "pins": []}

    @traitlets.validate("height")
    def _check_height(self, proposal: Any) -> int:
        height = proposal["value"]
        if isinstance(height, bool) or not isinstance(height, int) or not 100 <= height <= 10000:
            raise ArgumentError(f"height: {_short(height)} is not a number of pixels from 100 to 10000")
        return height

    @traitlets.validate("selected_heads")
    def _check_heads(self, proposal: Any) -> list[str]:
        value = proposal["value"]
        if isinstance(value, str):
            value = [name.strip() for name in value.split(",") if name.strip()]
        if not isinstance(value, Iterable):
            raise ArgumentError(f"selected_heads: {_short(value)} is not a list of heads, e.g. ['L4H7']")
        names = list(value)
        for name in names:
            self._check_head("selected_heads", name)
        names = _unique(names)
        if len(names) > _MAX_PINS and names != self._shown()[0]:
            raise ArgumentError(f"selected_heads: {len(names)} heads; the page holds up to {_MAX_PINS}")
        return names

    @traitlets.validate("selected_edge")
    def _check_edge(self, proposal: Any) -> _Edge | None:
        value = proposal["value"]
        if value is None:
            return None
        if isinstance(value, (tuple, list)) and len(value) == 3 and all(isinstance(one, str) for one in value):
            value = f"{value[0]}:{value[1]}>{value[2]}"
        edge = _EDGE.fullmatch(value) if isinstance(value, str) else None
        if edge is None:
            raise ArgumentError(f"selected_edge: {_short(value)} is not an edge, e.g. ('OK', 'L4H7', 'L5H1')")
        found = (edge[1], edge[2], edge[3])
        # The page also has edges from and to other components.
        if found != self._shown()[1]:
            self._check_head("selected_edge", edge[2])
            self._check_head("selected_edge", edge[3])
        return found

    def _check_head(self, trait: str, name: object) -> None:
        if not isinstance(name, str) or name not in self._heads:
            raise ArgumentError(f"{trait}: the page has no head {_short(name)}; names are as in L4H7")

    @traitlets.validate("_selection")
    def _check_selection(self, proposal: Any) -> dict[str, Any]:
        """The selection without heads that the run does not have. The browser may send anything."""
        value = proposal["value"]
        if not isinstance(value, dict):
            raise traitlets.TraitError(f"view: {_short(value)} is not a selection")
        head, edge, pins = value.get("head"), value.get("edge"), value.get("pins")
        return {
            "head": head if isinstance(head, str) and head in self._heads else None,
            "edge": edge if isinstance(edge, str) and _EDGE.fullmatch(edge) else None,
            "pins": _unique(one for one in pins if isinstance(one, str) and one in self._heads)[:_MAX_PINS]
            if isinstance(pins, list) else [],
        }

    def _shown(self) -> tuple[list[str], _Edge | None]:
        """What ``_selection`` makes of the other two traits."""
        selection = self._selection
        found = _EDGE.fullmatch(selection["edge"] or "")
        edge = (found[1], found[2], found[3]) if found else None
        names = [selection["head"], *(edge[1:] if edge else ()), *selection["pins"]]
        return _unique(name for name in names if name in self._heads), edge

    @traitlets.observe("selected_heads")
    def _select_heads(self, change: Any) -> None:
        names = change["new"]
        if names != self._shown()[0]:
            pins = names if len(names) > 1 else []
            self._selection = {"head": names[0] if names else None, "edge": None, "pins": pins}

    @traitlets.observe("selected_edge")
    def _select_edge(self, change: Any) -> None:
        edge = change["new"]
        if edge != self._shown()[1]:
            self._selection = {**self._selection, "edge": f"{edge[0]}:{edge[1]}>{edge[2]}" if edge else None}

    @traitlets.observe("_selection")
    def _follow(self, _: Any) -> None:
        # Observers of the first may select something else.
        self.selected_edge = self._shown()[1]
        self.selected_heads = self._shown()[0]
