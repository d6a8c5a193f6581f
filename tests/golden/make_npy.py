"""Writes tests/golden/npy/: small arrays saved by numpy, in every type headscope reads.

    python3 tests/golden/make_npy.py        (needs numpy; the files here are from numpy 2.4.6)

Nothing is random. Element i, counted in C order, is v = (i * 37) % 101; signed
types hold v - 50, floating types (v - 50) / 8, bools v % 2. tests/unit/io/npy_test.cpp
and npz_test.cpp compute the same.

Names: <type>_<shape>_<order>.npy, type as numpy spells it with "le"/"be" for the
byte order ("f4le"), order "c" or "f".
"""

import io
import pathlib
import zipfile
from typing import Literal

import numpy as np

FOLDER = pathlib.Path(__file__).parent / "npy"
KINDS = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"]


def formula(dtype, shape):
    dtype = np.dtype(dtype)
    v = (np.arange(np.prod(shape, dtype=int)) * 37) % 101
    if dtype.kind == "f":
        v = (v - 50) / 8
    elif dtype.kind == "i":
        v = v - 50
    elif dtype.kind == "b":
        v = v % 2
    return v.astype(dtype).reshape(shape)


def main():
    FOLDER.mkdir(exist_ok=True)
    for kind in KINDS:
        for order in "cf":
            for sign, byte_order in [("<", "le"), (">", "be")]:
                array = formula(sign + kind, (5, 7))
                array = np.asfortranarray(array) if order == "f" else array
                np.save(FOLDER / f"{kind}{byte_order}_5x7_{order}.npy", array)
    layouts: list[Literal["C", "F"]] = ["C", "F"]
    for layout in layouts:
        np.save(FOLDER / f"f4le_3x4x5_{layout.lower()}.npy", np.asarray(formula("<f4", (3, 4, 5)), order=layout))
        np.save(FOLDER / f"i2be_2x3x4x5_{layout.lower()}.npy", np.asarray(formula(">i2", (2, 3, 4, 5)), order=layout))
    np.save(FOLDER / "f8le_scalar_c.npy", formula("<f8", ()))
    np.save(FOLDER / "f4le_0_c.npy", formula("<f4", (0,)))
    np.save(FOLDER / "f4le_3x0x2_f.npy", np.asfortranarray(formula("<f4", (3, 0, 2))))
    np.save(FOLDER / "i8le_11_c.npy", formula("<i8", (11,)))
    for version in [(2, 0), (3, 0)]:
        with open(FOLDER / f"f4le_2x3_c_format{version[0]}.npy", "wb") as file:
            np.lib.format.write_array(file, formula("<f4", (2, 3)), version=version)

    # What headscope must refuse: pickles, records, strings, complex numbers, opaque bytes.
    np.save(FOLDER / "refused_object.npy", np.array([{}, None], dtype=object), allow_pickle=True)
    np.save(FOLDER / "refused_record.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
    np.save(FOLDER / "refused_string.npy", np.array(["a", "bc"]))
    np.save(FOLDER / "refused_complex.npy", np.zeros(2, dtype="<c8"))
    np.save(FOLDER / "refused_datetime.npy", np.zeros(2, dtype="<M8[ns]"))
    np.save(FOLDER / "refused_void.npy", np.zeros(2, dtype="V2"))

    arrays = {
        "weights": formula("<f4", (6, 8)),
        "half": np.asfortranarray(formula("<f2", (3, 5))),
        "ids": formula("<i8", (9,)),
        "scalar": formula("<f8", ()),
        "empty": formula("<f4", (0, 4)),
    }
    np.savez(FOLDER / "stored.npz", **arrays)
    np.savez_compressed(FOLDER / "compressed.npz", **arrays)
    np.savez(FOLDER / "no_arrays.npz")
    # 40000 zeros deflate to some 60 bytes: refused, see ZipFile::kLargestRatio.
    np.savez_compressed(FOLDER / "refused_ratio.npz", zeros=np.zeros(10000, dtype="<f4"), ids=arrays["ids"])
    # Written to a pipe, an archive has its sizes after the data.
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def tell(self):
            raise io.UnsupportedOperation

    pipe = Pipe()
    np.savez_compressed(pipe, **arrays)
    (FOLDER / "piped.npz").write_bytes(pipe.getvalue())
    with zipfile.ZipFile(FOLDER / "refused_bzip2.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr(zipfile.ZipInfo("a.npy"), b"x" * 100, compress_type=zipfile.ZIP_BZIP2)


if __name__ == "__main__":
    main()
