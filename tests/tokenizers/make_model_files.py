"""The other forms a vocabulary comes in, made from a tokenizer.json: GGUF, vocab.json with merges.txt, vocab.txt."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import save_file

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6


def tokens_of(data: dict) -> list[str]:
    """All tokens by id."""
    vocab = data["model"]["vocab"]
    by_id = (
        dict(enumerate(token for token, _ in vocab)) if isinstance(vocab, list) else {i: t for t, i in vocab.items()}
    )
    by_id |= {token["id"]: token["content"] for token in data["added_tokens"]}
    assert sorted(by_id) == list(range(len(by_id)))
    return [by_id[i] for i in range(len(by_id))]


def write_gguf(path: Path, data: dict, model: str, pre: str | None = None, **settings: int | bool) -> Path:
    """A file with metadata alone. `settings` are ids and flags under tokenizer.ggml."""
    writer = gguf.GGUFWriter(path, "llama")
    tokens = tokens_of(data)
    types = [NORMAL] * len(tokens)
    for token in data["added_tokens"]:
        types[token["id"]] = CONTROL if token["special"] else USER_DEFINED
    writer.add_tokenizer_model(model)
    if pre:
        writer.add_tokenizer_pre(pre)
    if model == "gpt2":
        writer.add_token_merges([" ".join(pair) for pair in data["model"]["merges"]])
    if model == "llama":
        writer.add_token_scores(merge_scores(data, tokens))
        types = [BYTE if t.startswith("<0x") and len(t) == 6 else kind for t, kind in zip(tokens, types, strict=True)]
    if model == "t5":
        writer.add_token_scores([score for _, score in data["model"]["vocab"]])
        writer.add_precompiled_charsmap(base64.b64decode(data["normalizer"]["normalizers"][0]["precompiled_charsmap"]))
    if model == "bert":
        special = {token["content"] for token in data["added_tokens"]}
        marked = lambda t: t if t in special else t[2:] if t.startswith("##") else "▁" + t  # noqa: E731
        tokens = [marked(token) for token in tokens]
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    for key, value in settings.items():
        add = writer.add_bool if isinstance(value, bool) else writer.add_uint32
        add(f"tokenizer.ggml.{key}", value)
    writer.add_tensor("token_embd.weight", np.zeros((len(tokens), 4), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def merge_scores(data: dict, tokens: list[str]) -> list[float]:
    """The later a token is merged, the lower its score, as SentencePiece gives them."""
    rank = {left + right: -float(i) for i, (left, right) in reversed(list(enumerate(data["model"]["merges"])))}
    return [rank.get(token, -1e6) for token in tokens]


def all_merges(data: dict) -> dict:
    """The same BPE with every way to merge two tokens to a third, which is what scores of tokens amount to."""
    vocab = data["model"]["vocab"]
    results = [left + right for left, right in data["model"]["merges"]]
    pairs = []
    for token in dict.fromkeys(results):
        pairs += [(token[:i], token[i:]) for i in range(1, len(token)) if token[:i] in vocab and token[i:] in vocab]
    return data | {"model": data["model"] | {"merges": pairs}}


def write_folder(path: Path, model_type: str, files: dict[str, str]) -> Path:
    """A model's folder with hardly a model in it."""
    path.mkdir(parents=True, exist_ok=True)
    save_file({"weight": np.zeros((2, 2), np.float32)}, path / "model.safetensors")
    for name, text in ({"config.json": json.dumps({"model_type": model_type})} | files).items():
        (path / name).write_text(text)
    return path
