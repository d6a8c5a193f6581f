"""A `patch` that was interrupted goes on from what it had finished, and ends with the same bytes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[str | Path]:
    folder = tmp_path_factory.mktemp("patch")
    sizes = ["--layers", "8", "--d-model", "64", "--heads", "4", "--d-mlp", "64", "--vocab", "50"]
    command = [sys.executable, str(ROOT / "tools/make_checkpoint.py"), str(folder / "gpt2"), "--family", "gpt2", *sizes]
    subprocess.run(command, check=True, capture_output=True)
    np.save(folder / "ids.npy", np.random.default_rng(0).integers(0, 50, (4, 48)))
    return [HEADSCOPE, "patch", folder / "gpt2", "--ids", folder / "ids.npy", "--draws", "2"]


def contents(run: Path) -> dict[str, bytes]:
    files = [path for path in run.rglob("*") if path.is_file() and path.name != "manifest.json"]
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


def test_an_interrupted_run_goes_on_and_gives_the_same_bytes(words: list[str | Path], tmp_path: Path) -> None:
    subprocess.run([*words, "-o", tmp_path / "expected"], check=True, capture_output=True)
    run = tmp_path / "run"
    process = subprocess.Popen(
        [*words, "-o", run, "--save-every", "0", "--threads", "1"], stderr=subprocess.PIPE, text=True
    )
    while len(list(run.glob("unfinished/patch-*/*.blocks"))) < 12:  # seven layers of the screen, then cuts
        assert process.poll() is None, "it ended before it could be stopped"
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.splitlines()[-1].endswith("finished parts are kept, and the same command continues from there")
    subprocess.run([*words, "-o", run], check=True, capture_output=True)
    assert not (run / "unfinished").exists()
    assert contents(run) == contents(tmp_path / "expected")
