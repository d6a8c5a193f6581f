"""Models."""

from __future__ import annotations

import html
import json
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._enums import Role


def families() -> list[dict[str, Any]]:
    """All model families that headscope knows, with what works for each.

    Every dictionary has the keys of ``headscope families --json``: ``family``, ``model_types``, ``capture``, ...
    """
    found: list[dict[str, Any]] = json.loads(_native.families())["families"]
    return found


class Model:
    """A transformer model. Opening it reads headers only; weights are read on request."""

    def __init__(self, native: _native.Model) -> None:
        self._native = native
        #: Facts from the headers: family, sizes, tensors used, ignored and missing, ...
        self.info: dict[str, Any] = native.info()

    @staticmethod
    def open(
        path: str | PathLike[str],
        revision: str | None = None,
        family: str | None = None,
        tower: str | None = None,
    ) -> Model:
        return Model(_native.Model.open(fspath(path), revision or "", family or "", tower or ""))

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
        loaded: NDArray[np.float32] = self._native.weights(layer, str(role), weights)
        return loaded

    def fingerprint(self) -> str:
        """16 hexadecimal digits that identify the checkpoint."""
        return self._native.fingerprint()

    def readiness(self) -> dict[str, tuple[bool, str]]:
        """Per command, whether it can run on the model, and the reason."""
        return self._native.readiness()

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


def load(
    path: str | PathLike[str],
    revision: str | None = None,
    family: str | None = None,
    tower: str | None = None,
) -> Model:
    """Opens a folder with config.json and safetensors files, a .gguf file, or a model in the Hugging Face cache.

    A name (``openai-community/gpt2``, ``gpt2``) is looked up in the local cache, never on the network; ``revision`` is
    its branch, tag or commit. ``family`` reads the model as one of that family, whatever its configuration says.
    ``tower`` selects the transformer of a model with several: ``text`` or ``vision`` of CLIP or LLaVA, ``stage3`` of Swin.
    """
    return Model.open(path, revision, family, tower)
