"""Runs every benchmark and writes benchmarks/results.md: our time beside its floor and its peer, in one run.

Usage: python benchmarks/run.py [--only NAME]. Needs the programs that `make bench` builds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADSCOPE = ROOT / "build/headscope"
PROGRAMS = ROOT / "build/release/benchmarks"
RESULTS = ROOT / "benchmarks/results.md"


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


def inspect_section(work: Path) -> str:
    rows = []
    for preset in ("gpt2-small", "llama-3-8b", "llama-3-70b"):
        model = make_checkpoint(work / preset, "--preset", preset, "--dtype", "BF16", "--shard-size", "5GB", "--sparse")
        size = sum(path.stat().st_size for path in model.glob("*.safetensors"))
        seconds, megabytes = measured([HEADSCOPE, "inspect", model])
        rows.append([preset, f"{size / 1e9:.1f} GB", f"{seconds * 1e3:.0f} ms", f"{megabytes:.0f} MB"])
    return (
        "## inspect\n\nWhole process, headers only. Bound for the 8B shape: 1 s and 100 MB resident.\n\n"
        + table(["model", "on disk", "time", "peak memory"], rows)
    )


def load_section(work: Path) -> str:
    rows = []
    for preset, dtype in (("gpt2-small", "F32"), ("gpt2-small", "BF16"), ("pythia-160m", "F32"), ("bert-base", "F32")):
        model = make_checkpoint(work / f"load-{preset}-{dtype}", "--preset", preset, "--dtype", dtype, "--seed", "1")
        for line in json_lines(PROGRAMS / "bench_load", model):
            rows.append(
                [
                    f"{preset} {dtype}",
                    line["weights"],
                    str(line["threads"]),
                    f"{line['bytes'] / 1e6:.0f} MB",
                    f"{line['ours'] * 1e3:.1f} ms",
                    f"{line['floor'] * 1e3:.1f} ms",
                    f"{line['ratio']:.2f}",
                ]
            )
    return (
        "## Loading the heads\n\nAll Q, K, V and O of a model as floats, one layer at a time, from the page cache. The "
        "floor copies and converts the same bytes in a plain loop on one thread, in file order, into one buffer, "
        "without transposing or looking for NaN. Bound for GPT-2 small, all threads, raw: 1.5.\n\n"
        + table(["model", "weights", "threads", "read", "ours", "floor", "ours / floor"], rows)
    )


def relate_section(work: Path) -> str:
    model = make_checkpoint(work / "relate-gpt2", "--preset", "gpt2-small", "--seed", "1")
    ours = json_lines(PROGRAMS / "bench_relate", model, "7")[0]
    peer = json.loads(run(sys.executable, ROOT / "benchmarks/peer_relate.py", model))
    rows = [
        ["ours, isotropic null", f"{ours['ours']:.2f} s", f"{ours['gflop'] / ours['ours']:.0f} GFLOP/s"],
        ["ours, all three nulls", f"{ours['all_nulls']:.2f} s", ""],
        ["floor: raw sgemm for the flops kept", f"{ours['product']:.2f} s", f"{ours['gflop'] / ours['product']:.0f} GFLOP/s"],
        ["floor: LAPACK's sgeqrf + sorgqr", f"{ours['qr']:.2f} s", ""],
        ["NumPy: QR, stack, all pairs", f"{peer['numpy']:.2f} s", ""],
        ["NumPy: an SVD a head, tiles", f"{peer['svd']:.2f} s", ""],
    ]
    return (
        f"## relate\n\nGPT-2 small's shape, OQ + OK + OV, earlier to later ({ours['gflop']:.0f} GFLOP), {ours['threads']} "
        "threads, from the file to edges, graph and hubs. Ours over the two floors together: "
        f"**{ours['ratio']:.2f}** (bound 1.35); NumPy over ours: **{peer['numpy'] / ours['ours']:.2f}** (bound 2.5); an "
        f"SVD a head over ours: **{peer['svd'] / ours['ours']:.2f}** (bound 1.6). The peers compute all pairs and their "
        "time does not count loading the file.\n\n" + table(["", "time", "rate"], rows)
    )


def organize_section(work: Path) -> str:
    rows = []
    lines = []
    for heads, side, rounds in ((128, 256, 5), (144, 1024, 1)):
        line = json_lines(PROGRAMS / "bench_organize", str(heads), str(side), str(side), str(rounds))[0]
        lines.append(line)
        rows.append(
            [
                line["shape"],
                f"{line['seconds']:.2f} s",
                f"{line['processor_seconds']:.2f} s",
                f"{line['floor']:.2f} s",
                f"{line['megabytes']:.0f} MB",
            ]
        )
    first = lines[0]
    haar = [["keys (contiguous)", "haar_key"], ["queries", "haar_query"], ["heads", "haar_head"]]
    return (
        f"## organize\n\nThe questionnaire on three axes, three iterations with scores, {first['threads']} threads. The "
        "floor is the maxima of its distances alone, in a loop that never leaves the registers. Bounds: 0.5 s for the "
        "first, 60 s and 6 GB for the second.\n\n"
        + table(["queries x keys x heads", "time", "processor time", "floor", "peak memory"], rows)
        + f"\n\nThe kernel of the distances reaches {first['kernel_rate'] / 1e9:.1f} G maxima a second on one thread, "
        f"**{first['kernel_rate'] / first['register_rate']:.0%}** of the register loop (bound 60 %). A Haar transform of one "
        "axis of 64 x 1024 x 1024 floats, as a share of the bandwidth of copying them (bound 50 %):\n\n"
        + table(["axis", "share"], [[name, f"{1 / first[key]:.0%}"] for name, key in haar])
    )


SECTIONS: dict[str, Callable[[Path], str]] = {"inspect": inspect_section, "load": load_section, "relate": relate_section, "organize": organize_section}


def machine() -> str:
    names = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    commit = run("git", "-C", ROOT, "describe", "--always", "--dirty", "--exclude", "*").strip()
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} processors, commit {commit}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=SECTIONS, help="print this section instead of writing all")
    only = parser.parse_args().only
    with tempfile.TemporaryDirectory() as work:
        if only:
            print(SECTIONS[only](Path(work)))
            return
        parts = [section(Path(work)) for section in SECTIONS.values()]
    text = f"# Benchmarks\n\nWritten by `make bench`. {machine()}\n\n" + "\n\n".join(parts) + "\n"
    RESULTS.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
