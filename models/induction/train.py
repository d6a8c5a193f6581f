"""Trains a two-layer attention-only model that does induction, and measures which of its heads do it.

The result is a plain Hugging Face GPT-2 checkpoint (config.json, model.safetensors; its MLPs are zero and were never
trained) and behavior.json: attention-pattern scores and ablation damage of every head, measured in PyTorch.

Usage: python train.py [--out FOLDER] [--seed N] [--threads N]. Uses a GPU if there is one; README.md has the times and
the numbers. Made with torch 2.11, transformers 5.17.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from pathlib import Path

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # else cuBLAS is not deterministic; read when torch starts

import torch
import torch.nn.functional as F
import transformers
from transformers import GPT2Config, GPT2LMHeadModel

LAYERS, HEADS, WIDTH = 2, 8, 96
HEAD_WIDTH = WIDTH // HEADS
VOCAB, LENGTH = 64, 64
SHORTEST_SEGMENT = 6

BATCH, LEARNING_RATE, WEIGHT_DECAY = 128, 2e-3, 0.1
WARMUP, COOLDOWN, MOST_STEPS = 100, 300, 4000
EVAL_EVERY = 100
ENOUGH_ACCURACY, ENOUGH_LOSS = 0.99, 0.05  # on held-out copied tokens; then the learning rate cools down

EVAL_SEQUENCES, DETECTOR_SEQUENCES = 1000, 500


def sample(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences of the language, and where a token is predictable because it is copied: both [count, LENGTH].

    Distinct random tokens; then one segment that occurred before occurs again. Its length, its start and the place of
    the copy are random, so that no fixed offset predicts it; its first token is a surprise and does not count.
    """

    def below(limit: torch.Tensor | int) -> torch.Tensor:
        return (torch.rand(count, 1, generator=generator) * limit).long()

    tokens = torch.rand(count, VOCAB, generator=generator).argsort(1)[:, :LENGTH]
    size = SHORTEST_SEGMENT + below(LENGTH // 2 - SHORTEST_SEGMENT + 1)
    start = below(LENGTH - 2 * size + 1)
    copy = start + size + below(LENGTH - 2 * size - start + 1)
    t = torch.arange(LENGTH)[None]
    inside = (t >= copy) & (t < copy + size)
    return tokens.gather(1, torch.where(inside, t - copy + start, t)), inside & (t > copy)


def make_model(generator: torch.Generator) -> GPT2LMHeadModel:
    config = GPT2Config(
        vocab_size=VOCAB,
        n_positions=LENGTH,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        n_inner=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=False,  # tied, heads of layer 0 are spent on unsaying the current token
        bos_token_id=None,
        eos_token_id=None,
        attn_implementation="eager",  # the only one that returns attention patterns
    )
    model = GPT2LMHeadModel(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".mlp." in name:
                parameter.zero_()
            elif name.endswith(("c_attn.weight", "c_proj.weight")):
                parameter.normal_(0.0, 0.05, generator=generator)
            if ".mlp." in name or ".ln_2." in name:
                parameter.requires_grad_(False)
            if name.endswith("c_attn.weight"):
                # Keys start equal to queries, so a head first looks at what resembles the query: near positions, the
                # same token. From random ones, some seeds learned to copy while looking less than by chance at the
                # token to copy (README.md).
                parameter[:, :WIDTH] *= sharpness(generator).repeat_interleave(HEAD_WIDTH)
                parameter[:, WIDTH : 2 * WIDTH] = parameter[:, :WIDTH]
        model.transformer.wte.weight.normal_(0.0, 0.1, generator=generator)
        model.lm_head.weight.normal_(0.0, 0.1, generator=generator)
        model.transformer.wpe.weight.copy_(sinusoids(generator))
    return model


def sharpness(generator: torch.Generator) -> torch.Tensor:
    """Factors for the heads' queries and keys, 0.25 to 2.5 in random order: alike, several heads share one job."""
    factors = torch.logspace(math.log10(0.25), math.log10(2.5), HEADS)
    return factors[torch.randperm(HEADS, generator=generator)]


def sinusoids(generator: torch.Generator, frequencies: int = 12, amplitude: float = 0.3) -> torch.Tensor:
    """Position table to start from, [LENGTH, WIDTH]: sines and cosines in a random subspace, so that "one back" is a
    rotation, which one head can learn. Three times the size of the token embeddings."""
    periods = torch.logspace(math.log10(3.0), math.log10(2.0 * LENGTH), frequencies)
    angles = 2 * math.pi * torch.arange(LENGTH)[:, None] / periods[None]
    directions = torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=generator)).Q[:, : 2 * frequencies]
    return amplitude * math.sqrt(WIDTH / frequencies) * torch.cat([angles.sin(), angles.cos()], 1) @ directions.T


def copied_loss(
    model: GPT2LMHeadModel, tokens: torch.Tensor, copied: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean cross entropy and accuracy on the copied tokens. The others are random and do not count: all there is to
    learn from them is that fresh tokens differ from earlier ones, which is not induction."""
    logits = model(tokens).logits[:, :-1][copied[:, 1:]]
    targets = tokens[:, 1:][copied[:, 1:]]
    return F.cross_entropy(logits, targets), (logits.argmax(-1) == targets).double().mean()


@torch.no_grad()
def evaluate(model: GPT2LMHeadModel, tokens: torch.Tensor, copied: torch.Tensor) -> tuple[float, float]:
    loss, accuracy = copied_loss(model, tokens, copied)
    return loss.item(), accuracy.item()


def train(model: GPT2LMHeadModel, seed: int, device: torch.device) -> int:
    """Trains until held-out copied tokens are predicted, cools down, and returns the number of steps.

    Batches are drawn on the CPU, so that a GPU sees the same ones.
    """
    generator = torch.Generator().manual_seed(seed)
    held_out = [x.to(device) for x in sample(256, torch.Generator().manual_seed(seed + 1))]
    trained = [p for p in model.parameters() if p.requires_grad]
    matrices = [p for p in trained if p.ndim == 2]
    vectors = [p for p in trained if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=LEARNING_RATE, betas=(0.9, 0.98))
    started, end = time.monotonic(), None
    for step in range(1, MOST_STEPS + COOLDOWN + 1):
        rate = LEARNING_RATE * min(1.0, step / WARMUP) * (1.0 if end is None else (end - step + 1) / COOLDOWN)
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss, _ = copied_loss(model, *(x.to(device) for x in sample(BATCH, generator)))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        if step % EVAL_EVERY == 0:
            held_loss, accuracy = evaluate(model, *held_out)
            seconds = time.monotonic() - started
            print(f"step {step} ({seconds:.0f} s), held out: loss {held_loss:.4f}, accuracy {accuracy:.4f}", flush=True)
            if end is None and accuracy > ENOUGH_ACCURACY and held_loss < ENOUGH_LOSS:
                end = step + COOLDOWN
                print(f"learned; cooling down for {COOLDOWN} steps")
        if step == end:
            return step
        if end is None and step == MOST_STEPS:
            break
    sys.exit(f"train.py: not learned in {MOST_STEPS} steps; try another --seed")


@torch.no_grad()
def detector_scores(model: GPT2LMHeadModel, generator: torch.Generator, device: torch.device) -> list[dict[str, float]]:
    """Layer-major: uniform random tokens, first half repeated once, no BOS. Duplicate and induction are
    averages over the queries of the second half, previous and identity over all that have the key."""
    half = LENGTH // 2
    tokens = torch.randint(VOCAB, (DETECTOR_SEQUENCES, half), generator=generator).repeat(1, 2).to(device)
    scores = []
    for pattern in model(tokens, output_attentions=True).attentions:
        diagonal = {back: pattern.diagonal(-back, -2, -1).double() for back in (0, 1, half - 1, half)}
        means = {
            "previous": diagonal[1].mean((0, 2)),
            "identity": diagonal[0].mean((0, 2)),
            "duplicate": diagonal[half].mean((0, 2)),
            "induction": diagonal[half - 1][..., 1:].mean((0, 2)),  # its first query is in the first half
        }
        scores += [{name: mean[head].item() for name, mean in means.items()} for head in range(HEADS)]
    return scores


def ablated(model: GPT2LMHeadModel, layer: int, head: int, tokens: torch.Tensor, copied: torch.Tensor):
    """Loss and accuracy on copied tokens with the head's output zeroed before the output projection."""

    def zero_head(_module, arguments):
        mixed = arguments[0].clone()
        mixed[..., head * HEAD_WIDTH : (head + 1) * HEAD_WIDTH] = 0.0
        return (mixed, *arguments[1:])

    hook = model.transformer.h[layer].attn.c_proj.register_forward_pre_hook(zero_head)
    try:
        return evaluate(model, tokens, copied)
    finally:
        hook.remove()


def measure(model: GPT2LMHeadModel, seed: int, device: torch.device) -> dict:
    """The model's loss and accuracy on copied tokens, and for every head its scores and what its removal costs."""
    model.eval()
    generator = torch.Generator().manual_seed(seed + 2)
    tokens, copied = (x.to(device) for x in sample(EVAL_SEQUENCES, generator))
    loss, accuracy = evaluate(model, tokens, copied)
    heads = []
    for i, scores in enumerate(detector_scores(model, generator, device)):
        layer, head = divmod(i, HEADS)
        loss_without, accuracy_without = ablated(model, layer, head, tokens, copied)
        damage = {"loss_increase": loss_without - loss, "accuracy_drop": accuracy - accuracy_without}
        heads.append({"layer": layer, "head": head} | {k: round(v, 6) for k, v in (scores | damage).items()})
    return {"copied_tokens": int(copied[:, 1:].sum()), "loss": loss, "accuracy": accuracy, "heads": heads}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="on the CPU; changes the last bits, so 1 by default")
    arguments = parser.parse_args()

    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = make_model(torch.Generator().manual_seed(arguments.seed)).to(device)
    steps = train(model, arguments.seed + 1000, device)
    behavior = {
        "seed": arguments.seed,
        "steps": steps,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "sequences": {"length": LENGTH, "ablation": EVAL_SEQUENCES, "detectors": DETECTOR_SEQUENCES},
    } | measure(model, arguments.seed + 2000, device)
    model.cpu().save_pretrained(arguments.out)
    (arguments.out / "generation_config.json").unlink(missing_ok=True)
    (arguments.out / "model.safetensors").chmod(0o644)  # safetensors leaves it readable by the owner only
    (arguments.out / "behavior.json").write_text(json.dumps(behavior, indent=1) + "\n")
    print(f"{steps} steps; copied tokens: loss {behavior['loss']:.4f}, accuracy {behavior['accuracy']:.4f}")
    for row in behavior["heads"]:
        print("  ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))


if __name__ == "__main__":
    main()
