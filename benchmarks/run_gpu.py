"""Runs the benchmarks of the CUDA backend and writes their section of benchmarks/results.md.

Usage: python benchmarks/run_gpu.py [--programs FOLDER]. Needs a device, and the programs that `make bench-gpu` builds; the
peer is PyTorch where this Python has it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from run import RESULTS, ROOT, table, with_section

TITLE = "## One GPU"
SHAPES = {
    # name: layers, heads, width, d, rounds
    "Llama-3-70B": (80, 64, 128, 8192, 1),
    "Llama-3-8B": (32, 32, 128, 4096, 5),
}
PRECISIONS = {"Llama-3-70B": ("tf32", "fp16", "bf16"), "Llama-3-8B": ("tf32", "fp16", "bf16", "float32")}


BOUNDS = {("Llama-3-70B", "tf32"): 10, ("Llama-3-70B", "bf16"): 6}  # seconds, of the products


def with_bound(seconds: float, bound: float | None) -> str:
    verdict = "" if bound is None else f" (bound {bound} s{'' if seconds < bound else ': not met'})"
    return f"{seconds:.3f} s{verdict}"


def output(*command: str | Path) -> dict:
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def peer(precision: str, shape: tuple[int, ...]) -> float | None:
    if importlib.util.find_spec("torch") is None or precision == "float32":
        return None
    return output(sys.executable, ROOT / "benchmarks/peer_gpu.py", precision, *map(str, shape[:4]))["seconds"]


def commit() -> str:
    if "HEADSCOPE_COMMIT" in os.environ:  # measured in a copy
        return os.environ["HEADSCOPE_COMMIT"]
    describe = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        return subprocess.run(describe, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def section(programs: Path) -> str:
    lines = {}
    for name, shape in SHAPES.items():
        for precision in PRECISIONS[name]:
            lines[name, precision] = output(programs / "bench_gpu", "relate", precision, *map(str, shape))
            print(json.dumps(lines[name, precision]), file=sys.stderr, flush=True)
    rows = []
    device = ""
    for (name, precision), line in lines.items():
        device = line["device"]
        theirs = peer(precision, SHAPES[name])
        rows.append(
            [
                name,
                precision,
                f"{line['tflop']:.0f}",
                with_bound(line["products"], BOUNDS.get((name, precision))),
                f"{line['tflop'] / line['products']:.0f}",
                f"{line['tflop'] / line['ceiling']:.0f}",
                f"**{100 * line['share']:.0f} %**",
                f"{line['upload']:.2f} s",
                f"{max(0.0, line['prepare'] - line['upload']):.2f} s",
                f"{max(0.0, line['eigen'] - line['upload']):.2f} s",
                f"{line['whole']:.2f} s",
                "" if theirs is None else f"{theirs:.2f} s",
            ]
        )
    tree = output(programs / "bench_gpu", "organize", "144", "1024", "3")
    print(json.dumps(tree), file=sys.stderr, flush=True)
    header = ["shape", "precision", "kept TFLOP", "products", "TFLOP/s", "plain products", "share", "upload", "bases",
              "bases by eigenvectors", "all of it", "PyTorch"]  # fmt: skip
    return (
        f"{TITLE}\n\nWritten by `make bench-gpu`. {device}, commit {commit()}. OQ, earlier to later, random weights. Products: from "
        "bases on the device to norms in this machine's memory, beside as many flops in products of 8192 x 8192 x d, in turns "
        "(bound: 85 %). Upload and bases are those of all layers of both sides, each measured alone; eigenvectors are what "
        "bases cost if no head's rank is beyond doubt. All of it: from weights in memory to norms, one beside the other. "
        "The device draws all the power it may, so that a warm one "
        "is 3 % slower, plain products too; large layers are multiplied in TF32 with 7/8 of the multiplications, which is how "
        "a share comes to be above 100 %. PyTorch multiplies and sums layer by layer, all pairs, bases given.\n\n"
        + table(header, rows)
        + f"\n\nTree distances of one iteration of organize, {tree['shape']}, three axes, trees of 2 n - 1 folders: "
        f"{tree['device']:.3f} s on the device and {tree['device_bind']:.2f} s to bring the tensor there, {tree['cpu']:.2f} s on "
        f"{tree['threads']} threads: **{tree['cpu'] / tree['device']:.0f}x** (bound 10x). They differ by {tree['difference']:.1e} of the "
        "largest."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, default=ROOT / "build/cuda/benchmarks")
    new = section(parser.parse_args().programs)
    RESULTS.write_text(with_section(RESULTS.read_text(), new))
    print(new)


if __name__ == "__main__":
    main()
