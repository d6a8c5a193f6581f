"""What the tests of the Python package share. They test the installed wheel, not the sources."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import headscope

ROOT = Path(__file__).parents[2]
# Sixteen random tokens twice: induction heads have something to do.
IDS = [(7 * i * i + 3 * i + 5) % 64 for i in range(16)] * 2


@pytest.fixture(scope="session")
def model_path() -> str:
    return str(ROOT / "models/induction")


@pytest.fixture(scope="session")
def model(model_path: str) -> headscope.Model:
    return headscope.load(model_path)


@pytest.fixture(scope="session")
def captured(model: headscope.Model) -> headscope.Capture:
    return headscope.capture(model, ids=IDS)


@pytest.fixture(scope="session")
def cli() -> Callable[..., str]:
    """The program that came with the wheel."""

    def call(*words: object, code: int = 0) -> str:
        program = Path(sys.executable).parent / "headscope"
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return call
