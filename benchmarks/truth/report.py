"""What the questions of the truth bench give back: a text for docs/evidence.md, and bounds that must hold."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Check:
    """A number and the least or the most that it may be."""

    what: str
    value: float
    low: float | None = None
    high: float | None = None

    @property
    def holds(self) -> bool:
        return (self.low is None or self.value >= self.low) and (self.high is None or self.value <= self.high)

    @property
    def bound(self) -> str:
        return f"at least {self.low:g}" if self.low is not None else f"at most {self.high:g}"


@dataclass
class Answer:
    """A question's part of the page, in Markdown, and its checks."""

    text: str
    checks: list[Check] = field(default_factory=list)


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
