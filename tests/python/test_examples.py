"""The examples run, and their types are right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("notebook", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(notebook: Path) -> None:
    document = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(document, timeout=300, resources={"metadata": {"path": str(ROOT / "examples")}}).execute()
    shown = [output for cell in document.cells for output in cell.get("outputs", [])]
    for kind in ("text/html", "application/vnd.jupyter.widget-view+json"):
        assert any(kind in output.get("data", {}) for output in shown), kind


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
