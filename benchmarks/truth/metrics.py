"""Every metric of `relate`, in NumPy and from its formula (docs/relate.md), for heads and for MLPs.

The program is not used: this is the independent check of what it computes. A metric takes a `Source` and a `Target` and
gives a number that is larger where the two are closer; distances are negative.

MLPs: `overlap` takes their weights, all subspace metrics a basis of their columns. `cs` multiplies the two factors of a
component; an MLP has a nonlinearity between them, so only the factor at the stream counts. (Their plain product is zero
for MLPs that make steps of pairs of neurons: it gives 0.84 instead of 1 at full width.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


def basis(weights: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the columns. Weights count as stored in 32 bits: below that precision is noise."""
    left, values, _ = np.linalg.svd(weights, full_matrices=False)
    return left[:, values > max(weights.shape) * np.finfo(np.float32).eps * max(values.max(), 1e-30)]


@dataclass(frozen=True)
class Source:
    """What a component writes: its output weights (d, columns), the factor behind them, whether it is a head."""

    out: np.ndarray
    inner: np.ndarray | None  # V of a head
    is_head: bool


@dataclass(frozen=True)
class Target:
    """What a component reads in one role, and for heads the factor beyond it: K for Q, Q for K, O for V."""

    read: np.ndarray
    outer: np.ndarray | None
    is_head: bool


def cosines(source: Source, target: Target) -> tuple[np.ndarray, int, int]:
    """Cosines of the principal angles, and both ranks."""
    one, two = basis(source.out), basis(target.read)
    if 0 in (one.shape[1], two.shape[1]):
        return np.zeros(0), one.shape[1], two.shape[1]
    return np.clip(np.linalg.svd(one.T @ two, compute_uv=False), 0, 1), one.shape[1], two.shape[1]


def pk(source: Source, target: Target) -> float:
    """Divided by sqrt(pq), as for components of unequal rank."""
    values, p, q = cosines(source, target)
    return float((values**2).sum() / np.sqrt(p * q)) if p and q else 0.0


def max_cos(source: Source, target: Target) -> float:
    return float(cosines(source, target)[0].max(initial=0))


def procrustes(source: Source, target: Target) -> float:
    values, p, q = cosines(source, target)
    return float(values.sum() / np.sqrt(p * q)) if p and q else 0.0


def chordal(source: Source, target: Target) -> float:
    values, p, q = cosines(source, target)
    return -float(np.sqrt(max(0.0, (p + q) / 2 - (values**2).sum())))


def grassmann(source: Source, target: Target) -> float:
    values, p, q = cosines(source, target)
    return -float(np.sqrt((np.arccos(values) ** 2).sum() + abs(p - q) * (np.pi / 2) ** 2))


def binet_cauchy(source: Source, target: Target) -> float:
    """As a logarithm. A cosine below 1e-6 is rounding, and counts as that."""
    values = cosines(source, target)[0]
    return float(2 * np.log(np.maximum(values, 1e-6)).sum())


def overlap(source: Source, target: Target) -> float:
    """d tr(rho rho'): densities of bases for heads, of weights for MLPs."""
    one = basis(source.out) if source.is_head else source.out
    two = basis(target.read) if target.is_head else target.read
    norm = (one**2).sum() * (two**2).sum()
    return float(len(one) * ((one.T @ two) ** 2).sum() / norm) if norm else 0.0


def cka(source: Source, target: Target) -> float:
    one, two = source.out, target.read
    norm = np.linalg.norm(one.T @ one) * np.linalg.norm(two.T @ two)
    return float(((one.T @ two) ** 2).sum() / norm) if norm else 0.0


def coupling(source: Source, target: Target) -> float:
    return float(np.linalg.norm(target.read.T @ source.out))


def simple_cs(source: Source, target: Target) -> float:
    norm = np.linalg.norm(target.read) * np.linalg.norm(source.out)
    return float(coupling(source, target) / norm) if norm else 0.0


def cs(source: Source, target: Target) -> float:
    """Norm of the product of both components' maps, over the product of their norms."""
    reader = target.read.T if target.outer is None else target.outer @ target.read.T
    writer = source.out if source.inner is None else source.out @ source.inner.T
    norm = np.linalg.norm(reader) * np.linalg.norm(writer)
    return float(np.linalg.norm(reader @ writer) / norm) if norm else 0.0


METRICS: dict[str, Callable[[Source, Target], float]] = {
    "pk": pk,
    "overlap": overlap,
    "cs": cs,
    "simple-cs": simple_cs,
    "coupling": coupling,
    "cka": cka,
    "max-cos": max_cos,
    "procrustes": procrustes,
    "binet-cauchy": binet_cauchy,
    "chordal": chordal,
    "grassmann": grassmann,
}


def all_scores(source: Source, target: Target) -> dict[str, float]:
    """Every metric of one pair. Differences below 1e-9 are rounding: they become ties."""
    return {name: round(metric(source, target), 9) for name, metric in METRICS.items()}
