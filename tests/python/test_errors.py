"""Errors are those of the command line: their text, and a type for their kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope
from conftest import IDS


@pytest.mark.parametrize(
    ("words", "call", "kind", "parent", "code"),
    [
        (["relate", "/nowhere"], lambda m: headscope.relate("/nowhere"), headscope.FileError, OSError, 3),
        (["relate", "MODEL", "--pairs", "XY"], lambda m: headscope.relate(m, pairs="XY"), headscope.ArgumentError,
         ValueError, 2),
        (["relate", "MODEL", "--layers", "9"], lambda m: headscope.relate(m, layers=9), headscope.ArgumentError,
         ValueError, 2),
        (["relate", "MODEL", "--weights", "cooked"], lambda m: headscope.relate(m, weights="cooked"),
         headscope.ArgumentError, ValueError, 2),
        (["capture", "MODEL"], lambda m: headscope.capture(m), headscope.ArgumentError, ValueError, 2),
        (["capture", "MODEL", "--text", "x"], lambda m: headscope.capture(m, "x"), headscope.UnsupportedError,
         ValueError, 3),
        (["detect", "MODEL", "--length", "7"], lambda m: headscope.detect(m, length=7), headscope.ArgumentError,
         ValueError, 2),
        (["organize", "/nowhere"], lambda m: headscope.organize("/nowhere"), headscope.FileError, OSError, 3),
        (["detect", "MODEL", "--memory", "1K"], lambda m: headscope.detect(m, memory="1K"), headscope.ResourceError,
         MemoryError, 6),
        (["prune", "MODEL"], lambda m: headscope.prune(m), headscope.ArgumentError, ValueError, 2),
        (["prune", "MODEL", "--criteria", "taste"], lambda m: headscope.prune(m, criteria="taste"),
         headscope.ArgumentError, ValueError, 2),
        (["compare", "MODEL"], lambda m: headscope.compare([m]), headscope.ArgumentError, ValueError, 2),
        (["compare", "MODEL", "/nowhere"], lambda m: headscope.compare([m, "/nowhere"]), headscope.FormatError,
         ValueError, 3),
        (["report", "MODEL"], lambda m: headscope.report(m, "/nowhere/page.html"), headscope.FileError, OSError, 3),
    ],
)
def test_same_text_and_a_type(cli: Callable[..., str], model_path: str, tmp_path: Path, words: list[str],
                              call: Callable[[str], Any], kind: type[Exception], parent: type[Exception],
                              code: int) -> None:
    words = [model_path if word == "MODEL" else word for word in words]
    said = cli(*words, "-o", tmp_path / "run", code=code)
    with pytest.raises(kind) as raised:
        call(model_path)
    assert isinstance(raised.value, parent)
    assert isinstance(raised.value, headscope.Error)
    assert f"headscope: {raised.value}\n" == said


def test_damaged_files(tmp_path: Path, model_path: str) -> None:
    (tmp_path / "config.json").write_text("{")
    (tmp_path / "model.safetensors").write_bytes(b"x" * 4)
    with pytest.raises(headscope.FormatError):
        headscope.load(tmp_path)
    with pytest.raises(headscope.FileError, match="manifest.json"):
        headscope.open(tmp_path)
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(headscope.FormatError, match="is not a manifest"):
        headscope.open(tmp_path)


def test_numbers_that_are_none() -> None:
    maps = np.full((2, 8, 8), np.nan, dtype=np.float32)
    with pytest.raises(headscope.NumericError) as raised:
        headscope.organize(maps)
    assert isinstance(raised.value, RuntimeError)


def test_arguments_that_are_none_of_the_words(model: headscope.Model, captured: headscope.Capture) -> None:
    with pytest.raises(headscope.ArgumentError, match="role 'X'"):
        model.weights(0, "X")
    with pytest.raises(headscope.ArgumentError, match="layer 9"):
        model.weights(9, "Q")
    with pytest.raises(headscope.ArgumentError, match="ids: float64"):
        headscope.capture(model, ids=[0.5])
    with pytest.raises(headscope.FormatError, match="is no token id"):
        headscope.capture(model, ids=[-1])
    with pytest.raises(headscope.ArgumentError, match="holds no scores"):
        headscope.softmax(headscope.capture(model, ids=IDS, what="pattern"))
    with pytest.raises(headscope.ArgumentError, match="plot: 'x' is none of"):
        captured.plot("x")
    with pytest.raises(TypeError):
        headscope.relate(model, nonsense=1)  # type: ignore[call-arg]


def test_nothing_is_left_of_a_failed_call(model: headscope.Model, tmp_path: Path) -> None:
    with pytest.raises(headscope.ArgumentError):
        headscope.relate(model, heads="L7H7", run=tmp_path / "run")
    assert not (tmp_path / "run" / "manifest.json").exists()
