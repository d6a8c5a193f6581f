"""Trains the demo's language model and measures which of its heads do what.

The result is a plain Hugging Face GPT-2 checkpoint with its tokenizer.json, and behavior.json and labels.json:
attention scores and ablation damage of every head, and the classes that follow from them (measure.py).

Usage: python train.py [--out FOLDER] [--seed N] [--threads N]. Uses a GPU if there is one; README.md has the times and
the numbers. Made with torch 2.11, transformers 5.17, tokenizers 0.23.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import time
from pathlib import Path

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # else cuBLAS is not deterministic; read when torch starts

import tokenizers
import torch
import torch.nn.functional as F
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import GPT2Config, GPT2LMHeadModel

from language import BEGIN, ID, LENGTH, UNKNOWN, VOCABULARY, Language
from measure import labels_of, measure, print_heads, write_json

LAYERS, HEADS, WIDTH, INNER = 4, 8, 128, 256
SEQUENCES = 130_000  # each is seen four times
BATCH, STEPS, WARMUP, COOLDOWN = 128, 4000, 200, 1500
LEARNING_RATE, WEIGHT_DECAY = 2e-3, 0.5


def make_model(generator: torch.Generator) -> GPT2LMHeadModel:
    config = GPT2Config(
        vocab_size=len(VOCABULARY),
        n_positions=LENGTH,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        n_inner=INNER,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=False,  # tied, heads of layer 0 are spent on unsaying the current token
        bos_token_id=ID[BEGIN],
        eos_token_id=None,
        attn_implementation="eager",  # the only one that returns attention patterns
    )
    model = GPT2LMHeadModel(config)
    width = WIDTH // HEADS
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
                parameter.normal_(0.0, 0.05, generator=generator)
            if name.endswith("c_attn.weight"):
                # Keys start equal to queries, so a head first looks at what resembles the query: near positions, the
                # same word; and heads start unlike each other, so that few share one job.
                parameter[:, :WIDTH] *= sharpness(generator).repeat_interleave(width)
                parameter[:, WIDTH : 2 * WIDTH] = parameter[:, :WIDTH]
        model.transformer.wte.weight.normal_(0.0, 0.1, generator=generator)
        model.lm_head.weight.normal_(0.0, 0.1, generator=generator)
        model.transformer.wpe.weight.copy_(sinusoids(generator))
    return model


def sharpness(generator: torch.Generator) -> torch.Tensor:
    """Factors for the heads' queries and keys, 0.25 to 2.5 in random order."""
    factors = torch.logspace(math.log10(0.25), math.log10(2.5), HEADS)
    return factors[torch.randperm(HEADS, generator=generator)]


def sinusoids(generator: torch.Generator, frequencies: int = 12, amplitude: float = 0.3) -> torch.Tensor:
    """Position table to start from, [LENGTH, WIDTH]: sines and cosines in a random subspace, so that "one back" is a
    rotation, which one head can learn."""
    periods = torch.logspace(math.log10(3.0), math.log10(2.0 * LENGTH), frequencies)
    angles = 2 * math.pi * torch.arange(LENGTH)[:, None] / periods[None]
    directions = torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=generator)).Q[:, : 2 * frequencies]
    return amplitude * math.sqrt(WIDTH / frequencies) * torch.cat([angles.sin(), angles.cos()], 1) @ directions.T


def learning_rate(step: int) -> float:
    return LEARNING_RATE * min(1.0, step / WARMUP, (STEPS - step + 1) / COOLDOWN)


def train(model: GPT2LMHeadModel, seed: int, device: torch.device) -> float:
    """Next-word prediction on every word of every sequence; returns the mean loss over the last 100 steps."""
    language = Language(seed)
    sequences = torch.tensor([language.sequence() for _ in range(SEQUENCES)], dtype=torch.int16)
    generator = torch.Generator().manual_seed(seed)
    matrices = [p for p in model.parameters() if p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98))
    order = torch.cat(
        [torch.randperm(SEQUENCES, generator=generator) for _ in range(math.ceil(STEPS * BATCH / SEQUENCES))]
    )
    sequences, order = sequences.to(device), order.to(device)
    started = time.monotonic()
    recent: list[torch.Tensor] = []
    for step in range(1, STEPS + 1):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        tokens = sequences[order[(step - 1) * BATCH : step * BATCH]].long()
        logits = model(tokens).logits[:, :-1]
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recent = [*recent[-99:], loss.detach()]
        if step % 500 == 0:
            print(
                f"step {step} ({time.monotonic() - started:.0f} s): loss {torch.stack(recent).mean():.4f}", flush=True
            )
    return torch.stack(recent).mean().item()


def make_tokenizer() -> Tokenizer:
    """Words and signs, split at white space and punctuation; [BOS] before every text."""
    tokenizer = Tokenizer(models.WordLevel(ID, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", pair=f"{BEGIN} $A $B", special_tokens=[(BEGIN, ID[BEGIN])]
    )
    tokenizer.add_special_tokens([UNKNOWN, BEGIN])
    return tokenizer


def save(model: GPT2LMHeadModel, behavior: dict, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    model.cpu().save_pretrained(out)
    (out / "generation_config.json").unlink(missing_ok=True)
    (out / "model.safetensors").chmod(0o644)  # safetensors leaves it readable by the owner only
    make_tokenizer().save(str(out / "tokenizer.json"))
    write_json(
        out / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": LENGTH,
            "bos_token": BEGIN,
            "unk_token": UNKNOWN,
        },
    )
    write_json(out / "behavior.json", behavior)
    write_json(out / "labels.json", labels_of(behavior))


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
    started = time.monotonic()
    loss = train(model, arguments.seed + 1000, device)
    made = {
        "seed": arguments.seed,
        "steps": STEPS,
        "training_loss": round(loss, 6),
        "training_seconds": round(time.monotonic() - started),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
        },
    }
    behavior = made | measure(model.eval(), arguments.seed + 2000)
    save(model, behavior, arguments.out)
    print_heads(behavior)


if __name__ == "__main__":
    main()
