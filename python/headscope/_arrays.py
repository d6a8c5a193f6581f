"""Arrays from other libraries."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._check import kind_of
from ._errors import ArgumentError

#: An array, or something that NumPy or DLPack can convert to one: NumPy, torch, JAX, nested lists.
ArrayLike: TypeAlias = Any


def on_cpu(name: str, values: ArrayLike) -> Any:
    """What NumPy can read. Tensors stay in place if they are in memory; from a device they are copied."""
    if getattr(values, "is_meta", False):
        raise ArgumentError(f"{name}: the tensor is on the meta device and has no values")
    if hasattr(values, "detach"):
        values = values.detach()
    if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
        if str(getattr(values, "dtype", "")) == "torch.bfloat16":
            values = values.float()
        device = getattr(values, "device", None)
        if device is not None and getattr(device, "type", "cpu") != "cpu":
            values = values.cpu()
        try:
            values = np.from_dlpack(values)
        except (TypeError, ValueError, RuntimeError, BufferError):
            raise ArgumentError(f"{name}: NumPy cannot read {kind_of(values)} of "
                                f"{getattr(values, 'dtype', '?')}") from None
    return values


def array_of(name: str, values: ArrayLike) -> NDArray[Any]:
    """An array of numbers, without a copy where that is possible."""
    values = on_cpu(name, values)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError, BufferError):
        raise ArgumentError(f"{name}: {kind_of(values)} that is not an array: its parts differ in length or type"
                            ) from None
    if array.dtype.kind not in "biuf":
        found = f"an array of {array.dtype}" if array.ndim else kind_of(values)
        raise ArgumentError(f"{name}: expected numbers, found {found}")
    return array


def float_array(name: str, values: ArrayLike) -> NDArray[np.float32]:
    """The same memory if it is float32 in C order."""
    return np.ascontiguousarray(array_of(name, values), dtype=np.float32)
