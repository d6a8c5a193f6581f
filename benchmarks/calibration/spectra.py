"""Random subspaces with a given mean projector: the data that the matched null describes.

A role's mean projector P has eigenvalues p_i in [0, 1) that sum to h. Orthonormalized Gaussian columns with covariance
P (I - P)^-1 have nearly this mean projector: column covariance s_i gives p_i = s_i / (s_i + c) in the mean, with c = 1
where the p_i sum to h. A column covariance of P itself would give a flatter one.
"""

from __future__ import annotations

import numpy as np


def spectrum(name: str, d: int, h: int) -> np.ndarray:
    """Eigenvalues of a mean projector of rank h, descending, all below 0.9."""
    index = np.arange(d)
    shape = {
        "flat": np.ones(d),
        "power law": 1.0 / (1.0 + index) ** 0.7,
        "three common directions": np.where(index < 3, 1e3, 1.0),
        "half of the width": np.where(index < d // 2, 1.0, 0.1),
    }[name]
    scale = 1.0  # eigenvalues s / (s + 1), capped, that sum to h
    low, high = 1e-9, 1e9
    for _ in range(200):
        scale = np.sqrt(low * high)
        values = np.minimum(scale * shape / (1 + scale * shape), 0.9)
        low, high = (scale, high) if values.sum() < h else (low, scale)
    return values


SPECTRA = ("flat", "power law", "three common directions", "half of the width")


def rotation(d: int, random: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(random.standard_normal((d, d)))
    return q * np.sign(np.diag(r))


def subspaces(values: np.ndarray, basis: np.ndarray, count: int, h: int, random: np.random.Generator) -> np.ndarray:
    """Bases (count, d, h) of random subspaces with that mean projector."""
    deviations = np.sqrt(values / (1 - values))
    columns = basis @ (deviations[:, None] * random.standard_normal((count, len(values), h)))
    return np.linalg.qr(columns)[0]


def planted_heads(
    name: str, layers: int, heads: int, d: int, h: int, random: np.random.Generator
) -> dict[str, np.ndarray]:
    """Weights of all roles as (layers, heads, d, h). O, Q and V share their common directions, K has others."""
    values = spectrum(name, d, h)
    shared, other = rotation(d, random), rotation(d, random)
    found = {}
    for role in "QKVO":
        bases = subspaces(values, other if role == "K" else shared, layers * heads, h, random)
        mixed = bases @ random.standard_normal((layers * heads, h, h))  # any basis of the same space
        found[role] = mixed.reshape(layers, heads, d, h)
    return found
