"""Arrays from other libraries."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: An array, or something that NumPy or DLPack can convert to one: NumPy, torch, JAX, nested lists.
ArrayLike: TypeAlias = Any


def on_cpu(values: ArrayLike) -> Any:
    """An array that NumPy can read. Tensors stay in place if they are in memory."""
    if hasattr(values, "detach"):
        values = values.detach()
    if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
        if str(getattr(values, "dtype", "")) == "torch.bfloat16":
            values = values.float()
        device = getattr(values, "device", None)
        if device is not None and getattr(device, "type", "cpu") != "cpu":
            values = values.cpu()
        values = np.from_dlpack(values)
    return values


def float_array(values: ArrayLike) -> NDArray[np.float32]:
    """The same memory if it is float32 in C order."""
    return np.ascontiguousarray(on_cpu(values), dtype=np.float32)
