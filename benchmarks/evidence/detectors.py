"""Which heads look back, at themselves, or at what followed the last time?"""

from __future__ import annotations

from real_runs import MODELS, detected, told

from report import markdown_table

ORDER = 3
DETECTORS = ("previous", "identity", "duplicate", "induction")
SHOWN = 8


def heads_of(found: dict, detector: str) -> list[dict]:
    """Above the threshold at both lengths, highest first."""
    level = found["threshold"]
    kept = [
        head for head in found["heads"]
        if (head.get(detector) or 0) >= level and (head.get(f"{detector}_second") or 0) >= level
    ]  # fmt: skip
    return sorted(kept, key=lambda head: -head[detector])


def cell(found: dict, detector: str) -> str:
    heads = heads_of(found, detector)
    text = ", ".join(f"{head['head']} {head[detector]:.2f}" for head in heads[:SHOWN])
    return text + (f" and {len(heads) - SHOWN} more" if len(heads) > SHOWN else "") or "none"


def run() -> str:
    rows = [[title, *(cell(detected(name), one) for one in DETECTORS)] for name, title in MODELS.items()]
    one = detected("smollm2")
    return "\n\n".join([
        f"Mean attention on {one['sequences']} sequences of {one['length']} random tokens, the second half a "
        f"repetition; heads with at least "
        f"{one['threshold']:g} there and at {one['second_length']} tokens.",
        markdown_table(["model", *DETECTORS], rows),
        f"`{told('detect', '-o RUN', model='smollm2')}`, and so on. The encoders read both ways and were trained on "
        f"other tokens in other orders; "
        "random tokens show what their heads do by position, little else.",
    ])  # fmt: skip
