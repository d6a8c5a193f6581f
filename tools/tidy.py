"""Writes BUILD/tidy/build.ninja: one clang-tidy command per source, so that Ninja checks again only what has changed.

Usage: python tools/tidy.py BUILD, from the root of the repository, where BUILD is a configured build folder; then
ninja -k 0 -C BUILD/tidy. Needs the Python of .venv-lint, which has the headers of CUDA.

Checks all C++ and CUDA sources of src, cli, tests and benchmarks, with the arguments in BUILD/compile_commands.json.
What is not in that file needs CUDA. Such sources get the arguments of a neighbor and the headers of CUDA 11.8, the
latest that clang 14 can parse. Kernels are parsed in clang's CUDA mode for the host, which parses device code as well.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path.cwd()
STUBS = ROOT / "tools/lint_cuda"
PARTS = ("src", "cli", "tests", "benchmarks")
# clang-tidy writes errors to stdout; on stderr it counts the warnings in headers of the system. It does not list the
# headers that a source depends on, c++ does.
RULES = """rule tidy
  command = clang-tidy --quiet $source -- $mode $headers 2>/dev/null $
    && c++ -x c++ -MM -MT $out -MF $out.d $headers $source && touch $out
  depfile = $out.d
  description = clang-tidy $out
"""


def preprocessing(words: list[str]) -> list[str]:
    """The arguments that decide what is parsed."""
    kept: list[str] = []
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "-isystem":
            kept += [word, following]
        elif word.startswith(("-D", "-U", "-I", "-std=")):
            kept += [word]
    return kept


def known_arguments(build: Path) -> dict[str, list[list[str]]]:
    """Of each source that the build compiles. Some are compiled in several ways."""
    known: dict[str, list[list[str]]] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        if file.is_relative_to(ROOT):
            ways = known.setdefault(str(file.relative_to(ROOT)), [])
            arguments = preprocessing(shlex.split(entry["command"]))
            if arguments not in ways:
                ways.append(arguments)
    return known


class Toolkit:
    """CUDA's headers, from the packages in .venv-lint, in a folder that clang takes for an installation of CUDA."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        packages = Path(sysconfig.get_path("purelib"), "nvidia")
        for empty in ("bin", "lib64"):
            (folder / empty).mkdir(parents=True, exist_ok=True)
        include = folder / "include"
        include.unlink(missing_ok=True)
        include.symlink_to(packages / "cuda_runtime/include")
        self.headers = ["-isystem", str(STUBS), "-isystem", str(include)]
        self.headers += ["-isystem", str(packages / "cuda_nvcc/include")]

    def mode(self, source: str) -> list[str]:
        if not source.endswith(".cu"):
            return []
        arguments = ["-x", "cuda", "--cuda-host-only", "--cuda-gpu-arch=sm_80", f"--cuda-path={self.folder}"]
        return [*arguments, "-nocudalib", "-Wno-unknown-cuda-version", "-include", str(STUBS / "intrinsics.h")]

    def arguments(self, source: str, known: dict[str, list[list[str]]]) -> list[str]:
        neighbor = min(name for name in known if name.split("/")[0] == source.split("/")[0])
        standard = ["-std=c++17"] if source.endswith(".cu") else []
        return [*known[neighbor][0], *standard, f"-I{ROOT}/src", *self.headers]


def main() -> None:
    build = Path(sys.argv[1]).resolve()
    patterns = [f"{part}/*.{suffix}" for part in PARTS for suffix in ("cpp", "cu")]
    sources = subprocess.run(["git", "ls-files", *patterns], check=True, capture_output=True, text=True).stdout.split()
    known = known_arguments(build)
    toolkit = Toolkit(build / "tidy/cuda")
    lines = [RULES]
    for source in sources:
        settings = [ROOT / ".clang-tidy", ROOT / source.split("/")[0] / ".clang-tidy"]
        inputs = " ".join(str(path) for path in settings if path.exists())
        for number, arguments in enumerate(known.get(source) or [toolkit.arguments(source, known)]):
            lines += [
                f"build {source}{f'-{number}' if number else ''}: tidy {ROOT / source} | {inputs}",
                f"  source = {ROOT / source}",
                f"  mode = {shlex.join(toolkit.mode(source))}",
                f"  headers = {shlex.join(arguments)}",
            ]
    (build / "tidy/build.ninja").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
