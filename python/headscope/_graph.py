"""The head graph as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _native

if TYPE_CHECKING:
    from ._tables import Table

#: Measures of a head, columns of the table of hubs.
_MEASURES = ("in_degree", "out_degree", "in_strength", "out_strength", "pagerank", "hub", "authority", "betweenness")


@dataclass(frozen=True, eq=False)
class HeadGraph:
    """Heads and the directed edges between them. Two heads may be joined by several edges, one per pair of roles."""

    nodes: list[str]
    """Names of the heads."""
    source: NDArray[np.int64]
    """Per edge, the index of the head in the earlier layer."""
    target: NDArray[np.int64]
    """Per edge, the index of the head in the later layer."""
    pair: NDArray[Any]
    """Per edge, the roles of source and target, e.g. OQ."""
    score: NDArray[np.float32]
    """Affinity by the first metric."""
    z: NDArray[np.float64]
    """Standard deviations above the mean of the matched null model, or else of span, or else of the first one."""
    weight: NDArray[np.float64]
    """The score as a nonnegative similarity."""
    beyond_chance: NDArray[np.bool_]
    """Whether the affinity is beyond chance."""
    stands_out: NDArray[np.bool_]
    """Whether it also stands out among the pairs of its roles and layer distance."""
    attributes: dict[str, NDArray[Any]]
    """Per node: layer, head (index within the layer), kind, classes, degrees, strengths and centralities."""

    def to_networkx(self) -> Any:
        """The graph as a ``networkx.MultiDiGraph``, with the attributes of graph.graphml."""
        import networkx  # type: ignore[import-untyped, unused-ignore]

        graph: Any = networkx.MultiDiGraph()
        columns = {name: values.tolist() for name, values in self.attributes.items()}
        for i, node in enumerate(self.nodes):
            # A head without classes has no such attribute.
            graph.add_node(node, **{name: values[i] for name, values in columns.items() if values[i] != ""})
        edges = zip(self.source.tolist(), self.target.tolist(), self.pair.tolist(), self.score.tolist(),
                    self.z.tolist(), self.weight.tolist(), self.beyond_chance.tolist(), self.stands_out.tolist(),
                    strict=True)
        for key, (source, target, pair, score, z, weight, beyond_chance, stands_out) in enumerate(edges):
            graph.add_edge(self.nodes[source], self.nodes[target], key=key, pair=pair, score=score, z=z, weight=weight,
                           beyond_chance=beyond_chance, stands_out=stands_out)
        return graph


def graph_of(heads: Table, edges: Table, hubs: Table, metric: str) -> HeadGraph:
    """The graph in the tables of ``relate``; ``metric`` is the first one."""
    nodes: list[str] = heads["head"].tolist()
    index = {name: i for i, name in enumerate(nodes)}

    def indices(names: NDArray[Any]) -> NDArray[np.int64]:
        return np.array([index[name] for name in names], dtype=np.int64)

    nulls = ["z_matched", "z_span", *(name for name in edges.names if name.startswith("z_"))]
    z = next((edges[name] for name in nulls if name in edges.names), np.zeros(len(edges)))

    def flags(name: str) -> NDArray[np.bool_]:
        # Older runs do not have them.
        return np.asarray(edges[name], dtype=bool) if name in edges.names else np.zeros(len(edges), dtype=bool)

    # Hubs are in the order of their ranks.
    place = np.empty(len(nodes), dtype=np.int64)
    place[indices(hubs["head"])] = np.arange(len(nodes))
    attributes = {"layer": heads["layer"], "head": heads["index"], "kind": heads["kind"]}
    attributes |= {name: hubs[name][place] for name in _MEASURES}
    attributes["classes"] = heads["classes"]
    return HeadGraph(nodes, indices(edges["source"]), indices(edges["target"]), edges["pair"], edges["score"], z,
                     _native.edge_weights(metric, edges["score"]), flags("beyond_chance"), flags("stands_out"),
                     attributes)
