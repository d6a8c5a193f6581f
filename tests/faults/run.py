"""Disturbs every command at every call that changes the file system or opens a file, and prints a table.

run.py [--only NAME] [--every N] [--jobs N]
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from faults import SCENARIOS, Bench, Fault


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only the scenarios whose name starts with this")
    parser.add_argument("--every", type=int, default=1, help="only every N-th fault")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    print(f"{'command':24} {'changes':>8} {'opens':>6} {'kills':>6} {'faults':>7} {'failures':>9} {'seconds':>8}")
    failures: list[str] = []
    for scenario in SCENARIOS:
        if not scenario.name.startswith(arguments.only):
            continue
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(arguments.jobs) as pool:
            bench = Bench(scenario, Path(work))
            bench.prepare()
            faults = list(bench.faults())[:: arguments.every]
            kinds = Counter("kill" if fault.is_kill else "fault" for fault in faults)

            def check(item: tuple[int, Fault], bench: Bench = bench) -> str:
                wrong = bench.check(item[1], f"case-{item[0]}")
                return f"{item[1]}: {wrong}" if wrong else ""

            wrong = [text for text in pool.map(check, enumerate(faults)) if text]
        failures += wrong
        print(
            f"{scenario.name:24} {len(bench.calls['changes']):8} {len(bench.calls['opens']):6} {kinds['kill']:6} "
            f"{kinds['fault']:7} {len(wrong):9} {time.monotonic() - begin:8.1f}",
            flush=True,
        )
    print("\n".join(failures) or "faults: no finding")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
