"""What the attention heads of a transformer do to each other.

    import headscope
    model = headscope.load("path/to/model")
    relation = headscope.relate(model)
    relation.edges.to_pandas()

The functions have the names and options of the ``headscope`` command and give the same numbers.
``help(headscope.relate)`` shows all parameters with their defaults.
"""

import warnings as _warnings

from ._enums import Metric, NullModel, Role
from ._errors import (
    ArgumentError,
    BackendError,
    ColumnError,
    Error,
    FileError,
    FormatError,
    NumericError,
    ParameterError,
    ResourceError,
    UnsupportedError,
)
from ._functions import capture, compare, detect, organize, patch, prune, relate, report, softmax
from ._graph import HeadGraph
from ._model import Model, families, from_torch, load
from ._native import better_kernels as _better_kernels
from ._native import threads
from ._native import version as __version__
from ._result import Result
from ._run import Run
from ._run import open_run as open
from ._tables import Table
from ._threads import set_threads
from ._torch import capture_torch
from ._trees import Tree
from ._view import view
from .results import (
    Capture,
    Comparison,
    Detection,
    Invariance,
    Organization,
    Patching,
    Pruning,
    Relation,
)

__all__ = [
    "ArgumentError", "BackendError", "Capture", "ColumnError", "Comparison", "Detection", "Error", "FileError",
    "FormatError", "HeadGraph", "Invariance", "Metric", "Model", "NullModel", "NumericError", "Organization",
    "ParameterError", "Patching", "Pruning", "Relation", "ResourceError", "Result", "Role", "Run", "Table", "Tree",
    "UnsupportedError", "__version__", "capture", "capture_torch", "compare", "detect", "families", "from_torch",
    "load", "open", "organize", "patch", "prune", "relate", "report", "set_threads", "softmax", "threads", "view",
]

if _better_kernels:
    _warnings.warn(
        "OpenBLAS does not know this processor and computes at a fraction of its speed: "
        f"set OPENBLAS_CORETYPE={_better_kernels} before Python starts",
        RuntimeWarning,
        stacklevel=2,
    )
