"""requirements*.txt: exact versions with hashes of everything that requirements*.in name, and no address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INPUTS = sorted([*ROOT.glob("tools/requirements*.in"), *ROOT.glob("tests/*/requirements*.in")])
ENTRY = re.compile(r"([A-Za-z0-9._-]+)==([0-9][A-Za-z0-9.+!]*)( ; [^\\]+)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, version, _, _ in ENTRY.findall(file.read_text()):
        found.setdefault(plain(name), set()).add(version)
    return found


def test_all_lists_are_found() -> None:
    assert {path.stem for path in INPUTS} == {
        "requirements", *(f"requirements-{name}" for name in ("bench", "lint", "package", "pin", "truth", "wheel"))
    }
    texts = {*ROOT.glob("tools/requirements*.txt"), *ROOT.glob("tests/*/requirements*.txt")}
    assert texts == {path.with_suffix(".txt") for path in INPUTS}


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_line_is_a_version_with_hashes(path: Path) -> None:
    text = path.with_suffix(".txt").read_text()
    body = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    assert ENTRY.sub("", body) == ""  # no options, no addresses, nothing without a hash
    assert "://" not in text


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_named_package_is_pinned_as_named(path: Path) -> None:
    found = pins(path.with_suffix(".txt"))
    for line in path.read_text().splitlines():
        name, wanted = re.fullmatch(r"([A-Za-z0-9._-]+)(?:==([^ ]+))?(?: ;.*)?", line).groups()  # type: ignore[union-attr]
        assert plain(name) in found, f"{name} is not in {path.stem}.txt: run 'make pins'"
        pattern = re.escape(wanted or "*").replace(r"\*", ".*")
        assert all(re.fullmatch(pattern, version) for version in found[plain(name)]), f"{name}: run 'make pins'"


def test_environments_that_are_filled_twice_agree() -> None:
    # 'make python-torch' installs the second list over the first.
    first, second = (pins(ROOT / name) for name in ("tests/python/requirements.txt", "tools/requirements-bench.txt"))
    named = {plain(line.split("==")[0]) for line in (ROOT / "tests/python/requirements.in").read_text().splitlines()}
    assert all(first[name] == second[name] for name in named & set(second))


def test_make_installs_only_from_pinned_lists() -> None:
    # Besides these, pip installs the wheel just made, from dist/ and without an index.
    for name in ("Makefile", "tools/make_wheel.sh", "tools/make_dist.sh"):
        for line in (ROOT / name).read_text().replace("\\\n", " ").splitlines():
            if re.search(r"pip (install|wheel) ", line):
                assert re.search(r"-r (\S*requirements\S*\.txt|\$<)", line) or "--no-index" in line, line
