"""Tests of tools/make_checkpoint.py. Need numpy, safetensors and pytest."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import make_checkpoint  # noqa: E402
from checkpoint_families import FAMILIES  # noqa: E402
from checkpoint_sizes import PRESETS, resolve  # noqa: E402

HF_NAMES = ROOT / "tests" / "golden" / "hf_names.json"
TINY = "--layers 2 --d-model 24 --heads 4 --d-mlp 24 --vocab 40 --positions 32 --image 8 --patch 4"
TINY_LLAMA = f"--family llama {TINY} --kv-heads 2"


def make(folder: Path, arguments: str) -> int:
    return make_checkpoint.main([str(folder), *arguments.split()])


def shapes_of(folder: Path) -> dict[str, list[int]]:
    shapes: dict[str, list[int]] = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "np") as file:
            shapes |= {key: file.get_slice(key).get_shape() for key in file.keys()}  # noqa: SIM118 - not a dict
    return shapes


def read_config(folder: Path) -> dict:
    return json.loads((folder / "config.json").read_text())


def value_count(preset: str) -> int:
    sizes = {key: value for key, value in PRESETS[preset].items() if key not in ("family", "dtype", "config")}
    family = PRESETS[preset]["family"]
    tensors = make_checkpoint.checkpoint_tensors(family, resolve(family, sizes))
    return sum(int(np.prod(tensor.shape)) for tensor in tensors)


# --- Names and shapes ------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_loads_with_the_safetensors_package(tmp_path: Path, family: str) -> None:
    assert make(tmp_path / "m", f"--family {family} {TINY}") == 0
    tensors = load_file(tmp_path / "m" / "model.safetensors")
    assert all(np.isfinite(values).all() and values.any() for values in tensors.values())
    config = read_config(tmp_path / "m")
    assert "$" not in json.dumps(config)
    assert config.get("model_type", "timm_vit") == family


# Case of tests/golden/make_hf_checkpoints.py -> our family and its tiny config.
_SIZES = "--layers 2 --d-model 24 --heads 4 --d-mlp 16 --vocab 40 --positions 32"
_GROUPED = _SIZES + " --kv-heads 2"
_WIDE = _GROUPED + " --head-dim 8"
_IMAGE = "--layers 2 --d-model 24 --heads 4 --d-mlp 16 --image 8 --patch 4 --classes 3"
_OTHER = "--other-layers 1 --other-heads 4 --other-d-mlp 16"
_DINO = _IMAGE.replace("--d-mlp 16", "--d-mlp 24")
HF_CASES = {
    "gpt2_bare": f"gpt2 {_SIZES}",
    "gpt_neox": f"gpt_neox {_SIZES} --d-model 32",
    "gptj": f"gptj {_SIZES}",
    "opt": f"opt {_SIZES}",
    "llama": f"llama {_WIDE}",
    "mistral": f"mistral {_WIDE}",
    "qwen2": f"qwen2 {_GROUPED}",
    "qwen3": f"qwen3 {_WIDE}",
    "phi3": f"phi3 {_GROUPED}",
    "gemma2": f"gemma2 {_WIDE} --layers 3",
    "gemma3_text": f"gemma3_text {_WIDE}",
    "gemma3": f"gemma3 {_WIDE} --image 8 --patch 4 --other-d-model 24 {_OTHER}",
    "bert": f"bert {_SIZES}",
    "roberta": f"roberta {_SIZES}",
    "distilbert": f"distilbert {_SIZES}",
    "vit": f"vit {_IMAGE}",
    "deit": f"deit {_IMAGE}",
    "clip": f"clip {_IMAGE} --vocab 40 --positions 32 --projection 20 --other-d-model 16 {_OTHER}",
    "clip_vision": f"clip_vision_model {_IMAGE} --projection 20",
    "dinov2": f"dinov2 {_DINO}",
    "dinov2_registers": f"dinov2_with_registers {_DINO} --registers 2",
    "timm_vit": f"timm_vit {_IMAGE}",
}


def as_on_the_hub(case: str, name: str) -> str | None:
    """transformers 5 saves three of the models under names that differ from the hub's."""
    if case == "clip_vision":
        return "vision_model." + name
    if case == "gemma3":
        return name.replace("vision_tower.", "vision_tower.vision_model.")
    if case == "dinov2_registers":  # saved with a classifier; the hub has the bare model
        return None if name.startswith("classifier") else name.removeprefix("dinov2_with_registers.")
    return name


@pytest.mark.skipif(not HF_NAMES.exists(), reason="tests/golden/hf_names.json is not there")
@pytest.mark.parametrize("case", HF_CASES)
def test_names_and_shapes_are_those_of_transformers(tmp_path: Path, case: str) -> None:
    saved = json.loads(HF_NAMES.read_text())[case]
    renamed = {as_on_the_hub(case, name): shape for name, shape in saved.items()}
    renamed.pop(None, None)
    assert make(tmp_path / "m", f"--family {HF_CASES[case]}") == 0
    assert shapes_of(tmp_path / "m") == renamed


@pytest.mark.parametrize(
    ("preset", "values"),
    [
        ("gpt2-small", 124_439_808),
        ("gpt2-xl", 1_557_611_200),
        ("pythia-1b", 1_011_781_632),
        ("llama-3-8b", 8_030_261_248),
        ("llama-3-70b", 70_553_706_496),
        ("mistral-7b", 7_241_732_096),
        ("qwen3-8b", 8_190_735_360),
        ("qwen3-235b-a22b", 235_093_634_560),
        ("gpt-oss-120b", 116_829_156_672),
        ("gemma-2-9b", 9_241_705_984),
        ("phi-3-mini", 3_821_079_552),
        ("dinov2-base", 86_580_480),
        ("clip-vit-large", 427_616_513),
    ],
)
def test_presets_have_the_parameter_count_of_the_model(preset: str, values: int) -> None:
    assert value_count(preset) == values


def test_a_size_given_overrides_the_preset(tmp_path: Path) -> None:
    assert make(tmp_path / "m", "--preset llama-3-8b --layers 3 --sparse") == 0
    config = read_config(tmp_path / "m")
    assert (config["num_hidden_layers"], config["hidden_size"], config["rope_theta"]) == (3, 4096, 500000.0)
    assert config["torch_dtype"] == "bfloat16"


def test_head_dim_stands_in_the_config_only_when_it_cannot_be_derived(tmp_path: Path) -> None:
    make(tmp_path / "derived", TINY_LLAMA)
    make(tmp_path / "own", TINY_LLAMA + " --head-dim 8")
    assert "head_dim" not in read_config(tmp_path / "derived")
    assert read_config(tmp_path / "own")["head_dim"] == 8


def test_v5_config_has_rope_parameters_and_dtype(tmp_path: Path) -> None:
    make(tmp_path / "m", TINY_LLAMA + " --config-style v5")
    config = read_config(tmp_path / "m")
    assert config["rope_parameters"] == {"rope_type": "default", "rope_theta": 10000.0}
    assert config["dtype"] == "float32"
    assert not {"rope_theta", "rope_scaling", "torch_dtype"} & set(config)


# --- Bytes and values --------------------------------------------------------------------


def test_the_file_equals_what_the_safetensors_package_writes(tmp_path: Path) -> None:
    make(tmp_path / "m", TINY_LLAMA)
    path = tmp_path / "m" / "model.safetensors"
    save_file(load_file(path), tmp_path / "again", metadata={"format": "pt"})
    assert path.read_bytes() == (tmp_path / "again").read_bytes()


def test_values_are_normal_and_gains_near_one(tmp_path: Path) -> None:
    make(tmp_path / "m", "--family llama --layers 1 --d-model 256 --heads 4 --vocab 8000")
    tensors = load_file(tmp_path / "m" / "model.safetensors")
    embedding = tensors["model.embed_tokens.weight"].astype(np.float64).ravel()  # two chunks
    error = 0.02 / np.sqrt(embedding.size)
    assert abs(embedding.mean()) < 5 * error
    assert abs(embedding.std() - 0.02) < 5 * error
    half = make_checkpoint.CHUNK
    assert not np.array_equal(embedding[: embedding.size - half], embedding[half:])
    assert abs(tensors["model.norm.weight"].mean() - 1) < 0.01


def test_the_seed_decides_and_a_tensor_depends_on_no_other(tmp_path: Path) -> None:
    for name, arguments in {"a": "", "b": "", "c": "--seed 1", "d": "--layers 1 --vocab 50"}.items():
        make(tmp_path / name, f"{TINY_LLAMA} {arguments}")
    files = {name: load_file(tmp_path / name / "model.safetensors") for name in "abcd"}
    query = "model.layers.0.self_attn.q_proj.weight"
    assert (tmp_path / "a/model.safetensors").read_bytes() == (tmp_path / "b/model.safetensors").read_bytes()
    assert not np.array_equal(files["a"][query], files["c"][query])
    assert not np.array_equal(files["a"][query], files["a"][query.replace("q_proj", "o_proj")])
    np.testing.assert_array_equal(files["a"][query], files["d"][query])


def raw_bits(folder: Path, name: str, kind: str) -> np.ndarray:
    """The stored words of a tensor; numpy has no bfloat16."""
    data = (folder / "model.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    entry = json.loads(data[8 : 8 + length])[name]
    start, end = entry["data_offsets"]
    return np.frombuffer(data[8 + length + start : 8 + length + end], kind)


def test_half_precision_is_the_rounded_single_precision(tmp_path: Path) -> None:
    for dtype in ("F32", "F16", "BF16"):
        make(tmp_path / dtype, f"{TINY_LLAMA} --dtype {dtype}")
    name = "model.embed_tokens.weight"
    single = raw_bits(tmp_path / "F32", name, "<f4")
    np.testing.assert_array_equal(raw_bits(tmp_path / "F16", name, "<f2"), single.astype(np.float16))
    bfloat = (raw_bits(tmp_path / "BF16", name, "<u2").astype(np.uint32) << 16).view(np.float32)
    assert np.abs(bfloat - single).max() <= np.abs(single).max() * 2.0**-8
    assert (np.abs(bfloat - single) <= np.abs(single) * 2.0**-8).all()


def test_bfloat16_rounds_half_to_even() -> None:
    bits = np.array([0x3F800000, 0x3F808000, 0x3F818000, 0x3F808001, 0xBF818000], np.uint32)
    expected = np.array([0x3F80, 0x3F80, 0x3F82, 0x3F81, 0xBF82], np.uint16)
    np.testing.assert_array_equal(make_checkpoint.to_bfloat16(bits.view(np.float32)), expected)


# --- Shards, holes, the folder --------------------------------------------------------------


def test_shards_hold_the_same_tensors_and_the_index_finds_them(tmp_path: Path) -> None:
    make(tmp_path / "one", TINY_LLAMA)
    make(tmp_path / "many", TINY_LLAMA + " --shard-size 12KB")
    files = sorted(path.name for path in (tmp_path / "many").glob("*.safetensors"))
    index = json.loads((tmp_path / "many" / "model.safetensors.index.json").read_text())
    whole = load_file(tmp_path / "one" / "model.safetensors")
    assert len(files) >= 3
    assert files[0] == f"model-00001-of-{len(files):05d}.safetensors"
    assert set(index["weight_map"]) == set(whole)
    assert set(index["weight_map"].values()) == set(files)
    assert index["metadata"]["total_size"] == sum(values.nbytes for values in whole.values())
    shards = {name: load_file(tmp_path / "many" / name) for name in files}
    assert all(sum(v.nbytes for v in shard.values()) <= 12_000 for shard in shards.values())
    for name, place in index["weight_map"].items():
        np.testing.assert_array_equal(shards[place][name], whole[name])


def test_a_sparse_checkpoint_has_full_size_but_takes_no_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(tmp_path / "m", "--preset llama-3-8b --sparse") == 0
    assert "zero" in capsys.readouterr().out
    files = list((tmp_path / "m").glob("*.safetensors"))
    assert len(files) == 4
    assert sum(path.stat().st_size for path in files) > 16_060_522_496
    assert sum(path.stat().st_blocks * 512 for path in files) < 1_000_000
    with safe_open(sorted(files)[0], "np") as file:
        assert file.get_slice("model.embed_tokens.weight").get_shape() == [128256, 4096]


def test_a_sparse_checkpoint_has_values_where_asked(tmp_path: Path) -> None:
    shards = " --shard-size 20KB"
    assert make(tmp_path / "whole", TINY_LLAMA + shards) == 0
    assert make(tmp_path / "m", TINY_LLAMA + shards + r" --sparse --except layers\.1\.self_attn") == 0
    filled = 0
    for path in sorted((tmp_path / "m").glob("*.safetensors")):
        whole = load_file(tmp_path / "whole" / path.name)
        for name, values in load_file(path).items():
            filled += "layers.1.self_attn" in name
            expected = whole[name] if "layers.1.self_attn" in name else np.zeros_like(values)
            np.testing.assert_array_equal(values, expected)
    assert filled == 4


def test_except_needs_sparse_and_a_regular_expression(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make(tmp_path / "m", TINY_LLAMA + " --except layers") == 2
    assert "needs --sparse" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        make(tmp_path / "m", TINY_LLAMA + " --sparse --except [")
    assert "not a regular expression" in capsys.readouterr().err


def test_an_existing_checkpoint_is_replaced_only_by_force(tmp_path: Path) -> None:
    make(tmp_path / "m", TINY_LLAMA)
    assert make(tmp_path / "m", TINY_LLAMA + " --layers 1") == 2
    assert read_config(tmp_path / "m")["num_hidden_layers"] == 2
    assert make(tmp_path / "m", TINY_LLAMA + " --layers 1 --force") == 0
    assert read_config(tmp_path / "m")["num_hidden_layers"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_force_does_not_replace_a_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "thesis.tex").write_text("mine")
    assert make(tmp_path / "m", TINY_LLAMA + " --force") == 2
    assert (tmp_path / "m" / "thesis.tex").read_text() == "mine"


def test_a_failed_run_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(make_checkpoint, "write_shard", full_disk)
    assert make(tmp_path / "m", TINY_LLAMA) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "one of --family and --preset"),
        ("--family llama --layers 2", "--d-model, --heads missing"),
        ("--family llama --layers 0 --d-model 8 --heads 2", "--layers is 0"),
        ("--family llama --layers 2 --d-model 10 --heads 4", "10 is not divisible by 4 heads"),
        ("--family llama --layers 2 --d-model 24 --heads 4 --kv-heads 3", "not divisible by 3 KV heads"),
        ("--family gpt2 --layers 2 --d-model 24 --heads 4 --kv-heads 2", "as many KV heads as heads"),
        ("--family gpt2 --layers 2 --d-model 24 --heads 4 --head-dim 8", "4 * 8 = 32, not 24"),
        ("--family llama --layers 2 --d-model 12 --heads 4", "head_dim 3 is odd"),
        ("--family vit --layers 2 --d-model 24 --heads 4 --image 10 --patch 4", "10 is not divisible by patch size 4"),
        ("--family dinov2 --layers 2 --d-model 24 --heads 4 --d-mlp 16", "multiple of d_model 24"),
        ("--family gpt2 --no-tied --layers 2 --d-model 24 --heads 4", "shares its output matrix"),
        ("--preset gpt2-small --family llama", "preset gpt2-small is gpt2, not llama"),
    ],
)
def test_impossible_sizes_are_named_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    assert make(tmp_path / "m", arguments) == 2
    assert re.search(re.escape(message), capsys.readouterr().err)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("arguments", ["--family nonsense", "--shard-size 5parsecs", "--dtype F64"])
def test_bad_options_exit_2(tmp_path: Path, arguments: str) -> None:
    with pytest.raises(SystemExit) as exit_info:
        make(tmp_path / "m", arguments)
    assert exit_info.value.code == 2
