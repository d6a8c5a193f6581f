"""tools/install_debian.sh: says what it installs before it asks for a password, and installs nothing it cannot."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools/install_debian.sh"
COMMAND = "apt-get install --no-install-recommends libone-dev libtwo-dev"
# Every command writes to the same output, so that their order shows.
SUDO = '#!/bin/bash\necho "sudo asks for a password"\nexec "$@"\n'
APT = '#!/bin/bash\necho "apt-get $*, frontend $DEBIAN_FRONTEND" >&2\n'


def system(folder: Path, uid: int, **programs: str) -> Path:
    """Makes a PATH of a Debian system where only the package 'there' is installed."""
    programs.setdefault("apt-get", APT)
    programs["dpkg-query"] = '#!/bin/bash\n[ "${@: -1}" = there ] && echo -n installed\n'
    programs["id"] = f"#!/bin/bash\necho {uid}\n"
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "env").symlink_to(shutil.which("env") or "/usr/bin/env")
    return folder


def install(path: Path, *packages: str) -> subprocess.CompletedProcess[str]:
    bash = shutil.which("bash") or "/bin/bash"
    return subprocess.run([bash, SCRIPT, *packages], env={"PATH": str(path)}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def test_without_root_and_sudo_one_line_says_what_to_run(tmp_path: Path) -> None:
    done = install(system(tmp_path, 1000), "libone-dev", "there", "libtwo-dev")
    assert done.returncode == 1
    assert done.stdout == ("missing Debian packages, and neither root nor sudo to install them; "
                           f"as root, run: {COMMAND}\n")


def test_with_sudo_the_commands_are_printed_before_it_asks(tmp_path: Path) -> None:
    done = install(system(tmp_path, 1000, sudo=SUDO), "libone-dev", "there", "libtwo-dev")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    as_root = "sudo env DEBIAN_FRONTEND=noninteractive"
    asked = lines.index("sudo asks for a password")
    assert lines[:asked] == [
        "installing Debian packages: libone-dev libtwo-dev",
        f"  {as_root} apt-get update -qq",
        f"  {as_root} apt-get install -qq -y --no-install-recommends libone-dev libtwo-dev",
    ]
    assert lines[-1] == "apt-get install -qq -y --no-install-recommends libone-dev libtwo-dev, frontend noninteractive"


def test_a_refused_password_ends_with_what_to_run(tmp_path: Path) -> None:
    refuse = '#!/bin/bash\necho "sudo: a password is required" >&2\nexit 1\n'
    done = install(system(tmp_path, 1000, sudo=refuse), "libone-dev", "libtwo-dev")
    assert done.returncode == 1
    assert "apt-get install -qq" not in done.stdout.split("password is required")[1]
    assert done.stdout.splitlines()[-1] == f"the Debian packages were not installed; as root, run: {COMMAND}"


def test_root_needs_no_sudo_and_says_what_it_installs(tmp_path: Path) -> None:
    done = install(system(tmp_path, 0, sudo="#!/bin/bash\nexit 9\n"), "libone-dev")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "installing Debian packages: libone-dev"
    assert "apt-get install -qq -y --no-install-recommends libone-dev, frontend noninteractive" in done.stdout


@pytest.mark.parametrize("uid", [0, 1000])
def test_nothing_is_said_if_nothing_is_missing(tmp_path: Path, uid: int) -> None:
    done = install(system(tmp_path, uid), "there")
    assert (done.returncode, done.stdout) == (0, "")


def test_make_stops_where_packages_cannot_be_installed(tmp_path: Path) -> None:
    path = system(tmp_path, 1000)
    for name in ("bash", "make", "cat"):
        (path / name).symlink_to(shutil.which(name) or name)
    done = subprocess.run(["make", "debian-build"], cwd=SCRIPT.parents[1], env={"PATH": str(path)},
                          capture_output=True, text=True)
    assert done.returncode == 2
    assert "as root, run: apt-get install --no-install-recommends g++ cmake" in done.stderr
