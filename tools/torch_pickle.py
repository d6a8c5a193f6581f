"""Reads the tensors of a PyTorch checkpoint (.bin, .pt) without executing its pickle.

A pickle is a program: loading a foreign one can run any code. This reader interprets the few instructions that a
dictionary of tensors needs and refuses all others. It imports nothing that the file names and calls nothing that the
file chooses: a name in the file is only compared with the names below. Both formats are read: the zip archive
(PyTorch 1.6 and later) and the older stream of pickles. Needs NumPy, not PyTorch.

    from torch_pickle import read_tensors
    tensors = read_tensors(Path("pytorch_model.bin"))     # name -> Tensor(dtype as in safetensors, array)
"""

from __future__ import annotations

import io
import math
import pickletools
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np


class PickleRefusedError(Exception):
    """The file has something that a dictionary of tensors does not need, or is damaged. The message is one line."""


@dataclass(frozen=True)
class Tensor:
    """An array and the name of its type in safetensors. BF16, which NumPy lacks, is held as 16-bit integers."""

    dtype: str
    array: np.ndarray


# PyTorch's storage classes: the name in safetensors, and the type that holds it.
STORAGES = {
    "DoubleStorage": ("F64", "<f8"), "FloatStorage": ("F32", "<f4"), "HalfStorage": ("F16", "<f2"),
    "BFloat16Storage": ("BF16", "<u2"), "LongStorage": ("I64", "<i8"), "IntStorage": ("I32", "<i4"),
    "ShortStorage": ("I16", "<i2"), "CharStorage": ("I8", "i1"), "ByteStorage": ("U8", "u1"),
    "BoolStorage": ("BOOL", "?"),
}  # fmt: skip
REBUILD = "torch._utils _rebuild_tensor_v2"
PARAMETER = "torch._utils _rebuild_parameter"
ORDERED = "collections OrderedDict"
NAMES = {REBUILD, PARAMETER, ORDERED, *(f"torch {name}" for name in STORAGES)}

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_PROTOCOL = 1001


@dataclass(frozen=True)
class Name:
    """A name that the pickle mentions. It is never looked up."""

    text: str


@dataclass(frozen=True)
class Storage:
    """A buffer that the pickle refers to by key."""

    kind: str
    key: str
    count: int


@dataclass(frozen=True)
class View:
    """A tensor before its buffer is known."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


MARK = object()


def integers(value: Any, what: str) -> tuple[int, ...]:
    if not isinstance(value, tuple) or not all(type(one) is int and one >= 0 for one in value):
        raise PickleRefusedError(f"{what} of a tensor must be a tuple of non-negative integers, found {value!r:.60}")
    return value


def storage_of(reference: Any) -> Storage:
    """The meaning of a persistent id: ("storage", class, key, device, count), in old files with a sixth field, None."""
    if not isinstance(reference, tuple) or len(reference) not in (5, 6) or reference[0] != "storage":
        raise PickleRefusedError(f"a reference that is no storage: {reference!r:.60}")
    _, kind, key, _, count = reference[:5]
    if len(reference) == 6 and reference[5] is not None:
        raise PickleRefusedError("a storage that is a view of another one is not supported")
    name = kind.text.removeprefix("torch ") if isinstance(kind, Name) else ""
    if name not in STORAGES or not isinstance(key, str) or type(count) is not int or count < 0:
        raise PickleRefusedError(f"a storage without known type, key and size: {reference!r:.80}")
    return Storage(name, key, count)


def call(function: Any, arguments: Any) -> Any:
    """The only calls there are: rebuild a tensor, wrap it as a parameter, make an empty dictionary."""
    name = function.text if isinstance(function, Name) else None
    if not isinstance(arguments, tuple):
        raise PickleRefusedError("a call whose arguments are no tuple")
    if name == ORDERED and arguments == ():
        return {}
    if name == PARAMETER and len(arguments) >= 1 and isinstance(arguments[0], View):
        return arguments[0]
    if name == REBUILD and len(arguments) >= 4 and isinstance(arguments[0], Storage):
        storage, offset, shape, strides = arguments[:4]
        if type(offset) is not int or offset < 0:
            raise PickleRefusedError(f"a tensor with offset {offset!r:.40}")
        return View(storage, offset, integers(shape, "shape"), integers(strides, "strides"))
    raise PickleRefusedError(f"a call of {name or 'something that is no name'}")


class Machine:
    """Interprets one pickle: a stack, and the memo of values that are used again."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def pop(self) -> Any:
        if not self.stack:
            raise PickleRefusedError("a value is missing on the stack")
        return self.stack.pop()

    def pop_to_mark(self) -> list[Any]:
        values: list[Any] = []
        while (value := self.pop()) is not MARK:
            values.append(value)
        return values[::-1]

    def push_tuple(self, count: int) -> None:
        values = [self.pop() for _ in range(count)][::-1]
        self.stack.append(tuple(values))

    def set_items(self, values: list[Any]) -> None:
        target = self.stack[-1] if self.stack else None
        if not isinstance(target, dict) or len(values) % 2:
            raise PickleRefusedError("items for something that is no dictionary")
        for key, value in zip(values[::2], values[1::2], strict=True):
            if not isinstance(key, str):
                raise PickleRefusedError(f"a key that is no text: {key!r:.40}")
            target[key] = value

    def append(self, values: list[Any]) -> None:
        if not self.stack or not isinstance(self.stack[-1], list):
            raise PickleRefusedError("elements for something that is no list")
        self.stack[-1].extend(values)

    def name(self, text: str) -> None:
        if text not in NAMES:
            raise PickleRefusedError(f"it names {text.replace(' ', '.', 1)!r:.80}, which no tensor needs")
        self.stack.append(Name(text))

    def reduce(self) -> None:
        arguments, function = self.pop(), self.pop()
        self.stack.append(call(function, arguments))

    def build(self) -> None:
        """State for an object: state_dict() adds version numbers to its dictionary, which are dropped."""
        self.pop()
        if not self.stack or not isinstance(self.stack[-1], dict):
            raise PickleRefusedError("state for something that is no dictionary")

    def get(self, place: int) -> None:
        if place not in self.memo:
            raise PickleRefusedError(f"nothing was kept at {place}")
        self.stack.append(self.memo[place])

    def put(self, place: int) -> None:
        value = self.pop()
        self.stack.append(value)
        self.memo[place] = value

    def run(self, file: BinaryIO) -> Any:
        """The value of the pickle that begins here; the file is left behind its last byte."""
        steps = STEPS
        try:
            for code, argument, _ in pickletools.genops(file):
                if code.name == "STOP":
                    return self.pop()
                if code.name in VALUES:
                    self.stack.append(argument)
                elif code.name in steps:
                    steps[code.name](self, argument)
                else:
                    raise PickleRefusedError(f"the instruction {code.name}, which no tensor needs")
        except (ValueError, UnicodeError) as error:
            raise PickleRefusedError(f"a damaged pickle ({error})") from None
        raise PickleRefusedError("a pickle without an end")


VALUES = {"BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"}
STEPS: dict[str, Callable[[Machine, Any], None]] = {
    "PROTO": lambda machine, version: None,
    "NONE": lambda machine, _: machine.stack.append(None),
    "NEWTRUE": lambda machine, _: machine.stack.append(True),
    "NEWFALSE": lambda machine, _: machine.stack.append(False),
    "EMPTY_DICT": lambda machine, _: machine.stack.append({}),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "EMPTY_TUPLE": lambda machine, _: machine.stack.append(()),
    "MARK": lambda machine, _: machine.stack.append(MARK),
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.pop_to_mark())),
    "TUPLE1": lambda machine, _: machine.push_tuple(1),
    "TUPLE2": lambda machine, _: machine.push_tuple(2),
    "TUPLE3": lambda machine, _: machine.push_tuple(3),
    "SETITEM": lambda machine, _: machine.set_items([machine.pop(), machine.pop()][::-1]),
    "SETITEMS": lambda machine, _: machine.set_items(machine.pop_to_mark()),
    "APPEND": lambda machine, _: machine.append([machine.pop()]),
    "APPENDS": lambda machine, _: machine.append(machine.pop_to_mark()),
    "BINPUT": Machine.put,
    "LONG_BINPUT": Machine.put,
    "BINGET": Machine.get,
    "LONG_BINGET": Machine.get,
    "GLOBAL": Machine.name,
    "REDUCE": lambda machine, _: machine.reduce(),
    "BUILD": lambda machine, _: machine.build(),
    "BINPERSID": lambda machine, _: machine.stack.append(storage_of(machine.pop())),
}


def tensor_of(name: str, view: View, data: bytes | memoryview) -> Tensor:
    """The array that a view shows of its buffer; it must lie within it."""
    dtype, held = STORAGES[view.storage.kind]
    size = np.dtype(held).itemsize
    if len(data) != view.storage.count * size:
        raise PickleRefusedError(f"{name}: its storage has {len(data)} bytes, expected {view.storage.count * size}")
    if len(view.shape) != len(view.strides):
        raise PickleRefusedError(f"{name}: {len(view.shape)} axes and {len(view.strides)} strides")
    values = math.prod(view.shape)
    last = view.offset + sum((n - 1) * stride for n, stride in zip(view.shape, view.strides, strict=True))
    if values > view.storage.count or (values > 0 and last >= view.storage.count):
        message = f"{name}: shape {view.shape} does not lie in its storage of {view.storage.count} values"
        raise PickleRefusedError(message)
    if values == 0:
        return Tensor(dtype, np.zeros(view.shape, held))
    buffer = np.frombuffer(data, held)[view.offset :]
    strides = tuple(size * stride for stride in view.strides)
    return Tensor(dtype, np.ascontiguousarray(np.lib.stride_tricks.as_strided(buffer, view.shape, strides)))


def views_of(root: Any) -> dict[str, View]:
    if not isinstance(root, dict) or not all(isinstance(value, View) for value in root.values()):
        raise PickleRefusedError("the file is no dictionary of tensors")
    return root


def read_zip(file: BinaryIO) -> dict[str, Tensor]:
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        (pickle,) = [name for name in names if name.count("/") == 1 and name.endswith("/data.pkl")] or [""]
        if not pickle:
            raise PickleRefusedError("an archive without data.pkl")
        folder = pickle.removesuffix("data.pkl")
        if f"{folder}byteorder" in names and archive.read(f"{folder}byteorder") != b"little":
            raise PickleRefusedError("a big-endian file is not supported")
        views = views_of(Machine().run(io.BytesIO(archive.read(pickle))))
        missing = [view.storage.key for view in views.values() if f"{folder}data/{view.storage.key}" not in names]
        if missing:
            raise PickleRefusedError(f"the archive has no storage {missing[0]!r:.40}")
        data = {name: archive.read(f"{folder}data/{view.storage.key}") for name, view in views.items()}
    return {name: tensor_of(name, view, data[name]) for name, view in views.items()}


def read_legacy(file: BinaryIO) -> dict[str, Tensor]:
    if Machine().run(file) != LEGACY_MAGIC or Machine().run(file) != LEGACY_PROTOCOL:
        raise PickleRefusedError("no PyTorch checkpoint: neither a zip archive nor PyTorch's magic number")
    system = Machine().run(file)
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise PickleRefusedError("a big-endian file is not supported")
    views = views_of(Machine().run(file))
    keys = Machine().run(file)
    storages = {view.storage.key: view.storage for view in views.values()}
    if not isinstance(keys, list) or set(keys) != set(storages) or len(keys) != len(storages):
        raise PickleRefusedError("the list of storages does not fit the tensors")
    data: dict[str, bytes] = {}
    for key in keys:
        storage = storages[key]
        count = int.from_bytes(file.read(8), "little")
        if count != storage.count:
            raise PickleRefusedError(f"storage {key!r:.40} has {count} values, expected {storage.count}")
        data[key] = file.read(count * np.dtype(STORAGES[storage.kind][1]).itemsize)
    return {name: tensor_of(name, view, data[view.storage.key]) for name, view in views.items()}


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Reads all tensors of a checkpoint that is a dictionary of tensors, as state_dict() gives it.

    Raises PickleRefusedError, with the file's name, at the first thing that is not needed for tensors."""
    try:
        with path.open("rb") as file:
            return read_zip(file) if zipfile.is_zipfile(file) else (file.seek(0), read_legacy(file))[1]
    except (PickleRefusedError, zipfile.BadZipFile) as error:
        raise PickleRefusedError(f"{path}: refused: {error}") from None
