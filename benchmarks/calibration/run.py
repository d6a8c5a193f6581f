"""Runs the calibration: every question of this folder, a table of what was measured, an error if a bound is not met.

Usage: python benchmarks/calibration/run.py [--short] [--only NAME ...]. Without options the table goes into
docs/statistics.md, between its two markers. README.md of this folder says how to add a question.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from harness import PROGRAM, ROOT, MissingColumnError, Row  # noqa: E402

DOCUMENT = ROOT / "docs/statistics.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def questions(only: list[str]) -> list[ModuleType]:
    """The modules of this folder that have a function run, in the order of the table."""
    names = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("run", "harness"))
    found = [module for module in map(importlib.import_module, names) if hasattr(module, "run")]
    unknown = set(only) - {module.__name__ for module in found}
    if unknown:
        sys.exit(f"no question {', '.join(sorted(unknown))}; there are {', '.join(m.__name__ for m in found)}")
    chosen = [module for module in found if not only or module.__name__ in only]
    return sorted(chosen, key=lambda module: (getattr(module, "ORDER", 50), module.__name__))


def ask(question: ModuleType, short: bool) -> list[Row]:
    """The rows of one question; an older program that lacks a column fails with a row that says so."""
    begin = time.monotonic()
    try:
        rows = question.run(short)
    except MissingColumnError as missing:
        rows = [Row("the program", str(missing))]
    print(f"{question.__name__}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    return rows


def number(value: float) -> str:
    if value != value:
        return "not measured"
    if value == round(value) and abs(value) < 1e6:
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) >= 0.01 else f"{value:.1e}"


def line(row: Row) -> str:
    measured = f"skipped: {row.skipped}" if row.skipped else number(row.value)
    trials = "" if row.trials is None else f"{row.trials:,}"
    holds = "" if row.skipped else ("" if not row.bounds else "yes") if row.holds else "**no**"
    return f"| {row.case} | {row.figure} | {measured} | {row.bounds} | {trials} | {holds} |"


def section(question: ModuleType, rows: list[Row]) -> str:
    heading = (question.__doc__ or question.__name__).strip().splitlines()[0]
    header = "| data | figure | measured | bound | trials | holds |\n| --- | --- | --- | --- | --- | --- |"
    return f"**{heading}** (`{question.__name__}.py`)\n\n{header}\n" + "\n".join(map(line, rows))


def circumstances() -> str:
    names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{version}; {names[0] if names else platform.machine()}, {os.cpu_count()} processors."


def write_document(text: str) -> None:
    """Puts the tables between the markers of docs/statistics.md."""
    before, rest = DOCUMENT.read_text().split(BEGIN)
    after = rest.split(END)[1]
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--short", action="store_true", help="fewer trials, about a minute; writes nothing")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this question; writes nothing")
    arguments = parser.parse_args()
    answers = [(question, ask(question, arguments.short)) for question in questions(arguments.only)]
    text = "\n\n".join(section(question, rows) for question, rows in answers)
    print(text)
    if not arguments.short and not arguments.only:
        write_document(f"{circumstances()}\n\n{text}")
    failed = [f"{question.__name__}: {row.case}, {row.figure}: {number(row.value)}, must be {row.bounds or 'measured'}"
              for question, rows in answers for row in rows if not row.holds]  # fmt: skip
    for message in failed:
        print(f"calibration: {message}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
