"""Models with an encoder and a decoder on the command line: three blocks of heads in every file."""

from __future__ import annotations

import base64
import csv
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from program import ROOT, done, refused

FAMILIES = ROOT / "tests/golden/families"
BLOCKS = ("encoder", "decoder", "cross")


def inputs_of(name: str, folder: Path) -> list[object]:
    expected = np.load(FAMILIES / name / "expected.npz")
    np.save(folder / "target.npy", expected["target_ids"])
    source = "input_ids" if "input_ids" in expected else "input_features"
    np.save(folder / "source.npy", expected[source])
    option = "--ids" if source == "input_ids" else "--features"
    return [option, folder / "source.npy", "--target-ids", folder / "target.npy"]


@pytest.mark.parametrize("name", ["t5", "umt5", "bart", "marian", "m2m_100", "whisper"])
def test_capture_writes_the_maps_of_every_block(name: str, tmp_path: Path) -> None:
    expected = np.load(FAMILIES / name / "expected.npz")
    done("capture", FAMILIES / name, "-o", tmp_path / "run", *inputs_of(name, tmp_path))
    for block in BLOCKS:
        maps = expected[f"{block}_attentions"]  # [layer, 1, head, query, key]
        found = np.load(tmp_path / "run" / block / "pattern.npy")
        np.testing.assert_allclose(found, maps[:, 0].reshape(-1, *maps.shape[3:]), rtol=0, atol=2e-5)
        about = json.loads((tmp_path / "run" / block / "tokens.json").read_text())
        assert about["heads"][0] == f"{block}.L0H0"
        assert about["mask"] == ("causal" if block == "decoder" else "none")
        assert len(about["tokens"]) == found.shape[2]
        assert len(about.get("query_tokens", about["tokens"])) == found.shape[1]
    np.testing.assert_allclose(np.load(tmp_path / "run/output.npy"), expected["output"][0], rtol=0, atol=1e-4)
    with (tmp_path / "run/attention.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["block"] for row in rows] == sorted((row["block"] for row in rows), key=BLOCKS.index)
    assert all((row["previous"] in ("", "nan")) == (row["block"] == "cross") for row in rows)


def test_maps_of_one_block_are_organized(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done("capture", FAMILIES / "t5", "-o", run, *inputs_of("t5", tmp_path))
    refused(2, "--block encoder, --block decoder, --block cross", "organize", run, "-o", tmp_path / "none")
    refused(2, "has no maps of a block 'cross'", "organize", run / "cross", "--block", "cross", "-o", tmp_path / "none")
    done("organize", run, "--block", "cross", "-o", tmp_path / "cross", "--controls", "0")
    tree = json.loads((tmp_path / "cross/trees/query.json").read_text())
    assert tree["n"] == np.load(run / "cross/pattern.npy").shape[1]


def page_of(run: Path, page: Path, *options: object) -> dict[str, Any]:
    """Returns the main data of the page of a run."""
    done("report", run, "-o", page, *options)
    html = page.read_text()
    blocks = re.findall(r'<script type="application/octet-stream" id="block-\d+">([^<]*)</script>', html)
    (number,) = re.findall(r'name="headscope-main" content="(\d+)"', html)
    page_data: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(blocks[int(number)])))
    return page_data


@pytest.mark.parametrize("name", ["t5", "whisper"])
def test_the_page_has_the_maps_of_every_block(name: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done("relate", FAMILIES / name, "-o", run, "--tokens-for", "none")
    done("capture", FAMILIES / name, "-o", run, *inputs_of(name, tmp_path))
    done("organize", run, "--block", "cross", "-o", run, "--controls", "0")
    main = page_of(run, tmp_path / "page.html", "--keep", "cross.L0H1")
    assert [part["folder"] for part in main["inputs"]] == [f"{block}/" for block in BLOCKS]
    for part, block in zip(main["inputs"], BLOCKS, strict=True):
        shape = np.load(run / block / "pattern.npy").shape
        assert part["pattern"]["maps"]["shape"] == list(shape)
        assert ("rows" in part["pattern"]) == (block == "cross")
        assert len(part["summary"]["entropy"]) == shape[0]
    assert main["main_input"] == {"organize": 2}
    refused(2, "cross.L7H0 is not among the heads", "report", run, "-o", tmp_path / "x.html", "--keep", "cross.L7H0")


def test_inputs_and_targets_are_paired(tmp_path: Path) -> None:
    model, run = FAMILIES / "t5", tmp_path / "run"
    np.save(tmp_path / "two.npy", np.array([[3, 4, 5], [6, 7, 8]]))
    np.save(tmp_path / "one.npy", np.array([0, 4]))
    ids = ["--ids", tmp_path / "two.npy"]
    refused(2, "give what it reads with --target", "capture", model, "-o", run, *ids)
    refused(2, "2 inputs and 1 target", "capture", model, "-o", run, *ids, "--target-ids", tmp_path / "one.npy")
    llama = FAMILIES / "gemma"
    refused(3, "has no decoder", "capture", llama, "-o", run, *ids, "--target-ids", tmp_path / "two.npy")
    done("capture", model, "-o", run, *ids, "--target-ids", tmp_path / "one.npy", tmp_path / "one.npy")
    assert np.load(run / "cross/inputs/1/pattern.npy").shape == (2, 2, 3)
    refused(3, "use --features", "capture", FAMILIES / "whisper", "-o", run, *ids, "--target-ids", tmp_path / "one.npy")


def test_relate_compares_what_is_in_the_same_stream(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done("relate", FAMILIES / "t5", "-o", run, "--top", "1000", "--tokens-for", "none")
    with (run / "heads.csv").open() as file:
        heads = list(csv.DictReader(file))
    assert [head["head"] for head in heads] == [
        f"{block}.L{layer}H{index}"
        for block, layers in (("encoder", 2), ("decoder", 1), ("cross", 1))
        for layer in range(layers)
        for index in range(2)
    ]
    with (run / "edges.csv").open() as file:
        edges = {
            (row["pair"], row["source"].split("H")[0], row["target"].split("H")[0]) for row in csv.DictReader(file)
        }
    assert edges == {
        *((f"O{role}", "encoder.L0", "encoder.L1") for role in "QKV"),
        *((f"O{role}", f"encoder.L{layer}", "cross.L0") for role in "KV" for layer in (0, 1)),
        ("OQ", "decoder.L0", "cross.L0"),
    }
    affinities = np.load(run / "affinity/pk_OQ.npy")
    streams = np.array([head["block"] == "encoder" for head in heads])
    assert (np.isnan(affinities) == (streams[:, None] != streams[None])).all()


def test_the_same_roles_are_compared_from_earlier_to_later(tmp_path: Path) -> None:
    for flags in ([], ["--earlier-only"]):
        run = tmp_path / ("all" + "".join(flags))
        words = ["--pairs", "QQ,KK", "--tokens-for", "none", "--metric", "pk,max-cos", *flags]
        done("relate", FAMILIES / "t5_gated", "-o", run, *words)
    for name in ("pk_QQ", "pk_KK", "max-cos_QQ"):
        every = np.load(tmp_path / f"all/affinity/{name}.npy")
        later = np.load(tmp_path / f"all--earlier-only/affinity/{name}.npy")
        present = ~np.isnan(later)
        np.testing.assert_array_equal(later[present], every[present])
        # encoder 0 (heads 0, 1), decoder 0 and 1 (2 to 5), cross 0 and 1 (6 to 9)
        if name.endswith("QQ"):  # cross-attention of layer 0 precedes self-attention of layer 1
            assert present[6:8, 4:6].all() and not present[4:6, 6:8].any() and not present[:2].any()
        else:  # K of cross-attention reads the encoder
            assert present[:2, 6:].all() and not present[6:8, 4:6].any()
        assert not (present & present.T).any()


def test_commands_that_cannot_take_them_say_so(tmp_path: Path) -> None:
    model = FAMILIES / "bart"
    refused(3, "which --nodes does not take", "relate", model, "-o", tmp_path / "run", "--nodes", "heads,mlp")
    refused(3, "which --neurons does not take", "relate", model, "-o", tmp_path / "run", "--neurons", "3")
    said = done("inspect", model)
    assert "6 of attention: 2 encoder, 2 decoder, 2 cross" in said
    said_of = dict(line.split()[:2] for line in said.splitlines() if len(line.split()) > 1)
    assert (said_of["patch"], said_of["prune"]) == ("yes", "no")


def test_an_ablated_head_changes_the_output(tmp_path: Path) -> None:
    said = done(
        "capture", FAMILIES / "bart", "-o", tmp_path / "run", *inputs_of("bart", tmp_path), "--ablate", "cross.L1H0",
        "--heads", "cross.L1H0",
    )  # fmt: skip
    assert "Without cross.L1H0: loss" in said
    assert np.load(tmp_path / "run/cross/pattern.npy").shape[0] == 1
    assert not (tmp_path / "run/encoder").exists()
