"""Compares headscope's tokenizers with Hugging Face's, id by id and offset by offset, on thousands of texts a kind."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
ENCODE = Path(os.environ.get("ENCODE_TEXTS", ROOT / "build/release/tests/encode_texts")).resolve()
sys.path.insert(0, str(ROOT / "tests/tokenizers"))

import make_tokenizers  # noqa: E402
from corpus import texts  # noqa: E402
from unicode_differences import EVERY_CHARACTER, differences  # noqa: E402

COUNT = 5000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizers")
    make_tokenizers.make(path)
    return path


def encode(path: Path, inputs: list[str], *arguments: str) -> list[list[tuple[int, int, int]] | str]:
    """What headscope makes of each text: tokens (id, begin, end), or a message."""
    encoded = [text.encode() for text in inputs]
    stdin = b"".join(struct.pack("<I", len(text)) + text for text in encoded)
    done = subprocess.run([ENCODE, path, *arguments], input=stdin, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    output = done.stdout
    found: list[list[tuple[int, int, int]] | str] = []
    at = 0
    while at < len(output):
        (count,) = struct.unpack_from("<I", output, at)
        at += 4
        if count == 0xFFFFFFFF:
            (size,) = struct.unpack_from("<I", output, at)
            found.append(output[at + 4 : at + 4 + size].decode())
            at += 4 + size
        else:
            found.append([tuple(row) for row in np.frombuffer(output, "<u4", 3 * count, at).reshape(-1, 3).tolist()])
            at += 12 * count
    assert len(found) == len(inputs)
    return found


def expected(tokenizer: Tokenizer, text: str, special: bool = True) -> list[tuple[int, int, int]]:
    """The same from `tokenizers`, whose offsets are characters."""
    result = tokenizer.encode(text, add_special_tokens=special)
    places = [0]
    for character in text:
        places.append(places[-1] + len(character.encode()))
    return [(i, places[begin], places[end]) for i, (begin, end) in zip(result.ids, result.offsets, strict=True)]


def compare(
    path: Path, tokenizer: Tokenizer, kind: str, special: bool = True, without: frozenset[str] = frozenset()
) -> None:
    added = sorted(token.content for token in tokenizer.get_added_tokens_decoder().values())
    unlike = without | differences(kind)
    inputs = [text for text in texts(added, COUNT + 500) if unlike.isdisjoint(text)]
    assert len(inputs) >= COUNT
    check(path, tokenizer, inputs, special)


def check(path: Path, tokenizer: Tokenizer, inputs: list[str], special: bool = True) -> None:
    results = encode(path, inputs, *([] if special else ["none"]))
    wrong = []
    for text, found in zip(inputs, results, strict=True):
        wanted = expected(tokenizer, text, special)
        if found != wanted:
            wrong.append((text, found, wanted))
    assert not wrong, f"{len(wrong)} of {len(inputs)}, the first: {wrong[0]}"


@pytest.mark.parametrize("kind", make_tokenizers.KINDS)
def test_agrees_with_tokenizers(folder: Path, kind: str) -> None:
    path = folder / f"{kind}.json"
    compare(path, Tokenizer.from_file(str(path)), kind)


@pytest.mark.parametrize("kind", ["gpt2", "roberta_prefix_space", "llama3", "bert_cased", "t5"])
def test_agrees_without_special_tokens(folder: Path, kind: str) -> None:
    path = folder / f"{kind}.json"
    compare(path, Tokenizer.from_file(str(path)), kind, special=False)


@pytest.mark.parametrize("kind", EVERY_CHARACTER)
def test_agrees_on_every_character(folder: Path, kind: str) -> None:
    path = folder / f"{kind}.json"
    unlike = differences(kind)
    planes = [range(0x110000)[begin : begin + 0x10000] for begin in (0, 0x10000, 0x20000, 0x30000, 0xE0000)]
    characters = [chr(c) for plane in planes for c in plane if not 0xD800 <= c < 0xE000 and chr(c) not in unlike]
    inputs = [" 1\n".join(f"a{c}B" for c in characters[i : i + 200]) for i in range(0, len(characters), 200)]
    check(path, Tokenizer.from_file(str(path)), inputs)


def test_a_megabyte_without_a_space_takes_no_longer_than_others(folder: Path) -> None:
    for kind in ("gpt2", "llama2", "unigram_bytes", "bert_uncased", "word_level"):
        path = folder / f"{kind}.json"
        check(path, Tokenizer.from_file(str(path)), ["the" * 300_000])
