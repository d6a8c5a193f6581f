"""The short version of `make calibration`: the same questions with fewer trials, one test per question."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks/calibration"
QUESTIONS = sorted(path.stem for path in FOLDER.glob("*.py") if "\ndef run(short" in path.read_text())


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_bounds_hold(question: str) -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / "run.py", "--short", "--only", question], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\| yes \|", done.stdout), "nothing was measured"


def test_the_document_has_a_table_of_every_question() -> None:
    text = (ROOT / "docs/statistics.md").read_text()
    measured = text.split("<!-- measured: begin -->")[1].split("<!-- measured: end -->")[0]
    assert {name for name in QUESTIONS if f"(`{name}.py`)" not in measured} == set()
