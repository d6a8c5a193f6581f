"""Help, completions, the manual page and docs/options.md say the same of every option: they are made from one
description. With HEADSCOPE_UPDATE_DOCS=1 in the environment, docs/options.md is rewritten instead of compared."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()
OPTIONS_PAGE = ROOT / "docs/options.md"


def headscope(*words: str) -> str:
    return subprocess.run([HEADSCOPE, *words], capture_output=True, text=True, check=True).stdout


def commands() -> list[str]:
    listed = headscope("--help").split("Subcommands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\w+)  ", listed, re.MULTILINE)


COMMANDS = commands()


def help_of(command: str) -> dict[str, str]:
    """Every spelling that the help of a command shows, with the line it stands in."""
    text = headscope("help", command).split("Options:\n")[1].split("\nExample:")[0]
    lines = re.findall(r"^  (-\S.*)$", text, re.MULTILINE)
    return {spelling: line for line in lines for spelling in line.split()[0].split(",")}


def sections(text: str, heading: str) -> dict[str, str]:
    """The part of a page about each command."""
    parts = re.split(heading, text, flags=re.MULTILINE)
    return {name: body for name, body in zip(parts[1::2], parts[2::2], strict=True) if name in COMMANDS}


def test_there_is_help_for_every_command_with_exit_codes_and_json() -> None:
    assert {"inspect", "relate", "capture", "detect", "organize", "softmax", "patch", "prune", "compare", "report",
            "reproduce", "families", "demo", "help", "completion", "manual"} == set(COMMANDS)
    for command in COMMANDS:
        text = headscope(command, "--help")
        assert text == headscope("help", command) == headscope(command, "-h")
        assert f"Example: headscope {command}" in text
        assert "Exit codes: 0 done; 2 " in text and "130 interrupted" in text
        assert "--json" in help_of(command) and "--quiet" in help_of(command)
    assert headscope("help") == headscope("--help")


def test_help_starts_with_what_most_people_want() -> None:
    lines = headscope("--help").splitlines()
    assert [line.split()[0] for line in lines[3:6]] == ["headscope"] * 3
    assert [line.split()[1] for line in lines[3:6]] == ["inspect", "relate", "report"]


def test_every_command_prints_json(tmp_path: Path) -> None:
    model, run = str(ROOT / "models/demo"), str(tmp_path / "run")
    text = ["--text", "List: key tower frog heavy bell. Again: key tower frog heavy bell."]
    for words in (["inspect", model], ["families"], ["help", "relate"], ["completion", "fish"], ["manual"],
                  ["relate", model, "-o", run], ["capture", model, "-o", run, *text], ["detect", model, "-o", run],
                  ["patch", model, "-o", run, *text, "--pairs", "OK", "--top", "2"],
                  ["prune", model, "-o", run, *text, *text, "--count", "2", "--orders", "2", "--points", "2", "--write",
                   "none"],
                  ["organize", run, "-o", run], ["softmax", run, "-o", run], ["compare", run, run, "-o", run],
                  ["report", run, "-o", str(tmp_path / "page.html")]):
        assert isinstance(json.loads(headscope(*words, "--json", "--quiet")), dict), words


def test_the_page_of_options_is_the_one_the_program_prints() -> None:
    page = headscope("manual", "--format", "markdown")
    if "HEADSCOPE_UPDATE_DOCS" in os.environ:
        OPTIONS_PAGE.write_text(page)
    assert OPTIONS_PAGE.read_text() == page, "run this test again with HEADSCOPE_UPDATE_DOCS=1"


def test_page_and_manual_have_the_options_of_the_help() -> None:
    page = sections(headscope("manual", "--format", "markdown"), r"^## (\w+)$")
    manual = sections(headscope("manual"), r"^\.SS (\w+)$")
    for command in COMMANDS:
        shown = help_of(command)
        listed = [name for row in re.findall(r"^\| `(-.*?)` \|", page[command], re.MULTILINE)
                  for name in re.findall(r"(?:^|, )(-[-\w]+)", row)]
        assert sorted(listed) == sorted(shown), command
        bold = re.findall(r"^\.TP\n\.B (\\-.*)$", manual[command], re.MULTILINE)
        spelled = [name for row in bold for name in re.findall(r"(?:^|, )(-[-\w]+)", row.replace("\\-", "-"))]
        assert sorted(spelled) == sorted(shown), command


def test_the_manual_is_clean() -> None:
    if shutil.which("groff") is None:
        pytest.skip("no groff here")
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=headscope("manual"), capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert "EXIT STATUS" in re.sub(".\b", "", done.stdout)  # bold letters are struck twice


def complete_in_bash(*words: str) -> list[str]:
    script = f"source <(cat)\nCOMP_WORDS=({' '.join(words)})\nCOMP_CWORD={len(words) - 1}\n_headscope\n"
    script += "printf '%s\\n' \"${COMPREPLY[@]}\""
    done = subprocess.run(["bash", "-c", script], input=headscope("completion", "bash"), capture_output=True, text=True,
                          cwd=ROOT, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_and_values() -> None:
    assert complete_in_bash("headscope", "''") == [*COMMANDS, "--help", "--version"]
    assert complete_in_bash("headscope", "rel") == ["relate"]
    for command in ("relate", "capture", "report", "families"):
        assert sorted(complete_in_bash("headscope", command, "--")) == sorted(
            name for name in help_of(command) if name.startswith("--"))
    assert complete_in_bash("headscope", "relate", "m", "--weights", "''") == ["folded", "raw"]
    assert complete_in_bash("headscope", "relate", "m", "--metric", "pk,ck") == ["pk,cka"]
    assert complete_in_bash("headscope", "relate", "m", "--metric", "=", "ck") == ["cka"]
    assert complete_in_bash("headscope", "relate", "m", "--family", "gpt2") == ["gpt2"]
    assert complete_in_bash("headscope", "help", "org") == ["organize"]
    assert complete_in_bash("headscope", "inspect", "READ") == ["README.md"]
    assert complete_in_bash("headscope", "relate", "m", "--top", "''") == []


def test_the_readme_counts_the_families() -> None:
    families = json.loads(headscope("families", "--json"))["families"]
    running = sum(one["capture"] for one in families)
    assert f"| Families | {len(families)}, of which {running} run: " in (ROOT / "README.md").read_text(encoding="utf-8")


def test_zsh_has_every_option() -> None:
    script = headscope("completion", "zsh")
    for command in COMMANDS:
        body = script.split(f"        {command})\n")[1].split(" ;;\n")[0]
        spelled = re.findall(r"^\s+'\*?(-[-\w]+)=?\[", body, re.MULTILINE)
        assert sorted(spelled) == sorted(help_of(command)), command
    if shutil.which("zsh") is None:
        pytest.skip("no zsh here: its script was not parsed")
    assert subprocess.run(["zsh", "-n"], input=script, capture_output=True, text=True).stderr == ""


def test_fish_has_every_option() -> None:
    script = headscope("completion", "fish")
    for command in COMMANDS:
        begin = f"complete -c headscope -n '__fish_seen_subcommand_from {command}'"
        body = [line[len(begin):] for line in script.splitlines() if line.startswith(begin)]
        spelled = [f"--{name}" for line in body for name in re.findall(r" -l ([-\w]+)", line.split(" -d ")[0])]
        spelled += [f"-{name}" for line in body for name in re.findall(r" -s (\w)", line.split(" -d ")[0])]
        assert sorted(spelled) == sorted(help_of(command)), command
    if shutil.which("fish") is None:
        pytest.skip("no fish here: its script was not run")
    done = subprocess.run(["fish", "--no-config", "-c", 'source; complete -C "headscope relate m --metric pk,ck"'],
                          input=script, capture_output=True, text=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["pk,cka"], done.stderr


def test_an_installed_program_brings_all_of_it(tmp_path: Path) -> None:
    build = ROOT / "build/release"
    if not (build / "cmake_install.cmake").exists() or (ROOT / "build/headscope").resolve() != HEADSCOPE:
        pytest.skip("the program is not from build/release")
    prefix = tmp_path / "prefix"
    subprocess.run(["cmake", "--install", build, "--component", "program", "--prefix", prefix], check=True,
                   capture_output=True)
    for file, words in {"share/man/man1/headscope.1": ["manual"],
                        "share/bash-completion/completions/headscope": ["completion", "bash"],
                        "share/zsh/site-functions/_headscope": ["completion", "zsh"],
                        "share/fish/vendor_completions.d/headscope.fish": ["completion", "fish"]}.items():
        assert (prefix / file).read_text() == headscope(*words)
    program = prefix / "bin/headscope"
    done = subprocess.run([program, "inspect", prefix / "share/headscope/models/demo"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
