"""The program is linked and compiled with what cmake/headscope_hardening.cmake asks for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()
CACHE = ROOT / "build/release/CMakeCache.txt"

pytestmark = [
    pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed"),
    pytest.mark.skipif(
        CACHE.exists() and re.search(r"^HEADSCOPE_HARDENING:BOOL=(OFF|0|NO|FALSE)$", CACHE.read_text(), re.MULTILINE)
        is not None,
        reason="built with HEADSCOPE_HARDENING=OFF",
    ),
]


def readelf(option: str) -> str:
    done = subprocess.run(["readelf", "--wide", option, PROGRAM], capture_output=True, text=True, check=True)
    return done.stdout


def test_addresses_of_functions_are_read_only_after_the_start() -> None:
    assert "GNU_RELRO" in readelf("--program-headers")
    assert re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b", readelf("--dynamic"))


def test_the_program_lies_at_a_random_address() -> None:
    assert re.search(r"Type:\s+DYN", readelf("--file-header"))
    assert re.search(r"\(FLAGS_1\).*\bPIE\b", readelf("--dynamic"))


def test_the_stack_is_not_executable() -> None:
    (flags,) = re.findall(r"GNU_STACK(?:\s+0x[0-9a-f]+){5}\s+([RWE ]+?)\s+0x", readelf("--program-headers"))
    assert flags == "RW"


def test_stacks_and_copies_are_checked() -> None:
    symbols = readelf("--dyn-syms")
    assert re.search(r"\b__stack_chk_fail\b", symbols)
    assert re.search(r"\b__(memcpy|memmove|memset|read|pread\w*|v?snprintf|realpath|strcpy|fread)_chk\b", symbols)
