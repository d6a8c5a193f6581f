"""What `capture` leaves behind when it is interrupted or the disk is full: nothing, and a rerun completes. And that
many inputs need no more open files than few."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "llama"
    sizes = ["--layers", "24", "--d-model", "256", "--heads", "8", "--d-mlp", "512", "--vocab", "100"]
    command = [sys.executable, str(ROOT / "tools/make_checkpoint.py"), str(folder), "--family", "llama", *sizes]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def save_ids(path: Path, *shape: int) -> Path:
    np.save(path, np.random.default_rng(1).integers(0, 100, shape))
    return path


def files_in(run: Path) -> list[Path]:
    return [path for path in run.rglob("*") if path.is_file()]


def limited(kind: int, amount: int) -> Callable[[], None]:
    def set_limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(kind, (amount, amount))

    return set_limit


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_and_ends_within_a_second(model: Path, tmp_path: Path, number: int) -> None:
    run = tmp_path / "run"
    ids = save_ids(tmp_path / "ids.npy", 2, 1500)
    command: list[str | Path] = [HEADSCOPE, "capture", model, "-o", run, "--ids", ids, "--heads", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not run.exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.2)
    begin = time.monotonic()
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - begin < 5  # a second on a quiet machine
    assert process.returncode == 128 + number
    assert errors.splitlines()[-1] == "headscope: interrupted; the unfinished result was not written"
    assert not run.exists()


def test_a_full_disk_gives_code_6_and_a_rerun_completes(model: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ids = save_ids(tmp_path / "ids.npy", 30)
    command: list[str | Path] = [HEADSCOPE, "capture", model, "-o", run, "--ids", ids, "--quiet"]
    limit = limited(resource.RLIMIT_FSIZE, 20_000)
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 6, done.stderr
    assert done.stderr.startswith("headscope: ") and done.stderr.count("\n") == 1
    assert files_in(run) == []
    subprocess.run(command, check=True, capture_output=True)
    assert np.load(run / "pattern.npy").shape == (24 * 8, 30, 30)


def test_any_number_of_inputs_needs_few_open_files(model: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ids = save_ids(tmp_path / "ids.npy", 60, 3)
    command: list[str | Path] = [HEADSCOPE, "capture", model, "-o", run, "--ids", ids, "--layers", "0", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited(resource.RLIMIT_NOFILE, 64))
    assert done.returncode == 0, done.stderr
    assert np.load(run / "inputs/59/pattern.npy").shape == (8, 3, 3)
