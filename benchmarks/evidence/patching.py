"""Does an edge matter? It is cut, and the loss is measured."""

from __future__ import annotations

from cuts import has_patch

ORDER = 6


def run() -> str:
    if not has_patch():
        return "Not measured: this version has no command `patch`."
    return "Not measured yet."
