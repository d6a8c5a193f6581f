"""Runs commands on the real models for the evidence page. Every run is made once and shared by the sections."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

from harness import ROOT, headscope
from texts import TEXTS

MODELS = {"smollm2": "SmolLM2-135M", "minilm": "all-MiniLM-L6-v2", "rxnfp": "rxnfp", "antiberty": "AntiBERTy"}
RUNS = ROOT / "build/evidence"


@functools.cache
def model_path(name: str) -> Path:
    """Where the model is; it is fetched if it is not there."""
    script = ROOT / "tools/fetch_models.py"
    done = subprocess.run([sys.executable, script, name], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip().splitlines()[-1])
    return Path(subprocess.check_output([sys.executable, script, "--path", name], text=True).strip())


def told(command: str, *words: str, model: str = "") -> str:
    """A command as a reader types it: $smollm2 stands for the path of the model."""
    return " ".join(["headscope", command, *([f"${model}"] if model else []), *words])


@functools.cache
def related(name: str, *options: str) -> tuple[Path, dict]:
    """The run of relate with these options, and what it prints as JSON."""
    folder = RUNS / "-".join(["relate", name, *(word.strip("-").replace(",", "-") for word in options)])
    words = ["-o", folder, "--force", "--quiet", "--json", *options]
    return folder, json.loads(headscope("relate", model_path(name), *words))


@functools.cache
def detected(name: str) -> dict:
    words = ["-o", RUNS / f"detect-{name}", "--force", "--quiet", "--json"]
    return json.loads(headscope("detect", model_path(name), *words))


@functools.cache
def text_file(name: str) -> Path:
    """The texts of a model, one per line."""
    RUNS.mkdir(parents=True, exist_ok=True)
    path = RUNS / f"{name}.txt"
    path.write_text("\n".join(TEXTS[name]) + "\n")
    return path


@functools.cache
def organized(name: str) -> dict:
    folder = RUNS / f"maps-{name}"
    words = ["--text-file", text_file(name), "--lines", "--what", "pattern", "-o", folder, "--force", "--quiet"]
    headscope("capture", model_path(name), *words)
    return json.loads(headscope("organize", folder, "-o", folder, "--force", "--quiet", "--json"))
