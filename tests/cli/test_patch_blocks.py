"""`patch` on models with an encoder and a decoder, beside what PyTorch found with hooks."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from program import ROOT, done, refused

GOLDEN = ROOT / "tests/golden/patch"
CASES = ("bart", "t5", "whisper")
REPLACEMENTS = ("mean", "zero", "pair")
ROLES = "QKV"
LAYERS, HEADS = 2, 2  # of each block
FIRST = 2  # the first row whose next token counts


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


class Case:
    """A golden case, with its inputs in files."""

    def __init__(self, name: str, folder: Path) -> None:
        self.model = GOLDEN / name
        self.expected = dict(np.load(self.model / "expected.npz"))
        self.components = dict(np.load(self.model / "components.npz"))
        self.folder = folder
        self.heads = [f"{b}.L{i}H{h}" for b in ("encoder", "decoder", "cross") for i in range(LAYERS)
                      for h in range(HEADS)]  # fmt: skip
        self.mlps = [f"encoder.L{i}M" for i in range(LAYERS)] + LAYERS * [""]
        self.mlps += [f"decoder.L{i}M" for i in range(LAYERS)]
        self.targets = self.save("target", self.split("target_ids", "target_lengths"))
        self.is_audio = "features" in self.expected
        names = ("features", "paired_features") if self.is_audio else ("ids", "paired_ids")
        self.sources, self.paired = (
            self.save(name, list(self.expected[name]) if self.is_audio else self.split(name, "lengths"))
            for name in names
        )

    def split(self, name: str, lengths: str) -> list[np.ndarray]:
        return np.split(self.expected[name], np.cumsum(self.expected[lengths])[:-1])

    def save(self, name: str, arrays: list[np.ndarray]) -> list[Path]:
        paths = [self.folder / f"{name}{i}.npy" for i in range(len(arrays))]
        for path, array in zip(paths, arrays, strict=True):
            np.save(path, array)
        return paths

    def words(self, run: str, *more: object) -> list[object]:
        source = ["--features" if self.is_audio else "--ids", *self.sources]
        return ["patch", self.model, *source, "--target-ids", *self.targets, "-o", self.folder / run, "--quiet", *more]

    def edges(self) -> list[tuple[str, str, str]]:
        found = []
        for role in ROLES:
            for s, t in zip(*np.nonzero(self.expected[f"loss_{role}"][0]), strict=True):
                found.append((f"O{role}", self.heads[s], self.heads[t]))
        for s, t in zip(*np.nonzero(self.components["loss_M"][0]), strict=True):
            found.append(("OM", self.heads[s], self.mlps[t]))
        for s, _ in zip(*np.nonzero(self.components["loss_U"][0]), strict=True):
            found.append(("OU", self.heads[s], "U"))
        return found

    def loss(self, row: dict[str, str], replacement: int) -> float:
        letter, s = row["pair"][1], self.heads.index(row["source"])
        if letter in ROLES:
            return float(self.expected[f"loss_{letter}"][replacement, s, self.heads.index(row["target"])])
        t = self.mlps.index(row["target"]) if letter == "M" else 0
        return float(self.components[f"loss_{letter}"][replacement, s, t])

    def edges_file(self, *edges: tuple[str, str, str]) -> Path:
        path = self.folder / "edges.csv"
        path.write_text("pair,source,target\n" + "".join(",".join(edge) + "\n" for edge in edges))
        return path


@pytest.mark.parametrize("name", CASES)
def test_screens_and_cuts_are_those_of_pytorch(name: str, tmp_path: Path) -> None:
    case = Case(name, tmp_path)
    edges = case.edges_file(*case.edges())
    for k, replacement in enumerate(REPLACEMENTS):
        how = ["--pairs-with", *case.paired] if replacement == "pair" else ["--replace", replacement]
        done(*case.words(replacement, *how, "--edges", edges, "--loss-from", FIRST, "--draws", "2"))
        run = tmp_path / replacement
        for role in ROLES:
            screen = np.load(run / f"screen/O{role}.npy")
            np.testing.assert_allclose(screen, case.expected[f"screen_{role}"][k], rtol=0, atol=1e-5)
        rows = rows_of(run / "patch.csv") + rows_of(run / "patch_components.csv")
        assert len(rows) == len(case.edges())
        for row in rows:
            after = case.expected["before"][0] + float(row["effect"])
            assert after == pytest.approx(case.loss(row, k), abs=1e-4), row


def test_edges_are_those_that_relate_calls_earlier(tmp_path: Path) -> None:
    case = Case("bart", tmp_path)
    done("relate", case.model, "-o", tmp_path / "relate", "--tokens-for", "none", "--earlier-only")
    done(*case.words("screen", "--screen-only"))
    for role in ROLES:
        related = ~np.isnan(np.load(tmp_path / f"relate/affinity/pk_O{role}.npy"))
        np.testing.assert_array_equal(np.load(tmp_path / f"screen/screen/O{role}.npy") > 0, related)


def test_chosen_edges_have_controls_between_the_same_layers(tmp_path: Path) -> None:
    case = Case("bart", tmp_path)
    said = done(*case.words("run", "--top", "4", "--draws", "2", "--nodes", "heads,mlp,unembedding"))
    assert "with nothing cut" in said
    rows = rows_of(tmp_path / "run/patch.csv")
    layers = [(row["pair"], row["source"].split("H")[0], row["target"].split("H")[0]) for row in rows]
    chosen = {place for place, row in zip(layers, rows, strict=True) if row["kind"] != "control"}
    assert {place for place, row in zip(layers, rows, strict=True) if row["kind"] == "control"} <= chosen
    assert any(place[2].startswith("cross") for place in chosen)
    for row in rows_of(tmp_path / "run/patch_components.csv"):
        source, target = row["source"].split(".")[0], row["target"].split(".")[0]
        assert target == ("U" if row["pair"] == "OU" else "encoder" if source == "encoder" else "decoder")
        assert source != "encoder" or row["pair"] == "OM"
        assert float(row["overlap"]) > 0
    circuit = json.loads((tmp_path / "run/circuit.json").read_text())
    assert circuit["tokens"] == 28 + 19


def test_answers_are_tokens_of_the_target(tmp_path: Path) -> None:
    case = Case("bart", tmp_path)
    edges = case.edges_file(("OK", "encoder.L0H0", "cross.L1H1"))
    logits = ["--metric", "logit-diff", "--answer", "#7", "--other", "#9", "--edges", edges, "--draws", "2"]
    done(*case.words("last", *logits))
    circuit = json.loads((tmp_path / "last/circuit.json").read_text())
    assert circuit["predictions"] == 3 and circuit["nodes"][1]["name"] == "cross.L1H1"
    labels = np.full(19, -1)
    labels[[5, 13, 18]] = 7  # the last token of each target
    np.save(tmp_path / "labels.npy", labels)
    done(*case.words("labels", "--labels", tmp_path / "labels.npy", "--edges", edges, "--draws", "2"))
    assert json.loads((tmp_path / "labels/circuit.json").read_text())["predictions"] == 3
    np.save(tmp_path / "labels.npy", labels[:-1])
    refused(3, "found 18 labels, expected 19: one per token",
            *case.words("none", "--labels", tmp_path / "labels.npy", "--edges", edges))  # fmt: skip


def test_edges_that_do_not_flow_are_refused(tmp_path: Path) -> None:
    case = Case("bart", tmp_path)
    for edge, why in {
        ("OK", "decoder.L0H0", "cross.L1H0"): "cross.L1H0 takes its keys from the encoder, to which decoder.L0H0",
        ("OV", "decoder.L0H0", "encoder.L1H0"): "encoder.L1H0 takes its values from the encoder",
        ("OQ", "encoder.L0H0", "cross.L0H0"): "cross.L0H0 takes its queries from the decoder, to which encoder.L0H0",
        ("OQ", "encoder.L1H0", "decoder.L0H0"): "decoder.L0H0 takes its queries from the decoder, to which encoder",
        ("OQ", "cross.L1H0", "decoder.L1H0"): "decoder.L1H0 is not in a later layer than cross.L1H0",
        ("OQ", "L0H0", "cross.L0H0"): "the model has no head L0H0: it has 2 encoder and 2 decoder layers",
        ("OM", "encoder.L0H0", "decoder.L0M"): "decoder.L0M does not read after encoder.L0H0 writes",
        ("OM", "cross.L1H0", "decoder.L0M"): "decoder.L0M does not read after cross.L1H0 writes",
        ("OM", "cross.L1H0", "cross.L1M"): "the model has no cross.L1M",
        ("OU", "encoder.L1H0", "U"): "U does not read after encoder.L1H0 writes",
    }.items():  # fmt: skip
        refused(3, f"edges.csv line 2: {why}", *case.words("none", "--edges", case.edges_file(edge)))
    case.targets.pop()
    refused(2, "3 inputs and 2 targets", *case.words("none"))
    case = Case("bart", tmp_path)
    refused(2, "give what it reads with --target", "patch", case.model, "--ids", *case.sources, "-o", tmp_path / "none")
    swapped = [case.paired[1], case.paired[0], case.paired[2]]
    refused(2, "input 0 has 9 tokens and the paired one 14", *case.words("none", "--pairs-with", *swapped))


def test_inspect_says_that_edges_can_be_cut() -> None:
    for name in CASES:
        lines = [line.split()[:2] for line in done("inspect", GOLDEN / name).splitlines()]
        assert ["patch", "yes"] in lines and ["prune", "no"] in lines
