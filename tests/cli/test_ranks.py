"""`relate` and `organize` under mpirun: the bytes of one process, and one clear line when a rank fails."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()
HEADSCOPE_MPI = Path(os.environ.get("HEADSCOPE_MPI", ROOT / "build/mpi/headscope")).resolve()
EXCHANGE_NUMBERS = Path(
    os.environ.get("EXCHANGE_NUMBERS", ROOT / "build/release/tests/exchange_numbers")
).resolve()
# In a container one is root and has fewer processors than ranks.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none"]

pytestmark = pytest.mark.skipif(
    not HEADSCOPE_MPI.exists() or shutil.which("mpirun") is None, reason="no build/mpi/headscope, or no mpirun"
)


def checkpoint(folder: Path, *arguments: str) -> Path:
    command = [sys.executable, str(ROOT / "tools/make_checkpoint.py"), str(folder), *arguments]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven layers of grouped queries: ranks have different numbers of them."""
    sizes = ["--layers", "7", "--d-model", "96", "--heads", "6", "--kv-heads", "2", "--d-mlp", "16", "--vocab", "50"]
    return checkpoint(tmp_path_factory.mktemp("model") / "llama", "--family", "llama", *sizes)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = ["--layers", "24", "--d-model", "512", "--heads", "8", "--d-mlp", "16", "--vocab", "50"]
    return checkpoint(tmp_path_factory.mktemp("slow") / "gpt2", "--family", "gpt2", *sizes)


def contents(run: Path) -> dict[str, bytes]:
    """All files but the manifest, which says how long it took."""
    files = [path for path in run.rglob("*") if path.is_file() and path.name != "manifest.json"]
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


def run_on(ranks: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*MPIRUN, "-n", str(ranks), HEADSCOPE_MPI, *arguments, "--quiet", "--threads", "1"]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120)


def own_lines(text: str) -> list[str]:
    """What headscope said, without what mpirun adds."""
    return [line for line in text.splitlines() if line.startswith("headscope: ")]


RELATE = {
    "pk": [],
    "cs": ["--metric", "cs"],
    "all-pairs": ["--pairs", "all", "--null", "isotropic"],
    "earlier-only": ["--earlier-only", "--metric", "pk,grassmann"],
    "little-memory": ["--memory", "48M", "--pairs", "OQ,OK,QQ"],
    "some-heads": ["--heads", "L0H1,L3H2,L3H4,L6H0", "--tokens-for", "none"],
}


@pytest.mark.parametrize("options", RELATE.values(), ids=RELATE.keys())
def test_relate_gives_the_bytes_of_one_process(grouped: Path, tmp_path: Path, options: list[str]) -> None:
    command: list[str | Path] = [HEADSCOPE, "relate", grouped, "-o", tmp_path / "one", *options, "--threads", "1"]
    subprocess.run(command, check=True, capture_output=True)
    expected = contents(tmp_path / "one")
    assert "edges.csv" in expected
    for ranks in (1, 2, 3, 4):
        done = run_on(ranks, "relate", grouped, "-o", tmp_path / str(ranks), *options)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("files in") == 1  # rank 0 alone prints
        assert contents(tmp_path / str(ranks)) == expected


@pytest.mark.parametrize("way", ["shared", "messages"])
def test_numbers_are_exchanged_in_shared_memory_and_as_between_machines(way: str) -> None:
    for ranks in (1, 2, 4):
        command: list[str | Path] = [*MPIRUN, "-n", str(ranks), EXCHANGE_NUMBERS, way]
        done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr


ORGANIZE = {
    "plain": [],
    "causal": ["--mask", "causal"],
    "scores": ["--what", "scores", "--mask", "zeros", "--tree", "binary"],
    "some-heads": ["--heads", "0,2,5", "--skip-first", "1"],
    "one-head": ["--heads", "4"],
    "little-memory": ["--memory", "40M"],
}


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven heads, some entries exactly zero."""
    numpy = pytest.importorskip("numpy")
    random = numpy.random.default_rng(1)
    values = random.random((7, 40, 70), dtype=numpy.float32)
    values[random.random(values.shape) < 0.1] = 0
    path = tmp_path_factory.mktemp("maps") / "maps.npy"
    numpy.save(path, values)
    return path


@pytest.mark.parametrize("options", ORGANIZE.values(), ids=ORGANIZE.keys())
def test_organize_gives_the_bytes_of_one_process(maps: Path, tmp_path: Path, options: list[str]) -> None:
    command: list[str | Path] = ["organize", maps, "--draws", "2", *options]
    subprocess.run([HEADSCOPE, *command, "-o", tmp_path / "one", "--threads", "1"], check=True, capture_output=True)
    expected = contents(tmp_path / "one")
    assert "haar/network.npy" in expected
    summaries = set()
    for ranks in (1, 2, 3, 4):
        done = run_on(ranks, *command, "-o", tmp_path / str(ranks))
        assert done.returncode == 0, done.stderr
        assert contents(tmp_path / str(ranks)) == expected
        summaries.add(done.stdout[: done.stdout.index("files in")].rsplit("\n", 1)[0])
    assert len(summaries) == 1


def test_a_number_that_only_one_rank_sees_ends_organize_with_its_message_and_code(maps: Path, tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    values = numpy.load(maps)
    values[5, 3, 2] = numpy.nan
    numpy.save(tmp_path / "broken.npy", values)
    done = run_on(3, "organize", tmp_path / "broken.npy", "-o", tmp_path / "run")
    assert done.returncode == 4, done.stderr
    (line,) = own_lines(done.stderr)
    assert line.startswith("headscope: rank 2 on ") and "head H5, query 3, key 2 is nan" in line
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("command", "fixture"), [("relate", "grouped"), ("organize", "maps")])
def test_a_rank_that_lacks_its_input_ends_the_job_with_code_5(
    command: str, fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    there: Path = request.getfixturevalue(fixture)
    # Not as two programs with a colon between them: mpirun of Open MPI 5.0.7 crashes on that with --oversubscribe.
    choose = '[ "$OMPI_COMM_WORLD_RANK" = 2 ] && source=$3 || source=$2; exec "$0" "$1" "$source" -o "$4" --quiet'
    line: list[str | Path] = [*MPIRUN, "-n", "3", "sh", "-c", choose, HEADSCOPE_MPI, command, there]
    line += [tmp_path / "absent", tmp_path / "run"]
    done = subprocess.run(line, capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert done.returncode == 5, done.stderr
    (said,) = own_lines(done.stderr)
    assert said.startswith("headscope: rank 2 on ") and "absent: no such file or folder" in said
    assert not (tmp_path / "run").exists()


def test_a_folder_with_the_name_of_a_shared_command_does_not_make_ranks_share_another(
    grouped: Path, tmp_path: Path
) -> None:
    assert run_on(1, "relate", grouped, "-o", tmp_path / "relate").returncode == 0
    # Rank 1 would fail if it ran the command at all.
    choose = '[ "$OMPI_COMM_WORLD_RANK" = 1 ] && cd /; exec "$0" report relate -o "$1"'
    line: list[str | Path] = [*MPIRUN, "-n", "2", "sh", "-c", choose, HEADSCOPE_MPI, tmp_path / "page.html"]
    done = subprocess.run(line, capture_output=True, text=True, env=ENVIRONMENT, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").exists()


def test_a_model_that_no_rank_finds_is_bad_input(tmp_path: Path) -> None:
    done = run_on(3, "relate", tmp_path / "absent", "-o", tmp_path / "run")
    assert done.returncode == 3, done.stderr
    (line,) = own_lines(done.stderr)
    assert not line.startswith("headscope: rank")
    assert not (tmp_path / "run").exists()


def test_what_one_rank_meets_ends_the_job_with_its_message_and_code(grouped: Path, tmp_path: Path) -> None:
    """A NaN in a layer that only rank 1 reads."""
    broken = tmp_path / "broken"
    shutil.copytree(grouped, broken)
    import json
    import struct

    path = broken / "model.safetensors"
    data = bytearray(path.read_bytes())
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    tensor = header["model.layers.4.self_attn.o_proj.weight"]
    begin = 8 + size + tensor["data_offsets"][0]
    data[begin : begin + 4] = {"F32": struct.pack("<f", float("nan")), "BF16": b"\xc0\x7f\xc0\x7f"}[tensor["dtype"]]
    path.write_bytes(data)
    done = run_on(3, "relate", broken, "-o", tmp_path / "run")
    assert done.returncode == 4, done.stderr
    (line,) = own_lines(done.stderr)
    assert line.startswith("headscope: rank 1 on ") and "model.layers.4.self_attn.o_proj.weight" in line
    assert not (tmp_path / "run").exists()


def test_a_rank_that_is_killed_takes_the_job_along_and_leaves_nothing_half_written(slow: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command: list[str | Path] = [*MPIRUN, "-n", "2", HEADSCOPE_MPI, "relate", slow, "-o", run]
    command += ["--metric", "grassmann", "--threads", "1"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, start_new_session=True
    )
    try:
        begin = time.monotonic()
        while not run.exists() and time.monotonic() < begin + 30:
            time.sleep(0.05)
        time.sleep(0.3)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        ranks = [int(child) for child in children]
        os.kill(ranks[-1], signal.SIGKILL)
        process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode != 0
    assert [path for path in run.rglob("*") if path.is_file()] == []
