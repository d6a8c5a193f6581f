"""`patch` on the models of tests/golden/patch, one of each mechanism, beside what PyTorch found with hooks."""

import csv
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()
GOLDEN = ROOT / "tests/golden/patch"
BLOCKS = ("bart", "t5", "whisper")  # test_patch_blocks.py
CASES = sorted(path.name for path in GOLDEN.iterdir() if path.name not in BLOCKS)
ROLES = "QKV"


def heads_of(model: Path, tower: list[str], folder: Path) -> tuple[list[str], list[str]]:
    """Names of all query heads and of all KV heads, which are the same unless the model groups queries."""
    options = ["--pairs", "OK", "--draws", "2", "--tokens-for", "none", "--quiet", "-o", str(folder)]
    subprocess.run([HEADSCOPE, "relate", model, *tower, *options], check=True, capture_output=True)
    (path,) = folder.glob("**/heads.csv")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    query, key_value = ([row["head"] for row in rows if row["kind"] == kind] for kind in ("query", "kv"))
    return query, key_value or query


def inputs_of(expected: dict[str, np.ndarray], folder: Path) -> list[str | Path]:
    if "pixels" in expected:
        np.save(folder / "pixels.npy", expected["pixels"])
        return ["--pixels", folder / "pixels.npy"]
    files = []
    for i, ids in enumerate(np.split(expected["ids"], np.cumsum(expected["lengths"])[:-1])):
        files.append(folder / f"ids{i}.npy")
        np.save(files[-1], ids)
    return ["--ids", *files]


def labels_of(expected: dict[str, np.ndarray], folder: Path) -> list[str | Path]:
    """The right answers: one per image, those of some tokens, or the next tokens."""
    readouts = expected["readouts"]
    if "pixels" in expected:
        labels = readouts[:, 2]
    else:
        places = np.concatenate([[0], np.cumsum(expected["lengths"])])[readouts[:, 0]] + readouts[:, 1]
        labels = np.full(len(expected["ids"]), -1)
        labels[places] = readouts[:, 2]
    np.save(folder / "labels.npy", labels)
    return ["--labels", folder / "labels.npy"]


@pytest.mark.parametrize("name", CASES)
def test_screen_and_cuts_are_those_of_pytorch(name: str, tmp_path: Path) -> None:
    expected = dict(np.load(GOLDEN / name / "expected.npz"))
    case = json.loads((GOLDEN / name / "case.json").read_text())
    tower = ["--tower", case["tower"]] if "tower" in case else []
    inputs = inputs_of(expected, tmp_path)
    words: list[str | Path] = [HEADSCOPE, "patch", GOLDEN / name, *tower, *inputs, "--replace", "zero", "--quiet"]
    run = tmp_path / "run"
    subprocess.run([*words, "--screen-only", "-o", run], check=True, capture_output=True)
    folder = run / case.get("tower", "")
    for role in ROLES:
        found = np.load(folder / f"screen/O{role}.npy")
        np.testing.assert_allclose(found, expected[f"screen_{role}"][1], rtol=0, atol=1e-5)
    if case.get("output") == "hidden":
        refused = subprocess.run([*words, "-o", tmp_path / "cuts"], capture_output=True, text=True)
        assert refused.returncode == 3 and "--screen-only" in refused.stderr
        return
    heads, kv_heads = heads_of(GOLDEN / name, tower, tmp_path / "heads")
    effects: dict[tuple[str, str, str], float] = {}
    for role in ROLES:
        targets = heads if role == "Q" else kv_heads
        losses = expected[f"loss_{role}"][1]
        for s, t in zip(*np.nonzero(losses), strict=True):
            effects[f"O{role}", heads[s], targets[t]] = losses[s, t] - expected["before"][0]
    lines = ["pair,source,target", *(",".join(names) for names in effects)]
    (tmp_path / "edges.csv").write_text("\n".join(lines) + "\n")
    more: list[str | Path] = ["--edges", tmp_path / "edges.csv", "--draws", "2"]
    subprocess.run([*words, *labels_of(expected, tmp_path), *more, "-o", tmp_path / "cuts"], check=True)
    with (tmp_path / "cuts" / case.get("tower", "") / "patch.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(effects)
    for row in rows:
        assert float(row["effect"]) == pytest.approx(effects[row["pair"], row["source"], row["target"]], abs=1e-4)
