"""Makes docs/evidence.md again: runs the commands on the real models and writes every section of the page.

Usage: python benchmarks/evidence/run.py [--only NAME ...]. A section is a module of this folder with a function run,
which returns Markdown; it goes between the markers of its name. `make truth` writes the sections of the truth bench.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "calibration"), str(FOLDER.parent / "truth")]

from page import write_section  # noqa: E402


def sections(only: list[str]) -> list[ModuleType]:
    """The modules that have a function run, in the order of the page."""
    names = [path.stem for path in FOLDER.glob("*.py") if "\ndef run() -> str" in path.read_text()]
    if unknown := set(only) - set(names):
        sys.exit(f"no section {', '.join(sorted(unknown))}; there are {', '.join(sorted(names))}")
    chosen = [importlib.import_module(name) for name in names if not only or name in only]
    return sorted(chosen, key=lambda module: module.ORDER)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this section")
    arguments = parser.parse_args()
    for section in sections(arguments.only):
        begin = time.monotonic()
        write_section(section.__name__.replace("_", "-"), section.run())
        print(f"{section.__name__}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
