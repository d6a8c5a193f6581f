"""Models by the names they have in the Hugging Face cache."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import headscope

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path: Path, model_path: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models--me--induction"
    snapshot = folder / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "blobs").mkdir()
    (folder / "refs/v1").write_text(COMMIT)
    for source in Path(model_path).glob("*.*"):
        shutil.copy(source, folder / "blobs")
        (snapshot / source.name).symlink_to(Path("../../blobs") / source.name)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    return tmp_path


def test_load_takes_names_and_revisions(cache: Path, model: headscope.Model) -> None:
    loaded = headscope.load("induction", revision="v1")
    assert loaded.fingerprint() == model.fingerprint()
    assert loaded.info["repository"] == "me/induction"
    assert loaded.info["commit"] == COMMIT
    assert model.info["repository"] is None
    # `main` is not there, v1 is: a result from the loaded model says where it came from.
    assert headscope.detect(loaded, sequences=1).files


def test_functions_take_names(cache: Path) -> None:
    (cache / "models--me--induction/refs/main").write_text(COMMIT)
    assert headscope.relate("me/induction").files


def test_errors_are_those_of_the_command_line(cache: Path, model_path: str, cli: Callable[..., str]) -> None:
    for name, revision in [("me/absent", "main"), ("me/induction", "v2")]:
        with pytest.raises(headscope.FileError, match=f"hf download {name} --revision {revision}") as caught:
            headscope.load(name, revision=revision)
        # The command in the message is one for the shell.
        assert cli("inspect", name, "--revision", revision, code=3) == f"headscope: {caught.value}\n"
    with pytest.raises(headscope.ArgumentError, match="only models of the Hugging Face cache have revisions"):
        headscope.load(model_path, revision="main")
    with pytest.raises(
        headscope.ArgumentError, match=r"unknown family 'gpt3' .did you mean 'gpt2'.*expected one of aimv2_vision"
    ):
        headscope.load(model_path, family="gpt3")
    with pytest.raises(headscope.UnsupportedError, match="was requested as family llama, but there is no"):
        headscope.load(model_path, family="llama")
