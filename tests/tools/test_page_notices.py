"""web/dist/template.html: the page itself has the license of every npm package whose code it contains."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK = json.loads((ROOT / "web/package-lock.json").read_text())["packages"]
PAGE = (ROOT / "web/dist/template.html").read_text()


def imported() -> set[str]:
    """Packages that the page's own code imports, other than for types alone."""
    found = set()
    for path in (ROOT / "web/src").rglob("*.ts"):
        text = re.sub(r"import type [^;]*;", "", path.read_text())
        found |= set(re.findall(r"""(?:from|import)\s*\(?["']((?:@[\w-]+/)?[\w-]+)[/"']""", text))
    return found


def with_dependencies(names: set[str]) -> set[str]:
    found, todo = set(), sorted(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += LOCK[f"node_modules/{name}"].get("dependencies", {})
    return found


def notices() -> str:
    section = r'<details id="notices">\s*<summary>Third-party notices</summary>(.*?)</details>'
    (details,) = re.findall(section, PAGE, re.DOTALL)
    return html.unescape(re.sub(r"</?(p|pre)\b[^>]*>", "", details))


BUNDLED = sorted(with_dependencies(imported()))


def test_the_packages_are_found() -> None:
    assert {"d3-force", "d3-scale", "d3-array", "internmap", "three"} <= set(BUNDLED)
    declared = json.loads((ROOT / "web/package.json").read_text())["devDependencies"]
    assert imported() <= set(declared)


@pytest.mark.parametrize("name", BUNDLED)
def test_every_bundled_package_has_its_notice_in_the_page(name: str) -> None:
    about = LOCK[f"node_modules/{name}"]
    assert f"{name} {about['version']} ({about['license']})\n" in notices(), "run 'make web'"


def test_texts_are_complete() -> None:
    licenses = (ROOT / "web/dist/licenses.txt").read_text()
    assert licenses in notices()  # the wheel and the tarball have the same
    for part in re.split(r"^-{80}$", licenses, flags=re.MULTILINE):
        assert "Copyright" in part
        assert re.search("appear in all copies|included in\\s+all copies", part)
        assert re.search("THE SOFTWARE IS PROVIDED", part)


def test_installed_packages_have_the_text_that_is_in_the_page() -> None:
    folder = ROOT / "web/node_modules"
    if not (folder / "installed").exists():
        pytest.skip("web/node_modules is not installed")
    text = notices()
    for name in BUNDLED:
        (file,) = (path for path in (folder / name).iterdir() if path.name.lower().startswith("license"))
        assert file.read_text().strip() in text, name
