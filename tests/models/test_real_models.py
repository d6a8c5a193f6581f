"""The models of `make models`, as the program sees them. Without them and without PyPI these tests are skipped."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from real_models import ROOT, real_model

HEADSCOPE = ROOT / os.environ.get("HEADSCOPE", "build/headscope")

SIZES = {  # family, layers, heads, KV heads, width, head width
    "smollm2": ("llama", 30, 9, 3, 576, 64),
    "minilm": ("bert", 6, 12, 12, 384, 32),
    "rxnfp": ("bert", 12, 4, 4, 256, 64),
    "antiberty": ("bert", 8, 8, 8, 512, 64),
}
TEXTS = {
    "smollm2": "Paris is the capital of France, and Rome is the capital of",
    "minilm": "A cat sat on the mat.",
    "rxnfp": "CC(=O)Cl.OCC>>CCOC(C)=O",
    "antiberty": "EVQLVESGGGLVQPGGSLRLSCAAS",
}


def headscope(*words: str | Path) -> str:
    done = subprocess.run([HEADSCOPE, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", SIZES)
def test_inspect_tells_the_sizes(name: str) -> None:
    found = json.loads(headscope("inspect", real_model(name), "--json"))
    sizes = tuple(found[key] for key in ("family", "layers", "heads", "kv_heads", "d_model", "d_head"))
    assert sizes == SIZES[name] and found["tensors_missing"] == []


@pytest.mark.parametrize("name", SIZES)
def test_wiring_is_beyond_chance(name: str, tmp_path: Path) -> None:
    headscope("relate", real_model(name), "--pairs", "OK", "--tokens-for", "none", "--quiet", "-o", tmp_path / "run")
    (everything,) = [row for row in rows(tmp_path / "run/wiring.csv") if row["pair"] == "all"]
    # A tenth would be much for random weights, where 5 % false discoveries are the bound.
    assert int(everything["beyond_chance"]) > 0.1 * int(everything["pairs"])


@pytest.mark.parametrize("name", SIZES)
def test_a_text_is_read(name: str, tmp_path: Path) -> None:
    headscope("capture", real_model(name), "--text", TEXTS[name], "-o", tmp_path / "run", "--quiet")
    pattern = np.load(tmp_path / "run/pattern.npy")
    _, layers, heads, *_ = SIZES[name]
    tokens = json.loads((tmp_path / "run/tokens.json").read_text())["tokens"]
    assert pattern.shape == (layers * heads, len(tokens), len(tokens))
    np.testing.assert_allclose(pattern.sum(-1), 1, atol=1e-4)


def test_demo_tells_the_story_of_a_fetched_model(tmp_path: Path) -> None:
    """rxnfp is the smallest. Its text is the demo's own."""
    real_model("rxnfp")
    told = headscope("demo", "--model", "rxnfp", "-o", tmp_path)
    for command in ("inspect", "detect", "relate", "capture", "organize", "softmax", "report"):
        assert f"$ headscope {command} " in told
    assert Path(told.splitlines()[-1].strip()) == tmp_path / "rxnfp.html"
    assert "circuit" not in told  # it reads both ways


def test_demo_says_where_a_fetched_model_should_be(tmp_path: Path) -> None:
    environment = {**os.environ, "HEADSCOPE_CACHE": str(tmp_path)}
    words = [str(HEADSCOPE), "demo", "--model", "minilm", "-o", str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert f"minilm: not fetched yet, {tmp_path}/models/minilm is not there: run 'make models'" in done.stderr


def test_smollm2_knows_the_capital_of_italy(tmp_path: Path) -> None:
    told = headscope("capture", real_model("smollm2"), "--text", TEXTS["smollm2"], "-o", tmp_path / "run")
    assert "next ' Italy'" in told


def test_antiberty_restores_a_masked_cysteine(tmp_path: Path) -> None:
    """Every antibody has a cysteine at this place, so the converted weights must say so."""
    masked = TEXTS["antiberty"].replace("LSC", "LS[MASK]")
    headscope("capture", real_model("antiberty"), "--text", masked, "-o", tmp_path / "run", "--quiet")
    tokens = [token["text"] for token in json.loads((tmp_path / "run/tokens.json").read_text())["tokens"]]
    names = "[PAD] [UNK] [CLS] [SEP] [MASK] A C D E F G H I K L M N P Q R S T V W Y".split()
    logits = np.load(tmp_path / "run/output.npy")
    assert names[int(logits[tokens.index("[MASK]")].argmax())] == "C"


def test_rxnfp_restores_a_masked_atom(tmp_path: Path) -> None:
    """An ester from an acid chloride and an alcohol keeps its oxygen."""
    masked = "CC(=O)Cl.OCC>>CC[MASK]C(C)=O"
    headscope("capture", real_model("rxnfp"), "--text", masked, "-o", tmp_path / "run", "--quiet")
    tokens = [token["text"] for token in json.loads((tmp_path / "run/tokens.json").read_text())["tokens"]]
    vocabulary = json.loads((real_model("rxnfp") / "tokenizer.json").read_text())["model"]["vocab"]
    logits = np.load(tmp_path / "run/output.npy")
    assert int(logits[tokens.index("[MASK]")].argmax()) == vocabulary["O"]
