"""Straight from live models. Runs where torch and transformers are installed: make python-torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def gpt2() -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_embd=64, n_layer=3, n_head=4, n_positions=64, vocab_size=101)
    return transformers.GPT2LMHeadModel(config).eval()


@pytest.fixture(scope="module")
def llama() -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=8,
                                      num_key_value_heads=2, intermediate_size=96, vocab_size=101)
    return transformers.LlamaForCausalLM(config).eval()


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_live_model_is_the_saved_one(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    module = request.getfixturevalue(name)
    module.save_pretrained(tmp_path / "saved")
    live, saved = headscope.from_torch(module), headscope.load(tmp_path / "saved")
    assert live.heads == saved.heads
    for role in "QKVO":
        np.testing.assert_array_equal(live.weights(1, role), saved.weights(1, role))
    mine, theirs = headscope.relate(live, tokens_for="none"), headscope.relate(saved, tokens_for="none")
    assert mine.files == theirs.files
    assert all(mine._files.content(file) == theirs._files.content(file) for file in mine.files)
    ids = [3, 14, 15, 92, 65, 35, 3, 14, 15]
    np.testing.assert_array_equal(headscope.capture(live, ids=ids).pattern, headscope.capture(saved, ids=ids).pattern)


def test_weights_are_not_copied(gpt2: Any) -> None:
    live = headscope.from_torch(gpt2)
    weight = gpt2.transformer.h[0].attn.c_proj.weight
    before = live.weights(0, "O", weights="raw").copy()
    with torch.no_grad():
        weight.mul_(2)
    after = live.weights(0, "O", weights="raw")
    with torch.no_grad():
        weight.div_(2)
    np.testing.assert_array_equal(after, 2 * before)


def test_weights_stay_as_they_are_after_all_analyses() -> None:
    """Where memory is short, weights are given back to the system: those of files, not those of a program."""
    config = transformers.GPT2Config(n_embd=256, n_layer=3, n_head=4, n_positions=64, vocab_size=101)
    module = transformers.GPT2LMHeadModel(config).eval()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    live = headscope.from_torch(module)
    headscope.relate(live, memory="12M")
    headscope.capture(live, ids=[1, 2, 3, 4], memory="8M")
    headscope.detect(live, sequences=2, memory="8M")
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_a_live_model_is_pruned_without_writing_it(gpt2: Any, tmp_path: Path) -> None:
    gpt2.save_pretrained(tmp_path)
    ids = [[3, 14, 15, 92, 65, 35, 3, 14, 15], [1, 2, 3, 1, 2, 3, 1, 2, 3]]
    live = headscope.from_torch(gpt2)
    mine = headscope.prune(live, ids=ids, seeds=2, write="none")
    theirs = headscope.prune(tmp_path, ids=ids, seeds=2, write="none")
    for name in ("ranking.csv", "curve.csv"):
        assert mine._files.content(name) == theirs._files.content(name)
    with pytest.raises(headscope.UnsupportedError, match=r"is in memory.*write='none' ranks and measures"):
        headscope.prune(live, ids=ids)


def test_bfloat16(gpt2: Any, tmp_path: Path) -> None:
    narrow = transformers.GPT2LMHeadModel(gpt2.config).to(torch.bfloat16)
    narrow.save_pretrained(tmp_path)
    live, saved = headscope.from_torch(narrow), headscope.load(tmp_path)
    assert live.info["dtypes"] == ["BF16"]
    np.testing.assert_array_equal(live.weights(2, "V"), saved.weights(2, "V"))


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_patterns_of_torch_are_ours(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    module = request.getfixturevalue(name)
    ids = torch.tensor([[3, 14, 15, 92, 65, 35], [1, 2, 3, 1, 2, 3]])
    implementation = module.config._attn_implementation
    theirs = headscope.capture_torch(module, ids)
    assert module.config._attn_implementation == implementation
    mine = headscope.capture(headscope.from_torch(module), ids=ids)
    assert len(theirs.inputs) == len(mine.inputs) == 2
    for a, b in zip(theirs.inputs, mine.inputs, strict=True):
        assert a.heads == b.heads
        assert a.description["mask"] == "causal"
        assert a.pattern is not None and b.pattern is not None and a.output is not None and b.output is not None
        np.testing.assert_allclose(a.pattern, b.pattern, atol=2e-6)
        np.testing.assert_allclose(a.output, b.output, atol=2e-5)
    assert headscope.organize(theirs, iterations=1).trees["head"].names == mine.heads
    theirs.save(tmp_path)
    np.testing.assert_array_equal(headscope.Capture.open(tmp_path).pattern, theirs.pattern)


def test_bert_and_vit(tmp_path: Path) -> None:
    torch.manual_seed(0)
    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    bert = transformers.BertModel(transformers.BertConfig(vocab_size=50, **small)).eval()
    found = headscope.capture_torch(bert, {"input_ids": torch.tensor([[1, 2, 3, 4]])})
    assert found.pattern is not None and found.pattern.shape == (8, 4, 4)
    assert found.description["mask"] == "none"
    vit = transformers.ViTModel(transformers.ViTConfig(image_size=32, patch_size=8, **small)).eval()
    pixels = torch.randn(1, 3, 32, 32)
    seen = headscope.capture_torch(vit, pixels)
    mine = headscope.capture(headscope.from_torch(vit), pixels=pixels)
    assert seen.pattern is not None and mine.pattern is not None
    np.testing.assert_allclose(seen.pattern, mine.pattern, atol=2e-6)


def test_arrays_of_torch_are_taken(gpt2: Any) -> None:
    maps = torch.rand(3, 10, 10)
    from_torch, from_numpy = headscope.organize(maps), headscope.organize(maps.numpy())
    assert all(from_torch._files.content(file) == from_numpy._files.content(file) for file in from_numpy.files)
    headscope.organize(maps.to(torch.bfloat16))


def test_what_cannot_be_taken(gpt2: Any) -> None:
    with pytest.raises(headscope.ArgumentError, match="has no config"):
        headscope.from_torch(torch.nn.Linear(2, 2))
    with torch.device("meta"):
        empty = transformers.GPT2LMHeadModel(gpt2.config)
    with pytest.raises(headscope.UnsupportedError, match="meta device"):
        headscope.from_torch(empty)
    with pytest.raises(headscope.UnsupportedError, match="no module gave an attention pattern"):
        headscope.capture_torch(_Plain(), {"x": torch.zeros(1)})


class _Plain(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    def forward(self, x: Any) -> tuple[Any]:
        return (x,)
