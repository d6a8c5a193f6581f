"""What `headscope demo` says of the bundled models, against what was measured of them in PyTorch (behavior.json)."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = ROOT / os.environ.get("HEADSCOPE", "build/headscope")
BEHAVIOR = json.loads((ROOT / "models/demo/behavior.json").read_text())


def head_name(text: str) -> str:
    layer, head = text.split(".")
    return f"L{layer}H{head}"


def classes(name: str) -> set[str]:
    return {head_name(head) for head in BEHAVIOR["classes"][name]}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run([HEADSCOPE, "demo", "-o", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, folder


def test_it_ends_by_naming_the_pages(demo: tuple[str, Path]) -> None:
    text, folder = demo
    pages = [Path(line.strip()) for line in text.splitlines()[-2:]]
    assert pages == [folder / "language.html", folder / "vision.html"]
    for page in pages:
        assert page.read_text().startswith("<!doctype html>") and page.stat().st_size < 8e6


def test_the_circuit_is_the_one_that_was_measured(demo: tuple[str, Path]) -> None:
    told = re.findall(r"(L\dH\d) looks at the word before \([\d.]+\); the keys of (.*) read what it writes", demo[0])
    assert {source for source, _ in told} == classes("previous")
    for _, targets in told:
        assert set(re.findall(r"L\dH\d", targets)) == classes("induction")


def test_what_ablation_costs_is_what_was_measured(demo: tuple[str, Path]) -> None:
    cost = {f"L{head['layer']}H{head['head']}": head["repeated_list"]["loss_increase"] for head in BEHAVIOR["heads"]}
    told = re.findall(r"(L\dH\d) looks at the word before.*\n +Without it the loss on lists goes from ([\d.]+) to ([\d.]+)(.*)\.",
                      demo[0])  # fmt: skip
    assert len(told) == len(classes("previous"))
    for head, before, after, rest in told:
        # Other texts and all words of them, so only what is much and what is next to nothing can be compared.
        assert (float(after) - float(before) > 1) == (cost[head] > 1), head
        assert ("spare" in rest) == (cost[head] < 0.1), head


def test_the_detectors_name_the_same_heads(demo: tuple[str, Path]) -> None:
    for name in ("previous", "induction"):
        line = next(line for line in demo[0].splitlines() if re.match(rf" +{name} ", line))
        assert set(re.findall(r"L\dH\d", line)) == classes(name)


def test_every_command_left_its_files(demo: tuple[str, Path]) -> None:
    for run in ("language", "vision"):
        commands = json.loads((demo[1] / run / "manifest.json").read_text())["commands"]
        assert {"relate", "detect", "capture", "organize", "softmax"} <= set(commands)
