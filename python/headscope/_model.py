"""Models."""

from __future__ import annotations

import html
import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._check import checked, index_of, kind_of, path_of
from ._enums import Role
from ._errors import ArgumentError
from ._live import MODULES, Module, check_is_module, native_model


def families() -> list[dict[str, Any]]:
    """All model families that headscope knows, with what works for each.

    Every dictionary has the keys of ``headscope families --json``: ``family``, ``model_types``, ``capture``, ...
    """
    found: list[dict[str, Any]] = json.loads(_native.families())["families"]
    return found


class Model:
    """A transformer model. Opening it reads headers only; weights are read on request."""

    def __init__(self, native: _native.Model, opened_as: tuple[str, str] | None = None) -> None:
        self._native = native
        # Of a model from files, the family and the tower that were given, or ""; None for a model in memory.
        self._opened_as = opened_as
        #: Facts from the headers: family, sizes, tensors used, ignored and missing, ...
        self.info: dict[str, Any] = native.info()

    @staticmethod
    def open(
        path: str | PathLike[str],
        revision: str | None = None,
        family: str | None = None,
        tower: str | None = None,
    ) -> Model:
        for name, value in (("revision", revision), ("family", family), ("tower", tower)):
            if not isinstance(value, (str, type(None))):
                raise ArgumentError(f"{name}: expected text, found {kind_of(value)}")
        native = _native.Model.open(path_of("model", path), revision or "", family or "", tower or "")
        return Model(native, (family or "", tower or ""))

    @property
    def path(self) -> str:
        return str(self.info["path"])

    @property
    def family(self) -> str:
        return str(self.info["family"])

    @property
    def layers(self) -> int:
        return int(self.info["layers"])

    @property
    def heads(self) -> list[str]:
        """Names of all query heads, layer by layer: ``L4H7``."""
        return self._native.heads()

    def weights(self, layer: int, role: Role | str, weights: str = "folded") -> NDArray[np.float32]:
        """The matrices of a role (Q, K, V, O) of one layer, [head, d_model, d_head]; K and V have one per KV head.

        ``folded`` has the norm before attention multiplied in, ``raw`` is as stored.
        """
        loaded: NDArray[np.float32] = self._native.weights(index_of("layer", layer), str(role), str(weights))
        return loaded

    def fingerprint(self) -> str:
        """16 hexadecimal digits that identify the checkpoint."""
        return self._native.fingerprint()

    def readiness(self) -> dict[str, tuple[bool, str]]:
        """Per command, whether it can run on the model, and the reason."""
        return self._native.readiness()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._opened_as is None:
            raise ArgumentError("a model in memory cannot be pickled; save the module and pickle "
                                "headscope.load(folder)")
        return _reopened, (str(Path(self.path).absolute()), *self._opened_as)

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Model:
        return self  # it does not change

    def __repr__(self) -> str:
        about = self.info
        kv = f" ({about['kv_heads']} KV)" if about["kv_heads"] != about["heads"] else ""
        return (
            f"<headscope {about['family']}: {about['layers']} layers of {about['heads']} heads{kv}, "
            f"width {about['d_model']}, heads of {about['d_head']}, {', '.join(about['dtypes'])}>"
        )

    def _repr_html_(self) -> str:
        shown = ("path", "family", "layers", "heads", "kv_heads", "d_model", "d_head", "position", "norm")
        rows = "".join(f"<tr><th>{key}</th><td>{html.escape(str(self.info[key]))}</td></tr>" for key in shown)
        return f"<table>{rows}</table>"


def _reopened(path: str, family: str, tower: str) -> Model:
    return Model.open(path, None, family, tower)


def model_of(
    value: Any, revision: str | None = None, family: str | None = None, tower: str | None = None
) -> Model:
    """A model from whatever stands for one."""
    if isinstance(value, str) or (isinstance(value, PathLike) and not hasattr(value, "manifest")):
        return Model.open(value, revision, family, tower)
    for name, given in (("revision", revision), ("family", family), ("tower", tower)):
        if given is not None and (name == "revision" or isinstance(value, Model)):
            raise ArgumentError(f"{name}: the model is already open; use it with headscope.load and a path or a Hub "
                                "name")
    if isinstance(value, Model):
        return value
    check_is_module("model", value)
    return Model(native_model(value, family=family or "", tower=tower or ""))


@checked
def load(
    model: str | PathLike[str] | Module | Model,
    revision: str | None = None,
    family: str | None = None,
    tower: str | None = None,
) -> Model:
    """Opens a model: from files, or one that is running.

    ``model`` is a folder with config.json and safetensors files, a .gguf file, or a model in the Hugging Face cache. A
    name (``openai-community/gpt2``, ``gpt2``) is looked up in the local cache, never on the network; ``revision`` is
    its branch, tag or commit. ``family`` reads the model as one of that family, whatever its configuration says.
    ``tower`` selects the transformer of a model with several: ``text`` or ``vision`` of CLIP or LLaVA, ``stage3`` of
    Swin.

    Or ``model`` is a Hugging Face module or a ``TransformerBridge``, whose weights are used in place, as by
    ``from_torch``.
    """
    return model_of(model, revision, family, tower)


@checked
def from_torch(module: Module, *, config: Any = None, name: str | None = None) -> Model:
    """A Hugging Face module, or a ``TransformerBridge`` around one, as a model. Its weights are used in place.

    Tensors on a device, or not in C order, are copied, and so are experts that transformers merged. Later changes of
    weights that were not copied are visible. ``name`` is the name in messages, and the folder of its tokenizer;
    default: the folder or the Hub name that the module was loaded from. ``config`` is needed for a module without one.
    """
    check_is_module("from_torch", module, MODULES)
    return Model(native_model(module, config=config, path=name, name="from_torch"))
