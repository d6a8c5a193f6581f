"""Makes tests/golden/gguf/quants.gguf: stored tensors and what they decode to.

For every type that headscope decodes from GGUF the file holds a tensor named
after it, such as `Q4_K`, and a tensor `Q4_K.expected` of F32 with the numbers
the gguf package makes of it (`gguf.quants.dequantize`). The package cannot
make K blocks, so all quantized types are random bytes with finite scales put
where each format keeps them: ordinary, negative, zero, subnormal and largest.

Seed 20240517; written with gguf 0.19.0 and numpy 2.4.6. To make it again:

    python -m venv /tmp/venv && /tmp/venv/bin/pip install gguf==0.19.0 numpy==2.4.6
    /tmp/venv/bin/python tests/golden/make_gguf_quants.py
"""

from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

SEED = 20240517
ROWS = 6
COLUMNS = 512

# Where each block keeps its halves (scale, then minimum), in bytes.
HALVES = {
    Type.Q4_0: [0],
    Type.Q4_1: [0, 2],
    Type.Q5_0: [0],
    Type.Q5_1: [0, 2],
    Type.Q8_0: [0],
    Type.Q2_K: [80, 82],
    Type.Q3_K: [108],
    Type.Q4_K: [0, 2],
    Type.Q5_K: [0, 2],
    Type.Q6_K: [208],
    Type.MXFP4: [],
}

# Put into the first blocks: -1, 0, -0, the smallest and a middling subnormal,
# the largest subnormal, the smallest normal, the largest half and its negative.
EDGES = np.array([0xBC00, 0x0000, 0x8000, 0x0001, 0x8155, 0x03FF, 0x0400, 0x7BFF, 0xFBFF], np.uint16)


def random_blocks(rng: np.random.Generator, kind: Type) -> np.ndarray:
    """Blocks of random integers, with scales of the size real weights have."""
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    count = ROWS * COLUMNS // elements
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for position, start in enumerate(HALVES[kind]):
        halves = rng.normal(0.0, 0.01, count).astype(np.float16).view(np.uint16)
        edges = np.roll(EDGES, position)[:count]
        halves[: len(edges)] = edges
        blocks[:, start : start + 2] = halves.view(np.uint8).reshape(count, 2)
    if kind == Type.MXFP4:  # a byte, the exponent of 2 plus 127: ordinary, smallest and largest that is finite times 6
        blocks[:, 0] = rng.integers(110, 130, count)
        blocks[:6, 0] = [0, 1, 2, 127, 251, 252]
    return blocks.reshape(ROWS, -1)


def random_plain(rng: np.random.Generator, kind: Type) -> np.ndarray:
    """Ordinary numbers, as the bytes of the type."""
    return gguf.quants.quantize(rng.normal(0.0, 1.0, (ROWS, COLUMNS)).astype(np.float32), kind)


def main() -> None:
    rng = np.random.default_rng(SEED)
    path = Path(__file__).parent / "gguf" / "quants.gguf"
    writer = gguf.GGUFWriter(path, "golden")
    for kind in [Type.F32, Type.F16, Type.BF16, *HALVES]:
        stored = random_blocks(rng, kind) if kind in HALVES else random_plain(rng, kind)
        expected = gguf.quants.dequantize(stored, kind)
        assert expected.shape == (ROWS, COLUMNS) and np.isfinite(expected).all()
        writer.add_tensor(kind.name, stored, raw_dtype=kind)
        writer.add_tensor(f"{kind.name}.expected", expected.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
