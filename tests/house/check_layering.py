"""Checks that data walks one way: compares the #include lines with the layers that CMakeLists.txt declares.

A layer (src/NAME and include/headscope/NAME) may include itself and the layers it lists. Public headers may
include nothing but the standard library and other public headers.

Usage: check_layering.py ROOT. Prints one line a fault and exits with 1 if there is one.
"""

import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
LAYER = re.compile(r"^\s*headscope_layer\((\w+)(.*)\)\s*$")


def declared_layers(cmake_lists: str) -> dict[str, set[str]]:
    """Maps each layer to the layers it may include."""
    layers: dict[str, set[str]] = {}
    for line in cmake_lists.splitlines():
        if match := LAYER.match(line):
            words = match[2].split()
            begin = words.index("LAYERS") + 1 if "LAYERS" in words else len(words)
            end = words.index("PRIVATE") if "PRIVATE" in words else len(words)
            layers[match[1]] = set(words[begin:end])
    return layers


def faults(root: Path) -> list[str]:
    layers = declared_layers((root / "CMakeLists.txt").read_text())
    found: list[str] = []
    folders = {path.name for base in ("src", "include/headscope") for path in (root / base).iterdir() if path.is_dir()}
    found += [f"CMakeLists.txt: folder '{name}' is not a declared layer" for name in sorted(folders - layers.keys())]
    for layer, allowed in layers.items():
        for base in (root / "include/headscope" / layer, root / "src" / layer):
            public = base.is_relative_to(root / "include")
            for path in sorted(base.rglob("*")):
                if path.suffix in (".h", ".cpp", ".cu"):
                    # CMake compiles with_cuda.cpp only into a build with CUDA.
                    extra = {"cuda"} if path.name == "with_cuda.cpp" else set()
                    found += file_faults(path, path.relative_to(root), layer, allowed | {layer} | extra, public, layers)
    return found


def file_faults(path: Path, name: Path, layer: str, allowed: set[str], public: bool, layers) -> list[str]:
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not (match := INCLUDE.match(line)):
            continue
        bracket, target = match[1], match[2]
        parts = target.split("/")
        where = f"{name}:{number}: {target}"
        if parts[0] == "headscope" and parts[1] not in allowed:
            found.append(f"{where}: layer '{layer}' may include only {', '.join(sorted(allowed))}")
        elif bracket == '"' and parts[0] != "headscope":
            if public:
                found.append(f"{where}: a public header includes a private one")
            elif parts[0] in layers and parts[0] != layer:
                found.append(f"{where}: a private header of layer '{parts[0]}'")
        elif bracket == "<" and public and ("/" in target or target.endswith((".h", ".hpp"))):
            found.append(f"{where}: a public header includes something other than the standard library")
    return found


if __name__ == "__main__":
    lines = faults(Path(sys.argv[1]))
    print("\n".join(lines) if lines else "layering: no fault")
    sys.exit(1 if lines else 0)
