"""docs/evidence.md: text by hand, and sections between markers that commands write."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/evidence.md"


def markers(name: str) -> tuple[str, str]:
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def write_section(name: str, text: str, page: Path = PAGE) -> None:
    """Replaces what is between the markers of this name. The page must have them."""
    begin, end = markers(name)
    content = page.read_text()
    if content.count(begin) != 1 or content.count(end) != 1:
        raise ValueError(f"{page} must have the markers {begin} and {end} once")
    before, rest = content.split(begin)
    after = rest.split(end)[1]
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
