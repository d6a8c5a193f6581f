"""Results, tables, graphs and models are copied, pickled and sent to other processes."""

from __future__ import annotations

import contextlib
import copy
import multiprocessing
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope
from conftest import IDS


@pytest.fixture(scope="module")
def results(model: headscope.Model, captured: headscope.Capture) -> list[headscope.Result]:
    return [
        headscope.relate(model, pairs="all", top=5, neurons=2),
        captured,
        headscope.capture(model, [IDS, IDS[:9]]),
        headscope.detect(model, sequences=2),
        headscope.organize(captured, iterations=1),
        headscope.softmax(captured, heads="L0H0,L1H1", iterations=1),
        headscope.prune(model, ids=IDS, criteria="energy,norm", write="none"),
        headscope.compare({"one": captured, "other": captured}, iterations=1, draws=2),
        headscope.patch(model, ids=IDS, loss_from=16, top=8, draws=4),
    ]


def use_everything(result: headscope.Result) -> None:
    """Fills the caches of its attributes."""
    for name in dir(result):
        if not name.startswith("_"):
            with contextlib.suppress(headscope.Error):
                getattr(result, name)
    assert result._repr_html_()


def assert_same(one: headscope.Result, other: headscope.Result) -> None:
    assert type(one) is type(other)
    assert one.files == other.files and one.verdict == other.verdict and one.summary == other.summary
    for name in one.files:
        assert one._files.content(name) == other._files.content(name), name
        if name.endswith(".csv"):
            mine, theirs = one.table(name), other.table(name)
            assert mine.names == theirs.names and len(mine) == len(theirs)
            for column in mine.names:
                assert mine[column].dtype == theirs[column].dtype, column
                np.testing.assert_array_equal(mine[column], theirs[column])
        elif name.endswith(".npy"):
            np.testing.assert_array_equal(one.array(name), other.array(name))
    assert one.kinds == other.kinds


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("how", list(COPIES))
def test_results_in_memory(results: list[headscope.Result], tmp_path: Path, how: str) -> None:
    for i, result in enumerate(results):
        use_everything(result)
        other = COPIES[how](result)
        assert_same(result, other)
        assert repr(result) == repr(other)
        # Both write the same folder.
        result.save(tmp_path / f"{i}")
        other.save(tmp_path / f"{i} again")
        for file in (tmp_path / f"{i}").rglob("*"):
            again = tmp_path / f"{i} again" / file.relative_to(tmp_path / f"{i}")
            assert not file.is_file() or file.name == "manifest.json" or file.read_bytes() == again.read_bytes()
        assert type(result).open(tmp_path / f"{i} again").verdict == result.verdict
        for kind in other.kinds:
            assert kind  # the plots of a copy have their arrays
            other.plot(kind)
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.parametrize("how", list(COPIES))
def test_results_in_a_folder(results: list[headscope.Result], tmp_path: Path, how: str) -> None:
    for result in results:
        run = tmp_path / result.command
        result.save(run, force=True)
        opened = type(result).open(run)
        use_everything(opened)
        assert_same(opened, COPIES[how](opened))


def test_a_pickle_of_a_folder_has_its_path_not_its_files(captured: headscope.Capture, model: headscope.Model,
                                                         tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    captured.save("run")
    opened = headscope.Capture.open("run")
    pickled = pickle.dumps(opened)
    assert len(pickled) < 5000
    monkeypatch.chdir("/")
    again = pickle.loads(pickled)
    assert all(again._files.content(file) == captured._files.content(file) for file in captured.files)
    headscope.capture(model, [1, 2, 3], run=tmp_path / "run", force=True)
    with pytest.raises(headscope.ArgumentError, match=r"run: 'capture' has been run there with other options"):
        pickle.loads(pickled)
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(headscope.FileError, match="no such folder"):
        pickle.loads(pickled)


def test_results_in_memory_outlive_the_folder_they_were_made_from(captured: headscope.Capture, tmp_path: Path) -> None:
    captured.save(tmp_path / "run")
    opened = headscope.Capture.open(tmp_path / "run")
    organized = headscope.organize(opened, iterations=1)
    shutil.rmtree(tmp_path / "run")
    again = pickle.loads(pickle.dumps(organized))
    assert_same(organized, again)
    assert again.maps is not None
    np.testing.assert_array_equal(again.maps, captured.pattern)  # type: ignore[arg-type, unused-ignore]


def _count(result: headscope.Relation) -> int:
    return len(result.edges)


def test_other_processes(results: list[headscope.Result], model: headscope.Model, tmp_path: Path) -> None:
    relation = results[0]
    assert isinstance(relation, headscope.Relation)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_count, [relation]) == [len(relation.edges)]
        made = pool.apply(headscope.relate, (model,), {"tokens_for": "none", "draws": 4})
    assert_same(made, headscope.relate(model, tokens_for="none", draws=4))


def test_what_belongs_to_results(results: list[headscope.Result], model: headscope.Model, tmp_path: Path) -> None:
    relation = results[0]
    assert isinstance(relation, headscope.Relation)
    for how in COPIES.values():
        table = how(relation.edges)
        assert list(table["source"]) == list(relation.edges["source"]) and repr(table) == repr(relation.edges)
        graph, tree = how(relation.graph), how(relation.tree)
        assert graph.nodes == relation.graph.nodes and (graph.score == relation.graph.score).all()
        assert tree.levels == relation.tree.levels
        other = how(model)
        assert other.fingerprint() == model.fingerprint() and other.info == {**model.info, "path": other.info["path"]}
        relation.save(tmp_path, force=True)
        run = how(headscope.open(tmp_path))
        assert run.relate is not None
        assert_same(run.relate, headscope.Relation.open(tmp_path))


def test_a_copy_is_cheap(captured: headscope.Capture) -> None:
    for other in (copy.copy(captured), copy.deepcopy(captured)):
        assert other is not captured
        assert other.pattern is not None and captured.pattern is not None
        assert np.shares_memory(other.pattern, captured.pattern)
