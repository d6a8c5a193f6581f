"""Errors have the text of the command line, with parameters in place of flags, and a type for their kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope
from conftest import IDS
from headscope import _native


def without_sizes(text: str) -> str:
    return re.sub(r"\d+( MB\b|M\b)", "N", text)


@pytest.mark.parametrize(
    ("words", "call", "kind", "parent", "code"),
    [
        (["relate", "/nowhere"], lambda m: headscope.relate("/nowhere"), headscope.FileError, OSError, 3),
        (["relate", "MODEL", "--pairs", "XY"], lambda m: headscope.relate(m, pairs="XY"), headscope.ArgumentError,
         ValueError, 2),
        (["relate", "MODEL", "--layers", "9"], lambda m: headscope.relate(m, layers=9), headscope.ArgumentError,
         ValueError, 2),
        (["relate", "MODEL", "--weights", "cooked"],
         lambda m: headscope.relate(m, weights="cooked"),  # type: ignore[arg-type, unused-ignore]
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
        (["patch", "MODEL"], lambda m: headscope.patch(m), headscope.ArgumentError, ValueError, 2),
        (["patch", "MODEL", "--ids", "IDS", "--replace", "pair"],
         lambda m: headscope.patch(m, ids=IDS, replace="pair"), headscope.ArgumentError, ValueError, 2),
        (["patch", "MODEL", "--ids", "IDS", "--edges", "/nowhere.csv"],
         lambda m: headscope.patch(m, ids=IDS, edges="/nowhere.csv"), headscope.FileError, OSError, 3),
        (["compare", "MODEL"], lambda m: headscope.compare([m]), headscope.ArgumentError, ValueError, 2),
        (["compare", "MODEL", "/nowhere"], lambda m: headscope.compare([m, "/nowhere"]), headscope.FormatError,
         ValueError, 3),
        (["report", "MODEL"], lambda m: headscope.report(m, "/nowhere/page.html"), headscope.FileError, OSError, 3),
    ],
)
def test_same_text_and_a_type(cli: Callable[..., str], model_path: str, tmp_path: Path, words: list[str],
                              call: Callable[[str], Any], kind: type[Exception], parent: type[Exception],
                              code: int) -> None:
    np.save(tmp_path / "ids.npy", IDS)
    given = {"MODEL": model_path, "IDS": str(tmp_path / "ids.npy")}
    words = [given.get(word, word) for word in words]
    said = cli(*words, "-o", tmp_path / "run", code=code)
    with pytest.raises(kind) as raised:
        call(model_path)
    assert isinstance(raised.value, parent)
    assert isinstance(raised.value, headscope.Error)
    # The budget of the program is that of the process, the budget of a call is its own.
    assert without_sizes(f"headscope: {raised.value}\n") == without_sizes(_native.with_parameter_names(said))
    assert "--" not in str(raised.value)


def test_damaged_files(tmp_path: Path, model_path: str) -> None:
    (tmp_path / "config.json").write_text("{")
    (tmp_path / "model.safetensors").write_bytes(b"x" * 4)
    with pytest.raises(headscope.FormatError):
        headscope.load(tmp_path)
    with pytest.raises(headscope.FileError, match="is a model, not a folder of results"):
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
    with pytest.raises(headscope.ArgumentError, match="role: found 'X', expected one of"):
        model.weights(0, "X")
    with pytest.raises(headscope.ArgumentError, match="layer 9"):
        model.weights(9, "Q")
    with pytest.raises(headscope.ArgumentError, match="numbers with a point are not token ids"):
        headscope.capture(model, ids=[0.5])
    with pytest.raises(headscope.ArgumentError, match=r"^ids: -1 is not a token id$"):
        headscope.capture(model, ids=[-1])
    with pytest.raises(headscope.ArgumentError, match="has no scores"):
        headscope.softmax(headscope.capture(model, ids=IDS, what="pattern"))
    with pytest.raises(headscope.FormatError, match=r"^labels: found 3 labels, expected 32: one per token$"):
        headscope.patch(model, ids=IDS, labels=[1, 2, 3])
    with pytest.raises(headscope.ArgumentError, match=r"^give labels or answer, not both$"):
        headscope.patch(model, ids=IDS, labels=IDS, answer="#1")
    with pytest.raises(headscope.ArgumentError, match=r"^labels: expected integers.* found float64 of shape"):
        headscope.patch(model, ids=IDS, labels=[0.5] * len(IDS))
    with pytest.raises(headscope.ArgumentError, match=r"^pairs_with: -1 is not a token id$"):
        headscope.patch(model, ids=IDS, pairs_with=[-1] * len(IDS))
    with pytest.raises(headscope.ArgumentError, match=r"^pairs_with: numbers with a point are not token ids"):
        headscope.patch(model, ids=IDS, pairs_with=[0.5] * len(IDS))
    for edges in ([], [("OK", "L0H0")], ["OKL"], [{"pair": "OK"}]):
        with pytest.raises(headscope.ArgumentError, match=r"^edges: expected a table with columns pair, source and"):
            headscope.patch(model, ids=IDS, edges=edges)  # type: ignore[arg-type, unused-ignore]
    with pytest.raises(headscope.ArgumentError, match=r"^edges: has no column 'target'"):
        headscope.patch(model, ids=IDS, edges={"pair": ["OK"], "source": ["L0H0"]})
    with pytest.raises(headscope.ArgumentError, match=r"^edges: edge 1: L0H2 is not in a later layer than L1H0"):
        headscope.patch(model, ids=IDS, edges=[("OK", "L0H0", "L1H3"), ("OQ", "L1H0", "L0H2")])
    with pytest.raises(headscope.ArgumentError, match=r"^edges: edge 0: expected pair OQ, .* OM or OU, found 'QK'"):
        headscope.patch(model, ids=IDS, edges=[("QK", "L0H0", "L1H3")])
    with pytest.raises(headscope.ArgumentError, match="plot: found 'x', expected one of map"):
        captured.plot("x")
    with pytest.raises(TypeError, match=r"^relate: there is no parameter 'qqqqqq'; there are model, revision, "):
        headscope.relate(model, qqqqqq=1)  # type: ignore[call-arg, unused-ignore]


def test_nothing_is_left_of_a_failed_call(model: headscope.Model, tmp_path: Path) -> None:
    with pytest.raises(headscope.ArgumentError):
        headscope.relate(model, heads="L7H7", run=tmp_path / "run")
    assert not (tmp_path / "run" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("--max-q: expected a number from 0 to 1, found '2'", "max_q: expected a number from 0 to 1, found '2'"),
        ("inputs (--max-tokens) or a larger --memory", "inputs (max_tokens) or a larger memory"),
        ("choose another folder, or --force to replace it", "choose another folder, or force to replace it"),
        ("give the folder that was named with -o", "give the folder that was named with run"),
        ("use --output", "use run"),
        ("or --no-special", "or special=False"),
        ("--no-bos, --no-output", "bos=False, output=False"),
        ("--write none ranks and measures", "write='none' ranks and measures"),
        ("store them with --dtype f16", "store them with dtype='f16'"),
        ("--weights=raw", "weights='raw'"),
        ("--q 0.1", "max_q 0.1"),
        # What is not a flag of ours, or not a flag here.
        ("found '--top'", "found '--top'"),
        ("/tmp/--force/x --unknown -x a-o", "/tmp/--force/x --unknown -x a-o"),
        ("download it with: hf download gpt2 --revision v1, or give --ids",
         "download it with: hf download gpt2 --revision v1, or give ids"),
    ],
)
def test_messages_name_parameters(said: str, expected: str) -> None:
    assert _native.with_parameter_names(said) == expected


def test_messages_of_functions_name_their_own_parameters(model: headscope.Model, tmp_path: Path) -> None:
    with pytest.raises(
        headscope.ArgumentError, match=r"^max_q: expected a number greater than 0 and at most 1, found '2'$"
    ):
        headscope.relate(model, max_q=2)
    with pytest.raises(headscope.ArgumentError, match=r"^tokens_for: unknown value 'x'; expected one of edges, all"):
        headscope.relate(model, tokens_for="x")  # type: ignore[arg-type, unused-ignore]
    with pytest.raises(headscope.ArgumentError, match=r"^top: expected a non-negative integer, found '-1'$"):
        headscope.relate(model, top=-1)
    with pytest.raises(headscope.ArgumentError, match=r"^top: expected a non-negative integer, found '10+'$"):
        headscope.relate(model, top=10**21)
    with pytest.raises(headscope.ArgumentError, match=r"^earlier_only: expected true or false, found '1'$"):
        headscope.relate(model, earlier_only=1)  # type: ignore[arg-type, unused-ignore]
    with pytest.raises(headscope.ArgumentError, match=r"give text, text_file, ids, image, pixels or features$"):
        headscope.capture(model)
    with pytest.raises(headscope.ArgumentError, match=r"^fraction: must not be given together with count$"):
        headscope.prune(model, ids=IDS, count=2, fraction=0.3)
    with pytest.raises(headscope.ArgumentError, match=r"^revision: the model is already open"):
        headscope.relate(model, revision="main")
    with pytest.raises(headscope.ArgumentError, match=r"^heads: cannot use an object$"):
        headscope.relate(model, heads=object())  # type: ignore[arg-type, unused-ignore]
    with pytest.raises(headscope.ArgumentError, match=r"^metric='logit-diff' needs two tokens: give answer and other$"):
        headscope.patch(model, ids=IDS, metric="logit-diff")
    with pytest.raises(headscope.FileError, match=r"that was named with run$"):
        headscope.open(tmp_path)
    with pytest.raises(headscope.FileError, match=r"that was named with run$"):
        headscope.report(tmp_path, tmp_path / "page.html")
    with pytest.raises(headscope.ArgumentError, match=r"^page: .* is a folder; give the name of a page"):
        headscope.report(tmp_path, tmp_path)
