#!/usr/bin/env python3
"""Write image towers of make_towers.py and make_forward.py as llama.cpp's converter writes them (mmproj).

Tensors have the names that the gguf package gives them, matrices as F16 (exact: the values
are float16), the rest as F32, with the keys that the converter writes. In the case "older",
the two tensors of the MLP have the names that the first converter gave them.

Input:   GOLDEN/{towers,forward}/<case>/{config.json, model.safetensors}
Output:  GOLDEN/forward/gguf_<case>/{model.gguf, case.json}; case.json names the case whose arrays hold.

No randomness here. Made with gguf 0.19.

    python make_towers_gguf.py GOLDEN
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from safetensors.numpy import load_file

# case, its arrays, whether the activation is a GELU, older names
CASES = {
    "gguf_clip": ("towers/clip_both", "expected_vision.npz", False, False),
    "gguf_clip_older": ("forward/clip_vision", "expected.npz", False, True),
    "gguf_siglip": ("towers/siglip", "expected_vision.npz", True, False),
}
NOT_WRITTEN = ("position_ids", "vision_model.head.")


def older(name: str) -> str:
    swapped = {"ffn_up": "ffn_down", "ffn_down": "ffn_up"}
    return re.sub("ffn_up|ffn_down", lambda match: swapped[match[0]], name)


def add_keys(writer: gguf.GGUFWriter, vision: dict[str, Any], gelu: bool) -> None:
    writer.add_type("mmproj")
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type("mlp")
    writer.add_vision_projection_dim(vision["hidden_size"])
    writer.add_vision_image_size(vision["image_size"])
    writer.add_vision_patch_size(vision["patch_size"])
    writer.add_vision_embedding_length(vision["hidden_size"])
    writer.add_vision_feed_forward_length(vision["intermediate_size"])
    writer.add_vision_block_count(vision["num_hidden_layers"])
    writer.add_vision_head_count(vision["num_attention_heads"])
    writer.add_vision_attention_layernorm_eps(vision["layer_norm_eps"])
    writer.add_vision_image_mean([0.5, 0.5, 0.5])
    writer.add_vision_image_std([0.5, 0.5, 0.5])
    writer.add_vision_use_gelu(gelu)


def write(source: Path, folder: Path, gelu: bool, older_names: bool) -> None:
    config = json.loads((source / "config.json").read_text())
    vision = config.get("vision_config", config)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.MMPROJ, vision["num_hidden_layers"])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    writer = gguf.GGUFWriter(folder / "model.gguf", "clip")
    add_keys(writer, vision, gelu)
    for stored, data in load_file(source / "model.safetensors").items():
        name = stored if "vision_config" in config else "vision_model." + stored
        if not name.startswith("vision_model.") or any(part in name for part in NOT_WRITTEN):
            continue
        new_name = names.get_name("vision_tower." + name, try_suffixes=(".weight", ".bias"))
        if new_name is None:
            raise ValueError(f"the gguf package has no name for {name}")
        kept = np.float16 if data.ndim > 1 and "position_embd" not in new_name else np.float32
        writer.add_tensor(older(new_name) if older_names else new_name, data.astype(kept))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("golden", type=Path, help="folder with towers/ and forward/")
    golden = parser.parse_args().golden
    for name, (source, arrays, gelu, older_names) in CASES.items():
        folder = golden / "forward" / name
        write(golden / source, folder, gelu, older_names)
        about = {"input": "pixels", "output": "hidden", "expected": f"../{source}", "arrays": arrays}
        (folder / "case.json").write_text(json.dumps(about) + "\n")
        print(name, (folder / "model.gguf").stat().st_size)


if __name__ == "__main__":
    main()
