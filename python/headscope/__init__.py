"""What the attention heads of a transformer do to each other.

    import headscope
    model = headscope.load("path/to/model")
    relation = headscope.relate(model)
    relation.edges.to_pandas()

The functions have the names and options of the ``headscope`` command and give the same numbers.
"""

import warnings as _warnings

from ._commands import capture, compare, detect, organize, prune, relate, report, softmax
from ._commands import open_run as open  # noqa: A004
from ._errors import (
    ArgumentError,
    BackendError,
    Error,
    FileError,
    FormatError,
    NumericError,
    ResourceError,
    UnsupportedError,
)
from ._model import Model, load
from ._native import better_kernels as _better_kernels
from ._native import set_threads, threads
from ._native import version as __version__
from ._run import Run
from ._tables import Table
from ._torch import capture_torch, from_torch
from ._trees import Tree
from .results import (
    Capture,
    Comparison,
    Detection,
    Invariance,
    Organization,
    Pruning,
    Relation,
    Result,
)

__all__ = [
    "ArgumentError", "BackendError", "Capture", "Comparison", "Detection", "Error", "FileError", "FormatError",
    "Invariance", "Model", "NumericError", "Organization", "Pruning", "Relation", "ResourceError", "Result", "Run",
    "Table", "Tree", "UnsupportedError", "__version__", "capture", "capture_torch", "compare", "detect", "from_torch",
    "load", "open", "organize", "prune", "relate", "report", "set_threads", "softmax", "threads",
]

if _better_kernels:
    _warnings.warn(
        "OpenBLAS does not know this processor and computes at a fraction of its speed: "
        f"set OPENBLAS_CORETYPE={_better_kernels} before Python starts",
        RuntimeWarning,
        stacklevel=2,
    )
