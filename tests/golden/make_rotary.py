#!/usr/bin/env python3
"""Rotary frequencies of every scaling, as transformers computes them.

Output: OUT/rotary.json, a list of {"name", "keys", "length", "frequencies", "amplitude"}: `keys` are those of
config.json that decide it, in the manner of transformers 4 or 5; the rest is a Llama, or a Phi-3 where the name says so,
with heads of 16 components.
Nothing random. Made with torch 2.11.0, transformers 5.17.0.

    python make_rotary.py OUT
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import transformers as hf
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

SHORT = [1.0 + 0.1 * i for i in range(8)]
LONG = [2.0 + 0.7 * i for i in range(8)]
LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
YARN = {"factor": 4.0, "original_max_position_embeddings": 64}

# name, keys, length
CASES: list[tuple[str, dict[str, Any], int]] = [
    ("plain_v5", {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}, 10),
    ("plain_v4", {"rope_theta": 500.0}, 10),
    ("linear_v5", {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.5}}, 10),
    ("linear_v4", {"rope_theta": 1e4, "rope_scaling": {"type": "linear", "factor": 2.5}}, 10),
    ("dynamic_short", {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}, 30),
    ("dynamic_long", {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}, 700),
    ("llama3_v5", {"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4, **LLAMA3}}, 10),
    ("llama3_v4", {"rope_theta": 1e4, "rope_scaling": {"rope_type": "llama3", **LLAMA3}}, 10),
    ("yarn", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, **YARN}}, 10),
    ("yarn_v4", {"rope_theta": 1e4, "rope_scaling": {"rope_type": "yarn", **YARN}}, 10),
    ("yarn_betas", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "beta_fast": 4.0, "beta_slow": 0.5, **YARN}}, 10),
    ("yarn_untruncated", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "truncate": False, **YARN}}, 10),
    ("yarn_mscale", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "mscale": 0.7, "mscale_all_dim": 1.3, **YARN}}, 10),
    ("yarn_stated", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "attention_factor": 1.25, **YARN}}, 10),
    ("phi3_short", {"original_max_position_embeddings": 64, "rope_parameters": {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": SHORT, "long_factor": LONG, "original_max_position_embeddings": 64}}, 64),
    ("phi3_long", {"original_max_position_embeddings": 64, "rope_parameters": {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": SHORT, "long_factor": LONG, "original_max_position_embeddings": 64}}, 65),
    ("phi3_v4", {"original_max_position_embeddings": 64, "rope_theta": 1e4, "rope_scaling": {"type": "longrope", "short_factor": SHORT, "long_factor": LONG}}, 65),
]


def config_of(name: str, keys: dict[str, Any]) -> hf.PretrainedConfig:
    cls = hf.Phi3Config if name.startswith("phi3") else hf.LlamaConfig
    sizes = {"hidden_size": 16, "num_attention_heads": 1, "num_key_value_heads": 1, "num_hidden_layers": 1}
    rest = {"intermediate_size": 4, "vocab_size": 4, "max_position_embeddings": 512, "pad_token_id": 0}
    return cls(**sizes, **rest, **json.loads(json.dumps(keys)))


def main() -> None:
    written = []
    for name, keys, length in CASES:
        config = config_of(name, keys)
        kind = config.rope_parameters["rope_type"]
        if kind == "default":
            exponents = [2 * i / 16 for i in range(8)]
            frequencies, amplitude = [config.rope_parameters["rope_theta"] ** -e for e in exponents], 1.0
        else:
            tensor, amplitude = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=length)
            frequencies = [float(f) for f in tensor]
        written.append({"name": name, "keys": keys, "length": length, "frequencies": frequencies, "amplitude": float(amplitude)})
    (Path(sys.argv[1]) / "rotary.json").write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
