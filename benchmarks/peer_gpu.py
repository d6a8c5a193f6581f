"""The same affinities in PyTorch: one product a pair of layers, squared and summed by head, all pairs of layers.

Usage: peer_gpu.py PRECISION LAYERS HEADS WIDTH D. Random factors, made on the device. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time

import torch


def main() -> None:
    precision, (layers, heads, width, d) = sys.argv[1], map(int, sys.argv[2:6])
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)
    torch.manual_seed(0)
    # Factors lie column after column, as ours do.
    sides = [
        [(torch.randn(heads * width, d, device="cuda") / d**0.5).to(dtype) for _ in range(layers)] for _ in range(2)
    ]

    def run() -> float:
        begin = time.monotonic()
        out = torch.empty(layers * heads, layers * heads, device="cuda")
        for i, source in enumerate(sides[0]):
            for j, target in enumerate(sides[1]):
                product = (source @ target.T).float()
                norms = product.view(heads, width, heads, width).square().sum((1, 3))
                out[i * heads : (i + 1) * heads, j * heads : (j + 1) * heads] = norms
        torch.cuda.synchronize()
        return time.monotonic() - begin

    small = sides[0][0][:256] @ sides[1][0][:256].T
    del small
    if layers <= 40:
        run()
    print(json.dumps({"seconds": run(), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
