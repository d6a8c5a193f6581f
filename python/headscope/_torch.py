"""Maps of torch modules. torch is not imported: the methods of its tensors suffice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._check import checked
from ._errors import UnsupportedError
from ._files import Held
from ._live import check_is_module, is_bridge
from .results import Capture


class _Maps:
    """Collects the attention patterns that modules return in a forward pass, layer by layer."""

    def __init__(self) -> None:
        self.layers: list[NDArray[np.float32]] = []
        self._last: Any = None

    def __call__(self, _module: Any, _inputs: Any, output: Any) -> None:
        if not isinstance(output, tuple) or len(output) < 2:
            return
        weights = output[1]
        # An outer module may return the same tensor as an inner one.
        if getattr(weights, "ndim", 0) != 4 or weights is self._last:
            return
        self._last = weights
        self.layers.append(weights.detach().float().cpu().numpy())


def _eager(module: Any) -> Any:
    """Switches to eager attention, which returns its maps. Returns a function that switches back."""
    before = getattr(getattr(module, "config", None), "_attn_implementation", None)
    if before in (None, "eager") or not hasattr(module, "set_attn_implementation"):
        return lambda: None
    module.set_attn_implementation("eager")
    return lambda: module.set_attn_implementation(before)


def _arguments(inputs: Any) -> dict[str, Any]:
    if isinstance(inputs, Mapping):
        return dict(inputs)
    if hasattr(inputs, "data") and isinstance(inputs.data, Mapping):  # BatchEncoding
        return dict(inputs.data)
    key = "pixel_values" if getattr(inputs, "ndim", 0) == 4 else "input_ids"
    return {key: inputs}


def _description(arguments: Mapping[str, Any], i: int, pattern: NDArray[np.float32], layers: int,
                 tokenizer: Any) -> str:
    heads = pattern.shape[0] // layers
    causal = pattern.shape[1] == pattern.shape[2] and not np.triu(pattern, 1).any()
    tokens: list[dict[str, Any]] = [{"text": str(k)} for k in range(pattern.shape[2])]
    if "input_ids" in arguments:
        ids = [int(k) for k in arguments["input_ids"][i]]
        texts = tokenizer.convert_ids_to_tokens(ids) if tokenizer is not None else [str(k) for k in ids]
        tokens = [{"text": text, "id": k} for text, k in zip(texts, ids, strict=True)]
    described = {
        "kind": "text" if "input_ids" in arguments else "image",
        "mask": "causal" if causal else "none",
        "source": f"torch[{i}]",
        "heads": [f"L{k // heads}H{k % heads}" for k in range(pattern.shape[0])],
        "first_query": 0,
        "queries": pattern.shape[1],
        "tokens": tokens,
    }
    return json.dumps(described, indent=1) + "\n"


@checked
def capture_torch(module: Any, inputs: Any, *, tokenizer: Any = None) -> Capture:
    """Runs a Hugging Face module and keeps the patterns its attention computes, collected layer by layer by hooks.

    ``inputs`` are what the module takes: a mapping, a tokenizer's result, or a tensor of ids or pixels. Fused attention
    is switched to eager for the pass. Padding is kept as it is. Only patterns and the output are known this way.
    """
    check_is_module("capture_torch", module, "a Hugging Face module")
    if is_bridge(module):
        raise UnsupportedError("capture_torch: a bridge computes attention by itself; use headscope.capture, or its "
                               "run_with_cache")
    arguments = _arguments(inputs)
    maps = _Maps()
    handles = [
        part.register_forward_hook(maps)
        for part in module.modules()
        if type(part).__name__.endswith(("Attention", "SelfAttention"))
    ]
    undo = _eager(module)
    was_training = bool(getattr(module, "training", False))
    try:
        module.eval()
        output = module(**arguments)
    finally:
        undo()
        module.train(was_training)
        for handle in handles:
            handle.remove()
    if not maps.layers:
        raise UnsupportedError("capture_torch: no module gave an attention pattern; is it a transformers model, "
                               "loaded with attn_implementation='eager'?")
    first = output[0] if isinstance(output, tuple) else next(iter(output.values()))
    outputs = first.detach().float().cpu().numpy()
    arrays: dict[str, NDArray[Any]] = {}
    texts: dict[str, tuple[str, str, str]] = {}
    axes: dict[str, tuple[str, list[str]]] = {}
    for i in range(maps.layers[0].shape[0]):
        folder = "" if i == 0 else f"inputs/{i}/"
        pattern = np.concatenate([layer[i] for layer in maps.layers])
        arrays[folder + "pattern.npy"] = pattern
        axes[folder + "pattern.npy"] = ("Attention after the softmax, as torch computed it.", ["head", "query", "key"])
        arrays[folder + "output.npy"] = outputs[i]
        axes[folder + "output.npy"] = ("The output, as torch computed it.", ["token", "class"][-outputs[i].ndim:])
        about = "The tokens or patches of the maps' axes, their heads and their mask."
        texts[folder + "tokens.json"] = ("tokens", about,
                                         _description(arguments, i, pattern, len(maps.layers), tokenizer))
    identity = {"model": type(module).__name__, "inputs": "torch", "version": _native.version}
    return Capture(Held("capture", identity, arrays, texts, axes))
