"""tools/collect_licenses.py: every library has its text, or there is an error."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

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


def test_a_missing_text_is_an_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "out.txt"], env={"HEADSCOPE_LICENSE_DIR": str(tmp_path)},
        capture_output=True, text=True,
    )
    assert done.returncode == 1
    assert done.stderr == f"collect_licenses.py: {tmp_path}/fmt has no license file\n"
    assert not (tmp_path / "out.txt").exists()
