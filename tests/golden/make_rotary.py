#!/usr/bin/env python3
"""Rotary frequencies of every scaling, as transformers computes them.

Output: OUT/rotary.json, a list of {"name", "keys", "length", "frequencies", "amplitude"}: `keys` are those of
config.json that decide it, in the manner of transformers 4 or 5; the rest is a Llama, or a Phi-3 where the name says
so, with heads of 16 components.
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
LONGROPE = {"short_factor": SHORT, "long_factor": LONG}
LONGROPE_V5 = {**LONGROPE, "original_max_position_embeddings": 64}
TRAINED = {"original_max_position_embeddings": 64}


def v5(kind: str, parameters: dict[str, Any], theta: float = 1e4) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": theta, **parameters}}


def v4(parameters: dict[str, Any]) -> dict[str, Any]:
    return {"rope_theta": 1e4, "rope_scaling": parameters}


# name, keys, length
CASES: list[tuple[str, dict[str, Any], int]] = [
    ("plain_v5", v5("default", {}, 500.0), 10),
    ("plain_v4", {"rope_theta": 500.0}, 10),
    ("linear_v5", v5("linear", {"factor": 2.5}), 10),
    ("linear_v4", v4({"type": "linear", "factor": 2.5}), 10),
    ("dynamic_short", v5("dynamic", {"factor": 2.0}), 30),
    ("dynamic_long", v5("dynamic", {"factor": 2.0}), 700),
    ("llama3_v5", v5("llama3", LLAMA3), 10),
    ("llama3_v4", v4({"rope_type": "llama3", **LLAMA3}), 10),
    ("yarn", v5("yarn", YARN), 10),
    ("yarn_v4", v4({"rope_type": "yarn", **YARN}), 10),
    ("yarn_betas", v5("yarn", {"beta_fast": 4.0, "beta_slow": 0.5, **YARN}), 10),
    ("yarn_untruncated", v5("yarn", {"truncate": False, **YARN}), 10),
    ("yarn_mscale", v5("yarn", {"mscale": 0.7, "mscale_all_dim": 1.3, **YARN}), 10),
    ("yarn_stated", v5("yarn", {"attention_factor": 1.25, **YARN}), 10),
    ("phi3_short", {**TRAINED, **v5("longrope", LONGROPE_V5)}, 64),
    ("phi3_long", {**TRAINED, **v5("longrope", LONGROPE_V5)}, 65),
    ("phi3_v4", {**TRAINED, **v4({"type": "longrope", **LONGROPE})}, 65),
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
        answer = {"frequencies": frequencies, "amplitude": float(amplitude)}
        written.append({"name": name, "keys": keys, "length": length, **answer})
    (Path(sys.argv[1]) / "rotary.json").write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
