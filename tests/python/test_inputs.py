"""Inputs and labels in every form they come in give the same result."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope
from conftest import IDS, ROOT

Image = pytest.importorskip("PIL.Image")
VIT = str(ROOT / "models/demo-vit")
TEXT_MODEL = str(ROOT / "models/demo")


def same(one: headscope.Result, other: headscope.Result) -> bool:
    return one.files == other.files and all(one._files.content(f) == other._files.content(f) for f in one.files)


class Batch(collections.UserDict[str, Any]):
    """What tokenizers of transformers return: no dict, but with its data in one."""


class Encoding:
    """What the tokenizers library returns."""

    def __init__(self, ids: list[int], mask: list[int]) -> None:
        self.ids, self.attention_mask, self.type_ids = ids, mask, [0] * len(ids)


@pytest.mark.parametrize(
    "given",
    [IDS, tuple(IDS), np.array(IDS), np.array(IDS, dtype=np.uint16), np.array([IDS]), [IDS], [np.array(IDS)],
     list(np.array(IDS)), [np.int64(i) for i in IDS], iter(IDS), {"input_ids": IDS}, {"input_ids": np.array([IDS])},
     Batch(input_ids=[IDS], attention_mask=[[1] * len(IDS)], token_type_ids=[[0] * len(IDS)]),
     Batch(input_ids=[[0, *IDS, 0, 0]], attention_mask=[[0] + [1] * len(IDS) + [0, 0]]),
     Encoding([*IDS, 0], [1] * len(IDS) + [0]), [Encoding(IDS, [1] * len(IDS))]],
    ids=lambda given: type(given).__name__)
def test_ids_are_ids(model: headscope.Model, captured: headscope.Capture, given: Any) -> None:
    assert same(headscope.capture(model, given), captured)


def test_ids_are_never_read_as_text() -> None:
    # This model has a tokenizer, which knows the digits.
    text = headscope.load(TEXT_MODEL)
    found = headscope.capture(text, [5, 17, 23])
    assert [token["id"] for token in found.description["tokens"]] == [5, 17, 23]
    assert same(found, headscope.capture(text, ids=[5, 17, 23]))
    assert not same(found, headscope.capture(text, "5,17,23"))
    assert same(headscope.prune(text, [5, 17, 23, 5], criteria="norm", write="none"),
                headscope.prune(text, ids=[5, 17, 23, 5], criteria="norm", write="none"))
    assert same(headscope.patch(text, [5, 17, 23, 5, 17], top=2, draws=2, pairs_with=[[5, 18, 23, 5, 18]]),
                headscope.patch(text, ids=[5, 17, 23, 5, 17], top=2, draws=2, pairs_with=np.array([5, 18, 23, 5, 18])))


def test_inputs_of_several_lengths(model: headscope.Model) -> None:
    rows = [IDS[:9], IDS[:20], IDS]
    found = headscope.capture(model, rows)
    assert [len(one.tokens) for one in found.inputs] == [9, 20, 32]
    assert same(headscope.capture(model, ids=rows), found)
    padded = np.array([row + [0] * (32 - len(row)) for row in rows])
    mask = [[1] * len(row) + [0] * (32 - len(row)) for row in rows]
    assert same(headscope.capture(model, {"input_ids": padded, "attention_mask": mask}), found)
    for one, row in zip(found.inputs, rows, strict=True):
        alone = headscope.capture(model, row)
        assert one.pattern is not None and alone.pattern is not None
        np.testing.assert_allclose(one.pattern, alone.pattern, atol=1e-5)  # products of other shapes


def test_texts(tmp_path: Path) -> None:
    text = headscope.load(TEXT_MODEL)
    found = headscope.capture(text, ["to be or not", "to be"])
    assert len(found.inputs) == 2
    assert same(headscope.capture(text, ("to be or not", "to be")), found)
    assert same(headscope.capture(text, np.array(["to be or not", "to be"])), found)
    (tmp_path / "one.txt").write_text("to be or not")
    by_path = headscope.capture(text, tmp_path / "one.txt")
    assert by_path.tokens == found.tokens
    assert same(by_path, headscope.capture(text, text_file=tmp_path / "one.txt"))


@pytest.fixture
def picture() -> Any:
    levels = np.random.default_rng(0).integers(0, 256, (40, 30, 3), dtype=np.uint8)
    return Image.fromarray(levels)


def test_images(tmp_path: Path, picture: Any) -> None:
    file = tmp_path / "cat.png"
    picture.save(file)
    vit = headscope.load(VIT)
    expected = headscope.capture(vit, image=file)
    assert same(headscope.capture(vit, file), expected)
    assert same(headscope.capture(vit, str(file)), expected)
    assert same(headscope.capture(vit, Image.open(file)), expected)  # also its name
    assert same(headscope.capture(vit, image=Image.open(file)), expected)
    twice = [Image.open(file), Image.open(file)]
    assert same(headscope.capture(vit, twice), headscope.capture(vit, image=[file, file]))
    for given in (picture, np.asarray(picture), np.asarray(picture)[np.newaxis], [np.asarray(picture)]):
        found = headscope.capture(vit, given)
        assert found.pattern is not None and expected.pattern is not None
        np.testing.assert_array_equal(found.pattern, expected.pattern)
    gray = headscope.capture(vit, np.asarray(picture.convert("L"))[..., np.newaxis])
    np.testing.assert_array_equal(gray.pattern, expected.pattern)  # type: ignore[arg-type, unused-ignore]


def test_pixels() -> None:
    vit = headscope.load(VIT)
    side = 8
    values = np.random.default_rng(0).random((2, 1, side, side), dtype=np.float32)
    expected = headscope.capture(vit, pixels=values)
    assert same(headscope.capture(vit, values), expected)
    assert same(headscope.capture(vit, list(values)), expected)
    assert same(headscope.capture(vit, {"pixel_values": values}), expected)
    assert same(headscope.capture(vit, {"pixel_values": list(values)}), expected)
    assert same(headscope.capture(vit, values.astype(np.float64)), expected)
    assert same(headscope.capture(vit, values[0]), headscope.capture(vit, pixels=values[0]))
    assert same(headscope.capture(vit, values[0].tolist()), headscope.capture(vit, values[0]))
    assert same(headscope.capture(vit, values.tolist()), expected)


def test_other_inputs_into_the_same_run_are_noticed(model: headscope.Model, tmp_path: Path, picture: Any) -> None:
    headscope.capture(model, [1, 2, 3], run=tmp_path / "ids")
    headscope.capture(model, [1, 2, 3], run=tmp_path / "ids")
    with pytest.raises(headscope.ArgumentError):
        headscope.capture(model, [1, 2, 4], run=tmp_path / "ids")
    headscope.capture(VIT, picture, run=tmp_path / "image")
    headscope.capture(VIT, picture, run=tmp_path / "image")
    with pytest.raises(headscope.ArgumentError):
        headscope.capture(VIT, picture.rotate(180), run=tmp_path / "image")


def test_labels(model: headscope.Model, tmp_path: Path) -> None:
    found = headscope.detect(model, labels=True)
    found.save(tmp_path / "run")
    by_file = headscope.relate(model, labels=tmp_path / "run/labels.json", tokens_for="none")
    assert by_file.labels is not None and len(by_file.labels) > 0
    for given in (found, found.labels, headscope.open(tmp_path / "run"), headscope.Detection.open(tmp_path / "run")):
        assert same(headscope.relate(model, labels=given, tokens_for="none"), by_file)
    # Without the file, its classes are in the table of scores.
    again = headscope.detect(model)
    assert "labels.json" not in again.files
    assert {**again.labels, "source": ""} == {**found.labels, "source": ""}
    classes = {name: again.heads(name) for name in ("previous", "induction")}
    plain = headscope.relate(model, labels=classes, tokens_for="none")
    assert plain.labels is not None
    tuples = {name: [(int(head[1]), int(head[3:])) for head in heads] for name, heads in classes.items()}
    assert same(headscope.relate(model, labels=tuples, tokens_for="none"), plain)


def test_other_labels_into_the_same_run_are_noticed(model: headscope.Model, tmp_path: Path) -> None:
    for _ in range(2):
        headscope.relate(model, labels={"a": ["L0H1"]}, run=tmp_path)
    with pytest.raises(headscope.ArgumentError):
        headscope.relate(model, labels={"a": ["L0H2"]}, run=tmp_path)
