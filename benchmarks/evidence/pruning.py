"""Which heads can be removed?"""

from __future__ import annotations

ORDER = 7


def run() -> str:
    return "Not measured yet."
