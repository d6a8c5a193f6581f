"""The bundled language model is what its files say. Needs numpy, safetensors, pytest; the forward pass is NumPy's."""

from __future__ import annotations

import json
import re
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "models" / "demo"
sys.path[:0] = [str(FOLDER), str(Path(__file__).parent)]

from language import BEGIN, ID, LENGTH, NAMES, UNKNOWN, VOCABULARY, Language, _part, unseen  # noqa: E402
from numpy_gpt2 import Gpt2  # noqa: E402

TEXTS = 30


def read(name: str) -> dict:
    return json.loads((FOLDER / name).read_text())


def head(name: str) -> tuple[int, int]:
    layer, number = name.split(".")
    return int(layer), int(number)


@pytest.fixture(scope="module")
def model() -> Gpt2:
    return Gpt2(FOLDER)


@pytest.fixture(scope="module")
def sentences() -> tuple[np.ndarray, list]:
    language = Language(77, held_out=True)
    passages = [language.indirect_object() for _ in range(TEXTS)]
    return padded([p.words for p in passages]), passages


def padded(texts: list[list[str]]) -> np.ndarray:
    ids = [[ID[word] for word in [BEGIN, *words]] for words in texts]
    longest = max(map(len, ids))
    return np.array([row + [0] * (longest - len(row)) for row in ids])


def answers_right(model: Gpt2, sentences, without=frozenset()) -> float:
    tokens, passages = sentences
    logits = model.logits(tokens, without)
    # An answer at index a of the words is token a + 1, predicted at token a.
    return float(np.mean([logits[i, p.answer].argmax() == tokens[i, p.answer + 1] for i, p in enumerate(passages)]))


def lists_right(model: Gpt2, without=frozenset()) -> float:
    language = Language(78)
    passages = [language.repeated_list() for _ in range(TEXTS)]
    tokens = padded([p.words for p in passages])
    said = model.logits(tokens, without).argmax(-1)
    return float(np.mean([said[i, at] == tokens[i, at + 1] for i, p in enumerate(passages) for at in p.copy[1:]]))


def test_the_folder_is_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 5_000_000


def test_shapes_are_those_of_the_config(model):
    c, t = model.config, model.tensors
    d, inner = c["n_embd"], c["n_inner"]
    assert t["transformer.wte.weight"].shape == t["lm_head.weight"].shape == (c["vocab_size"], d)
    assert t["transformer.wpe.weight"].shape == (c["n_positions"], d) == (LENGTH, d)
    for layer in range(c["n_layer"]):
        block = f"transformer.h.{layer}."
        assert t[block + "attn.c_attn.weight"].shape == (d, 3 * d)
        assert t[block + "attn.c_proj.weight"].shape == (d, d)
        assert t[block + "mlp.c_fc.weight"].shape == (d, inner)
    assert all(np.isfinite(tensor).all() for tensor in t.values())


def test_the_tokenizer_has_the_words_of_the_language(model):
    tokenizer = read("tokenizer.json")
    assert tokenizer["model"]["type"] == "WordLevel"
    assert tokenizer["model"]["vocab"] == ID
    assert tokenizer["model"]["unk_token"] == UNKNOWN
    assert tokenizer["pre_tokenizer"]["type"] == "Whitespace"
    assert model.config["vocab_size"] == len(VOCABULARY) == len(ID)
    assert model.config["bos_token_id"] == ID[BEGIN]
    assert tokenizer["post_processor"]["special_tokens"][BEGIN]["ids"] == [ID[BEGIN]]


def test_samples_hold_known_words_only():
    lines = (FOLDER / "samples.txt").read_text().splitlines()
    assert len(lines) >= 12
    for line in lines:
        words = re.findall(r"\w+|[^\w\s]+", line)
        assert [word for word in words if word not in ID] == []
        assert len(words) < LENGTH


def test_held_out_pairs_are_not_trained_on():
    pairs = [(a, b) for a in range(40) for b in range(40)]
    kept, held = _part(pairs, False), _part(pairs, True)
    assert set(kept).isdisjoint(held) and len(kept) + len(held) == len(pairs)
    assert 0.05 < len(held) / len(pairs) < 0.15


def test_behavior_names_every_head_once(model):
    rows = read("behavior.json")["heads"]
    expected = [(layer, h) for layer in range(model.config["n_layer"]) for h in range(model.config["n_head"])]
    assert [(row["layer"], row["head"]) for row in rows] == expected


def test_scores_are_shares_of_attention():
    for row in read("behavior.json")["heads"]:
        shares = [
            row[k]
            for k in row
            if k.startswith("to_") or k in ("previous", "identity", "duplicate", "induction", "item_to_next")
        ]
        assert all(0 <= share <= 1 for share in shares)
        assert row["to_receiver"] + row["to_first_mention"] + row["to_second_mention"] <= 1.001
        assert row["to_receiver"] + row["to_first_mention"] == pytest.approx(
            row["to_first_name"] + row["to_second_name"], abs=1e-4
        )


def test_classes_follow_their_rules_and_labels_repeat_them():
    behavior, labels = read("behavior.json"), read("labels.json")
    rows, threshold = behavior["heads"], behavior["detectors"]["threshold"]
    for name in ("previous", "induction"):
        expected = [f"{row['layer']}.{row['head']}" for row in rows if row[name] >= threshold]
        assert behavior["classes"][name] == expected != []
    assert labels["classes"] == behavior["classes"]
    assert set(labels) <= {"name", "source", "classes", "ignored"}
    assert all(name in labels["source"] for name in labels["classes"])


def test_accuracies_without_heads_are_accuracies():
    behavior = read("behavior.json")
    for row in behavior["heads"] + behavior["groups"]:
        for task, whole in behavior["tasks"].items():
            right = (whole["accuracy"] - row[task]["accuracy_drop"]) * whole["predictions"]
            assert -0.01 <= right <= whole["predictions"] + 0.01
            assert right == pytest.approx(round(right), abs=0.01)  # a count
            assert whole["loss"] + row[task]["loss_increase"] >= 0


def test_it_solves_both_tasks(model, sentences):
    assert all(task["accuracy"] > 0.99 for task in read("behavior.json")["tasks"].values())
    assert answers_right(model, sentences) > 0.95
    assert lists_right(model) > 0.99


def test_classes_do_what_the_story_says(model, sentences):
    classes = {name: {head(h) for h in heads} for name, heads in read("behavior.json")["classes"].items()}
    assert lists_right(model, classes["previous"]) < 0.2
    assert lists_right(model, classes["induction"]) < 0.2
    assert answers_right(model, sentences, classes["name mover"]) < 0.5
    assert answers_right(model, sentences, classes["name suppressor"]) < 0.6
    assert lists_right(model, classes["name suppressor"]) > 0.99
    others = {(layer, h) for layer in range(4) for h in range(8)} - set().union(*classes.values())
    for layer in (2, 3):
        assert lists_right(model, {h for h in others if h[0] == layer}) > 0.95


def test_weights_show_the_circuit(model):
    """Of all earlier-to-later pairs, the strongest projection kernels of OK join previous-token and induction heads."""
    heads = model.config["n_head"]

    def bases(matrix: np.ndarray) -> list[np.ndarray]:
        return [np.linalg.qr(part)[0] for part in np.split(matrix - matrix.mean(0), heads, axis=1)]

    writes, reads = [], []
    for layer in range(model.config["n_layer"]):
        block = f"transformer.h.{layer}."
        gain = model.tensors[block + "ln_1.weight"][:, None]
        writes.append(bases(model.tensors[block + "attn.c_proj.weight"].T))
        reads.append(bases(np.split(gain * model.tensors[block + "attn.c_attn.weight"], 3, axis=1)[1]))
    edges = sorted(
        (
            (np.sum((u.T @ v) ** 2), (a, i), (b, j))
            for a in range(4)
            for b in range(a + 1, 4)
            for i, u in enumerate(writes[a])
            for j, v in enumerate(reads[b])
        ),
        reverse=True,
    )
    classes = {name: {head(h) for h in some} for name, some in read("behavior.json")["classes"].items()}
    joined = {(s, t) for s in classes["previous"] for t in classes["induction"] if s[0] < t[0]}
    assert {(source, target) for _, source, target in edges[: len(joined)]} == joined


def test_unseen_texts_are_what_their_script_makes(model):
    texts = (FOLDER / "unseen.txt").read_text().splitlines()
    assert texts == unseen()
    ids = np.array([[ID[word] for word in [BEGIN, *text.split()]] for text in texts])
    assert ids.shape == (32, LENGTH)
    training = set(_part(combinations(NAMES, 2), held_out=False))
    pairs = {pair for text in texts for pair in re.findall(r"(\w+) and (\w+) (?:went|arrived|walked|met|ran)", text)}
    assert pairs and not pairs & (training | {(b, a) for a, b in training})
    logits = model.logits(ids)[:, :-1]
    loss = np.logaddexp.reduce(logits, axis=-1) - np.take_along_axis(logits, ids[:, 1:, None], -1)[..., 0]
    assert loss.mean() < 2.5  # log(207) is 5.3
