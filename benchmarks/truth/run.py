"""Runs the truth bench: every question of this folder against a known or measured truth.

Usage: python benchmarks/truth/run.py [--short] [--only NAME ...]. Without options every answer goes into its section of
docs/evidence.md. Exits with 1 if a bound is not met. README.md of this folder says how to add a question.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "calibration"), str(FOLDER.parent / "evidence")]

from page import write_section  # noqa: E402


def questions(only: list[str]) -> list[ModuleType]:
    """The modules of this folder that have a function run, in the order of the page."""
    names = [path.stem for path in FOLDER.glob("*.py") if "\ndef run(short" in path.read_text()]
    if unknown := set(only) - set(names):
        sys.exit(f"no question {', '.join(sorted(unknown))}; there are {', '.join(sorted(names))}")
    chosen = [importlib.import_module(name) for name in names if not only or name in only]
    return sorted(chosen, key=lambda module: module.ORDER)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a part of it, seconds; writes nothing")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this question")
    arguments = parser.parse_args()
    failed = []
    for question in questions(arguments.only):
        begin = time.monotonic()
        answer = question.run(arguments.short)
        heading = (question.__doc__ or "").strip().splitlines()[0]
        print(f"## {heading}\n\n{answer.text}\n", flush=True)
        for check in answer.checks:
            print(f"{'holds' if check.holds else 'FAILS'}: {check.what}: {check.value:.4g}, must be {check.bound}")
        failed += [f"{question.__name__}: {check.what}" for check in answer.checks if not check.holds]
        print(f"{question.__name__}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        if not arguments.short:
            write_section(question.__name__.replace("_", "-"), answer.text)
    for message in failed:
        print(f"truth: {message}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
