"""Writes a safetensors file. The bytes depend on names, types and values alone, so that the file has one hash."""

from __future__ import annotations

import json
from pathlib import Path

from torch_pickle import Tensor


def write_safetensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Writes the tensors in the order of their names."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name in sorted(tensors):
        array = tensors[name].array
        header[name] = {
            "dtype": tensors[name].dtype, "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]
        }  # fmt: skip
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in sorted(tensors):
            file.write(tensors[name].array.tobytes())
