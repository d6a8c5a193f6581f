"""The program, run as a user runs it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = ROOT / os.environ.get("HEADSCOPE", "build/headscope")


def headscope(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HEADSCOPE, *map(str, words)], capture_output=True, text=True, check=False)


def done(*words: object) -> str:
    """What it prints; it must succeed."""
    result = headscope(*words)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refused(code: int, text: str, *words: object) -> None:
    """It must end with this code and one line that has this text."""
    result = headscope(*words)
    assert result.returncode == code, (result.stdout, result.stderr)
    assert text in result.stderr
    assert result.stderr.count("\n") == 1
