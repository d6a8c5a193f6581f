"""Models with an encoder and a decoder: three blocks of heads."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import headscope
from conftest import ROOT

MODEL = ROOT / "tests/golden/families/t5"
BART = ROOT / "tests/golden/patch/bart"
BLOCKS = ["encoder", "decoder", "cross"]


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> headscope.Capture:
    """Two inputs: that of the golden data, and a shorter one."""
    folder = tmp_path_factory.mktemp("targets")
    expected = np.load(MODEL / "expected.npz")
    np.save(folder / "first.npy", expected["target_ids"])
    np.save(folder / "second.npy", expected["target_ids"].reshape(-1)[:2])
    source = expected["input_ids"].reshape(-1)
    targets = [folder / "first.npy", folder / "second.npy"]
    return headscope.capture(MODEL, ids=[source, source[:3]], target_ids=targets)


def test_a_capture_has_the_maps_of_every_block(captured: headscope.Capture) -> None:
    assert list(captured.blocks) == BLOCKS
    assert captured.pattern is None
    expected = np.load(MODEL / "expected.npz")
    for name, block in captured.blocks.items():
        maps = expected[f"{name}_attentions"]  # [layer, 1, head, query, key]
        assert block.pattern is not None
        np.testing.assert_allclose(block.pattern, maps[:, 0].reshape(-1, *maps.shape[3:]), rtol=0, atol=2e-5)
        assert block.heads[0] == f"{name}.L0H0"
        np.testing.assert_array_equal(block.map(f"{name}.L0H1"), block.pattern[1])


def test_inputs_and_blocks_go_together(captured: headscope.Capture) -> None:
    assert [one.output is not None for one in captured.inputs] == [True, True]
    for name in BLOCKS:
        of_block = captured.blocks[name].inputs
        assert len(of_block) == 2
        for one, other in zip(of_block, captured.inputs, strict=True):
            np.testing.assert_array_equal(one.pattern, other.blocks[name].pattern)
    cross = captured.inputs[1].blocks["cross"].pattern
    assert cross is not None
    assert cross.shape[1:] == (2, 3)
    assert captured.blocks["cross"].blocks == {}


def test_organize_takes_one_block(captured: headscope.Capture, tmp_path: Path) -> None:
    by_object = headscope.organize(captured.blocks["cross"])
    by_name = headscope.organize(captured, block="cross")
    captured.save(tmp_path / "run")
    in_folder = headscope.organize(tmp_path / "run", block="cross")
    for one in (by_name, in_folder):
        for axis in ("head", "query", "key"):
            np.testing.assert_array_equal(one.affinity[axis], by_object.affinity[axis])
    with pytest.raises(headscope.ArgumentError, match=r"has the maps of three blocks; choose one with block='encoder'"):
        headscope.organize(captured)
    with pytest.raises(headscope.ArgumentError, match=r"several blocks; choose encoder or decoder or cross"):
        headscope.organize(captured.inputs[1])


def test_a_target_may_be_a_list() -> None:
    found = headscope.capture(MODEL, ids=[5, 6, 7], target_ids="0,3,4,2").blocks["cross"].pattern
    assert found is not None
    assert found.shape[1:] == (4, 3)


def test_patch_cuts_edges_within_and_between_blocks() -> None:
    patch = partial(headscope.patch, BART, ids=[5, 6, 7, 8], target_ids="2,7,9,11", draws=2)
    found = patch(top=3)
    names = [*found.edges["source"], *found.edges["target"]]
    assert {str(name).split(".")[0] for name in names} == set(BLOCKS)
    assert found.screen["OK"].shape == (12, 12)
    given = patch(edges=[("OK", "encoder.L0H1", "cross.L1H0")])
    assert list(given.edges["target"]) == ["cross.L1H0"]
    with pytest.raises(headscope.ArgumentError, match="takes its keys from the encoder, to which decoder"):
        patch(edges=[("OK", "decoder.L0H1", "cross.L1H0")])
