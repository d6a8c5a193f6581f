"""Writes a software bill of materials (CycloneDX 1.5, JSON): everything that headscope contains or needs when it runs.

It lists
- the Debian packages that the program is linked from, in the versions installed here,
- what the wheel and the tarball have besides: OpenBLAS from PyPI, nanobind,
- the npm packages inside the report's page, with the hashes of web/package-lock.json,
- the Python packages that the wheel requires, or uses where they are installed.

Two runs on the same system give the same file, except for the time, which SOURCE_DATE_EPOCH sets.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import json
import os
import platform
import re
import subprocess
import tomllib
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).parents[1]
# Name in find_package or pkg_check_modules: Debian package, license (SPDX).
LIBRARIES = {
    "fmt": ("libfmt-dev", "MIT"),
    "CLI11": ("libcli11-dev", "BSD-3-Clause"),
    "nlohmann_json": ("nlohmann-json3-dev", "MIT"),
    "hwy": ("libhwy-dev", "Apache-2.0"),
    "ZLIB": ("zlib1g-dev", "Zlib"),
    "PNG": ("libpng-dev", "libpng-2.0"),
    "JPEG": ("libjpeg-dev", "IJG AND BSD-3-Clause AND Zlib"),
    "PCRE2": ("libpcre2-dev", "BSD-3-Clause"),
    "UTF8PROC": ("libutf8proc-dev", "MIT AND Unicode-DFS-2015"),
    "OPENBLAS": ("libopenblas-pthread-dev", "BSD-3-Clause"),
}
# Only build/mpi/headscope has it; listed if it is installed.
MPI = {"MPI": ("libopenmpi-dev", "BSD-3-Clause")}
# What the compiler and OpenBLAS bring, as far as this system has it. The tarball contains it.
GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"
RUNTIME = {
    "libstdc++": ("libstdc++6", GCC),
    "libgcc": ("libgcc-s1", GCC),
    "libgfortran": ("libgfortran5", GCC),
    "libquadmath": ("libquadmath0", "LGPL-2.1-or-later"),
}
# Of tools/requirements-wheel.txt, the packages whose code gets into the wheel; the first also into the tarball.
BUILT_IN = {"scipy-openblas32": f"BSD-3-Clause AND {GCC}", "nanobind": "BSD-3-Clause"}


def fail(message: str) -> SystemExit:
    return SystemExit(f"make_sbom.py: {message}")


def component(part: str, name: str, version: str, purl: str, license_: str, **more: Any) -> dict[str, Any]:
    """An entry of the list; part says where it is found: linked, wheel, page or environment."""
    fields: dict[str, Any] = {"type": "library", "bom-ref": purl, "name": name, "purl": purl}
    if version:
        fields["version"] = version
    if license_:
        fields["licenses"] = [{"expression": license_}]
    properties = [{"name": "headscope:part", "value": part}, *more.pop("properties", [])]
    return fields | more | {"properties": properties}


def installed(package: str) -> tuple[str, str, str] | None:
    """Version, architecture and source package of a Debian package; nothing if it is not installed."""
    show = "${db:Status-Status}\t${Version}\t${Architecture}\t${source:Package}\n"
    try:
        done = subprocess.run(["dpkg-query", "--show", f"--showformat={show}", package], capture_output=True, text=True)
    except FileNotFoundError:
        raise fail("dpkg-query is missing: the list is made from Debian's packages") from None
    for line in done.stdout.splitlines():
        status, version, architecture, source = line.split("\t")
        if status == "installed":
            return version, architecture, source
    return None


def distribution() -> tuple[str, str]:
    """Vendor and release as package URLs name them: debian, debian-12."""
    system = platform.freedesktop_os_release()
    return system["ID"], f"{system['ID']}-{system.get('VERSION_ID', 'unstable')}"


def debian_components() -> list[dict[str, Any]]:
    vendor, release = distribution()
    found = []
    for title, (package, license_) in (LIBRARIES | RUNTIME | MPI).items():
        about = installed(package)
        if about is None:
            if title not in LIBRARIES:
                continue
            raise fail(f"the Debian package {package} is not installed: run 'make' first")
        version, architecture, source = about
        purl = f"pkg:deb/{vendor}/{quote(package)}@{quote(version, safe=':~')}?arch={architecture}&distro={release}"
        properties = [{"name": "headscope:cmake", "value": title}, {"name": "headscope:source", "value": source}]
        scope = "optional" if title in MPI else "required"
        found.append(component("linked", package, version, purl, license_, scope=scope, properties=properties))
    return found


def pinned(package: str) -> str:
    """Version of a package in tools/requirements-wheel.txt."""
    text = (ROOT / "tools/requirements-wheel.txt").read_text()
    entry = re.search(rf"^{re.escape(package)}==(\S+)", text, re.MULTILINE)
    if entry is None:
        raise fail(f"tools/requirements-wheel.txt has no {package}")
    return entry[1]


def wheel_components() -> list[dict[str, Any]]:
    found = []
    for package, license_ in BUILT_IN.items():
        version = pinned(package)
        found.append(component("wheel", package, version, f"pkg:pypi/{package}@{version}", license_, scope="required"))
    # nanobind contains a hash table.
    found[-1]["components"] = [{"type": "library", "name": "robin-map", "licenses": [{"expression": "MIT"}]}]
    return found


def page_components() -> list[dict[str, Any]]:
    lock = json.loads((ROOT / "web/package-lock.json").read_text())["packages"]
    notices = (ROOT / "web/dist/licenses.txt").read_text()
    found = []
    for name, version, license_ in re.findall(r"^(\S+) (\d\S*) \((.+)\)$", notices, re.MULTILINE):
        entry = lock.get(f"node_modules/{name}")
        if entry is None or entry["version"] != version:
            raise fail(f"web/package-lock.json has no {name} {version}, which is in the page: run 'make web'")
        algorithm, value = entry["integrity"].split("-", 1)
        digest = {"alg": {"sha512": "SHA-512"}[algorithm], "content": base64.b64decode(value).hex()}
        purl = f"pkg:npm/{name.replace('@', '%40')}@{version}"
        found.append(component("page", name, version, purl, license_, scope="required", hashes=[digest]))
    return found


def python_components() -> list[dict[str, Any]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = project["dependencies"]
    optional = sorted({name for extra in project["optional-dependencies"].values() for name in extra})
    found = []
    for scope, requirements in (("required", required), ("optional", optional)):
        for requirement in requirements:
            name, versions = re.fullmatch(r"([A-Za-z0-9._-]+)\s*(.*)", requirement).groups()  # type: ignore[union-attr]
            properties = [{"name": "headscope:versions", "value": versions or "any"}]
            found.append(component("environment", name, "", f"pkg:pypi/{name.lower()}", "", scope=scope,
                                   properties=properties))
    return found


def bill() -> dict[str, Any]:
    version = (ROOT / "VERSION").read_text().strip()
    components = debian_components() + wheel_components() + page_components() + python_components()
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    utc = datetime.timezone.utc
    time = datetime.datetime.fromtimestamp(int(seconds), utc) if seconds else datetime.datetime.now(utc)
    purl = f"pkg:generic/headscope@{version}"
    subject = {"type": "application", "bom-ref": purl, "name": "headscope", "version": version, "purl": purl,
               "licenses": [{"license": {"id": "Apache-2.0"}}]}
    references = [str(one["bom-ref"]) for one in components]
    identity = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([subject, components], sort_keys=True))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{identity}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tools": {"components": [{"type": "application", "name": "make_sbom.py", "version": version}]},
            "component": subject,
        },
        "components": components,
        "dependencies": [{"ref": purl, "dependsOn": references}, *({"ref": one} for one in references)],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    written = bill()
    arguments.file.parent.mkdir(parents=True, exist_ok=True)
    arguments.file.write_text(json.dumps(written, indent=2) + "\n")
    print(f"{arguments.file}: {len(written['components'])} components")
