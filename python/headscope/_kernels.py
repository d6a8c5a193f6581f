"""Loads the native module, with OpenBLAS on the kernels of this processor also where it is too old to know it.

OpenBLAS looks at the processor once, when it is loaded, and takes instructions of 2004 for one that it does not know. That it
should take others can be said in its environment only, so it is asked alone first, and let go.
"""

import _ctypes
import contextlib
import ctypes
import os
import platform
from collections.abc import Iterator
from pathlib import Path

_VARIABLE = "OPENBLAS_CORETYPE"
_LIBRARY = "libopenblas.so.0"


def kernels_instead(found: str, flags: set[str]) -> str:
    """What OpenBLAS should take on a processor with these flags instead of what it found; empty if that is right.

    The native ``better_kernels`` says the same, but only when OpenBLAS is loaded for good.
    """
    if found != "Prescott" or "avx2" not in flags:
        return ""
    return "SkylakeX" if {"avx512vl", "avx512dq"} <= flags else "Haswell"


def _found() -> str:
    """What OpenBLAS takes by itself; nothing if it is loaded already: then it is too late for another choice."""
    if _LIBRARY in Path("/proc/self/maps").read_text():
        return ""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return ""
    library.openblas_get_corename.restype = ctypes.c_char_p
    name: str = library.openblas_get_corename().decode()
    _ctypes.dlclose(library._handle)
    return name


def processor_flags() -> set[str]:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split(":")[1].split())
    return set()


@contextlib.contextmanager
def _kernels_chosen() -> Iterator[None]:
    undecided = platform.system() == "Linux" and platform.machine() == "x86_64" and _VARIABLE not in os.environ
    wanted = kernels_instead(_found(), processor_flags()) if undecided else ""
    if wanted:
        os.environ[_VARIABLE] = wanted
    try:
        yield
    finally:
        if wanted:
            del os.environ[_VARIABLE]  # other packages have an OpenBLAS of their own


with _kernels_chosen():
    from ._native import better_kernels as better_kernels
