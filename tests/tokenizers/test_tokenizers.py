"""Compares headscope's tokenizers with Hugging Face's, id for id and offset for offset, on thousands of texts a kind."""

from __future__ import annotations

import json
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
    return [(i, places[begin], places[end]) for i, (begin, end) in zip(result.ids, result.offsets)]


def special_tokens(path: Path) -> list[str]:
    return [token["content"] for token in json.loads(path.read_text())["added_tokens"]]


def compare(path: Path, special: bool) -> None:
    tokenizer = Tokenizer.from_file(str(path))
    inputs = [text for text in texts(special_tokens(path), COUNT) if comparable(text)]
    assert len(inputs) >= 0.9 * COUNT
    results = encode(path, inputs, *([] if special else ["none"]))
    wrong = []
    for text, found in zip(inputs, results):
        wanted = expected(tokenizer, text, special)
        if found != wanted:
            wrong.append((text, found, wanted))
    assert not wrong, f"{len(wrong)} of {len(inputs)}, the first: {wrong[0]}"


def comparable(text: str) -> bool:
    return True


@pytest.mark.parametrize("kind", make_tokenizers.KINDS)
def test_agrees_with_tokenizers(folder: Path, kind: str) -> None:
    compare(folder / f"{kind}.json", special=True)
