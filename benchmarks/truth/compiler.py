"""Compiles RASP programs to transformers whose wiring is known, with tracr's compiler and without JAX.

tracr is a compiler and a runtime. Only the runtime needs JAX and Haiku, but the package `tracr.compiler` imports both
when it is imported. So an empty package of that name is put in its place; its modules up to the compiled blocks then
load with NumPy, networkx and absl alone. The last step, blocks to weight matrices, is done here: `Component`.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np


def without_runtime() -> None:
    """Makes the modules of tracr.compiler importable without running its __init__."""
    specification = importlib.util.find_spec("tracr")
    if specification is None or not specification.submodule_search_locations:
        raise ImportError("tracr-pypi is not installed: run 'make truth', which installs it")
    package = types.ModuleType("tracr.compiler")
    package.__path__ = [f"{place}/compiler" for place in specification.submodule_search_locations]
    sys.modules.setdefault("tracr.compiler", package)


without_runtime()

from tracr.compiler import basis_inference, craft_graph_to_model, expr_to_craft_graph, nodes, rasp_to_graph  # noqa: E402
from tracr.craft import bases, transformers  # noqa: E402
from tracr.rasp import rasp  # noqa: E402

BOS, PAD = "compiler_bos", "compiler_pad"
ONE = bases.BasisDirection("one")


@dataclass
class Component:
    """A head or an MLP of a compiled program.

    weights[role] is (features, columns): O and what it reads, Q, K, V for a head; M_out and M_in for an MLP.
    reads[role] and writes are the variables of the program, by name; features[role] are the directions behind them."""

    name: str
    layer: int
    head: int | None
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    reads: dict[str, set[str]] = field(default_factory=dict)
    writes: set[str] = field(default_factory=set)

    @property
    def out_role(self) -> str:
        return "M_out" if self.head is None else "O"

    @property
    def order(self) -> int:
        """Place in the forward pass: attention, then MLP, layer by layer."""
        return 2 * self.layer + (self.head is None)


@dataclass
class Program:
    """A compiled program: its components over a list of features, and what its inputs and outputs mean."""

    name: str
    source: Any  # the program, as it can be called in Python
    features: list[str]
    components: list[Component]
    tokens: dict[Any, np.ndarray]  # what the embedding writes for a token: (features)
    positions: list[int]  # the feature of every position
    outputs: list[tuple[int, Any]]  # features of the output, and their values; None for one that is a number
    layers: int
    heads: int

    @property
    def embedding(self) -> np.ndarray:
        """(tokens, features)"""
        return np.array(list(self.tokens.values()))

    def pairs(self) -> list[tuple[Component, Component, str]]:
        """Every (source, target, role of the target) where the source comes before the target."""
        return [
            (source, target, role)
            for source in self.components
            for target in self.components
            if source.order < target.order
            for role in target.reads
        ]

    def truth(self) -> np.ndarray:
        """For every pair whether the target uses, in this role, a variable that the source computes."""
        return np.array([bool(source.writes & target.reads[role]) for source, target, role in self.pairs()])

    def shares_feature(self) -> np.ndarray:
        """The same from the weights: whether a feature has both a non-zero row written and a non-zero row read.
        The constant feature is left out: no component writes it, it is a bias."""
        used = {
            (component.name, role): np.abs(weights).max(axis=1) > 0
            for component in self.components
            for role, weights in component.weights.items()
        }
        return np.array(
            [bool((used[s.name, s.out_role] & used[t.name, role]).any()) for s, t, role in self.pairs()]
        )


def matrix_in(space: bases.VectorSpaceWithBasis, rows: bases.VectorSpaceWithBasis, matrix: np.ndarray) -> np.ndarray:
    """The rows of a matrix over a subspace, laid out over all features."""
    place = {direction: index for index, direction in enumerate(space.basis)}
    result = np.zeros((len(space.basis), matrix.shape[1]))
    for direction, row in zip(rows.basis, matrix, strict=True):
        result[place[direction]] += row
    return result


def head_weights(space: bases.VectorSpaceWithBasis, head: transformers.AttentionHead) -> dict[str, np.ndarray]:
    """As tracr's assembler lays a head out: the whole query-key form in Q, the identity in K; all of OV in V."""
    keys, out = head.w_qk.right_space, head.w_ov.output_space
    return {
        "Q": matrix_in(space, head.w_qk.left_space, head.w_qk.matrix),
        "K": matrix_in(space, keys, np.eye(keys.num_dims)),
        "V": matrix_in(space, head.w_ov.input_space, head.w_ov.matrix),
        "O": matrix_in(space, out, np.eye(out.num_dims)),
    }


def mlp_weights(space: bases.VectorSpaceWithBasis, mlp: transformers.MLP) -> dict[str, np.ndarray]:
    return {
        "M_in": matrix_in(space, mlp.fst.input_space, mlp.fst.matrix),
        "M_out": matrix_in(space, mlp.snd.output_space, mlp.snd.matrix.T),
    }


def head_reads(expression: Any) -> dict[str, set[str]]:
    """The variables that the queries, keys and values of an expression's head are."""
    selector = expression.selector
    values = {expression.sop.label} if isinstance(expression, rasp.Aggregate) else set()
    return {"Q": {selector.queries.label}, "K": {selector.keys.label}, "V": values}


def mlp_reads(expression: Any) -> set[str]:
    if isinstance(expression, rasp.SelectorWidth):
        return {f"{expression.label} attention"}
    if isinstance(expression, rasp.SequenceMap):
        return {expression.fst.label, expression.snd.label}
    return {expression.inner.label}


def components_of(graph: Any, sources: Any, space: bases.VectorSpaceWithBasis) -> list[Component]:
    """One component per head, and one per layer of MLPs, in the order of the forward pass.

    A count of selected positions (SelectorWidth) takes a head and an MLP, joined by a variable of their own."""
    places = craft_graph_to_model._allocate_modules_to_layers(graph, sources)
    heads: dict[int, list[Component]] = defaultdict(list)
    mlps: dict[int, list[tuple[Any, transformers.MLP]]] = defaultdict(list)
    for label, place in places.items():
        node = graph.nodes[label]
        block, expression, layer = node[nodes.MODEL_BLOCK], node[nodes.EXPR], place // 2
        if isinstance(block, transformers.MLP):
            mlps[layer].append((expression, block))
            continue
        is_count = isinstance(block, transformers.SeriesWithResiduals)
        attention = block.blocks[0] if is_count else block
        number = len(heads[layer])
        written = {f"{label} attention"} if is_count else {label}
        weights = head_weights(space, attention)
        heads[layer].append(Component(f"L{layer}H{number}", layer, number, weights, head_reads(expression), written))
        if is_count:
            mlps[layer].append((expression, block.blocks[1]))
    components = [head for layer in heads.values() for head in layer]
    for layer, parts in mlps.items():
        mlp = transformers.MLP.combine_in_parallel([block for _, block in parts])
        reads = {"M_in": set().union(*(mlp_reads(expression) for expression, _ in parts))}
        written = {expression.label for expression, _ in parts}
        components.append(Component(f"L{layer}M", layer, None, mlp_weights(space, mlp), reads, written))
    return sorted(components, key=lambda one: (one.order, one.head or 0))


def compile_program(name: str, sop: Any, vocabulary: set, length: int) -> Program:
    """Runs tracr's passes up to the blocks, and lays all weights out over one list of features."""
    extracted = rasp_to_graph.extract_rasp_graph(sop)
    graph, sources, sink = extracted.graph, extracted.sources, extracted.sink
    basis_inference.infer_bases(graph, sink, vocabulary, length)
    bos = bases.BasisDirection(rasp.tokens.label, BOS)
    expr_to_craft_graph.add_craft_components_to_rasp_graph(graph, bos_dir=bos, mlp_exactness=100)
    model = craft_graph_to_model.craft_graph_to_model(graph, sources)
    tokens = bases.VectorSpaceWithBasis.from_values(rasp.tokens.label, {*vocabulary, BOS, PAD})
    indices = bases.VectorSpaceWithBasis.from_values(rasp.indices.label, range(length))
    output = bases.VectorSpaceWithBasis(sink[nodes.OUTPUT_BASIS])
    space = bases.join_vector_spaces(model.residual_space, tokens, indices, output)
    components = components_of(graph, sources, space)
    place = {direction: index for index, direction in enumerate(space.basis)}
    embedding = matrix_in(space, tokens, np.eye(tokens.num_dims)).T
    if ONE in place:
        embedding[:, place[ONE]] = 1
    return Program(
        name,
        sop,
        [str(direction) for direction in space.basis],
        components,
        {direction.value: row for direction, row in zip(tokens.basis, embedding, strict=True)},
        [place[direction] for direction in indices.basis],
        [(place[direction], direction.value) for direction in output.basis],
        layers=1 + max(component.layer for component in components),
        heads=max(1 + (component.head or 0) for component in components),
    )
