"""The programs that benchmarks run, and what all sections of benchmarks/results.md share."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADSCOPE = ROOT / "build/headscope"
HEADSCOPE_MPI = ROOT / "build/mpi/headscope"
PROGRAMS = ROOT / "build/release/benchmarks"
PEER_PYTHON = ROOT / ".venv-bench/bin/python"

# Every library, ours and those of the peers, chooses the instructions that it uses on this processor.
for variable in [name for name in os.environ if name.startswith("OPENBLAS_")]:
    del os.environ[variable]


def run(*command: str | Path) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def json_lines(*command: str | Path) -> list[dict]:
    return [json.loads(line) for line in run(*command).splitlines()]


def make_checkpoint(folder: Path, *arguments: str) -> Path:
    run(sys.executable, ROOT / "tools/make_checkpoint.py", folder, *arguments)
    return folder


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def measured(command: list[str | Path]) -> tuple[float, float]:
    """Seconds and peak megabytes of a command, best of five."""
    script = (
        "import resource, subprocess, sys, time; begin = time.monotonic(); "
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "print(time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    runs = [run(sys.executable, "-c", script, *command).split() for _ in range(5)]
    return min(float(seconds) for seconds, _ in runs), max(int(kib) * 1024 / 1e6 for _, kib in runs)


def machine_line() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":")[1].strip() for line in lines if "model name" in line]
    commit = run("git", "-C", ROOT, "describe", "--always", "--dirty", "--exclude", "*").strip()
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} processors, commit {commit}."
