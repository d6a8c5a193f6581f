"""Runs the real program on generated checkpoints: every family at a small size, and the 8B shape as holes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()
sys.path.insert(0, str(ROOT / "tools"))

from checkpoint_families import FAMILIES  # noqa: E402


def generate(folder: Path, *arguments: str) -> None:
    command = [sys.executable, str(ROOT / "tools/make_checkpoint.py"), str(folder), *arguments]
    subprocess.run(command, check=True, capture_output=True)


def inspect(model: Path, *arguments: str) -> dict:
    done = subprocess.run([HEADSCOPE, "inspect", model, "--json", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_generated_family_is_complete(tmp_path: Path, family: str) -> None:
    generate(tmp_path / "model", "--family", family, "--layers", "3", "--d-model", "64", "--heads", "4")
    found = inspect(tmp_path / "model", "--check")
    assert found["tensors_missing"] == []
    assert (found["layers"], found["heads"], found["d_model"]) == (3, 4, 64)


def measured_inspect(model: Path) -> tuple[dict, float, int]:
    """What inspect says, its seconds, and its peak memory in bytes, measured by a process that runs nothing else."""
    script = (
        "import resource, subprocess, sys, time; begin = time.monotonic(); "
        "subprocess.run(sys.argv[1:], check=True); "
        "print(time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, str(HEADSCOPE), "inspect", str(model), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, kilobytes = done.stderr.split()
    return json.loads(done.stdout), float(seconds), int(kilobytes) * 1024


def test_an_8b_shape_is_answered_from_its_headers(tmp_path: Path) -> None:
    generate(tmp_path / "model", "--preset", "llama-3-8b", "--dtype", "BF16", "--shard-size", "5GB", "--sparse")
    found, seconds, peak = measured_inspect(tmp_path / "model")
    assert (found["layers"], found["heads"], found["kv_heads"], found["d_head"]) == (32, 32, 8, 128)
    assert found["files"] > 1
    assert peak < 100e6
    assert seconds < 10  # `make bench` has the real bound, a second; this leaves room for a busy machine
