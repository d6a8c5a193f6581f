"""Versions that are written in two places are the same."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_wheel_and_tarball_contain_the_same_openblas() -> None:
    pin = re.compile(r"scipy-openblas32==([0-9.]+)")
    (wheel,) = pin.findall((ROOT / "pyproject.toml").read_text())
    (tarball,) = pin.findall((ROOT / "tools/requirements-package.txt").read_text())
    assert wheel == tarball


def test_the_conda_recipe_has_the_version_of_the_project() -> None:
    (recipe,) = re.findall(r'version: "([^"]+)"', (ROOT / "packaging/conda/recipe.yaml").read_text())
    assert recipe == (ROOT / "VERSION").read_text().strip()
