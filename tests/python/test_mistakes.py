"""What people pass in by mistake: each gets one line in their words, of a kind that says whose fault it is.

The calls are texts: most are wrong for a type checker, too.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope
from conftest import IDS, ROOT

Image = pytest.importorskip("PIL.Image")

MODEL = "expected a folder, a Hub name, a Model, a Hugging Face module or a TransformerBridge"
INPUT = ("expected text, token ids, an image, pixels, the path of a file, or what a tokenizer or image processor "
         "returned")
ARRAY = ("expected token ids (integers [tokens] or [inputs, tokens]), an image (uint8 [height, width, 3]) or "
         "normalized pixels (floats [channels, height, width])")
MAPS = "expected what capture returned, a folder of results, a file or an array"
LABELS = "expected a file, heads by class such as {'previous': ['L4H11']}, or what headscope.detect returned"
INTEGER = "expected a non-negative integer"

MISTAKES = [
    # Names of parameters.
    ("relate()", "ParameterError", "relate: model is missing"),
    ("relate(m, metrics='pk')", "ParameterError", "relate: there is no parameter 'metrics'; did you mean metric?"),
    ("relate(m, nul='span')", "ParameterError", "relate: there is no parameter 'nul'; did you mean null?"),
    ("relate(m, output='x')", "ParameterError", "relate: there is no parameter 'output'; did you mean run?"),
    ("capture(m, IDS, no_special=True)", "ParameterError",
     "capture: there is no parameter 'no_special'; did you mean special=False?"),
    ("detect(m, lenght=5)", "ParameterError", "detect: there is no parameter 'lenght'; did you mean length?"),
    ("relate(m, 'OQ')", "ParameterError",
     "relate: found 2 arguments without a name, expected at most 1 (model); give the others by name"),
    ("relate(m, model=m)", "ParameterError", "relate: model is given twice, by its place and by its name"),
    ("load(path, famly='x')", "ParameterError", "load: there is no parameter 'famly'; did you mean family?"),
    ("view(r, heigth=5)", "ParameterError", "view: there is no parameter 'heigth'; did you mean height?"),
    ("report(r)", "ParameterError", "report: page is missing"),
    # Models.
    ("relate(None)", "ArgumentError", f"model: {MODEL}, found None"),
    ("relate('')", "ArgumentError", "model: is empty, expected a path"),
    ("relate(5)", "ArgumentError", f"model: {MODEL}, found an int"),
    ("relate([m])", "ArgumentError", f"model: {MODEL}, found a list"),
    ("relate(b'gpt2')", "ArgumentError", f"model: {MODEL}, found bytes"),
    ("relate(headscope.Model)", "ArgumentError", f"model: the class Model has no weights, {MODEL}"),
    ("relate(r)", "ArgumentError", f"model: this is the result of relate, not a model; {MODEL}"),
    ("relate(open(run))", "ArgumentError", f"model: RUN is a folder of results, not a model; {MODEL}"),
    ("relate({'a': np.zeros(3)})", "ArgumentError", f"model: {MODEL}, found a dict"),
    ("relate(m, revision='main')", "ArgumentError",
     "revision: the model is already open; use it with headscope.load and a path or a Hub name"),
    ("load(path, 5)", "ArgumentError", "revision: expected text, found an int"),
    ("from_torch(5)", "ArgumentError", "from_torch: expected a Hugging Face module or a TransformerBridge, found an "
                                       "int"),
    ("capture_torch(m, IDS)", "ArgumentError", "capture_torch: expected a Hugging Face module, found a Model"),
    ("m.weights('0', 'Q')", "ArgumentError", f"layer: {INTEGER}, found a str"),
    ("m.weights(-1, 'Q')", "ArgumentError", f"layer: {INTEGER}, found -1"),
    ("m.weights(0, 5)", "ArgumentError", "role: found '5', expected one of Q, K, V, O"),
    ("m.weights(0, 'Q', weights='x')", "ArgumentError", "weights: found 'x', expected one of folded, raw"),
    # Options.
    ("relate(m, top=-5)", "ArgumentError", f"top: {INTEGER}, found '-5'"),
    ("relate(m, top='5')", "ArgumentError", f"top: {INTEGER}, found '5'"),
    ("relate(m, top=2.5)", "ArgumentError", f"top: {INTEGER}, found '2.5'"),
    ("relate(m, top=[5])", "ArgumentError", f"top: {INTEGER}, found '5'"),
    ("relate(m, max_q=float('nan'))", "ArgumentError",
     "max_q: expected a number greater than 0 and at most 1, found 'nan'"),
    ("relate(m, pairs=[])", "ArgumentError", "relate: expected at least one metric and one pair of roles"),
    ("relate(m, pairs=5)", "ArgumentError",
     "pairs: expected a pair of the roles Q, K, V, O such as OQ, or all, found '5'"),
    ("relate(m, pairs=[None])", "ArgumentError", "pairs: cannot use None"),
    ("relate(m, pairs=np.zeros((2, 2)))", "ArgumentError", "pairs: expected a list, found an array of shape [2, 2]"),
    ("relate(m, heads={'L0H1': 1})", "ArgumentError", "heads: cannot use a dict"),
    ("relate(m, heads='L9H9')", "ArgumentError",
     "head L9H9 requested, but the model has 2 layers of 8 heads, numbered from 0"),
    ("relate(m, progress='yes')", "ArgumentError", "progress: expected True, False or None, found a str"),
    ("relate(m, force='yes')", "ArgumentError", "force: expected true or false, found 'yes'"),
    ("relate(m, run=5)", "ArgumentError", "run: expected a path, found an int"),
    ("relate(m, run='')", "ArgumentError", "run: is empty, expected a path"),
    ("set_threads(-1)", "ArgumentError", f"threads: {INTEGER}, found -1"),
    ("set_threads('4')", "ArgumentError", f"threads: {INTEGER}, found a str"),
    # Labels of heads.
    ("relate(m, labels={'previous': 'L0H1'})", "ArgumentError",
     "labels: class 'previous' is a str, expected a list of heads such as ['L4H11']"),
    ("relate(m, labels={'previous': [4.1]})", "ArgumentError",
     "labels: class 'previous' has a float, expected heads such as 'L4H11' or (4, 11)"),
    ("relate(m, labels={'previous': ['L9H9']})", "FormatError",
     "labels: class 'previous' names L9H9, but the model has 2 layers of 8 heads"),
    ("relate(m, labels=[1, 2])", "ArgumentError", f"labels: {LABELS}; found a list"),
    ("relate(m, labels=r)", "ArgumentError", f"labels: {LABELS}; found a Relation"),
    ("relate(m, labels={})", "FormatError", "labels: has no classes"),
    ("relate(m, labels={'classes': {'a': ['L0H1']}, 'ignore': ['a']})", "FormatError",
     "labels: unknown key 'ignore', expected 'name', 'source', 'classes' or 'ignored'"),
    ("prune(m, IDS, labels={'a': 1})", "ArgumentError", "labels: expected integers, one per input, found a dict"),
    ("prune(m, IDS, labels=headscope.Detection)", "ArgumentError",
     "labels: expected integers, one per input, found the class Detection"),
    # Inputs.
    ("capture(m)", "ArgumentError",
     "nothing to run the model on: give text, text_file, ids, image, pixels or features"),
    ("capture(m, '')", "ArgumentError", "text: is empty; there is nothing to run the model on"),
    ("capture(m, ['a', ''])", "ArgumentError", "text: text 1 is empty; there is nothing to run the model on"),
    ("capture(m, [])", "ArgumentError", "text: is empty; give at least one input"),
    ("capture(m, ['a', 1])", "ArgumentError", "text: mixes token ids and a str; give inputs of one kind"),
    ("capture(m, [[1, 2], 'a'])", "ArgumentError", "text: mixes texts and token ids; give inputs of one kind"),
    ("capture(m, [1, [2]])", "ArgumentError", "text: mixes token ids and a list; give inputs of one kind"),
    ("capture(m, [1.5, 2.0])", "ArgumentError", "text: numbers with a point are not token ids, which are integers"),
    ("capture(m, [True, False])", "ArgumentError", "text: True and False are not token ids"),
    ("capture(m, [None])", "ArgumentError", f"text: {INPUT}, found None"),
    ("capture(m, 7)", "ArgumentError", f"text: {INPUT}, found an int"),
    ("capture(m, {1, 2, 3})", "ArgumentError", f"text: {INPUT}, found a set"),
    ("capture(m, b'text')", "ArgumentError", f"text: {INPUT}, found bytes; decode it to text"),
    ("capture(m, [-1, 2])", "ArgumentError", "text: -1 is not a token id"),
    ("capture(m, [2**40])", "ArgumentError", "text: 1099511627776 is not a token id"),
    ("capture(m, np.array([1, 9999], dtype=np.uint16))", "FormatError",
     "input 0: token 1 has id 9999, but the model's vocabulary has 64 tokens"),
    ("capture(m, [[], [1]])", "ArgumentError", "text: input 0 is empty"),
    ("capture(m, [[[1, 2]]])", "ArgumentError", "text: input 0 holds a list, expected token ids"),
    ("capture(m, np.zeros((2, 2, 2), int))", "ArgumentError", f"text: int64 of shape [2, 2, 2]; {ARRAY}"),
    ("capture(m, np.array([1.0]))", "ArgumentError", f"text: float64 of shape [1]; {ARRAY}"),
    ("capture(m, np.array([]))", "ArgumentError", "text: is empty, float64 of shape [0]"),
    ("capture(m, {'text': 'a'})", "ArgumentError",
     "text: the mapping has neither of input_ids and pixel_values, expected one of them"),
    ("capture(m, {'input_ids': [[1, 2, 3]], 'attention_mask': [[1, 0, 1]]})", "ArgumentError",
     "text: the attention_mask has gaps; only padding before and after the tokens can be removed"),
    ("capture(m, {'input_ids': [[1, 2, 3]], 'attention_mask': [[0, 0, 0]]})", "ArgumentError",
     "text: the attention_mask leaves nothing of an input"),
    ("capture(m, {'input_ids': [[1, 2, 3]], 'token_type_ids': [[0, 1, 1]]})", "ArgumentError",
     "text: token_type_ids mark pairs of texts; headscope takes every token as of the first one"),
    ("capture(m, {'input_ids': [[1, 2, 3]], 'labels': [[0, 1, 1]]})", "ArgumentError",
     "text: the mapping has 'labels', which headscope does not use; leave it out"),
    ("capture(m, 'a', [1, 2])", "ParameterError",
     "capture: found 3 arguments without a name, expected at most 2 (model, text); give the others by name"),
    ("capture(m, ids=[0.5])", "ArgumentError", "ids: numbers with a point are not token ids, which are integers"),
    ("capture(m, ids=5)", "ArgumentError", "ids: expected integers [tokens] or [inputs, tokens], found an int"),
    ("capture(m, Path('x.bin'))", "ArgumentError",
     "text: 'x.bin' is of no known kind (.txt, .text, .md, .png, .jpg, .jpeg, .npy); give text_file, image, ids or "
     "pixels"),
    ("capture(m, readme)", "ArgumentError",
     "text: 'README' is the name of a file, which would be read as text; for its contents give a pathlib.Path"),
    ("capture(m, Image.new('RGB', (32, 32)))", "UnsupportedError", "MODEL: the model takes tokens; use text or ids"),
    ("capture(v, [1, 2, 3])", "UnsupportedError", "VIT: the model takes images; use image or pixels"),
    ("capture(v, np.zeros((32, 32, 3)))", "ArgumentError",
     "text: float64 of shape [32, 32, 3] has its channels last, expected [channels, height, width]; transpose it"),
    ("capture(v, np.zeros((32, 32, 4), np.uint8))", "ArgumentError",
     "text: expected images of uint8 [height, width, 3], found uint8 of shape [32, 32, 4]; drop the fourth, which is "
     "transparency"),
    ("capture(v, np.zeros((32, 32), np.uint8))", "ArgumentError",
     "text: uint8 of shape [32, 32] may be token ids or a gray image; give ids=, or image= [height, width, 1]"),
    ("capture(v, pixels=np.zeros((3, 32, 32), np.uint8))", "ArgumentError",
     "pixels: expected normalized pixels, which are floats, found uint8 of shape [3, 32, 32]; give an image of levels "
     "from 0 to 255 as image="),
    ("capture(v, image=[Image.new('RGB', (32, 32)), 'x.png'])", "ArgumentError",
     "image: mixes files of images and images; give inputs of one kind"),
    ("prune(m, [1, 'a'])", "ArgumentError", "text: mixes token ids and a str; give inputs of one kind"),
    ("patch(m, [1.0, 2.0])", "ArgumentError", "text: numbers with a point are not token ids, which are integers"),
    ("patch(m, IDS, edges=5)", "ArgumentError", "edges: cannot use an int"),
    ("patch(m, IDS, pairs_with=5)", "ArgumentError", f"pairs_with: {INPUT}, found an int"),
    ("patch(m, IDS, labels=5)", "ArgumentError",
     "labels: expected integers, one per input or [inputs, tokens], found an int"),
    # Maps, runs and results.
    ("organize(None)", "ArgumentError", f"source: {MAPS}, found None"),
    ("organize(r)", "ArgumentError", f"source: this is the result of relate, {MAPS}"),
    ("organize(m)", "ArgumentError", f"source: {MAPS}, found a Model"),
    ("organize([])", "ArgumentError", "source: is empty, expected maps [head, query, key]"),
    ("organize([[1, 2], [3]])", "ArgumentError",
     "source: a list that is not an array: its parts differ in length or type"),
    ("organize(np.array(['a']))", "ArgumentError", "source: expected numbers, found an array of <U1"),
    ("organize(np.zeros(3))", "FormatError", "array: the array is [3], which does not match the 3 axes of 'hqk'"),
    ("compare('runs/a')", "ArgumentError", "runs: expected a list of at least two runs, found a str"),
    ("compare(None)", "ArgumentError", "runs: expected a list of at least two runs, found None"),
    ("compare([c, None])", "ArgumentError", "runs: expected folders of results, or results, found None"),
    ("report(None, 'x.html')", "ArgumentError", "run: expected a folder of results, or results, found None"),
    ("report([], 'x.html')", "ArgumentError", "run: expected a folder of results, or results, found nothing"),
    ("report([r, 1], 'x.html')", "ArgumentError",
     "run: expected a folder of results, or results, found an int in the list"),
    ("report(r, None)", "ArgumentError", "page: expected a path, found None"),
    ("open(None)", "ArgumentError", "run: expected a path, found None"),
    ("open(path)", "FileError",
     "MODEL: is a model, not a folder of results; 'headscope capture' and 'headscope relate' make one of it"),
    ("headscope.Capture.open(run)", "ArgumentError", "RUN: holds no result of 'capture'"),
    ("r.plot('wirng')", "ArgumentError", "plot: found 'wirng', expected one of wiring, matrix, tree, informativeness"),
    ("r.plot('wiring', pair='OK')", "ParameterError",
     "plot('wiring'): there is no parameter 'pair'; did you mean pairs?"),
    ("r.plot('wiring', pairs=['XX'])", "ArgumentError", "pairs: there is no edge of 'XX', only of OQ, OK, OV"),
    ("r.plot('wiring', ax=5)", "ArgumentError", "ax: expected axes of matplotlib, found an int"),
    ("r.edges['sorce']", "ColumnError", "there is no column 'sorce'; did you mean source?"),
    ("r.save(None)", "ArgumentError", "run: expected a path, found None"),
    ("c.map('L9H9')", "ArgumentError", "there is no pattern of 'L9H9'"),
]


@pytest.fixture(scope="module")
def names(model: headscope.Model, model_path: str, captured: headscope.Capture,
          tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    relation = headscope.relate(model, tokens_for="none", draws=4)
    run = str(tmp_path_factory.mktemp("mistakes") / "run")
    relation.save(run)
    functions = {name: getattr(headscope, name) for name in headscope.__all__ if not name.startswith("_")}
    return {**functions, "headscope": headscope, "np": np, "Path": Path, "Image": Image, "IDS": IDS, "m": model,
            "path": model_path, "v": str(ROOT / "models/demo-vit"), "c": captured, "r": relation, "run": run,
            "readme": str(ROOT / "README.md")}


@pytest.mark.parametrize(("call", "kind", "line"), MISTAKES, ids=[call for call, _, _ in MISTAKES])
def test_mistake(names: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: str, kind: str,
                 line: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception) as raised:  # noqa: PT011
        eval(call, {}, names)
    for name, key in (("MODEL", "path"), ("VIT", "v"), ("RUN", "run"), ("README", "readme")):
        line = line.replace(name, names[key])
    assert f"{raised.type.__name__}: {raised.value}" == f"{kind}: {line}"
    # It is what a traceback ends with, and nothing is hidden behind it.
    assert traceback.format_exception_only(raised.value)[-1].endswith(f"{kind}: {line}\n")
    assert raised.value.__cause__ is None and (raised.value.__context__ is None or raised.value.__suppress_context__)
    assert isinstance(raised.value, headscope.Error)
    assert not list(tmp_path.iterdir())


def test_the_table_is_long_enough() -> None:
    assert len({call for call, _, _ in MISTAKES}) == len(MISTAKES) >= 100


def test_kinds_are_also_those_of_python() -> None:
    assert issubclass(headscope.ParameterError, TypeError)
    assert issubclass(headscope.ColumnError, KeyError)
    assert issubclass(headscope.ArgumentError, ValueError)
