"""Every command keeps to --memory, or refuses before it begins and says how much it needs.

Each command runs at three budgets: one megabyte, the budget that its refusal names, and one gigabyte. What counts is
memory that the system cannot drop: anonymous pages and shared memory (RssAnon and RssShmem), sampled while the command
runs. Pages of mapped files are in ru_maxrss, too, but the system drops them when it needs the memory.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()
MEGA = 1 << 20
SLACK = 16 * MEGA  # fragmentation of the heap, and what is allocated between two samples
EXIT_RESOURCE = 6

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")


class Finished(NamedTuple):
    code: int
    error: str
    peak: int  # bytes


def pinned_memory(pid: int) -> int:
    """Bytes of a process that the system cannot drop."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.findall(r"^(?:RssAnon|RssShmem):\s+(\d+) kB", status, re.MULTILINE)
    return 1024 * sum(int(number) for number in found)


def run(*words: object) -> Finished:
    command = [str(HEADSCOPE), *(str(word) for word in words), "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        lines: list[str] = []
        errors = process.stderr
        assert errors is not None
        reader = threading.Thread(target=lambda: lines.append(errors.read()))
        reader.start()
        peak = 0
        while process.poll() is None:
            peak = max(peak, pinned_memory(process.pid))
            time.sleep(0.001)
        reader.join()
    return Finished(process.returncode, lines[0], peak)


def needed(result: Finished) -> int:
    """The budget in megabytes that a refusal names."""
    assert result.code == EXIT_RESOURCE, result.error
    assert result.error.count("\n") == 1
    found = re.search(r"needs about (\d+) MB of memory, but the budget is .*--memory, at least (\d+)M\n$", result.error)
    assert found, result.error
    assert found[1] == found[2]
    return int(found[2])


def check(*words: object) -> int:
    """Runs a command at three budgets. Returns the smallest one that is enough, in megabytes."""
    budget = 1
    for _ in range(3):  # a command may have several stages that refuse
        refused = run(*words, "--memory", f"{budget}M")
        if refused.code == 0:
            break
        assert refused.peak <= SLACK, "something was computed before the budget was checked"
        larger = needed(refused)
        assert larger > budget
        budget = larger
    enough = run(*words, "--memory", f"{budget}M")
    assert enough.code == 0, enough.error
    assert enough.peak <= budget * MEGA + SLACK
    assert run(*words, "--memory", f"{budget - 1}M").code == EXIT_RESOURCE
    plenty = run(*words, "--memory", "1G")
    assert plenty.code == 0, plenty.error
    assert plenty.peak <= 1024 * MEGA + SLACK
    return budget


def make_model(folder: Path, *sizes: object) -> Path:
    command = [sys.executable, str(ROOT / "tools/make_checkpoint.py"), str(folder), *(str(size) for size in sizes)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def many_heads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = ["--family", "gpt2", "--layers", 16, "--d-model", 24, "--heads", 12, "--d-mlp", 8, "--vocab", 50]
    return make_model(tmp_path_factory.mktemp("models") / "many-heads", *sizes)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = ["--family", "gpt2", "--layers", 2, "--d-model", 512, "--heads", 8, "--vocab", 4000, "--positions", 256]
    return make_model(tmp_path_factory.mktemp("models") / "wide", *sizes)


@pytest.fixture(scope="module")
def ids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("inputs") / "ids.npy"
    np.save(file, np.random.default_rng(0).integers(0, 4000, (2, 128)))
    return file


@pytest.fixture(scope="module")
def captured(wide: Path, ids: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captured") / "run"
    assert run("capture", wide, "--ids", ids, "--what", "pattern,scores", "-o", folder).code == 0
    return folder


def test_relate(many_heads: Path, tmp_path: Path) -> None:
    more = ["--tokens-for", "none", "--threads", 2]
    few = check("relate", many_heads, "--pairs", "OQ", "-o", tmp_path / "few", *more)
    many = check("relate", many_heads, "--pairs", "OQ,OK,OV,QQ,QK,KK", "-o", tmp_path / "many", *more)
    # 192 heads: each further pair of roles takes a matrix of affinities and half of one per judgment.
    assert many - few > 5 * (4 + 8) * 192 * 192 / MEGA


def test_relate_keeps_to_the_budget_with_many_edges(many_heads: Path, tmp_path: Path) -> None:
    words = ["relate", many_heads, "--pairs", "OQ", "--max-q", "1", "--tokens-for", "none", "--threads", 2]
    refused = run(*words, "-o", tmp_path / "run", "--memory", "50M")
    budget = needed(refused)
    assert "edges" in refused.error
    enough = run(*words, "-o", tmp_path / "run", "--memory", f"{budget}M")
    assert enough.code == 0, enough.error
    assert enough.peak <= budget * MEGA + SLACK


def test_capture(wide: Path, ids: Path, tmp_path: Path) -> None:
    check("capture", wide, "--ids", ids, "-o", tmp_path / "run", "--threads", 2)
    check("capture", wide, "--ids", ids, "--ablate", "L0H0", "-o", tmp_path / "ablated", "--threads", 2)


def test_detect(wide: Path, tmp_path: Path) -> None:
    check("detect", wide, "--sequences", 4, "-o", tmp_path / "run", "--threads", 2)


def test_prune(wide: Path, ids: Path, tmp_path: Path) -> None:
    words = ["prune", wide, "--ids", ids, "--count", 2, "--criteria", "norm", "--orders", 2, "--points", 2]
    check(*words, "-o", tmp_path / "run", "--threads", 2)


def test_patch(wide: Path, ids: Path, tmp_path: Path) -> None:
    check("patch", wide, "--ids", ids, "--top", 2, "--draws", 2, "-o", tmp_path / "run", "--threads", 2)


@pytest.mark.parametrize("command", ["organize", "softmax"])
def test_analyses_of_maps(captured: Path, tmp_path: Path, command: str) -> None:
    more = ["--controls", 1] if command == "organize" else ["--heads", "L0H0"]
    check(command, captured, "--inputs", 1, *more, "-o", tmp_path / "run", "--threads", 2)


def test_compare(captured: Path, tmp_path: Path) -> None:
    check("compare", captured, captured, "--inputs", 1, "-o", tmp_path / "run", "--threads", 2)


def test_report(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    rows = 100_000
    table = "a,b,c,d,e\n" + "1,2,x,,y\n" * rows
    (folder / "odd.csv").write_text(table)
    manifest = {"schema": 1, "files": {"odd.csv": {"kind": "table", "about": "", "command": "relate"}}, "commands": {}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    check("report", folder, "-o", tmp_path / "page.html")
    plenty = run("report", folder, "-o", tmp_path / "page.html")
    assert plenty.peak <= 16 * MEGA + 14 * len(table)
