"""Classes of heads, as dicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._check import kind_of
from ._errors import ArgumentError

_EXPECTED = "expected a file, heads by class such as {'previous': ['L4H11']}, or what headscope.detect returned"


def label_text(labels: Any) -> str:
    """The text of the label file that a dict, or what ``detect`` returned, stands for."""
    from .results import Detection

    if isinstance(labels, Detection):
        labels = labels.labels
    if not isinstance(labels, Mapping):
        raise ArgumentError(f"labels: {_EXPECTED}; found {kind_of(labels)}")
    document = dict(labels)
    classes = document.get("classes")
    if not isinstance(classes, Mapping):
        document = {"classes": document}
        classes = document["classes"]
    document["classes"] = {_name(name): _heads(name, heads) for name, heads in classes.items()}
    try:
        return json.dumps(document)
    except (TypeError, ValueError):
        raise ArgumentError(f"labels: {_EXPECTED}; only texts and lists of texts are allowed in it") from None


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise ArgumentError(f"labels: the name of a class is {kind_of(name)}, expected text")
    return name


def _heads(name: str, heads: Any) -> list[str]:
    if isinstance(heads, str) or not isinstance(heads, Iterable) or isinstance(heads, Mapping):
        raise ArgumentError(f"labels: class '{name}' is {kind_of(heads)}, expected a list of heads such as ['L4H11']")
    return [_head(name, head) for head in heads]


def _head(name: str, head: Any) -> str:
    if isinstance(head, str):
        return str(head)
    if isinstance(head, (tuple, list)) and len(head) == 2 and all(isinstance(i, (int, np.integer)) for i in head):
        return f"L{int(head[0])}H{int(head[1])}"
    raise ArgumentError(f"labels: class '{name}' has {kind_of(head)}, expected heads such as 'L4H11' or (4, 11)")
