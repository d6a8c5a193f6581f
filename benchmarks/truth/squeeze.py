"""Squeezes the features of a program into a narrower stream, as models with more features than dimensions do."""

from __future__ import annotations

import numpy as np
from compiler import Program


def frame(features: int, share: float, seed: int) -> np.ndarray:
    """Directions of the features in a stream of round(share * features) dimensions: (features, width).

    The first columns of a random rotation. At share 1 the features are orthogonal. Below, every direction is as full as
    any other (a tight frame), so reading with the feature's own direction is the least-squares reading."""
    width = max(1, round(share * features))
    normal = np.random.default_rng([seed, features, width]).standard_normal((features, features))
    rotation, upper = np.linalg.qr(normal)
    rotation *= np.sign(np.diag(upper))  # uniform over rotations
    return rotation[:, :width] * np.sqrt(features / width)


def squeezed(program: Program, directions: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """The weights of every component and role in the narrower stream: (width, columns)."""
    return {
        (component.name, role): directions.T @ weights
        for component in program.components
        for role, weights in component.weights.items()
    }
