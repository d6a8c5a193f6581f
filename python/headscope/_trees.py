"""Partition trees."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Tree:
    """A partition tree on ``range(n)``: levels of folders of elements, root first, leaves last."""

    n: int
    levels: list[list[list[int]]]
    names: list[str]

    @staticmethod
    def parse(text: str) -> Tree:
        root = json.loads(text)
        levels = [level["folders"] for level in root["levels"]]
        names = root.get("names") or [str(i) for i in range(root["n"])]
        return Tree(root["n"], levels, names)

    @property
    def order(self) -> list[int]:
        """The elements in the order of the leaves."""
        return [folder[0] for folder in self.levels[-1]]

    def to_networkx(self) -> Any:
        """A directed tree whose nodes are ``(level, folder)``, with the elements' names as ``elements``."""
        import networkx  # type: ignore[import-untyped, unused-ignore]

        graph: Any = networkx.DiGraph()
        above: dict[int, tuple[int, int]] = {}
        for level, folders in enumerate(self.levels):
            here: dict[int, tuple[int, int]] = {}
            for number, folder in enumerate(folders):
                node = (level, number)
                graph.add_node(node, elements=[self.names[i] for i in folder])
                if level > 0:
                    graph.add_edge(above[folder[0]], node)
                here.update(dict.fromkeys(folder, node))
            above = here
        return graph

    def plot(self, ax: Axes | None = None) -> Axes:
        from . import _plots

        return _plots.tree(self, ax)
