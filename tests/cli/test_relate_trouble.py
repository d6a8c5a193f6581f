"""What `relate` leaves behind when it is interrupted or the disk is full: nothing, and a rerun completes."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "gpt2"
    sizes = ["--layers", "24", "--d-model", "512", "--heads", "8", "--d-mlp", "16", "--vocab", "50"]
    command = [sys.executable, str(ROOT / "tools/make_checkpoint.py"), str(folder), "--family", "gpt2", *sizes]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def files_in(run: Path) -> list[Path]:
    return [path for path in run.rglob("*") if path.is_file()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_and_ends_within_a_second(model: Path, tmp_path: Path, number: int) -> None:
    run = tmp_path / "run"
    command: list[str | Path] = [HEADSCOPE, "relate", model, "-o", run, "--pairs", "all", "--metric", "grassmann"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not run.exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.3)
    begin = time.monotonic()
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - begin < 5  # a second on a quiet machine
    assert process.returncode == 128 + number
    assert errors.splitlines()[-1] == "headscope: interrupted; the unfinished result was not written"
    assert files_in(run) == []


def test_a_full_disk_gives_code_6_and_a_rerun_completes(model: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command: list[str | Path] = [HEADSCOPE, "relate", model, "-o", run, "--null", "isotropic", "--quiet"]

    def limit_file_size() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit_file_size)
    assert done.returncode == 6, done.stderr
    assert done.stderr.startswith("headscope: ") and done.stderr.count("\n") == 1
    assert files_in(run) == []
    subprocess.run(command, check=True, capture_output=True)
    assert (run / "manifest.json").exists()


def test_a_device_that_the_build_does_not_have_gives_code_5(model: Path, tmp_path: Path) -> None:
    for device in ("cuda", "cuda:1"):
        command: list[str | Path] = [HEADSCOPE, "relate", model, "-o", tmp_path / "run", "--device", device]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 5, done.stderr
        assert done.stderr.startswith("headscope: ") and done.stderr.count("\n") == 1
        assert not (tmp_path / "run").exists()
