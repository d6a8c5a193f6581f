"""What `relate` and `organize` need on several ranks: time, network, memory, from a model of compute and communication.

Usage: python benchmarks/cluster_model.py [--ranks 1,8,64] [--rate 2e12] [--bandwidth 1e9] prints the tables of
docs/cluster.md. `make bench-mpi` prints predictions of the same model beside what it measures.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """The attention of a model; experts and vocabulary do not matter here."""

    name: str
    layers: int
    heads: int
    kv_heads: int
    d_head: int
    d_model: int

    def heads_of(self, role: str) -> int:
        return self.kv_heads if role in "KV" else self.heads

    def layer_bytes(self, role: str) -> float:
        """A prepared layer, in float32."""
        return 4.0 * self.heads_of(role) * self.d_head * self.d_model


MODELS = (
    Shape("8B", 32, 32, 8, 128, 4096),
    Shape("70B", 80, 64, 8, 128, 8192),
    Shape("405B", 126, 128, 8, 128, 16384),
    Shape("1T mixture", 61, 64, 64, 128, 7168),
)


@dataclass(frozen=True)
class Machine:
    """One rank: products in flops per second, and network bandwidth in bytes per second."""

    rate: float
    bandwidth: float
    # An orthonormal basis in double with its reading takes as long as a product of so many d h^2 flops.
    preparing: float = 16.0


@dataclass(frozen=True)
class Prediction:
    chunks: int  # how many times the targets pass by
    product: float  # seconds
    prepare: float  # seconds
    network: float  # seconds that targets are under way to a rank; hidden as long as it is less than the product's
    memory: float  # bytes per rank, beside the program itself

    @property
    def seconds(self) -> float:
        return self.prepare + max(self.product, self.network)


def predict(
    shape: Shape,
    pairs: tuple[str, ...],
    ranks: int,
    machine: Machine,
    earlier_only: bool = True,
    budget: float = math.inf,
) -> Prediction:
    """`budget`: bytes that the sources of a rank may take: what the rest leaves of --memory."""
    share = (shape.layers - 1) / (2 * shape.layers) if earlier_only else 1.0
    own = math.ceil(shape.layers / ranks)
    flops = heads_prepared = moved = memory = 0.0
    most_chunks = 1
    for source in dict.fromkeys(pair[0] for pair in pairs):
        layer = shape.layer_bytes(source)
        chunks = math.ceil(own / max(1, min(own, budget / layer) // 1))
        most_chunks = max(most_chunks, chunks)
        heads_prepared += own * shape.heads_of(source)
        largest = 0.0
        for pair in (pair for pair in pairs if pair[0] == source):
            target = pair[1]
            all_pairs = shape.layers**2 * shape.heads_of(source) * shape.heads_of(target)
            flops += share * all_pairs * 2.0 * shape.d_head**2 * shape.d_model / ranks
            heads_prepared += chunks * own * shape.heads_of(target)
            moved += chunks * shape.layers * (ranks - 1) / ranks * shape.layer_bytes(target)
            largest = max(largest, shape.layer_bytes(target))
        in_flight = (4 if ranks > 1 else 2) * largest
        memory = max(memory, math.ceil(own / chunks) * layer + in_flight)
    # Rank 0 has the whole result, the others their rows.
    results = sum(4.0 * shape.layers**2 * shape.heads_of(pair[0]) * shape.heads_of(pair[1]) for pair in pairs)
    basis = machine.preparing * shape.d_head**2 * shape.d_model
    return Prediction(
        chunks=most_chunks,
        product=flops / machine.rate,
        prepare=heads_prepared * basis / machine.rate,
        network=moved / machine.bandwidth,
        memory=memory + results,
    )


@dataclass(frozen=True)
class Maps:
    """Attention maps, as many queries as keys."""

    heads: int
    tokens: int

    @property
    def bytes(self) -> float:
        return 4.0 * self.heads * self.tokens**2


# Folders of a tree an element, of flexible trees; iterations of the questionnaire; Haar transforms of the tensor (a
# score an iteration, the trees, eight draws).
FOLDERS = 1.6
ITERATIONS = 3
TRANSFORMS = ITERATIONS + 9


def predict_organize(shape: Maps, ranks: int, machine: Machine) -> Prediction:
    """`machine.rate` counts maxima, with all that goes with them."""
    heads, tokens = float(shape.heads), float(shape.tokens)
    # Pairs of slices times pairs of folders, along heads, and along queries and keys.
    maxima = (heads**2 * tokens**2 + 2 * tokens**2 * heads * tokens) / 2 * FOLDERS**2
    # The transforms touch every entry some dozens of times.
    entries = heads * tokens**2 * TRANSFORMS * 60
    part = shape.bytes / ranks
    moved = (ITERATIONS * 3 * FOLDERS + TRANSFORMS) * part * (ranks - 1) / ranks
    # All ranks wait for a tree, some nanoseconds a pair of slices.
    trees = ITERATIONS * (heads**2 + 2 * tokens**2) * 150e-9
    # The maps, three copies and what coefficients are made in.
    memory = 5 * part
    matrices = 6 * 8 * tokens**2 * 2
    return Prediction(
        chunks=1,
        product=(ITERATIONS * maxima + entries) / machine.rate / ranks,
        prepare=trees,
        network=moved / machine.bandwidth,
        memory=memory + matrices,
    )


def span(seconds: float) -> str:
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def table(title: str, machine: Machine, ranks: list[int], pairs: tuple[str, ...], budget: float) -> str:
    lines = [f"{title}: {machine.rate / 1e12:g} TFLOP/s and {machine.bandwidth / 1e9:g} GB/s per rank", ""]
    lines += [
        "| model | ranks | time | of it preparing | network, hidden if less than the products | memory per rank |"
    ]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    for shape in MODELS:
        for count in ranks:
            if count > shape.layers:
                continue
            found = predict(shape, pairs, count, machine, budget=budget)
            network = f"{span(found.network)} of {span(found.product)}" if count > 1 else "-"
            lines.append(
                f"| {shape.name} | {count} | {span(found.seconds)} | {span(found.prepare)} | {network} | "
                f"{found.memory / 2**30:.1f} GiB |"
            )
    return "\n".join(lines)


def organize_table(title: str, machine: Machine, ranks: list[int], tokens: int) -> str:
    lines = [f"{title}: {machine.rate / 1e12:g} T maxima per second and {machine.bandwidth / 1e9:g} GB/s per rank", ""]
    lines += [
        f"| model, {tokens} tokens | maps | ranks | time | network, hidden if less than the rest | memory per rank |"
    ]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    for model in MODELS:
        shape = Maps(model.layers * model.heads, tokens)
        for count in ranks:
            found = predict_organize(shape, count, machine)
            network = f"{span(found.network)} of {span(found.product)}" if count > 1 else "-"
            lines.append(
                f"| {model.name} | {shape.bytes / 2**30:.1f} GiB | {count} | {span(found.seconds)} | {network} | "
                f"{found.memory / 2**30:.1f} GiB |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="1,8,32")
    parser.add_argument("--pairs", default="OQ,OK,OV")
    parser.add_argument(
        "--rate", type=float, help="flops per second of a rank; default: two tables, see docs/cluster.md"
    )
    parser.add_argument("--bandwidth", type=float, default=1e9, help="bytes per second")
    parser.add_argument("--maxima", type=float, default=1.5e12, help="a second of a rank, of organize")
    parser.add_argument("--tokens", type=int, default=1024, help="of organize")
    parser.add_argument("--memory", type=float, default=math.inf, help="--memory of a rank, in bytes")
    arguments = parser.parse_args()
    ranks = [int(word) for word in arguments.ranks.split(",")]
    pairs = tuple(arguments.pairs.split(","))
    machines = [("A server with 64 processors", Machine(2.5e12, arguments.bandwidth))]
    # On a device preparing is slower than its products by far more than on a processor: it is float64 and reads the
    # disk.
    machines += [("One H200 in TF32", Machine(3e14, 25e9, preparing=16.0 * 20))]
    if arguments.rate:
        machines = [("Your machine", Machine(arguments.rate, arguments.bandwidth))]
    print("\n\n".join(table(title, machine, ranks, pairs, arguments.memory / 2) for title, machine in machines))
    maxima = Machine(arguments.maxima, arguments.bandwidth)
    print("\n" + organize_table("organize, " + machines[0][0].lower(), maxima, ranks, arguments.tokens))


if __name__ == "__main__":
    main()
