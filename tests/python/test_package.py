"""What the wheel brings besides the module."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import headscope

PACKAGE = Path(headscope.__file__).parent


def test_the_command_is_the_program_in_the_package(cli: Callable[..., str], tmp_path: Path) -> None:
    assert cli("--version") == f"headscope {headscope.__version__}\n"
    assert "relate needs a MODEL" in cli("relate", code=2)
    # The bundled models are found from any folder, and through a link to the command.
    link = tmp_path / "link"
    link.symlink_to(Path(sys.executable).parent / "headscope")
    # Its first results are enough: tests/cli runs the whole demo.
    demo = tmp_path / "demo"
    words: list[str | Path] = [link, "demo", "-o", demo]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/") as run:
        while run.poll() is None and not any(demo.rglob("manifest.json")):
            time.sleep(0.05)
        run.kill()
        assert run.stderr is not None
        errors = run.stderr.read().decode()
    assert any(demo.rglob("manifest.json")), errors


def test_the_command_does_not_import_the_package() -> None:
    script = (Path(sys.executable).parent / "headscope").read_text()
    assert script.startswith(f"#!{Path(sys.executable).parent}")
    assert "import headscope" not in script


@pytest.mark.parametrize(
    "name",
    ["fmt", "CLI11", "JSON for Modern C++", "Highway", "OpenBLAS", "GNU Fortran", "PCRE2", "utf8proc", "zlib", "libpng",
     "libjpeg-turbo", "nanobind", "robin-map", "d3-array", "internmap", "three"],
)
def test_licenses_of_what_is_inside_are_there(name: str) -> None:
    assert name in (PACKAGE / "share/headscope/THIRD_PARTY_LICENSES.txt").read_text()


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
def test_program_and_module_are_hardened() -> None:
    # auditwheel rewrites both after they are linked. tests/cli/test_hardening.py says more of the program.
    for binary in [PACKAGE / "bin/headscope", *PACKAGE.glob("_native*.so")]:
        options = ["--wide", "--program-headers", "--dynamic", "--dyn-syms"]
        text = subprocess.run(["readelf", *options, binary], capture_output=True, text=True, check=True).stdout
        for wanted in ("GNU_RELRO", "BIND_NOW", "__stack_chk_fail"):
            assert wanted in text, f"{binary.name}: {wanted}"


def test_nothing_of_the_build_machine_is_needed() -> None:
    for binary in [PACKAGE / "bin/headscope", *PACKAGE.glob("_native*.so")]:
        listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
        found = [line.split()[2] for line in listed.splitlines() if "=> /" in line]
        outside = [path for path in found if not Path(path).resolve().is_relative_to(PACKAGE.parent.resolve())]
        names = ("c", "m", "stdc++", "gcc_s", "z", "pthread", "dl", "rt")
        system = tuple(f"lib{name}.so" for name in names)
        assert [path for path in outside if not Path(path).name.startswith(system)] == []
