"""Which edges matter: the result of ``patch``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._errors import ArgumentError
from .._result import Result
from .._tables import Table


class Patching(Result):
    """Which edges between heads matter: what changes when they are cut (``patch``)."""

    command = "patch"

    def _of_cuts(self, file: str) -> str:
        if file not in self.files:
            raise ArgumentError(f"no edge was cut that {file} would have; nodes= says where the edges end")
        return file

    @cached_property
    def edges(self) -> Table:
        """The edges that were cut, controls among them, with projection kernel, z, local effect and effect."""
        return self.table(self._of_cuts("patch.csv"))

    @cached_property
    def agreement(self) -> Table:
        """How the effects compare with random edges, the projection kernel and the screen, by pair and sample."""
        return self.table(self._of_cuts("patch_agreement.csv"))

    @cached_property
    def component_edges(self) -> Table:
        """The edges to MLPs and the unembedding that were cut, with overlap, z and effect, if ``nodes`` had these."""
        return self.table(self._of_cuts("patch_components.csv"))

    @cached_property
    def component_agreement(self) -> Table:
        """How the effects of ``component_edges`` compare with random edges and with the overlap, by pair."""
        return self.table(self._of_cuts("patch_component_agreement.csv"))

    @cached_property
    def circuit(self) -> dict[str, Any]:
        """circuit.json: the edges above the controls whose weights are beyond chance, their ends, and the levels."""
        circuit: dict[str, Any] = json.loads(self._text(self._of_cuts("circuit.json")))
        return circuit

    @cached_property
    def screen(self) -> dict[str, NDArray[np.float32]]:
        """Local effects of all edges by pair of roles, [source head, target head]; 0 where the target is not later."""
        names = [name for name in self.files if name.startswith("screen/")]
        return {name[len("screen/"):-len(".npy")]: self.array(name) for name in names}

    @property
    def before(self) -> float:
        """The loss, or the logit difference, with nothing cut."""
        return float(self.circuit["before"])

    def to_networkx(self) -> Any:
        """The circuit as a ``networkx.MultiDiGraph``, with the attributes of circuit.graphml."""
        import networkx  # type: ignore[import-untyped, unused-ignore]

        graph: Any = networkx.MultiDiGraph()
        for node in self.circuit["nodes"]:
            graph.add_node(node["name"], **{key: value for key, value in node.items() if key != "name"})
        for edge in self.circuit["edges"]:
            attributes = {key: value for key, value in edge.items() if key not in ("source", "target", "kind")}
            graph.add_edge(edge["source"], edge["target"], **attributes, weight=abs(edge["effect"]))
        return graph

    def _main_table(self) -> Table | None:
        if "patch.csv" in self.files:
            return self.edges
        return self.component_edges if "patch_components.csv" in self.files else None

    def _plots(self) -> Mapping[str, str]:
        return {"effects": "cut_effects"} if "patch.csv" in self.files else {}
