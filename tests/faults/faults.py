"""Commands that are disturbed at one call that changes the file system or opens a file, and what has to hold then."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()
LIBRARY = ROOT / "build/release/tests/libfaults.so"
MODEL = str(ROOT / "models/induction")
PLAIN = {"OPENBLAS_NUM_THREADS": "1", "PATH": os.environ.get("PATH", "")}
KILLS = ("before", "half", "after")
INTERRUPT = "interrupt"
BAD_INPUT, RESOURCE, INTERRUPTED = 3, 6, 130

Contents = dict[str, bytes]


@dataclass(frozen=True)
class Scenario:
    """A command and the commands before it. Each is run in a folder that has the inputs in ../inputs."""

    name: str
    command: str
    before: tuple[str, ...] = ()
    killed: str = ""  # a command that is killed in the middle of its commit, after those


@dataclass(frozen=True)
class Fault:
    """What is done to one call."""

    scenario: str
    counted: str  # "changes" or "opens"
    number: int
    call: str
    path: str
    how: str  # one of KILLS, INTERRUPT, or the name of an errno
    lasting: bool = False
    then_kill: int = 0

    def __str__(self) -> str:
        more = " from then on" if self.lasting else f", killed at {self.then_kill}" if self.then_kill else ""
        return f"{self.scenario}: {self.how}{more} at {self.counted[:-1]} {self.number}, {self.call} {self.path}"

    @property
    def is_kill(self) -> bool:
        return self.how in KILLS or self.then_kill > 0

    @property
    def is_error(self) -> bool:
        return self.how not in (*KILLS, INTERRUPT)

    def environment(self) -> dict[str, str]:
        values = {"FAULTS_COUNT": self.counted, "FAULTS_AT": str(self.number)}
        values["FAULTS_HOW"] = str(getattr(errno, self.how)) if self.is_error else self.how
        if self.lasting:
            values["FAULTS_LASTING"] = "1"
        if self.then_kill:
            values["FAULTS_THEN_KILL"] = str(self.then_kill)
        return values


CAPTURE = "capture MODEL -o run --ids ../inputs/a.npy --force"
CAPTURE_B = "capture MODEL -o run --ids ../inputs/b.npy --force"
CAPTURE_OTHER = "capture MODEL -o other --ids ../inputs/b.npy"
RELATE = "relate MODEL -o run --null isotropic --tokens-for none --save-every 0 --force"
ORGANIZE = "organize run -o run --iterations 1 --force"
SOFTMAX = "softmax run -o run --iterations 1 --draws 2 --no-control --force"
PRUNE = "prune MODEL -o run --ids ../inputs/a.npy --points 2 --seeds 1 --orders 2 --force"
COMPARE = "compare run other -o compared --draws 2 --iterations 1 --force"
PATCH = "patch MODEL -o run --ids ../inputs/a.npy --top 2 --draws 2 --save-every 0 --force"
DETECT = "detect MODEL -o run --sequences 2 --length 16 --force"

SCENARIOS = (
    Scenario("capture", CAPTURE, (CAPTURE_B,)),
    Scenario("capture, first", CAPTURE.replace("-o run", "-o new/run")),
    Scenario("relate", f"{RELATE} --pairs OQ --metric pk,cs", (CAPTURE, f"{RELATE} --top 5")),
    Scenario("relate, first", RELATE),
    Scenario("detect", f"{DETECT} --seed 1", (f"{DETECT} --labels",)),
    Scenario("organize", ORGANIZE, (CAPTURE, f"{ORGANIZE} --tree binary")),
    Scenario("organize, first", ORGANIZE, (CAPTURE,)),
    Scenario("softmax", SOFTMAX, (CAPTURE, f"{SOFTMAX} --heads L0H0,L0H1,L1H0")),
    Scenario("prune", f"{PRUNE} --criteria norm", (f"{PRUNE} --criteria random --count 3",)),
    Scenario("prune, first", f"{PRUNE} --criteria norm"),
    Scenario("patch", f"{PATCH} --pairs OQ", (CAPTURE, f"{PATCH} --screen-only")),
    Scenario("compare", COMPARE, (CAPTURE, CAPTURE_OTHER, f"{COMPARE} --what scores")),
    Scenario("report", "report run -o page.html", (CAPTURE, "report run -o page.html --title Old")),
    Scenario("report, first", "report run -o page.html", (CAPTURE,)),
    Scenario("relate after a kill", f"{RELATE} --pairs OQ", (CAPTURE, f"{RELATE} --top 5"), f"{RELATE} --metric cs"),
    Scenario("report after a kill", "report run -o page.html", (CAPTURE, DETECT), f"{DETECT} --seed 1 --labels"),
)


def contents(folder: Path) -> Contents:
    """All files and empty folders, without what differs between equal runs: the circumstances in the manifest."""
    found: Contents = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir():
            if not any(path.iterdir()):
                found[name + "/"] = b""
        elif path.name == "manifest.json" and path.parent.name != ".headscope":
            manifest = json.loads(path.read_bytes())
            for command in manifest["commands"].values():
                del command["circumstances"]
            found[name] = json.dumps(manifest, sort_keys=True).encode()
        else:
            found[name] = path.read_bytes()
    return found


def results(all_files: Contents) -> Contents:
    """Without what an interrupted command may leave for the next one to finish or remove."""
    hidden = ("/.headscope/", "/unfinished/")
    return {
        name: data
        for name, data in all_files.items()
        if not any(part in "/" + name for part in hidden) and not name.endswith((".tmp", "/"))
    }


def difference(found: Contents, expected: Contents) -> str:
    missing = sorted(expected.keys() - found.keys())
    extra = sorted(found.keys() - expected.keys())
    changed = sorted(name for name in found.keys() & expected.keys() if found[name] != expected[name])
    texts = {"missing": missing, "extra": extra, "changed": changed}
    return "; ".join(f"{what}: {', '.join(names[:4])}" for what, names in texts.items() if names)


def run(command: str, folder: Path, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    words = [MODEL if word == "MODEL" else word for word in command.split()]
    if words[0] != "report":
        words += ["--threads", "1", "--quiet"]
    variables = PLAIN | (environment or {})
    if environment is not None:
        variables["LD_PRELOAD"] = str(LIBRARY)
    return subprocess.run([HEADSCOPE, *words], cwd=folder, env=variables, capture_output=True, text=True, check=False)


def succeed(command: str, folder: Path) -> None:
    done = run(command, folder)
    assert done.returncode == 0, f"{command}: {done.stderr}"


def calls_of(command: str, folder: Path, counted: str) -> list[tuple[str, str]]:
    """The counted calls of a command: name, and path relative to the folder."""
    log = folder.parent / f"{folder.name}.calls"
    done = run(command, folder, {"FAULTS_COUNT": counted, "FAULTS_LOG": str(log)})
    assert done.returncode == 0, f"{command}: {done.stderr}"
    calls = [line.split(" ", 1) for line in log.read_text().splitlines()]
    return [(call, path.replace(f"{folder}/", "")) for call, path in calls]


def journals(folder: Path) -> list[Path]:
    """The journals of commits that were not completed."""
    return [*folder.rglob(".headscope/*/journal"), *folder.rglob(".headscope/*/undo")]


def commit_renames(calls: list[tuple[str, str]]) -> list[int]:
    """The numbers of the calls that put a file in its place."""
    return [i for i, (call, path) in enumerate(calls, start=1) if call == "rename" and ".headscope" not in path]


@dataclass
class Bench:
    """A scenario with its folders before and after the command."""

    scenario: Scenario
    work: Path
    old: Contents = field(default_factory=dict)  # after the recovery of whatever was killed
    new: Contents = field(default_factory=dict)
    calls: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def prepare(self) -> None:
        inputs = self.work / "inputs"
        inputs.mkdir(parents=True)
        np.save(inputs / "a.npy", np.arange(12) % 7)
        np.save(inputs / "b.npy", np.arange(10) % 5)
        before = self.work / "before"
        before.mkdir()
        for command in self.scenario.before:
            succeed(command, before)
        if self.scenario.killed:
            self.kill_in_commit(before)
        self.old = contents(self.recovered(self.fresh("old")))
        for counted in ("changes", "opens"):
            folder = self.fresh(counted)
            self.calls[counted] = calls_of(self.scenario.command, folder, counted)
            self.new = contents(folder)

    def kill_in_commit(self, folder: Path) -> None:
        trial = self.fresh("trial")
        calls = calls_of(self.scenario.killed, trial, "changes")
        renames = commit_renames(calls)
        number = renames[len(renames) // 2]
        killed = run(self.scenario.killed, folder, {"FAULTS_AT": str(number), "FAULTS_HOW": "before"})
        assert killed.returncode == -signal.SIGKILL

    def fresh(self, name: str) -> Path:
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.work / "before", folder)
        return folder

    def recovered(self, folder: Path) -> Path:
        """The folder after a command has read it."""
        for journal in journals(folder):
            run_folder = journal.parents[2]
            done = run(f"report {run_folder.name} -o {self.work}/page-{folder.name}.html --force", run_folder.parent)
            # Undoing the first commit of a folder leaves no result to read.
            undone = done.returncode == BAD_INPUT and not (run_folder / "manifest.json").exists()
            assert done.returncode == 0 or undone, f"a reader of the interrupted run failed: {done.stderr.strip()}"
        return folder

    def faults(self) -> Iterator[Fault]:
        name = self.scenario.name
        renames = commit_renames(self.calls["changes"])
        for counted, calls in self.calls.items():
            for number, (call, path) in enumerate(calls, start=1):
                for how in ways(counted, call, last=number == len(calls)):
                    fault = Fault(name, counted, number, call, path, how)
                    yield fault
                    if fault.is_error:
                        yield replace(fault, lasting=True)
        # A commit that fails in the middle, and is killed while it is undone.
        if renames:
            middle = renames[len(renames) // 2]
            call, path = self.calls["changes"][middle - 1]
            for later in range(1, 3 * len(renames)):
                yield Fault(name, "changes", middle, call, path, "EIO", then_kill=middle + later)

    def check(self, fault: Fault, folder_name: str) -> str:
        """What is wrong after a fault; empty if nothing is."""
        folder = self.fresh(folder_name)
        done = run(self.scenario.command, folder, fault.environment())
        try:
            wrong = self.check_kill(fault, folder, done) if fault.is_kill else self.check_error(fault, folder, done)
        except AssertionError as error:
            wrong = str(error)
        if wrong:
            return wrong
        again = run(self.scenario.command, folder)
        if again.returncode != 0:
            return f"the next command failed: {again.stderr.strip()}"
        # A command that only reads a run finishes an interrupted commit there, but leaves it to writers to clean up.
        reads = self.scenario.command.startswith("report")
        left = contents(folder)
        if reads:
            left = {name: data for name, data in left.items() if "/.headscope/" not in name}
        wrong = difference(left, self.new)
        shutil.rmtree(folder)
        return f"the next command gave another result: {wrong}" if wrong else ""

    def check_whole(self, folder: Path, *, or_new: bool) -> str:
        found = results(contents(self.recovered(folder)))
        if or_new and found == results(self.new):
            return ""
        wrong = difference(found, results(self.old))
        return f"the old result is not whole: {wrong}" if wrong else ""

    def check_kill(self, fault: Fault, folder: Path, done: subprocess.CompletedProcess[str]) -> str:
        if done.returncode != -signal.SIGKILL and not fault.then_kill:
            return f"was not killed: code {done.returncode}"
        return self.check_whole(folder, or_new=True)

    def check_error(self, fault: Fault, folder: Path, done: subprocess.CompletedProcess[str]) -> str:
        if done.returncode == 0:
            wrong = difference(results(contents(folder)), results(self.new))
            return f"code 0, but not the new result: {wrong}" if wrong else ""
        expected = {"ENOSPC": RESOURCE, INTERRUPT: INTERRUPTED}.get(fault.how, BAD_INPUT)
        lines = done.stderr.splitlines()
        if done.returncode != expected:
            return f"code {done.returncode}, expected {expected}: {done.stderr.strip()}"
        if len(lines) != 1 or not lines[0].startswith("headscope: "):
            return f"expected one line of its own on standard error, found {lines}"
        if fault.is_error and not names_a_file(lines[0]):
            return f"the message names no file of the user: {lines[0]}"
        undecided = fault.lasting or (fault.how == INTERRUPT and journals(folder))
        if undecided or self.scenario.killed:
            return self.check_whole(folder, or_new=bool(undecided))
        # What could not be removed stays, and so do the finished blocks of relate.
        left = {name: data for name, data in contents(folder).items() if "/unfinished/" not in name}
        if fault.call == "unlink":
            left = results(left)
        wrong = difference(left, results(self.old) if fault.call == "unlink" else self.old)
        return f"code {done.returncode}, but the folder changed: {wrong}" if wrong else ""


def ways(counted: str, call: str, *, last: bool) -> Iterator[str]:
    """What can happen to a call. Dying after a call is dying before the next one."""
    if counted == "opens":
        yield from ("EMFILE", "EIO")
        return
    yield "before"
    if "write" in call and ":" not in call:
        yield "half"
    if last:
        yield "after"
    yield INTERRUPT
    yield "EIO"
    if call != "unlink":
        yield "ENOSPC"
    if ":" in call:
        yield "EMFILE"


def names_a_file(line: str) -> bool:
    named = any(name in line for name in ("run", "page.html", "compared", "other", "inputs/", MODEL))
    temporary = re.search(r"\.tmp\b|\.headscope/\w+/\d", line)
    return named and temporary is None
