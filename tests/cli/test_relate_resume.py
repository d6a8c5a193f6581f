"""A `relate` that was killed goes on from what it had finished, and ends with the same bytes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()
OPTIONS = ["--metric", "pk,grassmann", "--pairs", "OQ,OV", "--null", "isotropic", "--tokens-for", "none"]
BLOCKS = 2 * 2 * 12 * 12  # metrics, pairs, layers, layers


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "gpt2"
    sizes = ["--layers", "12", "--d-model", "128", "--heads", "4", "--d-mlp", "16", "--vocab", "50"]
    command = [sys.executable, str(ROOT / "tools/make_checkpoint.py"), str(folder), "--family", "gpt2", *sizes]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def expected(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    run = tmp_path_factory.mktemp("expected") / "run"
    subprocess.run([HEADSCOPE, "relate", model, "-o", run, *OPTIONS], check=True, capture_output=True)
    assert not (run / "unfinished").exists()
    return contents(run)


def contents(run: Path) -> dict[str, bytes]:
    files = [path for path in run.rglob("*") if path.is_file() and path.name != "manifest.json"]
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


def stop_half_way(model: Path, run: Path, number: int) -> subprocess.Popen[str]:
    """Ends a run as soon as some of its blocks are on disk."""
    command: list[str | Path] = [HEADSCOPE, "relate", model, "-o", run, *OPTIONS]
    command += ["--save-every", "0.05", "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(list(run.glob("unfinished/relate-*/*.blocks"))) < 3:
        assert process.poll() is None, "it ended before it could be stopped"
        time.sleep(0.01)
    process.send_signal(number)
    return process


def resumed(run: Path) -> int:
    manifest = json.loads((run / "manifest.json").read_text())
    return int(manifest["commands"]["relate"]["circumstances"].get("blocks_resumed", 0))


def test_a_killed_run_goes_on_and_gives_the_same_bytes(model: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    run = tmp_path / "run"
    stop_half_way(model, run, signal.SIGKILL).communicate(timeout=30)
    assert not (run / "manifest.json").exists()
    done = subprocess.run([HEADSCOPE, "relate", model, "-o", run, *OPTIONS], check=True, capture_output=True, text=True)
    assert "blocks of layers that an earlier run had finished" in done.stdout
    assert 0 < resumed(run) < BLOCKS
    assert not (run / "unfinished").exists()
    assert contents(run) == expected


def test_an_interrupted_run_says_that_it_can_go_on(model: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = stop_half_way(model, run, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.splitlines()[-1].endswith("finished parts are kept, and the same command continues from there")
    subprocess.run([HEADSCOPE, "relate", model, "-o", run, *OPTIONS], check=True, capture_output=True)
    assert resumed(run) > 0
    assert contents(run) == expected


def test_no_resume_starts_anew(model: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    run = tmp_path / "run"
    stop_half_way(model, run, signal.SIGKILL).communicate(timeout=30)
    command: list[str | Path] = [HEADSCOPE, "relate", model, "-o", run, *OPTIONS, "--no-resume"]
    subprocess.run(command, check=True, capture_output=True)
    assert resumed(run) == 0
    assert contents(run) == expected


def test_damaged_and_foreign_files_are_not_trusted(model: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    run = tmp_path / "run"
    stop_half_way(model, run, signal.SIGKILL).communicate(timeout=30)
    files = sorted(run.glob("unfinished/relate-*/*.blocks"))
    data = bytearray(files[0].read_bytes())
    data[len(data) // 2] ^= 1
    files[0].write_bytes(data)
    files[1].write_bytes(files[1].read_bytes()[:-9])
    (files[0].parent / "9999-00000.blocks").write_bytes(b"something else altogether")
    subprocess.run([HEADSCOPE, "relate", model, "-o", run, *OPTIONS], check=True, capture_output=True)
    assert contents(run) == expected


def test_another_command_does_not_take_the_blocks(model: Path, tmp_path: Path) -> None:
    """Raw weights give other blocks than folded ones."""
    run = tmp_path / "run"
    stop_half_way(model, run, signal.SIGKILL).communicate(timeout=30)
    raw = ["--weights", "raw"]
    subprocess.run([HEADSCOPE, "relate", model, "-o", run, *OPTIONS, *raw], check=True, capture_output=True)
    assert resumed(run) == 0
    subprocess.run(
        [HEADSCOPE, "relate", model, "-o", tmp_path / "raw", *OPTIONS, *raw], check=True, capture_output=True
    )
    assert contents(run) == contents(tmp_path / "raw")
