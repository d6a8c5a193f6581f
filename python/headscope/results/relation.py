"""Which heads talk to which: the result of ``relate``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._enums import Metric
from .._errors import ArgumentError
from .._graph import HeadGraph, graph_of
from .._result import Result
from .._tables import Table
from .._trees import Tree


class Relation(Result):
    """Which heads talk to which (``relate``)."""

    command = "relate"

    @cached_property
    def heads(self) -> Table:
        """The heads that were compared."""
        return self.table("heads.csv")

    @cached_property
    def affinities(self) -> dict[str, NDArray[np.float32]]:
        """By ``metric_PAIR``, e.g. ``pk_OQ``: [source head, target head]."""
        names = [name for name in self.files if name.startswith("affinity/")]
        return {name[len("affinity/"):-len(".npy")]: self.array(name) for name in names}

    def affinity(self, pair: str = "OQ", metric: Metric | str = "pk") -> NDArray[np.float32]:
        """One of ``affinities``."""
        found = self.affinities.get(f"{metric!s}_{pair}")
        if found is None:
            raise ArgumentError(f"no affinity {metric}_{pair}, only {', '.join(self.affinities)}")
        return found

    @cached_property
    def edges(self) -> Table:
        """The edges that were kept; within a pair of roles those beyond chance first, then the closest first."""
        return self.table("edges.csv")

    @cached_property
    def wiring(self) -> Table:
        """How many pairs of heads are beyond chance and how many stand out, per pair of roles and in all."""
        return self.table("wiring.csv")

    @cached_property
    def hubs(self) -> Table:
        """Heads by how far the sum of z over their pairs exceeds what their layers explain, with reasons in words."""
        return self.table("hubs.csv")

    @cached_property
    def components(self) -> Table | None:
        """Heads and other components, once per way of writing or reading, if ``nodes`` had more than heads."""
        return self._optional("components.csv")

    @cached_property
    def component_edges(self) -> Table | None:
        """The kept edges between components, by overlap."""
        return self._optional("component_edges.csv")

    @cached_property
    def component_wiring(self) -> Table | None:
        """How many pairs of components are beyond chance and how many stand out, per pair of roles and in all."""
        return self._optional("component_wiring.csv")

    @cached_property
    def component_hubs(self) -> Table | None:
        """Components by how far the sum of z over their pairs exceeds what their layers explain."""
        return self._optional("component_hubs.csv")

    @cached_property
    def overlaps(self) -> dict[str, NDArray[np.float32]]:
        """By ``score_PAIR``, e.g. ``overlap_OM`` or ``pk_OM``: [source component, target component]."""
        names = [name for name in self.files if name.startswith("components/")]
        return {name[len("components/"):-len(".npy")]: self.array(name) for name in names}

    @cached_property
    def neurons(self) -> Table | None:
        """The neurons most in a head's subspaces, if ``neurons`` was given."""
        return self._optional("neurons.csv")

    @cached_property
    def neuron_tokens(self) -> Table | None:
        """The tokens closest to the vectors of these neurons, if the model has a vocabulary."""
        return self._optional("neuron_tokens.csv")

    @cached_property
    def tree(self) -> Tree:
        """Nested communities of heads."""
        return self._tree("tree.json")

    @cached_property
    def informativeness(self) -> Table | None:
        """KL(random || observed) per pair of roles; only for the metric ``pk``."""
        return self._optional("informativeness.csv")

    @cached_property
    def sensitivity(self) -> Table | None:
        """Agreement with other weight processings per pair of roles, if ``sensitivity=True`` was given."""
        return self._optional("sensitivity.csv")

    @cached_property
    def labels(self) -> Table | None:
        """How well each metric finds pairs of labeled heads, if labels were given."""
        return self._optional("labels.csv")

    @cached_property
    def tokens(self) -> Table | None:
        """The tokens closest to a head's subspaces, if the model has a vocabulary."""
        return self._optional("tokens.csv")

    def _main_table(self) -> Table:
        return self.edges

    @cached_property
    def graph(self) -> HeadGraph:
        """Heads and kept edges as arrays."""
        metric = next(iter(self.affinities)).rpartition("_")[0]
        return graph_of(self.heads, self.edges, self.hubs, metric)

    def to_networkx(self) -> Any:
        """The head graph as a ``networkx.MultiDiGraph``, with one edge per kept pair of roles."""
        return self.graph.to_networkx()

    def _plots(self) -> Mapping[str, str]:
        drawn = {"wiring": "wiring", "matrix": "affinity_matrix", "tree": "relation_tree"}
        if self.informativeness is not None:
            drawn["informativeness"] = "informativeness"
        return drawn
