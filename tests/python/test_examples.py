"""The examples run, and their types are right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from conftest import ROOT

sys.path.append(str(ROOT / "tools"))
import make_notebooks


@pytest.mark.parametrize("notebook", make_notebooks.notebooks(), ids=lambda path: path.stem)
def test_notebook(notebook: Path) -> None:
    document = make_notebooks.executed(notebook)
    shown = [output for cell in document.cells for output in cell.get("outputs", [])]
    for kind in ("text/html", make_notebooks.WIDGET):
        assert any(kind in output.get("data", {}) for output in shown), kind
    # It ships with what it shows.
    stored = nbformat.read(notebook, as_version=4)
    stale = make_notebooks.difference(make_notebooks.cleaned(document), stored)
    assert stale is None, f"{notebook.name}: {stale}; run 'make notebooks' and commit it"


@pytest.mark.parametrize("notebook", make_notebooks.notebooks(), ids=lambda path: path.stem)
def test_what_a_notebook_shows_is_small_and_of_no_machine(notebook: Path) -> None:
    text = notebook.read_text(encoding="utf-8")
    assert len(text) < 200_000
    assert not re.search(r"/(tmp|home|root|Users|work|usr)\b|0x[0-9a-f]{6}", text)
    document = nbformat.read(notebook, as_version=4)
    code = [cell for cell in document.cells if cell.cell_type == "code"]
    assert sum(bool(cell.outputs) for cell in code) > 0.8 * len(code)
    assert all(cell.execution_count is None for cell in code)


def test_what_is_the_same_text() -> None:
    same = make_notebooks.same_text
    assert same("z 3.1415926, 0.2 s", "z 3.1415927,  11.9 s")
    assert not same("z 3.14", "z 3.94")
    assert not same("L0H6 1.0", "L0H7 1.0")
    assert not same("a 1", "a 1 2")


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_script(script: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, script, ROOT / "models/induction", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "L1" in done.stdout


def test_types(tmp_path: Path) -> None:
    examples = [str(path) for path in sorted((ROOT / "examples").glob("*.py"))]
    for what in ([*examples], ["-p", "headscope"]):
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), *what],
                              capture_output=True, text=True, cwd="/")
        assert done.returncode == 0, done.stdout + done.stderr
