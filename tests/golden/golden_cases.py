"""What the scripts that make golden files, case by case, share: arguments, PASS and FAIL lines, the exit code.

Imports neither torch nor transformers: some scripts do without them.
"""

from __future__ import annotations

import argparse
import shutil
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

MakeCase = Callable[[str, Path], str]  # makes the case of that name in OUT; returns what to say of it


def argument_parser(doc: str, cases: Iterable[str], about_out: str | None = None) -> argparse.ArgumentParser:
    """`doc` is that of the script, whose first line is its help."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("out", type=Path, help=about_out)
    parser.add_argument("--only", action="append", choices=list(cases), metavar="CASE")
    return parser


def make_each(names: Iterable[str], make_case: MakeCase, out: Path) -> list[str]:
    """Makes the cases in OUT/NAME and returns those that failed, whose folders are removed."""
    failed = []
    for name in names:
        try:
            print(f"PASS {name}: {make_case(name, out)}", flush=True)
        except Exception as error:  # one broken case must not hide the others
            traceback.print_exc()
            print(f"FAIL {name}: {error}", flush=True)
            shutil.rmtree(out / name, ignore_errors=True)
            failed.append(name)
    return failed


def report(failed: list[str], out: Path) -> int:
    """Prints the total size and returns the exit code."""
    total = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"{len(failed)} failed {failed or ''}; {total / 1e6:.2f} MB in {out}")
    return 1 if failed else 0


def main(
    doc: str,
    cases: Iterable[str],
    make_case: MakeCase,
    *,
    about_out: str | None = None,
    prepare: Callable[[], None] | None = None,
) -> int:
    """The whole main function of a script. `prepare` is called once, before the first case."""
    arguments = argument_parser(doc, cases, about_out).parse_args()
    if prepare:
        prepare()
    arguments.out.mkdir(parents=True, exist_ok=True)
    return report(make_each(arguments.only or cases, make_case, arguments.out), arguments.out)
