"""tools/torch_pickle.py: tensors come out as PyTorch wrote them; whatever else is in the file is refused, not run."""

from __future__ import annotations

import io
import pickle
import struct
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from torch_pickle import LEGACY_MAGIC, LEGACY_PROTOCOL, PickleRefusedError, read_tensors  # noqa: E402


class Stored:
    """Stands for a storage while a file is made."""

    def __init__(self, kind: str, key: str, array: np.ndarray) -> None:
        self.kind, self.key, self.array = kind, key, array


class Rebuilt:
    """Pickles as a call of torch._utils._rebuild_tensor_v2, or of another name."""

    def __init__(self, *arguments: Any, function: str = "torch._utils _rebuild_tensor_v2") -> None:
        self.arguments, self.function = arguments, function


PythonPickler: Any = pickle._Pickler


class Writer(PythonPickler):
    """Writes pickles as PyTorch does: storages by reference, classes by name."""

    def __init__(self, file: io.BytesIO, legacy: bool) -> None:
        super().__init__(file, protocol=2)
        self.legacy = legacy

    def save(self, value: Any, save_persistent_id: bool = True) -> None:
        if isinstance(value, Rebuilt):
            module, name = value.function.split(" ")
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
            super().save(tuple(value.arguments))
            self.write(pickle.REDUCE)
        elif isinstance(value, Stored):
            self.write(pickle.MARK)
            super().save("storage")
            self.write(pickle.GLOBAL + f"torch\n{value.kind}\n".encode())
            for part in (value.key, "cpu", value.array.size, *((None,) if self.legacy else ())):
                super().save(part)
            self.write(pickle.TUPLE + pickle.BINPERSID)
        else:
            super().save(value, save_persistent_id)


def pickled(value: Any, legacy: bool = False) -> bytes:
    file = io.BytesIO()
    Writer(file, legacy).dump(value)
    return file.getvalue()


def write_zip(path: Path, root: Any, storages: list[Stored]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickled(root))
        for storage in storages:
            archive.writestr(f"archive/data/{storage.key}", storage.array.tobytes())
        archive.writestr("archive/version", "3\n")
    return path


def write_legacy(path: Path, root: Any, storages: list[Stored]) -> Path:
    system = {"protocol_version": LEGACY_PROTOCOL, "little_endian": True, "type_sizes": {"short": 2}}
    parts = [pickled(LEGACY_MAGIC), pickled(LEGACY_PROTOCOL), pickled(system), pickled(root, legacy=True),
             pickled([storage.key for storage in storages])]  # fmt: skip
    for storage in storages:
        parts += [struct.pack("<q", storage.array.size), storage.array.tobytes()]
    path.write_bytes(b"".join(parts))
    return path


WRITERS = pytest.mark.parametrize("write", [write_zip, write_legacy])
DATA = Stored("FloatStorage", "7", np.arange(12, dtype="<f4"))


def matrix(storage: Stored = DATA, offset: int = 0, shape: Any = (3, 4), strides: Any = (4, 1)) -> Rebuilt:
    return Rebuilt(storage, offset, shape, strides, False, OrderedDict())


@WRITERS
def test_tensors_are_read(tmp_path: Path, write: Any) -> None:
    half = Stored("BFloat16Storage", "8", np.array([16256, 16384], "<u2"))
    root = OrderedDict(plain=matrix(), turned=matrix(shape=(4, 3), strides=(1, 4)), part=matrix(DATA, 5, (2,), (3,)))
    root |= {"half": matrix(half, 0, (2,), (1,)), "number": matrix(DATA, 11, (), ()), "none": matrix(shape=(0, 4))}
    found = read_tensors(write(tmp_path / "model.bin", root, [DATA, half]))
    assert list(found) == ["plain", "turned", "part", "half", "number", "none"]
    np.testing.assert_array_equal(found["plain"].array, np.arange(12, dtype="f4").reshape(3, 4))
    np.testing.assert_array_equal(found["turned"].array, np.arange(12, dtype="f4").reshape(3, 4).T)
    np.testing.assert_array_equal(found["part"].array, [5, 8])
    assert found["number"].array == 11 and found["none"].array.shape == (0, 4)
    assert found["plain"].dtype == "F32" and found["half"].dtype == "BF16"
    np.testing.assert_array_equal(found["half"].array, [16256, 16384])


class Hostile:
    """Its pickle writes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return exec, (f"open({str(self.path)!r}, 'w').close()",)


@WRITERS
@pytest.mark.parametrize("place", ["value", "argument", "root"])
def test_a_hostile_pickle_is_refused_and_not_run(tmp_path: Path, write: Any, place: str) -> None:
    trace = tmp_path / "executed"
    hostile = Hostile(trace)
    pickle.loads(pickle.dumps(hostile))
    assert trace.exists()  # loading it the usual way runs it
    trace.unlink()
    root = {"value": {"w": matrix(), "x": hostile}, "argument": {"w": matrix(shape=hostile)}, "root": hostile}[place]
    with pytest.raises(PickleRefusedError, match=r"it names '__builtin__\.exec', which no tensor needs"):
        read_tensors(write(tmp_path / "model.bin", root, [DATA]))
    assert not trace.exists()


@pytest.mark.parametrize(
    ("pickle_bytes", "message"),
    [
        (b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.", "it names 'os.system'"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "the instruction SHORT_BINUNICODE"),
        (b"\x80\x02ctorch\nload\n.", "it names 'torch.load'"),
        (b"\x80\x02(ios\nsystem\n.", "the instruction INST"),
        (b"\x80\x02}(oR.", "the instruction OBJ"),
        (b"\x80\x02ccollections\nOrderedDict\n)\x81.", "the instruction NEWOBJ"),
        (b"\x80\x02\x82\x01.", "the instruction EXT1"),
        (b"\x80\x02K\x01K\x02R.", "arguments are no tuple"),
        (b"\x80\x02K\x01)R.", "a call of something that is no name"),
        (b"\x80\x02ctorch\nFloatStorage\n)R.", "a call of torch FloatStorage"),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.", "a call of torch._utils _rebuild_tensor_v2"),
        (b"\x80\x02K\x01Q.", "a reference that is no storage"),
        (b"\x80\x02K\x01}b.", "state for something that is no dictionary"),
        (b"\x80\x02}K\x01K\x02s.", "a key that is no text"),
        (b"\x80\x02h\x05.", "nothing was kept at 5"),
        (b"\x80\x02R.", "a value is missing"),
        (b"\x80\x02]K\x01a.", "no dictionary of tensors"),
        (b"\x80\x02}X\x01\x00\x00\x00aK\x01s.", "no dictionary of tensors"),
        (b"\x80\x02}", "damaged pickle"),
        (b"", "damaged pickle"),
    ],
)
def test_what_no_tensor_needs_is_refused(tmp_path: Path, pickle_bytes: bytes, message: str) -> None:
    path = tmp_path / "model.bin"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle_bytes)
    with pytest.raises(PickleRefusedError) as refused:
        read_tensors(path)
    assert message in str(refused.value) and "\n" not in str(refused.value)


@WRITERS
@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (matrix(shape=(3, 5), strides=(5, 1)), "does not lie in its storage of 12"),
        (matrix(offset=1), "does not lie in its storage"),
        (matrix(shape=(1 << 40,), strides=(0,)), "does not lie in its storage"),
        (matrix(shape=(3, 4), strides=(4,)), "2 axes and 1 strides"),
        (matrix(shape=(-1, 4)), "non-negative"),
        (matrix(strides=(-4, 1)), "non-negative"),
        (matrix(offset=-1), "offset -1"),
        (matrix(Stored("StringStorage", "7", DATA.array)), "which no tensor needs"),
    ],
)
def test_a_tensor_outside_its_storage_is_refused(tmp_path: Path, write: Any, tensor: Rebuilt, message: str) -> None:
    with pytest.raises(PickleRefusedError) as refused:
        read_tensors(write(tmp_path / "model.bin", {"w": tensor}, [DATA]))
    assert message in str(refused.value)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = write_legacy(tmp_path / "model.bin", {"w": matrix()}, [DATA])
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(PickleRefusedError):
            read_tensors(path)
