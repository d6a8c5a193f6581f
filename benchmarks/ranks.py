"""The section of benchmarks/results.md on several ranks: our time beside what benchmarks/cluster_model.py predicts."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy

import cluster_model
from measuring import HEADSCOPE_MPI, machine_line, make_checkpoint, table


def circumstances(run_folder: Path, command: str) -> dict:
    return json.loads((run_folder / "manifest.json").read_text())["commands"][command]["circumstances"]


def copies_at_once(copies: int, run_folder: Path, command: str, *words: str | Path) -> float:
    """Seconds of the slowest of some copies that know nothing of each other, each on a processor of its own."""
    folders = [run_folder.with_name(f"{run_folder.name}-{copy}") for copy in range(copies)]
    started = []
    for processor, folder in enumerate(folders):
        options = ["-o", folder, "--threads", "1", "--quiet", "--force"]
        line = ["taskset", "-c", str(processor), HEADSCOPE_MPI, command, *words, *options]
        started.append(subprocess.Popen([str(word) for word in line], stdout=subprocess.DEVNULL))
    for process in started:
        if process.wait() != 0:
            raise subprocess.CalledProcessError(process.returncode, process.args)
    return max(float(circumstances(folder, command)["seconds"]) for folder in folders)


def on_ranks(ranks: int, run_folder: Path, command: str, *words: str | Path) -> dict:
    """One thread a rank, every rank on a processor of its own as long as there are enough."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    place = ["--bind-to", "core"] if ranks <= (os.cpu_count() or 1) else ["--bind-to", "none", "--oversubscribe"]
    options = ["-o", run_folder, "--threads", "1", "--quiet", "--force"]
    line = ["mpirun", *place, "-n", str(ranks), HEADSCOPE_MPI, command, *words, *options]
    subprocess.run([str(word) for word in line], check=True, capture_output=True, env=environment)
    found = circumstances(run_folder, command)
    peaks = found.get("peak_memory_of_ranks", found["peak_memory"]).split()
    waits = found.get("seconds_waited", "0").split()
    return {
        "seconds": float(found["seconds"]),
        "processor": max(map(float, found["processor_seconds"].split())),
        "peak": max(map(int, peaks)),
        "waited": max(map(float, waits)),
    }


class RankRounds:
    """A command on 1, 2 and 4 ranks, in turns, so that a busy minute of the machine falls on all; 4 once, for memory.

    Beside them two copies at once: what two processors do of the same work when nothing goes between them."""

    def __init__(self, work: Path, rounds: int, command: str, *words: str | Path) -> None:
        lines: dict[int, list[dict]] = {1: [], 2: [], 4: []}
        apart = []
        for _ in range(rounds):
            for ranks, found in lines.items():
                if ranks < 4 or not found:
                    found.append(on_ranks(ranks, work / f"mpi-{command}-{ranks}", command, *words))
            apart.append(copies_at_once(2, work / f"mpi-{command}-apart", command, *words))
        self.best = {ranks: min(found, key=lambda line: line["seconds"]) for ranks, found in lines.items()}
        self.ceiling = 2 * self.best[1]["seconds"] / min(apart)
        self.processor = {ranks: min(line["processor"] for line in found) for ranks, found in lines.items()}

    def verdict(self) -> str:
        speedup = self.best[1]["seconds"] / self.best[2]["seconds"]
        return (
            f"Two ranks over one: **{speedup:.2f}** (bound 1.8){'' if speedup >= 1.8 else ': not met'}; two copies "
            f"that know nothing of each other, at once, do {self.ceiling:.2f} times the work of one alone."
        )

    def table(self, predict: Callable[[int], tuple[float, float]]) -> str:
        """`predict(ranks)`: seconds, and bytes of a rank beside the program itself."""
        program = self.best[1]["peak"] - predict(1)[1]
        rows = []
        for ranks, line in self.best.items():
            seconds, memory = predict(ranks)
            timed = ranks <= (os.cpu_count() or 1)
            rows.append(
                [
                    str(ranks),
                    f"{line['seconds']:.1f} s" if timed else "-",
                    f"{seconds:.1f} s" if timed else "-",
                    f"{line['waited'] / line['seconds']:.1%}" if timed else "-",
                    f"{self.processor[ranks]:.1f} s",
                    f"{line['peak'] / 1e6:.0f} MB",
                    f"{(memory + program) / 1e6:.0f} MB",
                ]
            )
        header = ["ranks", "time", "predicted", "waiting for others", "processor time of the busiest rank",
                  "peak memory of the largest rank", "predicted"]  # fmt: skip
        return table(header, rows)


def mpi_relate(work: Path) -> str:
    shape = cluster_model.Shape("bench", layers=24, heads=16, kv_heads=16, d_head=64, d_model=1024)
    sizes = ["--layers", "24", "--d-model", "1024", "--heads", "16", "--d-mlp", "64", "--vocab", "50"]
    model = make_checkpoint(work / "mpi", "--family", "gpt2", *sizes, "--seed", "1")
    options = ["--earlier-only", "--null", "isotropic", "--tokens-for", "none"]
    rounds = RankRounds(work, 3, "relate", model, *options)
    pairs = ("OQ", "OK", "OV")
    flops = cluster_model.predict(shape, pairs, 1, cluster_model.Machine(1.0, 1.0))
    rate = (flops.product + flops.prepare) / rounds.best[1]["seconds"]
    machine = cluster_model.Machine(rate, bandwidth=1e9)

    def predict(ranks: int) -> tuple[float, float]:
        found = cluster_model.predict(shape, pairs, ranks, machine)
        return found.seconds, found.memory

    return (
        "24 layers of 16 heads of 64, width 1024; OQ + OK + OV, earlier to later "
        f"({flops.product / 1e12:.2f} TFLOP). {rounds.verdict()}\n\n{rounds.table(predict)}"
    )


def mpi_organize(work: Path) -> str:
    shape = cluster_model.Maps(heads=144, tokens=1024)
    maps = work / "maps.npy"
    values = numpy.random.default_rng(1).random((shape.heads, shape.tokens, shape.tokens), dtype=numpy.float32) ** 4
    numpy.save(maps, values / values.sum(axis=-1, keepdims=True))
    del values
    rounds = RankRounds(work, 4, "organize", maps)
    unit = cluster_model.predict_organize(shape, 1, cluster_model.Machine(1.0, 1.0))
    machine = cluster_model.Machine(unit.product / (rounds.best[1]["seconds"] - unit.prepare), bandwidth=1e9)

    def predict(ranks: int) -> tuple[float, float]:
        found = cluster_model.predict_organize(shape, ranks, machine)
        return found.seconds, found.memory

    return (
        f"{shape.heads} maps of {shape.tokens} x {shape.tokens}, {shape.bytes / 1e6:.0f} MB. {rounds.verdict()}\n\n"
        f"{rounds.table(predict)}"
    )


def mpi_section(work: Path) -> str:
    return (
        "## Several ranks\n\nOne thread a rank, each on a processor of its own; the best of some rounds. Predictions "
        "are those of benchmarks/cluster_model.py, with the rate and the memory of the program itself taken from one "
        f"rank; 4 ranks are there for the memory. {machine_line()}\n\n"
        f"`relate`: {mpi_relate(work)}\n\n`organize`: {mpi_organize(work)}"
    )
