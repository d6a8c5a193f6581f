"""Runs the real program on a cache that huggingface_hub itself reads and writes."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from huggingface_hub import constants, scan_cache_dir, try_to_load_from_cache
from huggingface_hub.file_download import _cache_commit_hash_for_specific_revision, _create_symlink, repo_folder_name

ROOT = Path(__file__).parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()
COMMIT = "607a30d783dfa663caf39e06633721c8d4cfcd7e"
VARIABLES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME")


def run(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES} | variables
    return subprocess.run([HEADSCOPE, *map(str, words)], capture_output=True, text=True, env=environment)


def cache_model(cache: Path, name: str, revision: str = "main") -> Path:
    """What hf_hub_download leaves, made with its own functions."""
    storage = cache / repo_folder_name(repo_id=name, repo_type="model")
    snapshot = storage / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (storage / "blobs").mkdir()
    for source in sorted((ROOT / "models/induction").glob("*.*")):
        blob = storage / "blobs" / f"etag-{source.name}"
        blob.write_bytes(source.read_bytes())
        _create_symlink(str(blob), str(snapshot / source.name), new_blob=True)
    _cache_commit_hash_for_specific_revision(str(storage), revision, COMMIT)
    return snapshot


@pytest.mark.parametrize("revision", ["main", "v1.0", "refs/pr/1"])
def test_finds_what_huggingface_hub_finds(tmp_path: Path, revision: str) -> None:
    cache_model(tmp_path, "openai-community/gpt2", revision)
    theirs = try_to_load_from_cache("openai-community/gpt2", "config.json", cache_dir=tmp_path, revision=revision)
    ours = run("inspect", "openai-community/gpt2", "--revision", revision, "--json", HF_HUB_CACHE=str(tmp_path))
    assert ours.returncode == 0, ours.stderr
    found = json.loads(ours.stdout)
    assert isinstance(theirs, str)
    assert Path(found["model"]) == Path(theirs).parent
    assert (found["repository"], found["commit"]) == ("openai-community/gpt2", COMMIT)


def test_looks_in_the_folders_of_huggingface_hub(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path / "home")}
    for variables, folder in [
        (home, tmp_path / "home/.cache/huggingface/hub"),
        (home | {"XDG_CACHE_HOME": str(tmp_path / "xdg")}, tmp_path / "xdg/huggingface/hub"),
        (home | {"HF_HOME": "~/hf"}, tmp_path / "home/hf/hub"),
        (home | {"HUGGINGFACE_HUB_CACHE": str(tmp_path / "old")}, tmp_path / "old"),
        (home | {"HF_HUB_CACHE": str(tmp_path / "new"), "HF_HOME": "/nowhere"}, tmp_path / "new"),
    ]:
        code = "from huggingface_hub import constants; print(constants.HF_HUB_CACHE)"
        environment = {name: value for name, value in os.environ.items() if name not in VARIABLES} | variables
        theirs = subprocess.check_output(["python3", "-c", code], text=True, env=environment | {
            "PYTHONPATH": str(Path(constants.__file__).parents[1])}).strip()
        assert Path(theirs) == folder
        assert f"the Hugging Face cache ({folder})" in run("inspect", "gpt2", **variables).stderr


def test_knows_the_models_that_scan_cache_dir_lists(tmp_path: Path) -> None:
    for name in ("gpt2", "me/model-1.5_b"):
        cache_model(tmp_path, name)
    theirs = sorted(repo.repo_id for repo in scan_cache_dir(tmp_path).repos)
    refused = run("inspect", tmp_path)
    assert refused.returncode == 3
    assert refused.stderr.rstrip().endswith(": " + ", ".join(theirs))


def test_a_missing_home_is_no_crash() -> None:
    refused = subprocess.run([HEADSCOPE, "inspect", "gpt2"], capture_output=True, text=True, env={})
    assert refused.returncode == 3
    assert "since HOME is not set; download it with: hf download gpt2" in refused.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_cache_is_named(tmp_path: Path) -> None:
    cache_model(tmp_path / "hub", "gpt2")
    (tmp_path / "hub").chmod(0)
    refused = run("inspect", "gpt2", HF_HOME=str(tmp_path))
    (tmp_path / "hub").chmod(0o700)
    assert refused.returncode == 3
    assert "cannot access: Permission denied" in refused.stderr
