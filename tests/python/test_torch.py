"""Straight from live models. Runs where torch and transformers are installed: make python-torch."""

from __future__ import annotations

import os
import subprocess
import sys
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


def same(one: headscope.Result, other: headscope.Result) -> bool:
    return one.files == other.files and all(one._files.content(f) == other._files.content(f) for f in one.files)


# Runs with a cache of its own that has one model: transformers and TransformerLens read its place when imported.
_FOUR_NAMES = """
import sys
import tokenizers, torch, transformers
import headscope

cache, kind = sys.argv[1:]
folder = f"{cache}/models--me--tiny/snapshots/" + "0123456789abcdef" * 2 + "01234567"
torch.manual_seed(0)
sizes = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=8, intermediate_size=96, vocab_size=101)
module = {
    "gpt2": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_embd=64, n_layer=2, n_head=4, n_positions=64, vocab_size=101)),
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(num_key_value_heads=2, **sizes)),
    "gpt_neox": lambda: transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**sizes)),
    "bert": lambda: transformers.BertForMaskedLM(transformers.BertConfig(**sizes)),
}[kind]()
module.save_pretrained(folder)
words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<s>": 0, "a": 1, "b": 2, "c": 3}, unk_token="<s>"))
words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
transformers.PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="<s>", pad_token="<s>",
                                     unk_token="<s>").save_pretrained(folder)
(headscope._run.Path(folder).parents[1] / "refs").mkdir()
(headscope._run.Path(folder).parents[1] / "refs/main").write_text(headscope._run.Path(folder).name)

given = {"path": folder, "name": "me/tiny", "model": headscope.load("me/tiny"),
         "module": type(module).from_pretrained("me/tiny")}
try:
    from transformer_lens.model_bridge import TransformerBridge
except ImportError:
    print("no transformer_lens")
else:
    given["bridge"] = TransformerBridge.boot_transformers("me/tiny", device="cpu")
    given["compatible"] = TransformerBridge.boot_transformers("me/tiny", device="cpu")
    given["compatible"].enable_compatibility_mode(no_processing=True)
results = {name: [headscope.relate(model, draws=4), headscope.capture(model, "a b c a b c"),
                  headscope.detect(model, sequences=2, length=8),
                  headscope.patch(model, [1, 2, 3, 1, 2, 3], top=4, draws=2) if kind != "bert" else None,
                  headscope.prune(model, [1, 2, 3, 1], criteria="norm", write="none") if kind != "bert" else None]
           for name, model in given.items()}
for name, found in results.items():
    for one, other in zip(found, results["path"], strict=True):
        assert (one is None) == (other is None)
        if one is None:
            continue
        assert one.files == other.files, (name, one.command)
        for file in one.files:
            if file == "pruned.json":
                continue  # names the model
            assert one._files.content(file) == other._files.content(file), (name, one.command, file)
print("the same bits:", *given)
"""


@pytest.mark.parametrize("kind", ["gpt2", "llama", "gpt_neox", "bert"])
def test_bridge_module_path_and_hub_name_give_the_same_bits(kind: str, tmp_path: Path) -> None:
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}
    done = subprocess.run([sys.executable, "-c", _FOUR_NAMES, tmp_path, kind], capture_output=True, text=True,
                          env=environment)
    assert done.returncode == 0, done.stderr
    assert "the same bits: path name model module" in done.stdout
    if "no transformer_lens" in done.stdout:
        pytest.skip("TransformerLens is not installed: the bridge was not compared")
    assert "module bridge compatible" in done.stdout


def bridge_of(module: Any, folder: Path) -> Any:
    lens = pytest.importorskip("transformer_lens.model_bridge", reason="TransformerLens is not installed")
    tokenizers = pytest.importorskip("tokenizers")
    module.save_pretrained(folder)
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<s>": 0, "a": 1}, unk_token="<s>"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="<s>",
                                                     pad_token="<s>", unk_token="<s>")
    tokenizer.save_pretrained(folder)
    tokenizer.init_kwargs["name_or_path"] = str(folder)  # TransformerLens asks for it
    return lens.TransformerBridge.boot_transformers(str(folder), hf_model=module, tokenizer=tokenizer, device="cpu")


@pytest.fixture
def bridge(tmp_path: Path) -> Any:
    config = transformers.GPT2Config(n_embd=64, n_layer=2, n_head=4, n_positions=64, vocab_size=101)
    return bridge_of(transformers.GPT2LMHeadModel(config).eval(), tmp_path)


def test_a_bridge_whose_weights_are_processed_is_refused(bridge: Any) -> None:
    assert headscope.load(bridge).family == "gpt2"
    assert not headscope.load(bridge).info["tensors_missing"]
    bridge.enable_compatibility_mode()
    with pytest.raises(headscope.UnsupportedError, match=r"^model: the bridge's weights are processed .*Hub name"):
        headscope.relate(bridge)


def test_an_edit_in_the_bridge_is_seen_or_refused(bridge: Any, tmp_path: Path) -> None:
    # For GPT-2, queries in the bridge are a part of the module's matrix ...
    before = headscope.load(bridge).weights(1, "Q", weights="raw").copy()
    with torch.no_grad():
        bridge.blocks[1].attn.q.weight.mul_(2)
    np.testing.assert_array_equal(headscope.load(bridge).weights(1, "Q", weights="raw"), 2 * before)
    # ... for GPT-NeoX they are a copy, with which the bridge computes.
    config = transformers.GPTNeoXConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                        intermediate_size=96, vocab_size=101)
    neox = bridge_of(transformers.GPTNeoXForCausalLM(config).eval(), tmp_path / "neox")
    assert headscope.load(neox).family == "gpt_neox"
    with torch.no_grad():
        neox.blocks[1].attn.q.weight.mul_(2)
    with pytest.raises(headscope.UnsupportedError, match=r"^model: .*\.q\.weight of the bridge was changed"):
        headscope.relate(neox)


def test_an_edit_of_the_module_is_seen(bridge: Any, tmp_path: Path) -> None:
    with torch.no_grad():
        bridge.blocks[1].mlp.out.weight.mul_(2)
    assert same(headscope.relate(bridge, tokens_for="none"), headscope.relate(tmp_path, tokens_for="none"))
    assert not same(headscope.capture(bridge, [1, 2, 3]), headscope.capture(tmp_path, [1, 2, 3]))


def test_towers(tmp_path: Path) -> None:
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    config = transformers.CLIPConfig(vision_config={**sizes, "image_size": 32, "patch_size": 8},
                                     text_config={**sizes, "vocab_size": 99})
    module = transformers.CLIPModel(config).eval()
    module.save_pretrained(tmp_path)
    for tower in ("text", "vision"):
        live = headscope.relate(module, tower=tower, tokens_for="none")
        assert same(live, headscope.relate(tmp_path, tower=tower, tokens_for="none"))
    assert headscope.load(module, tower="vision").info["modality"] == "image"


def test_wrapped_modules(gpt2: Any) -> None:
    expected = headscope.relate(gpt2)
    assert same(headscope.relate(torch.nn.DataParallel(gpt2)), expected)
    assert same(headscope.relate(torch.compile(gpt2)), expected)


def test_ids_and_pixels_of_torch(gpt2: Any) -> None:
    expected = headscope.capture(gpt2, [[3, 14, 15], [9, 2, 6]])
    assert same(headscope.capture(gpt2, torch.tensor([[3, 14, 15], [9, 2, 6]])), expected)
    assert same(headscope.capture(gpt2, [torch.tensor([3, 14, 15]), torch.tensor([9, 2, 6])]), expected)
    assert same(headscope.capture(gpt2, list(torch.tensor([3, 14, 15]))), headscope.capture(gpt2, [3, 14, 15]))
    padded = {"input_ids": [[3, 14, 15, 0], [9, 2, 6, 0]], "attention_mask": [[1, 1, 1, 0]] * 2}
    batch = transformers.BatchEncoding(padded, tensor_type="pt")
    assert same(headscope.capture(gpt2, batch), expected)
    with pytest.raises(headscope.ArgumentError, match=r"^text: the tensor is on the meta device and has no values$"):
        headscope.capture(gpt2, torch.empty(4, dtype=torch.int64, device="meta"))
    with pytest.raises(headscope.ArgumentError, match=r"^text: True and False are not token ids|^text: bool of shape"):
        headscope.capture(gpt2, torch.tensor([True, False]))


def test_things_of_torch_that_are_no_models(gpt2: Any) -> None:
    expected = "expected a folder, a Hub name, a Model, a Hugging Face module or a TransformerBridge"
    for given, said in [
        (gpt2.config, f"a configuration has no weights, {expected}"),
        (type(gpt2), f"the class GPT2LMHeadModel has no weights, {expected}"),
        (gpt2.state_dict(), f"tensors without a config do not say what model they are of, {expected}"),
        (torch.nn.Linear(2, 2), "the module has no config; give headscope.from_torch(module, config=...), what its "
                                "config.json would hold"),
        (torch.zeros(3), f"{expected}, found a Tensor"),
    ]:
        with pytest.raises(headscope.ArgumentError) as raised:
            headscope.relate(given)
        assert str(raised.value) == f"model: {said}"


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
