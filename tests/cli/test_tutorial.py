"""Runs the commands of docs/tutorial.md, one after the other as a reader would, and compares what the page shows with
what is printed. Numbers may differ by 3 % or a unit in the second decimal, as they do between processors; durations
are not compared. A line "..." stands for any number of lines."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()
PAGE = (ROOT / "docs/tutorial.md").read_text()
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def steps(text: str) -> list[tuple[str, list[str]]]:
    """The commands of all console blocks, each with the lines that follow it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def plain(line: str) -> str:
    return " ".join(re.sub(r"\([^()]*\d s\)|\(\d+\.\d MB\)", "", line).split())


def is_close(a: str, b: str) -> bool:
    return abs(float(a) - float(b)) <= max(0.011, 0.03 * abs(float(b)))


def is_same(shown: str, printed: str) -> bool:
    """Whether two lines have the same words, and numbers that are close."""
    shown, printed = plain(shown), plain(printed)
    if NUMBER.sub("#", shown) != NUMBER.sub("#", printed):
        return False
    return all(is_close(*pair) for pair in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True))


def first_difference(shown: list[str], printed: list[str]) -> str | None:
    """The first line of the page that was not printed where it should be."""
    at, anywhere = 0, False
    for line in shown:
        if line == "...":
            anywhere = True
            continue
        matches = [i for i in range(at, len(printed)) if is_same(line, printed[i])]
        if not matches or (matches[0] != at and not anywhere):
            return line
        at, anywhere = matches[0] + 1, False
    return None


def test_the_comparison_sees_differences() -> None:
    printed = ["loss 1.378 -> 2.649", "", "3 files in runs (0.3 s)"]
    assert first_difference(["loss 1.380 -> 2.66", "..."], printed) is None
    assert first_difference(["...", "3 files in runs (9.1 s)"], printed) is None
    assert first_difference(["loss 1.378 -> 2.9"], printed) is not None
    assert first_difference(["3 files in runs (0.3 s)"], printed) is not None
    assert first_difference(["...", "gain 1.378 -> 2.649"], printed) is not None


def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    walks = PAGE.split("\n## ")[1:]
    assert len(walks) == 3
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/headscope").symlink_to(HEADSCOPE)
    (tmp_path / "models").symlink_to(ROOT / "models")
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    for walk in walks:
        commands = steps(walk)
        assert len(commands) >= 4
        for command, shown in commands:
            done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True,
                                  text=True, timeout=300)
            assert done.returncode == 0, (command, done.stderr)
            assert shown, command
            different = first_difference(shown, done.stdout.splitlines())
            assert different is None, f"{command}\nthe page shows: {different}\nprinted:\n{done.stdout}"


@pytest.mark.parametrize("file", ["README.md", "docs/install.md"])
def test_the_tutorial_is_linked(file: str) -> None:
    assert "tutorial.md" in (ROOT / file).read_text()
