"""The arithmetic of benchmarks/truth, on cases that are known without it; its short run where tracr is installed."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = ROOT / os.environ.get("HEADSCOPE", "build/headscope")
FOLDERS = [str(ROOT / "benchmarks" / name) for name in ("truth", "calibration", "evidence")]
if FOLDERS[0] not in sys.path:
    sys.path[:0] = FOLDERS

metrics = importlib.import_module("metrics")
scoring = importlib.import_module("scoring")
affinities = importlib.import_module("affinities")
cuts = importlib.import_module("cuts")
page = importlib.import_module("page")


def test_average_precision_by_hand() -> None:
    truth = np.array([True, False, True, False])
    assert scoring.average_precision(np.array([4.0, 3, 2, 1]), truth) == pytest.approx((1 + 2 / 3) / 2)
    assert scoring.average_precision(np.array([4.0, 1, 3, 2]), truth) == 1
    assert scoring.average_precision(np.ones(4), truth) == 0.5  # all tied: the share of true ones
    assert np.isnan(scoring.average_precision(np.ones(2), np.zeros(2, bool)))


def test_auc_by_hand() -> None:
    truth = np.array([True, False, True, False])
    assert scoring.auc(np.array([4.0, 3, 2, 1]), truth) == 0.75
    assert scoring.auc(np.ones(4), truth) == 0.5
    assert scoring.auc(-np.array([4.0, 1, 3, 2]), truth) == 0


def test_spearman_by_hand() -> None:
    assert scoring.spearman(np.array([1.0, 2, 3]), np.array([1.0, 8, 27])) == pytest.approx(1)
    assert scoring.spearman(np.array([1.0, 2, 3, 4]), np.array([2.0, 1, 4, 3])) == pytest.approx(0.6)
    np.testing.assert_array_equal(scoring.ranks(np.array([5.0, 1, 5])), [2.5, 1, 2.5])


def test_metrics_of_subspaces_at_a_known_angle() -> None:
    """Two planes in four dimensions that share one direction, and have an angle of 60 degrees in the other."""
    angle = np.pi / 3
    one = np.array([[1.0, 0], [0, 2], [0, 0], [0, 0]])
    two = np.array([[3.0, 0], [0, np.cos(angle)], [0, np.sin(angle)], [0, 0]])
    identity = np.eye(4)[:, :2]
    source, target = metrics.Source(one, identity, True), metrics.Target(two, identity, True)
    assert metrics.pk(source, target) == pytest.approx((1 + 0.25) / 2)
    assert metrics.overlap(source, target) == pytest.approx(4 * 1.25 / 4)
    assert metrics.max_cos(source, target) == pytest.approx(1)
    assert metrics.procrustes(source, target) == pytest.approx(1.5 / 2)
    assert metrics.chordal(source, target) == pytest.approx(-np.sqrt(2 - 1.25))
    assert metrics.grassmann(source, target) == pytest.approx(-angle)
    assert np.exp(metrics.binet_cauchy(source, target)) == pytest.approx(0.25)
    product = two.T @ one
    norms = np.linalg.norm(one) * np.linalg.norm(two)
    assert metrics.simple_cs(source, target) == pytest.approx(np.linalg.norm(product) / norms)
    # The other factors are isometries.
    assert metrics.cs(source, target) == pytest.approx(np.linalg.norm(product) / norms)
    mlp = metrics.overlap(metrics.Source(one, None, False), metrics.Target(two, None, False))
    assert mlp == pytest.approx(4 * (product**2).sum() / norms**2)


def patched(folder: Path) -> Path:
    """A run of patch whose effects follow pk of the demo model exactly, except for the controls."""
    run = affinities.relate_all(ROOT / "models/demo", folder / "run", "OK", ["pk", "cs"])
    found = affinities.Affinities(run, "OK", ["pk", "cs"])
    pairs = found.earlier_to_later()
    order = sorted(pairs, key=lambda pair: -found.score("pk", *pair))
    lines = ["pair,source,target,pk,z,local,effect,kind"]
    for place, (source, target) in enumerate(order[:20]):
        score = found.score("pk", source, target)
        lines.append(f"OK,{source},{target},{score},{score - 2},{score / 100},{1 - place / 20},top")
    for place, (source, target) in enumerate(order[-30:]):
        lines.append(f"OK,{source},{target},1,0,0.001,{1e-5 * min(place, 20)},control")
    (folder / "cuts").mkdir()
    (folder / "cuts/patch.csv").write_text("\n".join(lines) + "\n")
    return run


@pytest.mark.skipif(not HEADSCOPE.exists(), reason="the program is not built")
def test_cuts_are_scored(tmp_path: Path) -> None:
    run = patched(tmp_path)
    text, said = cuts.judge_run(tmp_path / "cuts", run, metrics=["pk", "cs"])
    assert said == {"pk OK": 1, "z of pk OK": 1, "screen OK": 1}
    assert "OK: 20 of 50 above 0.0002 nats" in text
    assert "| `cs` |" in text and "| z of pk | 1.00" in text


def test_a_section_of_the_page_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("a\n<!-- one: begin -->\nold\n<!-- one: end -->\nb\n")
    page.write_section("one", "new", path)
    assert path.read_text() == "a\n<!-- one: begin -->\n\nnew\n\n<!-- one: end -->\nb\n"
    with pytest.raises(ValueError, match="two: begin"):
        page.write_section("two", "new", path)


def test_the_page_has_every_section() -> None:
    text = page.PAGE.read_text()
    names = [
        path.stem.replace("_", "-")
        for folder in ("truth", "evidence")
        for path in (ROOT / "benchmarks" / folder).glob("*.py")
        if "\ndef run(short" in path.read_text() or "\ndef run() -> str" in path.read_text()
    ]
    assert len(names) >= 9
    for name in names:
        begin, end = page.markers(name)
        assert text.split(begin)[1].split(end)[0].strip(), f"{name} is empty: run 'make evidence' and 'make truth'"


def test_the_short_bench_holds() -> None:
    python = ROOT / ".venv-truth/bin/python"
    if not python.exists():
        pytest.skip("tracr is not installed: 'make truth' installs it")
    words = [str(python), str(ROOT / "benchmarks/truth/run.py"), "--short", "--only", "compiled_programs"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("holds: ") == 5
