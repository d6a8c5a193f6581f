"""The functions give what the command line writes, bit for bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope
from conftest import IDS, ROOT

Cli = Callable[..., str]


def assert_same(result: headscope.Result, run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    written = [name for name, entry in manifest["files"].items() if entry["command"] == result.command]
    assert sorted(result.files) == sorted(written)
    for name in written:
        assert result._files.content(name) == (run / name).read_bytes(), name
        if name.endswith(".npy"):
            mine, theirs = result.array(name), np.load(run / name)
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)


def assert_saved_alike(result: headscope.Result, run: Path, saved: Path) -> None:
    """Also what the manifest says, except for circumstances and the words that were typed."""
    result.save(saved)
    mine, theirs = (json.loads((folder / "manifest.json").read_text()) for folder in (saved, run))
    for name in result.files:
        assert mine["files"][name] == theirs["files"][name]
    assert mine["commands"][result.command]["identity"] == theirs["commands"][result.command]["identity"]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {}),
        (["--pairs", "all", "--top", "5"], {"pairs": "all", "top": 5}),
        (["--metric", "pk,cs,grassmann", "--weights", "raw"], {"metric": ["pk", "cs", "grassmann"], "weights": "raw"}),
        (["--heads", "0-3,L1H7", "--earlier-only", "--seed", "3"],
         {"heads": ["0-3", "L1H7"], "earlier_only": True, "seed": 3}),
    ],
)
def test_relate(cli: Cli, model_path: str, tmp_path: Path, words: list[str], options: dict[str, Any]) -> None:
    printed = cli("relate", model_path, "-o", tmp_path / "run", *words)
    result = headscope.relate(model_path, **options)
    assert_same(result, tmp_path / "run")
    assert_saved_alike(result, tmp_path / "run", tmp_path / "saved")
    assert result.summary.splitlines()[:-1] == printed.splitlines()[:-1]


def test_detect(cli: Cli, model: headscope.Model, tmp_path: Path) -> None:
    cli("detect", model.path, "-o", tmp_path / "run", "--sequences", "5", "--labels")
    result = headscope.detect(model, sequences=5, labels=True)
    assert_same(result, tmp_path / "run")
    assert_saved_alike(result, tmp_path / "run", tmp_path / "saved")
    assert result.heads("induction")


def test_capture_organize_and_softmax(cli: Cli, model: headscope.Model, tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.array([IDS, IDS[::-1]]))
    run = tmp_path / "run"
    cli("capture", model.path, "-o", run, "--ids", tmp_path / "ids.npy", "--ablate", "L1H1")
    cli("organize", run, "-o", run, "--skip-first", "1")
    cli("softmax", run, "-o", run, "--heads", "L0H1,L1H2", "--iterations", "2")
    captured = headscope.capture(model, ids=tmp_path / "ids.npy", ablate="L1H1")
    assert_same(captured, run)
    organized = headscope.organize(captured, skip_first=1)
    assert_same(organized, run)
    assert_saved_alike(organized, run, tmp_path / "saved")
    invariance = headscope.softmax(captured, heads=["L0H1", "L1H2"], iterations=2)
    assert_same(invariance, run)
    assert set(invariance.paraproduct("L0H1")) == {"scores", "softmax", "first_order", "approximation"}
    # From a folder, and straight into one.
    assert_same(headscope.organize(run, skip_first=1), run)
    again = headscope.organize(headscope.open(run), skip_first=1, run=tmp_path / "again")
    assert_same(again, run)


def test_ids_in_memory_give_the_same_maps_as_from_a_file(model: headscope.Model, tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.array([IDS, IDS[::-1]]))
    from_file = headscope.capture(model, ids=tmp_path / "ids.npy")
    from_memory = headscope.capture(model, ids=np.array([IDS, IDS[::-1]], dtype=np.int32))
    assert len(from_memory.inputs) == 2
    for mine, theirs in zip(from_memory.inputs, from_file.inputs, strict=True):
        np.testing.assert_array_equal(mine.pattern, theirs.pattern)
        np.testing.assert_array_equal(mine.scores, theirs.scores)
        np.testing.assert_array_equal(mine.output, theirs.output)


def test_arrays_and_masks_in_memory_are_those_of_files(cli: Cli, tmp_path: Path) -> None:
    maps = np.random.default_rng(0).random((2, 3, 12, 10), dtype=np.float32)
    mask = (np.arange(12)[:, None] + 1 >= np.arange(10)[None, :]).astype(np.float32)
    np.save(tmp_path / "maps.npy", maps)
    np.save(tmp_path / "mask.npy", mask)
    cli("organize", tmp_path / "maps.npy", "--axes", "lhqk", "--mask", tmp_path / "mask.npy", "-o", tmp_path / "run")
    assert_same(headscope.organize(maps, axes="lhqk", mask=mask), tmp_path / "run")
    assert_same(headscope.organize(np.asfortranarray(maps), axes="lhqk", mask=mask > 0), tmp_path / "run")


def test_prune(cli: Cli, model: headscope.Model, tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.array([IDS, IDS[::-1]]))
    run = tmp_path / "run"
    words = ["--ids", tmp_path / "ids.npy", "--seeds", "3", "--count", "5", "--protect", "L0H3"]
    printed = cli("prune", model.path, "-o", run, *words)
    result = headscope.prune(model, ids=tmp_path / "ids.npy", seeds=3, count=5, protect="L0H3")
    assert "pruned/model.safetensors" in result.files
    assert_same(result, run)
    assert_saved_alike(result, run, tmp_path / "saved")
    # In a folder one more line says where the model is.
    assert result.summary.splitlines()[:-2] == printed.splitlines()[:-3]
    assert len(result.removed) == 5 and result.chosen["damage"] is not None
    assert set(result.orders["control"]) == {"random", "random-by-layer"}
    assert result.checkpoint is None
    saved = headscope.Pruning.open(tmp_path / "saved")
    assert saved.checkpoint is not None
    raw = headscope.load(saved.checkpoint).weights(0, "O", weights="raw")
    for i, head in enumerate(model.heads[:8]):
        assert (not raw[i].any()) == (head in result.removed)
    # In memory, without a model.
    other = headscope.prune(model, ids=np.array([IDS, IDS[::-1]]), seeds=3, count=5, protect=["L0H3"], write="none")
    assert other._text("curve.csv") == result._text("curve.csv")
    assert not any(name.startswith("pruned/") for name in other.files)


def test_prune_by_labels(cli: Cli, tmp_path: Path) -> None:
    vit = str(ROOT / "models/demo-vit")
    size, channels = (json.loads((ROOT / "models/demo-vit/config.json").read_text())[key]
                      for key in ("image_size", "num_channels"))
    pixels = np.random.default_rng(0).standard_normal((3, channels, size, size), dtype=np.float32)
    labels = np.array([1, 7, 3])
    np.save(tmp_path / "pixels.npy", pixels)
    np.save(tmp_path / "labels.npy", labels)
    words = ["--pixels", tmp_path / "pixels.npy", "--labels", tmp_path / "labels.npy", "--criteria", "norm"]
    cli("prune", vit, "-o", tmp_path / "run", *words)
    result = headscope.prune(vit, pixels=pixels, labels=labels, criteria="norm")
    assert_same(result, tmp_path / "run")
    with pytest.raises(headscope.FormatError, match="label -1 is negative"):
        headscope.prune(vit, pixels=pixels, labels=[1, -1, 2])


def test_patch(cli: Cli, model: headscope.Model, tmp_path: Path) -> None:
    ids, paired = np.array([IDS, IDS[::-1]]), np.array([IDS[1:] + IDS[:1], IDS])
    labels = np.where(np.arange(32) % 4 == 0, ids, -1)
    for name, array in (("ids", ids), ("paired", paired), ("labels", labels)):
        np.save(tmp_path / f"{name}.npy", array)
    few: dict[str, Any] = {"top": 2, "draws": 4}
    words = ["--ids", tmp_path / "ids.npy", "--top", "2", "--draws", "4"]
    printed = cli("patch", model.path, "-o", tmp_path / "run", *words, "--loss-from", "16")
    result = headscope.patch(model, ids=tmp_path / "ids.npy", loss_from=16, **few)
    assert_same(result, tmp_path / "run")
    assert_saved_alike(result, tmp_path / "run", tmp_path / "saved")
    assert result.summary.splitlines()[:-1] == printed.splitlines()[:-1]
    # Arrays in memory are those of files.
    cli("patch", model.path, "-o", tmp_path / "paired", *words, "--pairs-with", tmp_path / "paired.npy")
    assert_same(headscope.patch(model, ids=ids, pairs_with=paired, **few), tmp_path / "paired")
    cli("patch", model.path, "-o", tmp_path / "labels", *words, "--labels", tmp_path / "labels.npy")
    mine = headscope.patch(model, ids=ids, labels=labels, **few)
    assert_same(mine, tmp_path / "labels")
    assert_same(headscope.patch(model, ids=ids, labels=labels.ravel(), **few), tmp_path / "labels")
    assert mine.circuit["predictions"] == 16
    # The file of labels has the same name, but not the same labels.
    np.save(tmp_path / "labels.npy", labels + 1)
    again = ["-o", tmp_path / "labels", *words, "--labels", tmp_path / "labels.npy"]
    assert "holds the result of another 'patch'" in cli("patch", model.path, *again, code=2)


def test_patch_of_images(cli: Cli, tmp_path: Path) -> None:
    vit = str(ROOT / "models/demo-vit")
    size, channels = (json.loads((ROOT / "models/demo-vit/config.json").read_text())[key]
                      for key in ("image_size", "num_channels"))
    pixels, paired = np.random.default_rng(0).standard_normal((2, 2, channels, size, size), dtype=np.float32)
    for name, array in (("pixels", pixels), ("paired", paired), ("labels", np.array([1, 7]))):
        np.save(tmp_path / f"{name}.npy", array)
    words = ["--pixels", tmp_path / "pixels.npy", "--labels", tmp_path / "labels.npy"]
    words += ["--pairs-with", tmp_path / "paired.npy", "--pairs", "OV", "--top", "1", "--draws", "2"]
    cli("patch", vit, "-o", tmp_path / "run", *words)
    result = headscope.patch(vit, pixels=pixels, labels=[1, 7], pairs_with=paired, pairs="OV", top=1, draws=2)
    assert_same(result, tmp_path / "run")


def test_compare_and_report(cli: Cli, model: headscope.Model, tmp_path: Path) -> None:
    for name, ids in (("a", [IDS, IDS[::-1], IDS[3:] + IDS[:3]]), ("b", [IDS[5:] + IDS[:5], IDS[::-1], IDS])):
        np.save(tmp_path / f"{name}.npy", np.array(ids))
        cli("capture", model.path, "-o", tmp_path / name, "--ids", tmp_path / f"{name}.npy")
    cli("compare", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "run", "--iterations", "2", "--draws", "3")
    result = headscope.compare([tmp_path / "a", headscope.open(tmp_path / "b")], iterations=2, draws=3)
    assert_same(result, tmp_path / "run")
    assert_saved_alike(result, tmp_path / "run", tmp_path / "saved")
    assert result.names == ["a", "b"]
    assert result.distances.shape == (2, 2)
    # The same maps in memory: the same numbers.
    captured = {name: headscope.capture(model, ids=tmp_path / f"{name}.npy") for name in "ab"}
    for name in ("comparison.csv", "features.csv", "distances.npy"):
        again = headscope.compare(captured, iterations=2, draws=3)
        assert again._files.content(name) == result._files.content(name), name
    unnamed = headscope.compare(list(captured.values()), iterations=1, draws=2)
    assert unnamed.names == ["capture 0", "capture 1"]

    cli("report", tmp_path / "a", "-o", tmp_path / "cli.html")
    printed = headscope.report(tmp_path / "a", tmp_path / "mine.html")
    assert (tmp_path / "mine.html").read_bytes() == (tmp_path / "cli.html").read_bytes()
    assert "capture" in printed
    headscope.report([headscope.relate(model), captured["a"]], tmp_path / "both.html", title="Both")
    page = (tmp_path / "both.html").read_text()
    assert page.startswith("<!doctype html><!-- headscope report -->")


def test_the_program_takes_a_folder_that_python_wrote_for_its_own(
    cli: Cli, model: headscope.Model, tmp_path: Path
) -> None:
    headscope.relate(model, top=5).save(tmp_path)
    cli("relate", model.path, "-o", tmp_path, "--top", "5")
    assert "holds the result of another 'relate'" in cli("relate", model.path, "-o", tmp_path, "--top", "6", code=2)


def test_version(cli: Cli) -> None:
    assert cli("--version").split() == ["headscope", headscope.__version__]
    assert headscope.__version__ == (Path(__file__).parents[2] / "VERSION").read_text().strip()
