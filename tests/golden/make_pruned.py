#!/usr/bin/env python3
"""Logits of a pruned checkpoint, as transformers computes them.

`headscope prune` takes two heads out of forward/llama (grouped queries, seeded by make_forward.py); transformers loads
what it wrote with from_pretrained and runs it on the inputs of that case. A second judge: the logits are the same when
transformers runs the original and the inputs of its output projections are set to zero for these heads.

Writes OUT/llama.npz: removed int64 [heads, 2] (layer, head), logits float32 [batch, tokens, vocabulary].
Made with torch 2.11, transformers 5.17.

    python make_pruned.py OUT --headscope build/headscope
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers as hf

CASE = Path(__file__).parent / "forward" / "llama"


def logits(model: hf.PreTrainedModel, ids: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return model(torch.from_numpy(ids)).logits.numpy()


def load(folder: Path) -> hf.PreTrainedModel:
    model, report = hf.AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32, output_loading_info=True
    )
    if report["missing_keys"] or report["unexpected_keys"] or report["mismatched_keys"]:
        sys.exit(f"{folder}: {report}")
    return model.eval()


def mask_heads(model: hf.PreTrainedModel, heads: np.ndarray) -> None:
    """Zero what the heads write before the output projection, by a hook of their own."""
    width = model.config.head_dim
    for layer, head in heads:

        def zero(_module, inputs, head=head):
            x = inputs[0].clone()
            x[..., head * width : (head + 1) * width] = 0
            return (x,)

        model.model.layers[layer].self_attn.o_proj.register_forward_pre_hook(zero)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--headscope", default="build/headscope")
    args = parser.parse_args()
    ids = np.load(CASE / "expected.npz")["input_ids"]
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/ids.npy", ids)
        command = [args.headscope, "prune", str(CASE), "-o", f"{folder}/run", "--ids", f"{folder}/ids.npy"]
        subprocess.run([*command, "--criteria", "norm", "--count", "3"], check=True)
        pruned = json.loads(Path(f"{folder}/run/pruned.json").read_text())
        heads = np.array([[int(n) for n in re.findall(r"\d+", name)] for name in pruned["removed"]])
        found = logits(load(Path(f"{folder}/run/pruned")), ids)
    masked = load(CASE)
    mask_heads(masked, heads)
    gap = np.abs(found - logits(masked, ids)).max()
    moved = np.abs(found - logits(load(CASE), ids)).max()
    print(f"removed {pruned['removed']}: masked differs by {gap:.1e}, the unpruned model by {moved:.2f}")
    if gap > 1e-6 or moved < 0.01:
        sys.exit("FAIL")
    args.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(args.out / "llama.npz", removed=heads.astype(np.int64), logits=found)


if __name__ == "__main__":
    main()
