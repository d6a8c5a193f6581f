"""Models with several transformers: `--tower` chooses one, and a RUN holds the results of each."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = ROOT / os.environ.get("HEADSCOPE", "build/headscope")
TOWERS = ROOT / "tests/golden/towers"


def headscope(*words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([HEADSCOPE, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def identity(run: Path, command: str) -> dict[str, str]:
    found: dict[str, str] = json.loads((run / "manifest.json").read_text())["commands"][command]["identity"]
    return found


def test_a_run_holds_both_towers(tmp_path: Path) -> None:
    run = tmp_path / "run"
    np.save(tmp_path / "ids.npy", np.array([[4, 5, 6, 7]]))
    np.save(tmp_path / "pixels.npy", np.zeros((1, 3, 6, 6), np.float32))
    for tower, given in (("text", ["--ids", tmp_path / "ids.npy"]), ("vision", ["--pixels", tmp_path / "pixels.npy"])):
        headscope("relate", TOWERS / "clip_both", "--tower", tower, "-o", run)
        headscope("capture", TOWERS / "clip_both", "--tower", tower, "-o", run, *given)
        assert identity(run / tower, "relate")["tower"] == tower
        assert identity(run / tower, "capture")["tower"] == tower
    assert sorted(path.name for path in run.iterdir()) == ["text", "vision"]
    assert np.load(run / "text/pattern.npy").shape == (4, 4, 4)
    assert np.load(run / "vision/pattern.npy").shape == (4, 10, 10)
    said = headscope("report", run, "-o", tmp_path / "page.html", code=3).stderr
    assert "holds results by tower of a model; give one of them" in said
    headscope("report", run / "vision", "-o", tmp_path / "page.html")


def test_without_the_option_it_is_what_the_model_is_for(tmp_path: Path) -> None:
    for model, tower, other in (("clip_both", "vision", "text"), ("llava", "text", "vision")):
        about = json.loads(headscope("inspect", TOWERS / model, "--json").stdout)
        assert (about["tower"], about["other_towers"]) == (tower, [other])
        headscope("relate", TOWERS / model, "-o", tmp_path / model)
        assert identity(tmp_path / model, "relate")["tower"] == tower


def test_a_tower_that_is_not_there_is_a_mistake() -> None:
    assert "so it has no text tower" in headscope("inspect", TOWERS / "dinov3", "--tower", "text", code=2).stderr
    assert "expected text or vision" in headscope("inspect", TOWERS / "llava", "--tower", "audio", code=2).stderr


def test_a_stage_of_swin_has_maps_within_windows(tmp_path: Path) -> None:
    run = tmp_path / "run"
    np.save(tmp_path / "pixels.npy", np.random.default_rng(1).normal(size=(1, 3, 8, 16)).astype(np.float32))
    given = ["--pixels", tmp_path / "pixels.npy", "-o", run]
    for stage, grid, windows in (("stage1", (4, 8), [[2, 0], [2, 1]]), ("stage2", (2, 4), [[2, 0], [2, 0]])):
        headscope("capture", TOWERS / "swin", "--tower", stage, *given)
        about = json.loads((run / stage / "tokens.json").read_text())
        assert about["patch_windows"] == windows
        rows, columns = np.divmod(np.arange(grid[0] * grid[1]), grid[1])
        heads = len(about["heads"]) // 2
        for name in ("pattern", "scores"):
            maps = np.load(run / stage / f"{name}.npy")
            assert maps.shape == (2 * heads, grid[0] * grid[1], grid[0] * grid[1])
            for layer, (side, shift) in enumerate(windows):
                row, column = ((place + side - shift) // side for place in (rows, columns))
                same = (row[:, None] == row) & (column[:, None] == column)
                assert ((maps[layer * heads : (layer + 1) * heads] != 0) == same).all()
        assert np.load(run / stage / "output.npy").shape == (1, 2)  # classes, from the last stage
    assert (np.load(run / "stage1/output.npy") == np.load(run / "stage2/output.npy")).all()
    headscope("organize", run / "stage1", "--what", "scores", "-o", run / "stage1")  # what is absent is left out


def test_images_that_do_not_fit_the_windows_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "pixels.npy", np.zeros((1, 3, 12, 16), np.float32))
    given = ["--pixels", tmp_path / "pixels.npy", "-o", tmp_path / "run"]
    said = headscope("capture", TOWERS / "swin", "--tower", "stage2", *given, code=3).stderr
    assert "the image is 12 x 16, but this stage of the model takes multiples of 8 x 8" in said


def test_patches_of_qwen_attend_within_windows_in_some_layers(tmp_path: Path) -> None:
    np.save(tmp_path / "pixels.npy", np.random.default_rng(1).normal(size=(1, 3, 12, 12)).astype(np.float32))
    model = [TOWERS / "qwen2_5_vl", "--tower", "vision", "--pixels", tmp_path / "pixels.npy"]
    headscope("capture", *model, "-o", tmp_path / "run")
    assert json.loads((tmp_path / "run/vision/tokens.json").read_text())["patch_windows"] == [[4, 0], 0]
    pattern = np.load(tmp_path / "run/vision/pattern.npy")
    assert (pattern[:2] == 0).any() and (pattern[2:] > 0).all()
