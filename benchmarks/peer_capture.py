"""A forward pass of a GPT-2 checkpoint in PyTorch, eager attention, all attention maps and logits kept. Prints one JSON
object.

Usage: python peer_capture.py FOLDER TOKENS THREADS ROUNDS, in an environment with torch and transformers.
"""

from __future__ import annotations

import json
import sys
import time

import torch
import transformers


def main() -> None:
    folder, tokens, threads, rounds = sys.argv[1], *map(int, sys.argv[2:])
    torch.set_num_threads(threads)
    transformers.logging.disable_progress_bar()
    model = transformers.GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager").eval()
    ids = torch.randint(1000, (1, tokens), generator=torch.Generator().manual_seed(1))
    times = []
    with torch.no_grad():
        model(ids, output_attentions=True)
        for _ in range(rounds):
            begin = time.perf_counter()
            model(ids, output_attentions=True)
            times.append(time.perf_counter() - begin)
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    print(json.dumps({"median": sorted(times)[len(times) // 2], "best": min(times), "versions": versions}))


if __name__ == "__main__":
    main()
