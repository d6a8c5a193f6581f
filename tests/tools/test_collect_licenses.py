"""tools/collect_licenses.py: every library has its text, or there is an error."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools/collect_licenses.py"
sys.path.insert(0, str(SCRIPT.parent))

import collect_licenses  # noqa: E402


def test_every_library_that_is_linked_has_a_license() -> None:
    # What CMake looks for, and what vcpkg installs for the wheels of other systems.
    found = set(re.findall(r"find_package\((\w+)", (ROOT / "cmake/headscope_dependencies.cmake").read_text()))
    found -= {"Threads", "PkgConfig", "Python"}
    found |= set(re.findall(r"lib(pcre2|utf8proc)", (ROOT / "cmake/headscope_dependencies.cmake").read_text()))
    vcpkg = set(json.loads((ROOT / "packaging/vcpkg.json").read_text())["dependencies"])
    names = {elsewhere for _, elsewhere in collect_licenses.LIBRARIES.values()}
    assert names == vcpkg
    spelled = {"nlohmann_json": "nlohmann-json", "CLI11": "cli11", "ZLIB": "zlib", "hwy": "highway", "PNG": "libpng",
               "JPEG": "libjpeg-turbo"}
    assert {spelled.get(name, name) for name in found} == names


def test_conda_gives_the_texts_of_the_same_libraries(tmp_path: Path) -> None:
    text = (ROOT / "packaging/conda/licenses.py").read_text()
    packages = dict(re.findall(r'^    "([^"]+)": "([^"]+)",$', text, re.MULTILINE))
    assert set(packages) == {elsewhere for _, elsewhere in collect_licenses.LIBRARIES.values()}
    prefix = tmp_path / "prefix"
    (prefix / "conda-meta").mkdir(parents=True)
    for package in packages.values():
        unpacked = tmp_path / package
        (unpacked / "info/licenses").mkdir(parents=True)
        (unpacked / "info/licenses/LICENSE.txt").write_text(f"License of {package}.")
        record = {"name": package, "extracted_package_dir": str(unpacked)}
        (prefix / f"conda-meta/{package}-1.json").write_text(json.dumps(record))
    subprocess.run(
        [sys.executable, ROOT / "packaging/conda/licenses.py", tmp_path / "out"],
        env={"PREFIX": str(prefix)},
        check=True,
    )
    assert (tmp_path / "out/highway/LICENSE.txt").read_text() == "License of libhwy."


def test_the_texts_of_another_system_are_taken_from_a_folder(tmp_path: Path, monkeypatch) -> None:
    for _, name in [*collect_licenses.LIBRARIES.values(), collect_licenses.GCC_RUNTIME]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "copyright").write_text(f"License of {name}.")
    monkeypatch.setenv("HEADSCOPE_LICENSE_DIR", str(tmp_path))
    monkeypatch.setattr(collect_licenses, "PYTHON_PACKAGES", {"pytest": "pytest"})
    text = collect_licenses.collect(python_module=False)
    for title, (_, name) in collect_licenses.LIBRARIES.items():
        assert f". {title}\n" in text and f"License of {name}." in text
    assert "d3-array" in text and "three" in text


@pytest.mark.parametrize("python_module", [True, False], ids=["wheel", "tarball"])
def test_wheel_and_tarball_name_everything_inside(python_module: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # The texts themselves are in Debian packages and in the environment that makes the package.
    monkeypatch.setattr(collect_licenses, "library_text", lambda debian, elsewhere: f"Text of {elsewhere}.")
    monkeypatch.setattr(collect_licenses, "python_text", lambda package: f"Text of {package}.")
    monkeypatch.setattr(collect_licenses, "header_text", lambda package, header: f"Text of {header} in {package}.")
    text = collect_licenses.collect(python_module)
    inside = "fmt cli11 nlohmann-json highway zlib libpng libjpeg-turbo pcre2 utf8proc scipy-openblas32".split()
    inside += ["nanobind", "tsl/robin_map.h in nanobind"] if python_module else ["gcc"]
    for name in inside:
        assert f"\nText of {name}.\n" in text
    assert (ROOT / "web/dist/licenses.txt").read_text().strip() in text


def test_the_license_of_a_header_is_its_first_comment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class File:
        def __init__(self, name: str, text: str) -> None:
            (tmp_path / name).write_text(text)
            self.path = tmp_path / name

        def as_posix(self) -> str:
            return self.path.as_posix()

        def locate(self) -> Path:
            return self.path

    files = [File("map.h", "/**\n * MIT License\n *\n * Copyright (c) Somebody\n */\n#define X /* no */\n")]
    monkeypatch.setattr(collect_licenses.importlib.metadata, "files", lambda package: files)
    assert collect_licenses.header_text("package", "map.h").split("\n")[1:4] == [
        "MIT License", "", "Copyright (c) Somebody"]
    with pytest.raises(SystemExit, match=r"the Python package package has no set\.h with a license"):
        collect_licenses.header_text("package", "set.h")


def test_packages_are_made_with_the_notices() -> None:
    # tests/python looks into the wheel, make_dist.sh into the tarball, where these are made.
    assert "cmake.define.HEADSCOPE_COLLECT_LICENSES=ON" in (ROOT / "tools/make_wheel.sh").read_text()
    assert re.search(r"--target .*\blicenses\b", (ROOT / "tools/make_dist.sh").read_text())
    for name, place in (("python/CMakeLists.txt", "headscope/share/headscope"), ("cmake/headscope_dist.cmake", r"\.")):
        text = (ROOT / name).read_text()
        assert "include(headscope_licenses)" in text
        assert re.search(rf'install\(FILES [^)]*"\$\{{HEADSCOPE_LICENSES\}}"\s+DESTINATION {place} ', text), name


def test_a_missing_text_is_an_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "out.txt"], env={"HEADSCOPE_LICENSE_DIR": str(tmp_path)},
        capture_output=True, text=True,
    )
    assert done.returncode == 1
    assert done.stderr == f"collect_licenses.py: {tmp_path}/fmt has no license file\n"
    assert not (tmp_path / "out.txt").exists()
