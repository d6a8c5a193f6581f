"""Runs a compiled program as a transformer, to see that its weights do what the program says."""

from __future__ import annotations

import numpy as np
from compiler import BOS, PAD, Component, Program


def head_output(head: Component, stream: np.ndarray) -> np.ndarray:
    query, key, value = (stream @ head.weights[role] for role in "QKV")
    logits = query @ key.T
    attention = np.exp(logits - logits.max(axis=1, keepdims=True))
    return attention / attention.sum(axis=1, keepdims=True) @ value @ head.weights["O"].T


def mlp_output(mlp: Component, stream: np.ndarray) -> np.ndarray:
    return np.maximum(stream @ mlp.weights["M_in"], 0) @ mlp.weights["M_out"].T


def stream_of(program: Program, tokens: list) -> np.ndarray:
    """The residual stream after the last layer, (1 + tokens, features); the first position has the BOS token."""
    stream = np.array([program.tokens[token] for token in [BOS, *tokens]])
    for place in range(len(tokens)):
        stream[1 + place, program.positions[place]] += 1
    for order in sorted({component.order for component in program.components}):
        parts = [component for component in program.components if component.order == order]
        run = mlp_output if parts[0].head is None else head_output
        stream = stream + sum(run(component, stream) for component in parts)
    return stream


def random_case(program: Program, seed: int) -> tuple[list, list]:
    """Tokens that the program is defined for, and its result. Where heads would have to choose between two values, or
    keys must differ, it is not."""
    generator = np.random.default_rng(seed)
    vocabulary = sorted(token for token in program.tokens if token not in (BOS, PAD))
    for _ in range(1000):
        length = int(generator.integers(2, len(program.positions) + 1))
        tokens = [vocabulary[place] for place in generator.integers(0, len(vocabulary), length)]
        if program.name == "sort_unique" and len(set(tokens)) < length:
            continue
        try:
            return tokens, program.source(tokens)
        except (ValueError, TypeError):
            continue
    raise ValueError(f"{program.name}: no input found that it is defined for")


def agrees(program: Program, seed: int) -> bool:
    """Whether the output at every position is the program's own, on a random input. A place where the program gives
    nothing (None) may hold anything."""
    tokens, result = random_case(program, seed)
    found = stream_of(program, tokens)[1:, [place for place, _ in program.outputs]]
    values = [value for _, value in program.outputs]
    for expected, row in zip(result, found, strict=True):
        if expected is None:
            continue
        right = abs(row[0] - expected) < 0.05 if values[0] is None else values[int(row.argmax())] == expected
        if not right:
            return False
    return True
