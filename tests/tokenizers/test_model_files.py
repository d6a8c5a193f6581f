"""The same tokenizers from GGUF files and from the files that came before tokenizer.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from make_model_files import all_merges, write_folder, write_gguf
from test_tokenizers import compare, folder  # noqa: F401

# GGUF's expressions spell out 'S for (?i:'s), which U+017F is another case of.
LONG_S = frozenset("\u017f")
DEFAULT = [
    r"[\p{P}\$\+<=>\^~\|]+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"\p{N}+",
    "[0-9][0-9][0-9]",
]


def read(folder: Path, kind: str, **changes) -> dict:  # noqa: F811
    return json.loads((folder / f"{kind}.json").read_text()) | changes


def template(*pieces: tuple[str, int] | None) -> dict:
    single = [
        {"SpecialToken": {"id": p[0], "type_id": 0}} if p else {"Sequence": {"id": "A", "type_id": 0}} for p in pieces
    ]
    special = {p[0]: {"id": p[0], "ids": [p[1]], "tokens": [p[0]]} for p in pieces if p}
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": special}


BYTE_LEVEL = [("gpt2", "gpt-2"), ("digits_then_gpt2", "starcoder"), ("qwen2", "qwen2"), ("o200k", "default")]


@pytest.mark.parametrize(("kind", "pre"), BYTE_LEVEL)
def test_byte_level_gguf(folder: Path, tmp_path: Path, kind: str, pre: str) -> None:  # noqa: F811
    data = read(folder, kind, normalizer=None, post_processor=None)
    if pre == "default":
        data["model"]["ignore_merges"] = False
        split = [{"type": "Split", "pattern": {"Regex": r}, "behavior": "Isolated", "invert": False} for r in DEFAULT]
        split += [{"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]
        data["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": split}
    path = write_gguf(tmp_path / "m.gguf", data, "gpt2", pre)
    compare(path, Tokenizer.from_str(json.dumps(data)), kind, without=LONG_S)


def test_llama3_gguf(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    data = read(folder, "llama3")
    bos = next(token["id"] for token in data["added_tokens"] if token["content"] == "<|begin_of_text|>")
    data["post_processor"] = template(("<|begin_of_text|>", bos), None)
    path = write_gguf(tmp_path / "m.gguf", data, "gpt2", "llama-bpe", bos_token_id=bos)
    compare(path, Tokenizer.from_str(json.dumps(data)), "llama3", without=LONG_S)


@pytest.mark.parametrize("prefix", [True, False])
def test_sentencepiece_gguf(folder: Path, tmp_path: Path, prefix: bool) -> None:  # noqa: F811
    data = all_merges(read(folder, "llama2"))
    data["post_processor"] = template(("<s>", 1), None, ("</s>", 2))
    if not prefix:
        data["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    ids: dict[str, Any] = {"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0, "add_eos_token": True}
    path = write_gguf(tmp_path / "m.gguf", data, "llama", add_space_prefix=prefix, **ids)
    compare(path, Tokenizer.from_str(json.dumps(data)), "llama2")


@pytest.mark.parametrize("kind", ["bert_uncased", "bert_cased"])
def test_bert_gguf(folder: Path, tmp_path: Path, kind: str) -> None:  # noqa: F811
    data = read(folder, kind)
    data["added_tokens"] = [token for token in data["added_tokens"] if token["special"]]
    ids: dict[str, Any] = {"cls_token_id": 2, "seperator_token_id": 3, "unknown_token_id": 1}
    path = write_gguf(tmp_path / "m.gguf", data, "bert", **ids)
    compare(path, Tokenizer.from_str(json.dumps(data)), kind)


def test_t5_gguf(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    data = read(folder, "t5")
    path = write_gguf(tmp_path / "m.gguf", data, "t5", eos_token_id=1, unknown_token_id=2)
    compare(path, Tokenizer.from_str(json.dumps(data)), "t5")


@pytest.mark.parametrize("kind", ["gpt2", "opt", "roberta"])
def test_vocab_json_and_merges_txt(folder: Path, tmp_path: Path, kind: str) -> None:  # noqa: F811
    data = read(folder, kind)
    vocab = data["model"]["vocab"] | {token["content"]: token["id"] for token in data["added_tokens"]}
    merges = "#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in data["model"]["merges"])
    files = {"vocab.json": json.dumps(vocab), "merges.txt": merges}
    if kind == "opt":  # the files tell of no other special tokens
        data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] in ("</s>", "<pad>")]
    path = write_folder(tmp_path / "model", kind, files)
    compare(path, Tokenizer.from_str(json.dumps(data)), kind)


@pytest.mark.parametrize("kind", ["bert_uncased", "bert_cased", "distilbert"])
def test_vocab_txt(folder: Path, tmp_path: Path, kind: str) -> None:  # noqa: F811
    data = read(folder, kind)
    data["added_tokens"] = [token for token in data["added_tokens"] if token["special"]]
    normalizer = data["normalizer"]
    settings = {
        "tokenizer_class": "DistilBertTokenizerFast" if kind == "distilbert" else "BertTokenizer",
        "do_lower_case": normalizer["lowercase"],
        "strip_accents": normalizer["strip_accents"],
        "tokenize_chinese_chars": normalizer["handle_chinese_chars"],
    }
    lines = "".join(token + "\n" for token in sorted(data["model"]["vocab"], key=data["model"]["vocab"].get))
    files = {"vocab.txt": lines, "tokenizer_config.json": json.dumps(settings)}
    path = write_folder(tmp_path / "model", "bert", files)
    compare(path, Tokenizer.from_str(json.dumps(data)), kind)
