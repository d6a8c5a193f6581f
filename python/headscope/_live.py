"""Models that are running: Hugging Face modules and bridges of TransformerLens.

Neither torch nor transformers nor TransformerLens is imported: the methods of what was given suffice.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, Protocol

from . import _native
from ._check import kind_of
from ._errors import ArgumentError, Error, UnsupportedError


class Module(Protocol):
    """A Hugging Face module, or a ``TransformerBridge`` around one."""

    def state_dict(self) -> Any: ...


#: Between the name of a part and that of what it wraps, in a module that TransformerLens has taken over.
_WRAPPED = "_original_component"
_PROCESSED = ("headscope reads weights as they were trained, and folds norms by itself (weights='folded'); give a "
              "bridge that has not been through enable_compatibility_mode or process_weights, or the model's Hub name "
              "or folder")


def _is_a(value: Any, *names: str) -> bool:
    return any(kind.__name__ in names for kind in type(value).__mro__)


def is_bridge(module: Any) -> bool:
    """Whether it is a bridge of TransformerLens."""
    return _is_a(module, "BridgeCore", "TransformerBridge")


def _bare(module: Any, name: str) -> Any:
    """The Hugging Face module in what was given: compiled, on several devices, or in a bridge."""
    while True:
        if _is_a(module, "OptimizedModule"):
            module = module._orig_mod
        elif _is_a(module, "DataParallel", "DistributedDataParallel"):
            module = module.module
        elif is_bridge(module):
            return _of_bridge(module, name)
        else:
            break
    if _is_a(module, "HookedTransformer", "HookedEncoder", "HookedEncoderDecoder", "HookedViT"):
        raise UnsupportedError(f"{name}: a {type(module).__name__} has weights in TransformerLens's own form; give a "
                               "TransformerBridge, or the model's Hub name or folder")
    if _is_a(module, "PeftModel") or getattr(module, "_hf_peft_config_loaded", False):
        raise UnsupportedError(f"{name}: the module has adapters beside its weights; merge them first, with "
                               "merge_and_unload()")
    if _is_a(module, "FullyShardedDataParallel", "FSDPModule"):
        raise UnsupportedError(f"{name}: this process has only a part of the module's weights; save the module and "
                               "give its folder")
    return module


def _of_bridge(bridge: Any, name: str) -> Any:
    module = getattr(bridge, "original_model", None)
    if not callable(getattr(module, "state_dict", None)):
        raise UnsupportedError(f"{name}: the bridge's weights are not in this process; give the model's Hub name or "
                               "folder")
    if getattr(bridge, "_weights_processed", False):
        raise UnsupportedError(f"{name}: the bridge's weights are processed (norms folded in, outputs centered); "
                               + _PROCESSED)
    for where, part in bridge.named_modules():
        _check_split(where, part, name)
    return module


def _check_split(where: str, part: Any, name: str) -> None:
    """A bridge computes with copies of queries, keys and values if the model stores them in one matrix."""
    split = getattr(part, "split_qkv_matrix", None)
    stored = getattr(part, "original_component", None)
    if not callable(split) or stored is None:
        return
    for role, again in zip("qkv", split(stored), strict=True):
        used = getattr(part, role)
        for kind in ("weight", "bias"):
            mine, theirs = getattr(used, kind, None), getattr(again, kind, None)
            if mine is None or theirs is None:
                continue
            if mine.shape != theirs.shape or not bool((mine.detach() == theirs.detach().to(mine)).all()):
                raise UnsupportedError(f"{name}: {where}.{role}.{kind} of the bridge was changed, and is no longer "
                                       f"what the model stores; {_PROCESSED}")


def _own_names(state: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors of a module by the names they have in a checkpoint.

    TransformerLens puts parts of its own between and beside the module's: ``h.0.attn.c_attn`` becomes
    ``h.0._original_component.attn._original_component.c_attn``, and ``h.0.attn.q`` is a part that the module lacks. The
    module's own names go through every wrapped part.
    """
    marker = "." + _WRAPPED
    wrapped: set[str] = set()
    for name in state:
        parts = name.split(".")
        wrapped.update(".".join(parts[:i]) for i, part in enumerate(parts) if part == _WRAPPED)
    if not wrapped:
        return dict(state)

    def is_own(name: str) -> bool:
        parts = name.split(".")
        return all(parts[i] == _WRAPPED or ".".join(parts[:i]) not in wrapped for i in range(len(parts)))

    return {name.replace(marker, "").removeprefix(_WRAPPED + "."): tensor for name, tensor in state.items()
            if is_own(name)}


def _as_saved(module: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """The names and shapes that ``save_pretrained`` would write; transformers merges experts in memory, for one."""
    core = sys.modules.get("transformers.core_model_loading")
    revert = getattr(core, "revert_weight_conversion", None)
    if revert is None or not _is_a(module, "PreTrainedModel"):
        return tensors
    return dict(revert(module, tensors))


def _tensors(module: Any, name: str) -> dict[str, Any]:
    tensors: dict[str, Any] = {}
    for key, tensor in _own_names(module.state_dict()).items():
        if not hasattr(tensor, "detach"):
            continue  # what a module stores beside tensors
        if getattr(tensor, "is_meta", False):
            raise UnsupportedError(f"{name}: tensor '{key}' is on the meta device and has no values")
        tensors[key] = tensor.detach()
    on_cpu = {key: tensor if tensor.device.type == "cpu" else tensor.cpu()
              for key, tensor in _as_saved(module, tensors).items()}
    return {key: tensor.contiguous() for key, tensor in on_cpu.items()}


def _config_of(module: Any, config: Any, name: str) -> str:
    found = config if config is not None else getattr(module, "config", None)
    if found is not None and hasattr(found, "to_dict"):
        found = found.to_dict()
    if not isinstance(found, Mapping):
        raise ArgumentError(f"{name}: the module has no config; give headscope.from_torch(module, config=...), what "
                            "its config.json would hold")
    if config is None and not found.get("architectures"):
        found = {**found, "architectures": [type(module).__name__]}
    return json.dumps(found, default=str)


def _origin(module: Any) -> str:
    """The folder that the module was loaded from, where its tokenizer is; or its name."""
    config = getattr(module, "config", None)
    origin = str(getattr(module, "name_or_path", "") or getattr(config, "name_or_path", "") or "")
    commit = str(getattr(config, "_commit_hash", "") or "")
    for revision in dict.fromkeys((commit, "")):
        try:
            return _native.locate(origin, revision) if origin else "torch"
        except Error:
            continue
    return origin


def native_model(module: Any, *, config: Any = None, path: str | None = None, family: str = "", tower: str = "",
                 name: str = "model") -> _native.Model:
    """The weights of a module, in place. ``name`` begins the messages."""
    bare = _bare(module, name)
    text = _config_of(bare, config, name)
    return _native.Model.from_arrays(path or _origin(bare), _tensors(bare, name), text, family, tower)


MODULES = "a Hugging Face module or a TransformerBridge"


def check_is_module(name: str, value: Any, expected: str = f"a folder, a Hub name, a Model, {MODULES}") -> None:
    """Raises, with the name of what was given instead, unless it is a module."""
    expected = f"expected {expected}"
    if isinstance(value, type):
        raise ArgumentError(f"{name}: {kind_of(value)} has no weights, {expected}")
    if _is_a(value, "Result"):
        raise ArgumentError(f"{name}: this is the result of {value.command}, not a model; {expected}")
    if _is_a(value, "Run"):
        raise ArgumentError(f"{name}: {value.path} is a folder of results, not a model; {expected}")
    if _is_a(value, "PreTrainedTokenizerBase"):
        raise ArgumentError(f"{name}: a tokenizer has no weights, {expected}")
    if _is_a(value, "PretrainedConfig", "PreTrainedConfig"):
        raise ArgumentError(f"{name}: a configuration has no weights, {expected}")
    if callable(getattr(value, "state_dict", None)):
        return
    if _is_a(value, "Pipeline"):
        raise ArgumentError(f"{name}: this is a pipeline; give its .model")
    if isinstance(value, Mapping) and any(hasattr(one, "detach") for one in value.values()):
        raise ArgumentError(f"{name}: tensors without a config do not say what model they are of, {expected}")
    raise ArgumentError(f"{name}: {expected}, found {kind_of(value)}")
