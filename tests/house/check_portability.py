"""Checks that only src/base/system.cpp knows operating systems apart.

Usage: check_portability.py ROOT. Prints one line per fault and exits with 1 if there is one.
"""

import re
import sys
from pathlib import Path

ALLOWED = "src/base/system.cpp"
# Calls, files and macros that other systems do not have.
ONLY_SOME_SYSTEMS = re.compile(
    r"/proc/|/sys/|memfd_create|cpu_set_t|sched_getaffinity|sys/random\.h|sys/sysinfo\.h|sys/prctl\.h|malloc\.h"
    r"|ru_maxrss|MAP_POPULATE|O_TMPFILE|renameat2|fallocate|__linux__|__APPLE__|_WIN32"
)


def faults(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}:{number}: '{match[0]}' belongs into {ALLOWED}"
        for folder in ("include", "src", "cli", "python")
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in (".h", ".cpp") and path != root / ALLOWED
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (match := ONLY_SOME_SYSTEMS.search(line))
    ]


if __name__ == "__main__":
    found = faults(Path(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
