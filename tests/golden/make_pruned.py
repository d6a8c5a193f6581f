#!/usr/bin/env python3
"""Logits of pruned checkpoints, as transformers computes them.

`headscope prune` takes three heads out of models of forward/ (seeded by make_forward.py); transformers loads what it
wrote with from_pretrained and runs it on the inputs of that case. A second judge: the logits are the same when
transformers runs the original and the inputs of its output projections are set, for these heads, to zero or to their
mean over all tokens. LLaMA with grouped queries has no bias of the output projection: it is added, with attention_bias
in config.json. GPT-2 and BERT have one.

Writes OUT/NAME.npz: removed int64 [heads, 2] (layer, head), logits float32 [batch, tokens, vocabulary].
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

CASES = Path(__file__).parent / "forward"
# Name, model of forward/, --replace, the modules that read the heads' outputs.
WRITTEN = [
    ("llama", "llama", "zero", "model.layers.{}.self_attn.o_proj"),
    ("llama_mean", "llama", "mean", "model.layers.{}.self_attn.o_proj"),
    ("gpt2_mean", "gpt2", "mean", "transformer.h.{}.attn.c_proj"),
    ("bert_mean", "bert", "mean", "bert.encoder.layer.{}.attention.output.dense"),
]


def logits(model: hf.PreTrainedModel, ids: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return model(torch.from_numpy(ids)).logits.numpy()


def load(folder: Path) -> hf.PreTrainedModel:
    auto = hf.AutoModelForMaskedLM if "bert" in (folder / "config.json").read_text() else hf.AutoModelForCausalLM
    model, report = auto.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32, output_loading_info=True
    )
    if report["missing_keys"] or report["unexpected_keys"] or report["mismatched_keys"]:
        sys.exit(f"{folder}: {report}")
    return model.eval()


def replace_heads(model: hf.PreTrainedModel, heads: np.ndarray, modules: str, means: dict[int, torch.Tensor]) -> None:
    """Replace what the heads write before the output projection, by a hook; by zeros if there are no means."""
    width = getattr(model.config, "head_dim", None) or model.config.hidden_size // model.config.num_attention_heads
    for layer, head in heads:
        columns = slice(head * width, (head + 1) * width)

        def replace(_module, inputs, columns=columns, layer=int(layer)):
            x = inputs[0].clone()
            x[..., columns] = means[layer][columns] if means else 0
            return (x,)

        model.get_submodule(modules.format(layer)).register_forward_pre_hook(replace)


def mean_outputs(model: hf.PreTrainedModel, ids: np.ndarray, modules: str) -> dict[int, torch.Tensor]:
    """Mean over all tokens of what the heads of each layer write, before the output projection."""
    means: dict[int, torch.Tensor] = {}
    hooks = []
    for layer in range(model.config.num_hidden_layers):

        def keep(_module, inputs, layer=layer):
            means[layer] = inputs[0].reshape(-1, inputs[0].shape[-1]).mean(0)

        hooks.append(model.get_submodule(modules.format(layer)).register_forward_pre_hook(keep))
    logits(model, ids)
    for hook in hooks:
        hook.remove()
    return means


def make(out: Path, headscope: str, name: str, case: str, replace: str, modules: str) -> None:
    ids = np.load(CASES / case / "expected.npz")["input_ids"]
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/ids.npy", ids)
        command = [headscope, "prune", str(CASES / case), "-o", f"{folder}/run", "--ids", f"{folder}/ids.npy"]
        subprocess.run([*command, "--criteria", "norm", "--count", "3", "--replace", replace], check=True)
        pruned = json.loads(Path(f"{folder}/run/pruned.json").read_text())
        heads = np.array([[int(n) for n in re.findall(r"\d+", name)] for name in pruned["removed"]])
        found = logits(load(Path(f"{folder}/run/pruned")), ids)
    masked = load(CASES / case)
    unpruned = logits(masked, ids)
    means = mean_outputs(masked, ids, modules) if replace == "mean" else {}
    replace_heads(masked, heads, modules, means)
    gap = np.abs(found - logits(masked, ids)).max()
    moved = np.abs(found - unpruned).max()
    print(f"{name}: removed {pruned['removed']}: hooks differ by {gap:.1e}, the unpruned model by {moved:.2f}")
    # The added biases are float32; those of the other models are rounded to float16.
    if gap > (1e-5 if case == "llama" else 5e-3) or moved < 0.01:
        sys.exit("FAIL")
    np.savez_compressed(out / f"{name}.npz", removed=heads.astype(np.int64), logits=found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--headscope", default="build/headscope")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for one in WRITTEN:
        make(args.out, args.headscope, *one)


if __name__ == "__main__":
    main()
