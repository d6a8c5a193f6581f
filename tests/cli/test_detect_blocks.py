"""Detectors on models with an encoder and a decoder, against a reference in NumPy.

The reference draws the same sequences, takes the maps of `capture` on them, which other tests compare with
transformers, and averages their entries by the definitions of docs/capture.md.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = ROOT / os.environ.get("HEADSCOPE", "build/headscope")
FAMILIES = ROOT / "tests/golden/families"
LENGTH, SEQUENCES, SEED = 6, 3, 11
WORD = (1 << 64) - 1


def headscope(*words: object) -> str:
    result = subprocess.run([HEADSCOPE, *map(str, words)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


class Random:
    """The generator of base/random.h: xoshiro256++, seeded by splitmix64."""

    def __init__(self, seed: int, *stream: int) -> None:
        self.state = [0, 0, 0, 0]
        mixed = self._splitmix(seed)[1]
        for part in stream:
            mixed = self._splitmix(mixed ^ ((part + 0x9E3779B97F4A7C15) & WORD))[1]
        for i in range(4):
            mixed, self.state[i] = self._splitmix(mixed)

    @staticmethod
    def _splitmix(state: int) -> tuple[int, int]:
        state = (state + 0x9E3779B97F4A7C15) & WORD
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
        return state, z ^ (z >> 31)

    def bits(self) -> int:
        def rotate(x: int, k: int) -> int:
            return ((x << k) | (x >> (64 - k))) & WORD

        a, b, c, d = self.state
        found = (rotate((a + d) & WORD, 23) + a) & WORD
        shifted = (b << 17) & WORD
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        self.state = [a, b, c, rotate(d, 45)]
        return found

    def index(self, count: int) -> int:
        limit = WORD - WORD % count
        value = self.bits()
        while value >= limit:
            value = self.bits()
        return value % count


def sequence(vocabulary: int, number: int, bos: int | None) -> list[int]:
    random = Random(SEED, number)
    half: list[int] = []
    while len(half) < LENGTH // 2:
        token = random.index(vocabulary)
        if token != bos:
            half.append(token)
    return half + half


def mean(entries: list[float]) -> float:
    return float(np.mean(entries))


def score(block: str, detector: str, a: np.ndarray, bos: int) -> float:
    """The score of one map. `bos`: tokens before the sequence in the source; in the target there is one."""
    n, m = LENGTH, LENGTH // 2
    q = 0 if block == "encoder" and bos == 0 else 1  # queries before the sequence
    k = bos if block == "cross" else q
    if detector == "previous":
        return mean([a[q + t, k + t - 1] for t in range(1, n)])
    if detector == "identity":
        return mean([a[q + t, k + t] for t in range(n)])
    if detector == "duplicate":
        return mean([a[q + t, k + t - m] for t in range(m, n)])
    if detector == "induction":
        return mean([a[q + t, k + t - m + 1] for t in range(m, n)])
    if detector == "next":
        return mean([a[q + t, k + t + 1] for t in range(n - 1)])
    return mean([a[q + t, 0] for t in range(n) if block == "cross" or q + t > 0])


DETECTORS = {
    "encoder": ("previous", "identity", "next", "first"),
    "decoder": ("previous", "identity", "duplicate", "induction"),
    "cross": ("identity", "next", "first"),
}


# Marian has an embedding per stack, of which that of the source has 18 tokens.
@pytest.mark.parametrize(("name", "vocabulary"), [("t5", 20), ("bart", 20), ("marian", 18)])
def test_scores_are_means_of_entries_of_the_maps(name: str, vocabulary: int, tmp_path: Path) -> None:
    model = FAMILIES / name
    config = json.loads((model / "config.json").read_text())
    bos, start = config.get("bos_token_id"), config["decoder_start_token_id"]
    ids = [sequence(vocabulary, i, bos) for i in range(SEQUENCES)]
    words: list[object] = []
    for one in ids:
        source = one if bos is None else [bos, *one]
        words += ["--ids", ",".join(map(str, source)), "--target-ids", ",".join(map(str, [start, *one]))]
    headscope("capture", model, "-o", tmp_path / "maps", *words)
    options = ["--sequences", SEQUENCES, "--length", LENGTH, "--second-length", 0, "--seed", SEED, "--labels"]
    headscope("detect", model, "-o", tmp_path / "run", *options)
    with (tmp_path / "run/detectors.csv").open() as file:
        rows = {row["head"]: row for row in csv.DictReader(file)}
    compared = 0
    for block, used in DETECTORS.items():
        folders = [tmp_path / "maps" / block / where for where in ("", "inputs/1", "inputs/2")]
        maps = [np.load(folder / "pattern.npy") for folder in folders]
        heads = json.loads((folders[0] / "tokens.json").read_text())["heads"]
        for i, head in enumerate(heads):
            assert rows[head]["block"] == block
            for detector in ("previous", "identity", "duplicate", "induction", "next", "first"):
                if detector not in used:
                    assert rows[head][detector] == ""
                    continue
                found = [score(block, detector, one[i], 0 if bos is None else 1) for one in maps]
                assert float(rows[head][detector]) == pytest.approx(np.mean(found), abs=1e-6)
                assert float(rows[head][f"{detector}_sd"]) == pytest.approx(np.std(found, ddof=1), abs=1e-6)
                compared += 1
    assert compared > 0 and len(rows) == compared_heads(config)
    with (tmp_path / "run/detector_lengths.csv").open() as file:
        lengths = [(row["block"], row["detector"], float(row["chance"])) for row in csv.DictReader(file)]
    assert {(block, detector) for block, detector, _ in lengths} == {(b, d) for b, ds in DETECTORS.items() for d in ds}
    keys = LENGTH + (bos is not None)
    for block, detector, chance in lengths:
        if block != "decoder":
            assert chance == pytest.approx(1 / keys)
        elif detector == "induction":
            assert chance == pytest.approx(np.mean([1 / (2 + t) for t in range(LENGTH // 2, LENGTH)]))
    labels = json.loads((tmp_path / "run/labels.json").read_text())
    assert set(labels["classes"]) == {"previous", "identity", "duplicate", "induction", "next", "first"}


def compared_heads(config: dict[str, int]) -> int:
    layers = config.get("num_layers", config.get("encoder_layers", 0))
    decoder = config.get("num_decoder_layers", config.get("decoder_layers", 0))
    return (layers + 2 * decoder) * config.get("num_heads", config.get("decoder_attention_heads", 0))


def test_cross_attention_to_audio_has_no_diagonal(tmp_path: Path) -> None:
    said = headscope("detect", FAMILIES / "whisper", "-o", tmp_path, "--sequences", 2, "--length", 6)
    assert "in the encoder" in said and "in cross-attention" in said
    with (tmp_path / "detectors.csv").open() as file:
        for row in csv.DictReader(file):
            used = {name for name in ("previous", "identity", "duplicate", "induction", "next", "first") if row[name]}
            assert used == ({"first"} if row["block"] == "cross" else set(DETECTORS[row["block"]]))


def test_a_model_that_names_no_start_says_so(tmp_path: Path) -> None:
    shutil.copy(FAMILIES / "bart/model.safetensors", tmp_path)
    config = json.loads((FAMILIES / "bart/config.json").read_text())
    del config["decoder_start_token_id"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    result = subprocess.run([HEADSCOPE, "detect", tmp_path, "-o", tmp_path / "run"], capture_output=True, text=True,
                            check=False)  # fmt: skip
    assert result.returncode == 3
    assert "has no 'decoder_start_token_id'" in result.stderr
