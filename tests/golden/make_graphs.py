"""Writes tests/golden/graphs/: small head graphs and what networkx says about them.

    python -m venv /tmp/venv-graph
    /tmp/venv-graph/bin/pip install networkx==3.6.1 numpy==2.4.6 scipy==1.17.1
    /tmp/venv-graph/bin/python tests/golden/make_graphs.py

A file holds `nodes` ([layer, head]), `edges` ([source, target, pair, score, weight, z], source and target
as indices of nodes) and one list a measure, in the order of the nodes. networkx works on the simple digraph
in which the weights of parallel edges are added, as headscope does; degrees and strengths count every edge.

HITS is compared only where it is unique: the script refuses a graph whose second singular value exceeds 0.9 times the
first. The seed is 2604, mixed with the position of the graph.
"""

import json
import pathlib

import networkx as nx
import numpy as np

FOLDER = pathlib.Path(__file__).parent / "graphs"
SEED = 2604
PAIRS = ["OQ", "OK", "OV"]


def random_layers(rng, layers, heads, density, parallel):
    """A layered DAG: edges from smaller to larger layers, some of them for several role pairs."""
    nodes = [(layer, head) for layer in range(layers) for head in range(heads)]
    edges = []
    for i, source in enumerate(nodes):
        for j, target in enumerate(nodes):
            if source[0] >= target[0] or rng.random() >= density:
                continue
            count = int(rng.integers(2, 4)) if rng.random() < parallel else 1
            for pair in rng.permutation(PAIRS)[:count]:
                score = float(rng.gamma(4.0, 2.0))
                edges.append((i, j, str(pair), score, score, float(rng.normal(5, 4))))
    order = rng.permutation(len(edges))
    return nodes, [edges[i] for i in order]


def given(layers, arrows):
    """A graph drawn by hand: (source, target, weight) with one pair."""
    nodes = [(layer, head) for layer, heads in enumerate(layers) for head in range(heads)]
    return nodes, [(s, t, "OK", w, w, w - 1) for s, t, w in arrows]


def cases():
    yield "sparse", lambda rng: random_layers(rng, 5, 4, 0.12, 0.3)  # isolated and dangling nodes
    yield "dense", lambda rng: random_layers(rng, 4, 5, 0.7, 0.2)
    yield "all_parallel", lambda rng: random_layers(rng, 3, 4, 0.5, 1.0)
    yield "deep", lambda rng: random_layers(rng, 12, 3, 0.15, 0.1)
    # One node that all paths pass through, and two that stand alone.
    hourglass = [(0, 4, 3.0), (1, 4, 2.0), (2, 4, 1.0), (4, 6, 1.5), (4, 7, 4.0), (0, 6, 0.5)]
    yield "hourglass", lambda rng: given([4, 2, 3], hourglass)
    # Two components of different strength, an arc of weight 0 that is still a path, and a weak one.
    parts = [(0, 2, 5.0), (0, 3, 1.0), (2, 4, 0.0), (1, 3, 1.0), (3, 5, 2.0), (6, 7, 1e-3)]
    yield "parts", lambda rng: given([2, 2, 3, 1], parts)


def measures(nodes, edges):
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(range(len(nodes)))
    for source, target, _, _, weight, _ in edges:
        total = weight + (graph[source][target]["weight"] if graph.has_edge(source, target) else 0.0)
        graph.add_edge(source, target, weight=total)

    singular = np.linalg.svd(nx.to_numpy_array(graph), compute_uv=False)
    if singular[1] > 0.9 * singular[0]:
        raise SystemExit(f"HITS is not unique enough: singular values {singular[:2]}")
    start = dict.fromkeys(graph, 1.0)  # ARPACK's own start is random
    hub, authority = nx.hits(graph, max_iter=10_000, tol=0, nstart=start)
    values = {
        "pagerank": nx.pagerank(graph, alpha=0.85, tol=1e-15, max_iter=10_000),
        "hub": hub,
        "authority": authority,
        "betweenness": nx.betweenness_centrality(graph),
    }
    lists = {name: [float(value[i]) for i in range(len(nodes))] for name, value in values.items()}
    for name, end in [("in", 1), ("out", 0)]:
        lists[f"{name}_degree"] = [sum(e[end] == i for e in edges) for i in range(len(nodes))]
        lists[f"{name}_strength"] = [float(sum(e[5] for e in edges if e[end] == i)) for i in range(len(nodes))]
    return lists


def write(path, fields):
    """One line a field."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in fields.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    FOLDER.mkdir(exist_ok=True)
    for position, (name, make) in enumerate(cases()):
        nodes, edges = make(np.random.default_rng([SEED, position]))
        write(FOLDER / f"{name}.json", {"nodes": nodes, "edges": edges, **measures(nodes, edges)})
        print(f"{name}: {len(nodes)} nodes, {len(edges)} edges")


if __name__ == "__main__":
    main()
