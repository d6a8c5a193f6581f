"""Runs `reproduce` on a checkpoint of GPT-2 small's shape with random weights: every published figure has its line, and
the model is told to be another one. Takes a minute of processor time, for two weight processings of 16 pairs of
roles."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()
PUBLISHED = json.loads((ROOT / "data/published/gpt2-small.json").read_text())
# All tokens there are: the published words, each after a space as GPT-2 writes it, and others.
WORDS = [word for profile in PUBLISHED["token_profiles"] for word in profile["words"]]
VOCABULARY = {**{f"\u0120{word}": i for i, word in enumerate(WORDS)}, **{f"x{i}": i for i in range(len(WORDS), 400)}}


def generate(folder: Path, *arguments: str) -> Path:
    command = [sys.executable, str(ROOT / "tools/make_checkpoint.py"), str(folder), *arguments]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def reproduce(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HEADSCOPE, "reproduce", *arguments, "--quiet"], capture_output=True, text=True)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = ["--d-mlp", "16", "--vocab", "400"]  # neither is looked at, so both may be small
    folder = generate(tmp_path_factory.mktemp("model") / "gpt2", "--preset", "gpt2-small", "--seed", "3", *sizes)
    (folder / "vocab.json").write_text(json.dumps(VOCABULARY))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return folder


@pytest.fixture(scope="module")
def found(model: Path) -> dict:
    done = reproduce(model, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def head_name(head: str) -> str:
    layer, number = head.split(".")
    return f"L{layer}H{number}"


def published_figures() -> dict[str, float]:
    """Name and value of every figure that is a number of ours to be compared with."""
    pairs = ("OQ", "OK", "OV")
    figures = {"random mean": PUBLISHED["random"]["mean"], "random sd": PUBLISHED["random"]["sd"]}
    figures |= {f"mean pk {pair}": PUBLISHED["mean_pk"][pair] for pair in ("QQ", "VO")}
    figures |= {f"KL {a}{b}": PUBLISHED["kl"][a + b] for a in "QKVO" for b in "QKVO"}
    for metric in ("pk", "cs"):
        figures |= {f"top 3 % {metric} {pair}": PUBLISHED[f"cutoff_{metric}"][pair] for pair in pairs}
        inside, outside = PUBLISHED["heads_in_classes"][metric]
        figures |= {f"heads in classes, top 20 {metric}": inside, f"heads outside, top 20 {metric}": outside}
    figures |= {f"largest pk {pair}": PUBLISHED["largest_pk"][pair] for pair in pairs}
    figures |= {f"top 20 edges shared {pair}": len(PUBLISHED["top_edges"][pair]) for pair in pairs}
    hub = PUBLISHED["hub"]
    figures |= {f"{way}-degree of {head_name(hub['head'])}": hub[f"{way}_degree"] for way in ("in", "out")}
    for metric, scores in PUBLISHED["class_scores"].items():
        figures |= {f"class score {metric} {pair}": score for pair, score in scores.items()}
    identity = PUBLISHED["identity"]
    figures |= {f"identity score {head_name(head)}": score for head, score in identity["scores"].items()}
    figures["identity score, largest other"] = identity["rest_below"]
    return figures


def test_every_published_number_is_compared(found: dict) -> None:
    assert {figure["name"]: figure["published"] for figure in found["figures"]} == published_figures()
    for figure in found["figures"]:
        for weights in ("folded", "raw"):
            assert isinstance(figure[weights]["ours"], (int, float)), figure["name"]
            assert (figure[weights]["met"] is None) == (figure["tolerance"] == 0)


def test_no_part_of_the_data_is_left_out() -> None:
    told = {"source", "shape", "random", "mean_pk", "kl", "cutoff_pk", "cutoff_cs", "largest_pk", "top_edges"}
    assert set(PUBLISHED) == told | {
        "heads_in_classes", "hub", "class_scores", "token_profiles", "identity", "two_layer_model"}  # fmt: skip


def test_the_random_figures_do_not_depend_on_the_model(found: dict) -> None:
    random = {figure["name"]: figure for figure in found["figures"] if figure["name"].startswith("random")}
    assert all(figure[weights]["met"] for figure in random.values() for weights in ("folded", "raw"))


def test_it_says_plainly_that_the_model_is_not_gpt2_small(found: dict) -> None:
    assert found["is_gpt2_small"] is False
    assert found["weights"] is None


def test_token_profiles_stand_beside_the_published_words(found: dict) -> None:
    assert [profile["published"] for profile in found["token_profiles"]] == [
        profile["words"] for profile in PUBLISHED["token_profiles"]
    ]
    for profile in found["token_profiles"]:
        for weights in ("folded", "raw"):
            ours = profile[weights]["ours"]
            assert len(ours) == 10
            assert set(ours) <= {word.removeprefix("\u0120") for word in VOCABULARY}
            assert profile[weights]["shared"] == len(set(ours) & set(profile["published"]))


def test_what_cannot_be_compared_has_a_line_with_the_reason(found: dict) -> None:
    rows = {row["name"]: row for row in found["not_compared"]}
    two_layers = rows.pop("two-layer model")
    assert two_layers["published"] == PUBLISHED["two_layer_model"]["finding"]
    assert "another model" in two_layers["not_compared"]
    assert rows == {}


def test_the_table_has_the_same_lines_even_for_weights_of_zero_and_no_vocabulary(tmp_path: Path, found: dict) -> None:
    done = reproduce(generate(tmp_path / "m", "--preset", "gpt2-small", "--d-mlp", "16", "--vocab", "50", "--sparse"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for part in ("figures", "not_compared"):
        for row in found[part]:
            assert any(line.startswith(row["name"] + " ") for line in lines), row["name"]
    for profile in PUBLISHED["token_profiles"]:
        at = next(i for i, line in enumerate(lines) if line.endswith(" ".join(profile["words"])))
        assert lines[at].startswith(f"tokens near {head_name(profile['head'])} {profile['role']} ")
        assert lines[at + 1].strip() == "not compared: the model has no vocabulary (tokenizer.json, vocab.json)"
    assert lines[-1].endswith("it is not GPT-2 small.")


@pytest.mark.parametrize(
    "sizes",
    [("--layers", "11"), ("--heads", "6"), ("--d-model", "384"), ("--heads", "24")],
    ids=lambda sizes: "".join(sizes),
)
def test_another_shape_is_refused_with_code_3(tmp_path: Path, sizes: tuple[str, ...]) -> None:
    folder = generate(tmp_path / "m", "--preset", "gpt2-small", "--d-mlp", "16", "--vocab", "50", "--sparse", *sizes)
    done = reproduce(folder)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1
    assert "published figures are for GPT-2 small, which has 12 layers of 12 heads of width 64 in 768" in done.stderr


def test_a_missing_model_is_refused_with_code_3_and_a_missing_argument_with_code_2(tmp_path: Path) -> None:
    assert reproduce(tmp_path / "nothing").returncode == 3
    assert reproduce().returncode == 2
