#!/usr/bin/env python3
"""Run the dinov2 case of forward/ on images of other sizes, whose table of positions transformers stretches.

Output: OUT/dinov2_sizes.npz with pixels_<height>x<width> float32 [3, height, width] and
output_<height>x<width> float32 [tokens, width], the last hidden state.
Seed: SEED. Made with torch 2.11.0, transformers 5.17.0.

    python make_dinov2_sizes.py OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
import transformers as hf

SEED = 2601
# Patches are 4 x 4 and the table is made for 16 x 16: larger, smaller, oblong, as many patches in
# another arrangement, and a rest that no patch covers.
SIZES = [(24, 24), (8, 8), (24, 12), (8, 32), (21, 18)]


def main() -> None:
    here = Path(__file__).resolve().parent
    model = hf.Dinov2Model.from_pretrained(here / "forward/dinov2", dtype=torch.float32, attn_implementation="eager")
    generator = torch.Generator().manual_seed(SEED)
    arrays: dict[str, np.ndarray] = {}
    for height, width in SIZES:
        pixels = torch.randn(3, height, width, generator=generator)
        with torch.no_grad():
            hidden = model.eval()(pixels[None]).last_hidden_state[0]
        arrays[f"pixels_{height}x{width}"] = pixels.numpy()
        arrays[f"output_{height}x{width}"] = hidden.numpy()
    np.savez_compressed(Path(sys.argv[1]) / "dinov2_sizes.npz", **arrays)  # type: ignore[arg-type]  # NumPy's allow_pickle


if __name__ == "__main__":
    main()
