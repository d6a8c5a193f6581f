"""tools/make_sbom.py: the list is valid CycloneDX 1.5 and leaves nothing out that CMake, npm or pip put in."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools/make_sbom.py"
sys.path.insert(0, str(SCRIPT.parent))

import collect_licenses  # noqa: E402
import make_sbom  # noqa: E402

PURL = re.compile(
    r"pkg:(deb/[a-z]+|npm|pypi|generic)/[A-Za-z0-9.%_/-]+"
    r"(@[A-Za-z0-9.%:~_-]+)?(\?[a-z]+=[^&]+(&[a-z]+=[^&]+)*)?"
)


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if shutil.which("dpkg-query") is None:
        pytest.skip("not a Debian system")
    file = tmp_path_factory.mktemp("sbom") / "dist/headscope.cdx.json"
    done = subprocess.run([sys.executable, SCRIPT, file], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(file.read_text())


def of_part(bill: dict[str, Any], part: str) -> dict[str, Any]:
    named = {"name": "headscope:part", "value": part}
    return {one["name"]: one for one in bill["components"] if named in one["properties"]}


def test_required_fields_are_there(bill: dict[str, Any]) -> None:
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    assert uuid.UUID(bill["serialNumber"].removeprefix("urn:uuid:")).version == 5
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bill["metadata"]["timestamp"])
    subject = bill["metadata"]["component"]
    assert (subject["name"], subject["type"]) == ("headscope", "application")
    assert subject["version"] == (ROOT / "VERSION").read_text().strip()
    for one in bill["components"]:
        assert one["type"] == "library" and one["name"]
        assert one["scope"] in ("required", "optional")
        assert PURL.fullmatch(one["purl"]), one["purl"]
        assert all(len(digest["content"]) == 128 for digest in one.get("hashes", []))
        if one not in of_part(bill, "environment").values():
            assert one["version"] and one["licenses"][0]["expression"]


def test_references_are_unique_and_known(bill: dict[str, Any]) -> None:
    references = [bill["metadata"]["component"]["bom-ref"], *(one["bom-ref"] for one in bill["components"])]
    assert len(set(references)) == len(references)
    assert [entry["ref"] for entry in bill["dependencies"]] == references
    assert bill["dependencies"][0]["dependsOn"] == references[1:]


def test_every_library_that_cmake_looks_for_is_listed() -> None:
    text = "".join((ROOT / name).read_text() for name in ("CMakeLists.txt", "cmake/headscope_dependencies.cmake"))
    found = set(re.findall(r"(?:find_package|pkg_check_modules)\((\w+)", text))
    found -= {"Threads", "PkgConfig", "Python"}  # part of the C library, or used only to build
    assert found == set(make_sbom.LIBRARIES) | set(make_sbom.MPI)


def test_every_library_with_a_notice_is_listed() -> None:
    listed = {package for package, _ in (make_sbom.LIBRARIES | make_sbom.RUNTIME).values()}
    noticed = {package for package, _ in collect_licenses.LIBRARIES.values()} | {collect_licenses.GCC_RUNTIME[0]}
    assert noticed == listed - {"libopenblas-pthread-dev", "libgcc-s1", "libgfortran5", "libquadmath0"}
    assert {*collect_licenses.PYTHON_PACKAGES.values(), "nanobind"} == set(make_sbom.BUILT_IN)


def test_debian_packages_are_those_that_make_installs(bill: dict[str, Any]) -> None:
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    (line,) = re.findall(r"^BUILD_PACKAGES := (.*)$", makefile, re.MULTILINE)
    libraries = {name for name in line.split() if name.endswith("-dev")}
    assert libraries == {package for package, _ in make_sbom.LIBRARIES.values()}
    linked = of_part(bill, "linked")
    assert libraries <= set(linked)
    version = subprocess.run(["dpkg-query", "-W", "-f=${Version}", "libfmt-dev"], capture_output=True, text=True).stdout
    assert linked["libfmt-dev"]["version"] == version


def test_packages_of_the_page_have_the_hashes_of_the_lock_file(bill: dict[str, Any]) -> None:
    page = of_part(bill, "page")
    assert {"d3-force", "d3-scale", "internmap", "three"} <= set(page)
    lock = json.loads((ROOT / "web/package-lock.json").read_text())["packages"]
    for name, one in page.items():
        assert one["version"] == lock[f"node_modules/{name}"]["version"]
        assert one["hashes"][0]["alg"] == "SHA-512"


def test_python_requirements_are_those_of_the_project(bill: dict[str, Any]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    def names_of(requirements: list[str]) -> set[str]:
        return {re.split(r"[<>=]", requirement)[0] for requirement in requirements}

    found = of_part(bill, "environment")
    assert {name for name, one in found.items() if one["scope"] == "required"} == names_of(
        project["project"]["dependencies"]
    )
    for extra in project["project"]["optional-dependencies"].values():
        assert names_of(extra) <= set(found)
    built_in = names_of(project["build-system"]["requires"])
    assert set(of_part(bill, "wheel")) == built_in - {"scikit-build-core"}  # it leaves nothing in the wheel


def test_the_same_system_gives_the_same_file(tmp_path: Path, bill: dict[str, Any], monkeypatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    again = make_sbom.bill()
    assert again["metadata"]["timestamp"] == "1970-01-02T00:00:00Z"
    assert again["serialNumber"] == bill["serialNumber"]


def test_a_package_that_is_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_sbom, "installed", lambda _: None)
    with pytest.raises(SystemExit, match="the Debian package libfmt-dev is not installed: run 'make' first"):
        make_sbom.debian_components()
