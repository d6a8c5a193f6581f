"""Writes the licenses of everything that a wheel or a tarball contains besides headscope itself.

Texts come from where they are installed: Debian's copyright files, the Python packages of the build, and
web/dist/licenses.txt for what is inside the report's page. On another system HEADSCOPE_LICENSE_DIR names a folder with
one folder per library, as vcpkg writes it. A missing text is an error, never left out.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Title: Debian package, name in vcpkg.
LIBRARIES = {
    "fmt": ("libfmt-dev", "fmt"),
    "CLI11": ("libcli11-dev", "cli11"),
    "JSON for Modern C++": ("nlohmann-json3-dev", "nlohmann-json"),
    "Highway": ("libhwy-dev", "highway"),
    "zlib": ("zlib1g-dev", "zlib"),
    "libpng": ("libpng-dev", "libpng"),
    "libjpeg-turbo": ("libjpeg-dev", "libjpeg-turbo"),
    "PCRE2": ("libpcre2-dev", "pcre2"),
    "utf8proc": ("libutf8proc-dev", "utf8proc"),
}
GCC_RUNTIME = ("libstdc++6", "gcc")  # on every Linux, but the tarball contains it
PYTHON_PACKAGES = {"OpenBLAS, with LAPACK and the GNU Fortran runtime": "scipy-openblas32"}
LICENSE_NAME = re.compile(r"licen[cs]e|copying|copyright", re.IGNORECASE)
COMMON = re.compile(r"/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9+]")


def library_text(debian: str, elsewhere: str) -> str:
    folder = os.environ.get("HEADSCOPE_LICENSE_DIR")
    if folder:
        found = [path for path in sorted((Path(folder) / elsewhere).rglob("*")) if LICENSE_NAME.search(path.name)]
        found = [path for path in found if path.is_file()]
        if not found:
            raise SystemExit(f"collect_licenses.py: {folder}/{elsewhere} has no license file")
        return "\n".join(path.read_text() for path in found)
    path = Path("/usr/share/doc") / debian / "copyright"
    if not path.exists():
        raise SystemExit(f"collect_licenses.py: {path} is missing: install {debian}, or set HEADSCOPE_LICENSE_DIR")
    return path.read_text()


def python_text(package: str) -> str:
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit(f"collect_licenses.py: the Python package {package} is not installed") from None
    texts = [Path(str(file.locate())).read_text() for file in files if LICENSE_NAME.search(file.name)]
    if not texts:
        raise SystemExit(f"collect_licenses.py: the Python package {package} has no license file")
    return "\n".join(texts)


def header_text(package: str, header: str) -> str:
    """Returns the comment at the top of a header inside a Python package, for libraries without a license file."""
    for file in importlib.metadata.files(package) or []:
        if file.as_posix().endswith(header):
            comment = re.match(r"\s*/\*(.*?)\*/", Path(str(file.locate())).read_text(), re.DOTALL)
            if comment and "Copyright" in comment[1]:
                return "\n".join(line.strip().removeprefix("*").strip() for line in comment[1].splitlines())
    raise SystemExit(f"collect_licenses.py: the Python package {package} has no {header} with a license")


def collect(python_module: bool) -> str:
    parts = {title: library_text(*names) for title, names in LIBRARIES.items()}
    parts |= {title: python_text(package) for title, package in PYTHON_PACKAGES.items()}
    if python_module:
        parts["nanobind"] = python_text("nanobind")
        parts["robin-map, inside nanobind"] = header_text("nanobind", "tsl/robin_map.h")
    else:
        parts["GCC runtime libraries (libstdc++, libgcc)"] = library_text(*GCC_RUNTIME)
    parts["Inside the report's page"] = (ROOT / "web/dist/licenses.txt").read_text()
    # Debian's files refer to texts that many packages share.
    shared = sorted({path for text in parts.values() for path in COMMON.findall(text)})
    parts |= {path: Path(path).read_text() for path in shared if Path(path).is_file()}
    line = "=" * 100
    index = "".join(f"  {i}. {title}\n" for i, title in enumerate(parts, 1))
    return "headscope contains the following. Its own license is in the file LICENSE.\n\n" + index + "".join(
        f"\n{line}\n{i}. {title}\n{line}\n\n{text.strip()}\n" for i, (title, text) in enumerate(parts.items(), 1)
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python-module", action="store_true", help="for a wheel, which contains nanobind")
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    arguments.file.write_text(collect(arguments.python_module))
