"""What the modules of the calibration share: rows, running the program, reading its files, and writing checkpoints."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("HEADSCOPE", "build/headscope")


class MissingColumnError(Exception):
    """The program does not write this column, or the file that has it."""


@dataclass(frozen=True)
class Row:
    """One measured number, and what it has to be; bounds are inclusive, and None is no bound."""

    case: str
    figure: str
    value: float = float("nan")
    low: float | None = None
    high: float | None = None
    trials: int | None = None
    skipped: str = ""

    @property
    def holds(self) -> bool:
        if self.skipped:
            return True
        above = self.low is None or self.value >= self.low
        below = self.high is None or self.value <= self.high
        return bool(np.isfinite(self.value)) and above and below

    @property
    def bounds(self) -> str:
        if self.low is not None and self.high is not None:
            return f"{self.low:g} to {self.high:g}"
        if self.low is not None:
            return f"at least {self.low:g}"
        return "" if self.high is None else f"at most {self.high:g}"


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder."""
    with tempfile.TemporaryDirectory(prefix="headscope-calibration-") as folder:
        yield Path(folder)


# --- The program -------------------------------------------------------------------------


def headscope(command: str, *words: str | Path) -> str:
    """Runs a command and returns what it prints; a failure raises, with its message."""
    line = [str(PROGRAM), command, *map(str, words)]
    result = subprocess.run(line, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(line)}: {result.stderr.strip()}")
    return result.stdout


def table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file of a run."""
    if not path.exists():
        raise MissingColumnError(f"no {path.name}")
    with path.open(newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def column(rows: list[dict[str, str]], name: str, kind: type = float) -> np.ndarray:
    """A column as an array; an empty cell of numbers is NaN."""
    if rows and name not in rows[0]:
        raise MissingColumnError(f"no column {name}")
    if kind is float:
        return np.array([float(row[name]) if row[name] else np.nan for row in rows])
    return np.array([row[name] for row in rows])


def flag(rows: list[dict[str, str]], name: str) -> np.ndarray:
    """A column of flags as booleans."""
    return np.isin(column(rows, name, str), ["1", "true", "yes"])


# --- Checkpoints -------------------------------------------------------------------------


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Writes float32 tensors."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name in sorted(tensors):
        end = offset + 4 * tensors[name].size
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in sorted(tensors):
            file.write(np.ascontiguousarray(tensors[name], dtype="<f4").tobytes())


def random_model(folder: Path, *words: str) -> Path:
    """A checkpoint of tools/make_checkpoint.py: normal weights, nothing learned."""
    line = [sys.executable, str(ROOT / "tools/make_checkpoint.py"), str(folder), "--force", *words]
    subprocess.run(line, check=True, capture_output=True)
    return folder


def write_model(folder: Path, norm: str, heads: dict[str, np.ndarray], vocabulary: int = 64) -> Path:
    """Writes a model whose head weights are given, as arrays of (layers, heads, d, h) under "Q", "K", "V" and "O".

    norm: "rms", a LLaMA whose gains are one, so that folding changes nothing; "layer", a GPT-2 whose gains are one, so
    that folding centers every column over d. All else is zero or one."""
    layers, count, d, h = heads["Q"].shape
    folder.mkdir(parents=True, exist_ok=True)
    stacked = {role: array.transpose(0, 2, 1, 3).reshape(layers, d, count * h) for role, array in heads.items()}
    writer = write_llama if norm == "rms" else write_gpt2
    config, tensors = writer(stacked, count, h, vocabulary)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


def write_llama(stacked: dict[str, np.ndarray], heads: int, h: int, vocabulary: int) -> tuple[dict, dict]:
    layers, d, _ = stacked["Q"].shape
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": d, "intermediate_size": 4,
        "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": heads, "head_dim": h,
        "vocab_size": vocabulary, "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "hidden_act": "silu", "tie_word_embeddings": True, "torch_dtype": "float32",
    }  # fmt: skip
    tensors = {
        "model.embed_tokens.weight": np.zeros((vocabulary, d), np.float32),
        "model.norm.weight": np.ones(d, np.float32),
    }
    for layer in range(layers):
        name = f"model.layers.{layer}."
        for role in "QKV":
            tensors[f"{name}self_attn.{role.lower()}_proj.weight"] = stacked[role][layer].T
        tensors[f"{name}self_attn.o_proj.weight"] = stacked["O"][layer]
        tensors[f"{name}mlp.gate_proj.weight"] = np.zeros((4, d), np.float32)
        tensors[f"{name}mlp.up_proj.weight"] = np.zeros((4, d), np.float32)
        tensors[f"{name}mlp.down_proj.weight"] = np.zeros((d, 4), np.float32)
        tensors[f"{name}input_layernorm.weight"] = np.ones(d, np.float32)
        tensors[f"{name}post_attention_layernorm.weight"] = np.ones(d, np.float32)
    return config, tensors


def write_gpt2(stacked: dict[str, np.ndarray], heads: int, h: int, vocabulary: int) -> tuple[dict, dict]:
    layers, d, width = stacked["Q"].shape
    if width != d:
        raise ValueError("GPT-2's heads fill its width: heads * h must be d")
    config = {
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": d, "n_layer": layers, "n_head": heads,
        "n_positions": 256, "n_ctx": 256, "n_inner": 4, "vocab_size": vocabulary, "layer_norm_epsilon": 1e-5,
        "activation_function": "gelu_new", "tie_word_embeddings": True, "torch_dtype": "float32",
    }  # fmt: skip
    tensors = {
        "transformer.wte.weight": np.zeros((vocabulary, d), np.float32),
        "transformer.wpe.weight": np.zeros((256, d), np.float32),
        "transformer.ln_f.weight": np.ones(d, np.float32),
        "transformer.ln_f.bias": np.zeros(d, np.float32),
    }
    for layer in range(layers):
        name = f"transformer.h.{layer}."
        tensors[f"{name}attn.c_attn.weight"] = np.concatenate([stacked[role][layer] for role in "QKV"], axis=1)
        tensors[f"{name}attn.c_attn.bias"] = np.zeros(3 * d, np.float32)
        tensors[f"{name}attn.c_proj.weight"] = stacked["O"][layer].T
        tensors[f"{name}attn.c_proj.bias"] = np.zeros(d, np.float32)
        for norm in ("ln_1", "ln_2"):
            tensors[f"{name}{norm}.weight"] = np.ones(d, np.float32)
            tensors[f"{name}{norm}.bias"] = np.zeros(d, np.float32)
        tensors[f"{name}mlp.c_fc.weight"] = np.zeros((d, 4), np.float32)
        tensors[f"{name}mlp.c_fc.bias"] = np.zeros(4, np.float32)
        tensors[f"{name}mlp.c_proj.weight"] = np.zeros((4, d), np.float32)
        tensors[f"{name}mlp.c_proj.bias"] = np.zeros(d, np.float32)
    return config, tensors


# --- Statistics --------------------------------------------------------------------------


def coverage_bounds(trials: int) -> tuple[float, float]:
    """Where the share of covering intervals must lie: 90 to 98 %, and as much wider as three deviations of so few
    trials of a 95 % interval are."""
    slack = 3 * np.sqrt(0.95 * 0.05 / trials)
    return min(0.90, 0.95 - slack), max(0.98, min(1.0, 0.95 + slack))
