"""What people type and pass in by mistake: every mistake gets one line that names it and says what to do, and the right
exit code. The table is the specification; a new mistake is a line of it."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = Path(os.environ.get("HEADSCOPE", ROOT / "build/headscope")).resolve()

# Files and folders that are no models, by name: the bytes they begin with.
FILES = {
    "paper.pdf": b"%PDF-1.7\n",
    "model.zip": b"PK\x03\x04rest",
    "model.tar": b"\0" * 257 + b"ustar\0" + b"\0" * 200,
    "model.tar.gz": b"\x1f\x8b\x08rest",
    "net.onnx": b"\x08\x07",
    "graph.pb": b"\x08\x07",
    "weights.h5": b"\x89HDF\r\n",
    "lite.bytes": b"\0\0\0\0TFL3",
    "model.msgpack": b"\x81",
    "model.mlmodel": b"\x08",
    "train.py": b"import torch\n",
    "notes.ipynb": b"{}",
    "config.json": b"{}",
    "story.txt": b"Once upon a time.\n",
    "photo.png": b"\x89PNG\r\n\x1a\nrest",
    "ids.npy": b"\x93NUMPY\x01\x00",
    "rows.parquet": b"PAR1",
    "pytorch_model.bin": b"PK\x03\x04",
    "optimizer.pt": b"PK\x03\x04",
    "nothing": b"",
    "bytes": b"what is this",
    "pointer.safetensors": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 548105171\n",
    "blank.txt": b" \n\n",
    "latin1.txt": b"caf\xe9\n",
    "edges.csv": b"pair,source,target\nOK,L0H0,L1H0\n",
    "adapter/adapter_config.json": b'{"peft_type": "LORA", "base_model_name_or_path": "gpt2"}',
    "adapter/adapter_model.safetensors": b"",
    "tokens/tokenizer.json": b"{}",
    "diffusion/model_index.json": b"{}",
    "diffusion/text_encoder/config.json": b"{}",
    "table/dataset_info.json": b"{}",
    "deepspeed/global_step100/mp_rank_00_model_states.pt": b"PK",
    "sharded/__0_0.distcp": b"x",
    "trainer/checkpoint-500/config.json": b"{}",
    "state/optimizer.pt": b"PK",
    "state/scheduler.pt": b"PK",
    "flax/flax_model.msgpack": b"\x81",
    "flax/config.json": b"{}",
    "tensorflow/tf_model.h5": b"\x89HDF",
    "mlx/weights.npz": b"PK\x03\x04",
    "core/model.mlpackage/Manifest.json": b"{}",
    "onnx/model.onnx": b"\x08",
    "photos/cat.png": b"\x89PNG",
    "scripts/train.py": b"pass",
    "empty/": b"",
    "cache/models--openai-community--gpt2/snapshots/abc/config.json": b"{}",
}

# Words after "headscope", exit code, what the line contains. MODEL, VIT and BARE are bundled models (BARE has no
# tokenizer), RUN holds captured maps and WEIGHTS what relate writes; other names are those above.
MISTAKES = [
    # The command
    ("", 2, "no command given, expected one such as headscope inspect MODEL"),
    ("relat MODEL", 2, "'relat' is not a command (did you mean 'relate'?)"),
    ("inspekt MODEL", 2, "(did you mean 'inspect'?)"),
    ("compaer RUN RUN", 2, "(did you mean 'compare'?)"),
    ("attention MODEL", 2, "'attention' is not a command; 'headscope --help' shows the commands"),
    ("MODEL", 2, "is not a command; what it is: headscope inspect"),
    ("help relat", 2, "unknown value 'relat' (did you mean 'relate'?)"),
    ("--json inspect MODEL", 2, "'--json' stands before the command; options come after it"),
    ("--vesion", 2, "'--vesion' is no option (did you mean '--version'?)"),
    ("-v", 2, "(did you mean '-V'?)"),
    # Options
    ("relate MODEL -o x --metrics pk", 2, "relate has no option '--metrics' (did you mean '--metric'?)"),
    ("relate MODEL -o x --max_q 0.1", 2, "(did you mean '--max-q'?)"),
    ("relate MODEL -o x --Metric pk", 2, "(did you mean '--metric'?)"),
    ("capture MODEL -o x --test hello", 2, "capture has no option '--test' (did you mean '--text'?)"),
    ("capture MODEL -o x --max-token 5 --text a", 2, "(did you mean '--max-tokens'?)"),
    ("prune MODEL -o x --text a --critera pk", 2, "(did you mean '--criteria'?)"),
    ("organize RUN -o x --iteration 3", 2, "(did you mean '--iterations'?)"),
    ("report RUN -o x.html --titel T", 2, "(did you mean '--title'?)"),
    ("families --jsn", 2, "(did you mean '--json'?)"),
    ("relate MODEL -o x --text hello", 2, "relate has no option '--text'; capture, patch, prune have it"),
    ("relate --model MODEL -o x", 2, "relate has no option '--model': write the MODEL without it"),
    ("relate MODEL -o x --colour red", 2, "no option '--colour'; 'headscope relate --help' shows its options"),
    ("relate MODEL -o x --quiet=1.5.2x --verbos", 2, "--quiet takes no value, found '--quiet=1.5.2x'"),
    ("relate", 2, "relate needs a MODEL (Folder with config.json"),
    ("relate MODEL", 2, "relate needs -o or --output (Folder for the results)"),
    ("relate MODEL -o", 2, "-o needs a value: Folder for the results"),
    ("relate MODEL BARE -o x", 2, "is too much: relate takes one MODEL"),
    ("families gpt2", 2, "'gpt2' is too much: families takes no argument"),
    ("report RUN", 2, "report needs -o or --output (The page, e.g. report.html"),
    ("compare -o x", 2, "compare needs a RUN (Two or more folders"),
    ("completion tcsh", 2, "unknown value 'tcsh'; expected one of bash, zsh, fish"),
    ("manual --format html", 2, "--format: unknown value 'html'; expected one of man, markdown"),
    # Values
    ("relate MODEL -o x --metric kp", 2, "--metric: unknown value 'kp' (did you mean 'pk'?)"),
    ("relate MODEL -o x --metric pk,grasmann", 2, "(did you mean 'grassmann'?)"),
    ("relate MODEL -o x --null isotropik", 2, "(did you mean 'isotropic'?)"),
    ("relate MODEL -o x --pairs oq", 2, "--pairs: expected a pair of the roles Q, K, V, O such as OQ, or all"),
    ("relate MODEL -o x --nodes head", 2, "--nodes: unknown value 'head' (did you mean 'heads'?)"),
    ("relate MODEL -o x --family lama", 2, "unknown family 'lama' (did you mean 'llama'?)"),
    ("prune MODEL -o x --text a --criteria energie", 2, "(did you mean 'energy'?)"),
    ("organize RUN -o x --tree binari", 2, "(did you mean 'binary'?)"),
    ("capture MODEL -o x --text a --dtype f61", 2, "(did you mean 'f16'?)"),
    ("relate MODEL -o x --top -5", 2, "--top: expected a non-negative integer, found '-5'"),
    ("relate MODEL -o x --top=-5", 2, "--top: expected a non-negative integer, found '-5'"),
    ("relate MODEL -o x --top many", 2, "--top: expected a non-negative integer, found 'many'"),
    ("relate MODEL -o x --max-q 0", 2, "--max-q: expected a number greater than 0 and at most 1, found '0'"),
    ("relate MODEL -o x --max-q -1", 2, "--max-q: expected a number greater than 0 and at most 1, found '-1'"),
    ("relate MODEL -o x --seed -1", 2, "--seed: expected a non-negative integer, found '-1'"),
    ("relate MODEL -o x --threads 0", 2, "--threads: expected an integer from 1 to 1024, found '0'"),
    ("relate MODEL -o x --save-every -1", 2, "--save-every: expected a number of at least 0, found '-1'"),
    ("relate MODEL -o x --layers -1", 2, "--layers: expected a layer, counted from 0, or a range"),
    ("relate MODEL -o x --layers 99", 2, "layer 99 requested, but the model has 4"),
    ("relate MODEL -o x --memory 8XB", 2, "--memory: expected a size such as 8G, 512M, 8GB or a number of bytes"),
    ("relate MODEL -o x --memory -8G", 2, "--memory: expected a size"),
    ("capture MODEL -o x --text a --max-tokens 0", 2, "--max-tokens: expected an integer of at least 1, found '0'"),
    ("capture MODEL -o x --text a --queries 5-3", 2, "--queries: expected an index or a range such as 3-5"),
    ("capture MODEL -o x --text a --ablate L9H9", 2, "L9H9 is not a query head of the model, which has 4 layers of 8"),
    ("detect MODEL -o x --threshold 2", 2, "--threshold: expected a number from 0 to 1, found '2'"),
    ("detect MODEL -o x --length -4", 2, "--length: expected a non-negative integer, found '-4'"),
    ("detect MODEL -o x --length 1", 2, "sequences of 1 tokens, expected an even number from 4 to 62"),
    ("organize RUN -o x --epsilon 0", 2, "--epsilon: expected a number greater than 0, found '0'"),
    ("organize RUN -o x --time -1", 2, "--time: expected a number of at least 0, found '-1'"),
    ("organize RUN -o x --mask casual", 2, "--mask: unknown mask 'casual'"),
    ("organize RUN -o x --input dog.png", 2, "--input: 'dog.png' is no input of"),
    ("softmax RUN -o x --draws 0", 2, "--draws: expected an integer from 1 to 1000, found '0'"),
    ("patch MODEL -o x --text a --top -1", 2, "--top: expected an integer from 0 to 1000000, found '-1'"),
    ("patch MODEL -o x --text a --metric logit-dif", 2, "(did you mean 'logit-diff'?)"),
    ("patch MODEL -o x --text a --replace pair", 2, "--replace pair needs the paired inputs: give --pairs-with"),
    ("patch MODEL -o x --text a --edges edges.csv --screen-only", 2, "--screen-only cuts nothing, and --edges says"),
    ("patch MODEL -o x --text a --edges edges.csv --top 5", 2, "--top chooses edges, and --edges names them"),
    ("relate MODEL -o x --top 5 --max-q 0.1", 2, "--top keeps a number of edges, and --max-q all up to a level"),
    ("capture MODEL -o x --text a --ablation mean", 2, "--ablation is used only by --ablate"),
    ("capture MODEL -o x --text a --lines", 2, "--lines is used only by --text-file"),
    ("capture MODEL -o x --text-file latin1.txt", 3, "latin1.txt: byte 3 of 5 is not UTF-8; convert the text first"),
    ("detect VIT -o RUN", 2, "RUN: holds the result of 'capture' on another model"),
    ("prune MODEL -o x --text a --count 0", 2, "--count: expected an integer of at least 1, found '0'"),
    ("prune MODEL -o x --text a --count 99", 2, "the budget removes 99 heads, but only 32 of 32 may be removed"),
    ("prune MODEL -o x --text a --fraction 1.5", 2, "--fraction: expected a number from 0 to 1, found '1.5'"),
    ("prune MODEL -o x --text a --fraction 0.2 --count 3", 2, "excludes"),
    ("compare RUN -o x", 2, "one RUN alone; give two or more"),
    ("compare RUN RUN -o x --names one", 2, "--names: 1 names for 2 RUNs"),
    ("demo --model smolm2", 3, "there is no model smolm2 (did you mean 'smollm2'?)"),
    # Where results go
    ("relate MODEL -o -", 2, "--output: results are a folder of files, which standard output cannot be"),
    ("capture MODEL --text a -o /dev/stdout", 2, "--output: results are a folder of files"),
    ("demo -o -", 2, "--output: results are a folder of files"),
    ("relate MODEL -o ''", 2, "--output: expected a folder, found ''"),
    ("report RUN -o ''", 2, "--output: expected the name of a page"),
    ("relate MODEL -o trainer/checkpoint-500", 2, "is the folder of a model; give results one of their own"),
    ("report RUN -o empty", 2, "empty is a folder; give the name of a page"),
    ("report RUN -o story.txt", 2, "exists and is not a report; choose another name, or --force"),
    # Inputs
    (
        "capture MODEL -o x",
        2,
        "nothing to run the model on: give --text, --text-file, --ids, --image, --pixels or --features",
    ),
    ("capture MODEL -o x --text ''", 2, "the text is empty; give at least one word"),
    ("capture MODEL -o x --text-file blank.txt", 3, "blank.txt: has no text in it"),
    ("capture MODEL -o x --text-file nothing", 3, "nothing: "),
    ("capture MODEL -o x --text-file nofile.txt", 3, "nofile.txt: cannot open: No such file or directory"),
    ("capture MODEL -o x --text-file photos", 3, "photos: the folder has no text file (.txt, .text, .md)"),
    ("capture MODEL -o x --ids 1,2,x", 2, "--ids: expected a file or token ids such as 1,2,3, found '1,2,x'"),
    ("capture MODEL -o x --ids ids.npz", 3, "ids.npz: cannot open"),
    ("capture MODEL -o x --ids 1,-2", 2, "--ids: expected a file or token ids such as 1,2,3, found '1,-2'"),
    ("capture MODEL -o x --ids 1,99999", 3, "99999"),
    ("capture MODEL -o x --image photo.png", 3, "the model takes tokens; use --text or --ids"),
    ("capture VIT -o x --text hello", 3, "the model takes images; use --image or --pixels"),
    ("capture VIT -o x --image story.txt", 3, "story.txt: is not an image"),
    ("capture BARE -o x --text hello", 3, "has no tokenizer"),
    ("capture MODEL -o RUN --text 'Another text.'", 2, "(the input was 'Simon has a kite.', now 'Another text.')"),
    ("capture MODEL -o RUN --text 'Simon has a kite.' --text more", 2, "(1 inputs then, 2 now)"),
    ("capture MODEL -o RUN --text 'Simon has a kite.' --dtype f16", 2, "(--dtype was f32, now f16)"),
    ("relate BARE -o WEIGHTS", 2, "models/demo, now "),
    # What is no model
    ("inspect paper.pdf", 3, "paper.pdf: is a PDF document, not a model"),
    ("inspect model.zip", 3, "model.zip: is a zip archive; unpack it and pass the folder"),
    ("inspect model.tar", 3, "model.tar: is a tar archive; unpack it"),
    ("inspect model.tar.gz", 3, "model.tar.gz: is compressed (gzip); unpack it"),
    ("inspect net.onnx", 3, "net.onnx: is an ONNX file, which is made from a checkpoint; pass that checkpoint"),
    ("inspect graph.pb", 3, "graph.pb: is a TensorFlow file"),
    ("inspect weights.h5", 3, "weights.h5: is an HDF5 file"),
    ("inspect lite.bytes", 3, "lite.bytes: is a TensorFlow Lite file"),
    ("inspect model.msgpack", 3, "model.msgpack: is a Flax file"),
    ("inspect model.mlmodel", 3, "model.mlmodel: is a CoreML model"),
    ("inspect train.py", 3, "train.py: is a Python script, not a model"),
    ("inspect notes.ipynb", 3, "notes.ipynb: is a notebook"),
    ("inspect config.json", 3, "config.json: is a JSON file; pass the folder it lies in"),
    ("inspect story.txt", 3, "story.txt: is a text, not a model; give it to a model"),
    ("inspect photo.png", 3, "photo.png: is an image, not a model"),
    ("inspect ids.npy", 3, "ids.npy: is an array, not a model"),
    ("inspect rows.parquet", 3, "rows.parquet: is a dataset (Parquet)"),
    ("inspect pytorch_model.bin", 3, "pickle files are never opened"),
    ("inspect optimizer.pt", 3, "optimizer.pt: is the state of a training"),
    ("inspect nothing", 3, "nothing: is empty"),
    ("inspect bytes", 3, "bytes: is not a model; expected a folder with config.json"),
    ("inspect pointer.safetensors", 3, "is a git-lfs pointer to a file of 548 MB that was not fetched"),
    ("inspect MODEL/model.safetensors", 3, "is a single safetensors file, pass its folder instead"),
    ("inspect adapter", 3, "adapter: is an adapter (LORA) of 'gpt2', not a whole model; merge the two"),
    ("inspect tokens", 3, "tokens: holds a tokenizer but no weights"),
    ("inspect diffusion", 3, "is a diffusion model (model_index.json), a pipeline of several models; its text encoder"),
    ("inspect table", 3, "table: is a dataset, not a model"),
    ("inspect deepspeed", 3, "deepspeed: is a training checkpoint of DeepSpeed (global_step100)"),
    ("inspect sharded", 3, "sharded: is a distributed training checkpoint of PyTorch (__0_0.distcp)"),
    ("inspect trainer", 3, "trainer: holds checkpoints of a training; pass one of them, e.g. trainer/checkpoint-500"),
    ("inspect state", 3, "state: holds the state of an optimizer (optimizer.pt) but no weights"),
    ("inspect flax", 3, "flax: is a Flax model; convert it"),
    ("inspect tensorflow", 3, "tensorflow: is a TensorFlow model; convert it"),
    ("inspect mlx", 3, "mlx: is an MLX model in an npz file"),
    ("inspect core", 3, "core: is a CoreML model"),
    ("inspect onnx", 3, "onnx: is an ONNX model"),
    ("inspect photos", 3, "photos: holds images, not a model; give them to a vision model"),
    ("inspect scripts", 3, "scripts: holds Python scripts, not a model"),
    ("inspect empty", 3, "empty: is an empty folder"),
    ("inspect cache", 3, "cache: is a whole Hugging Face cache; name one of its models: openai-community/gpt2"),
    ("inspect RUN", 3, "is a folder of results (a RUN), not a model; show it: headscope report"),
    ("relate RUN -o x", 3, "is a folder of results (a RUN), not a model"),
    ("inspect https://huggingface.co/gpt2", 3, "is an address, and headscope never uses the network"),
    ("inspect ''", 3, "'': no such file or folder"),
    ("inspect gpt2", 3, "has no model of this name; download it with: hf download gpt2"),
    ("reproduce BARE", 3, "the published figures are for GPT-2 small"),
    # What is no RUN
    ("report MODEL -o x.html", 3, "not a folder of results; 'headscope capture' and 'headscope relate' make one"),
    ("organize MODEL -o x", 3, "is a model, not a folder of results"),
    ("softmax MODEL -o x", 3, "is a model, not a folder of results"),
    ("compare MODEL RUN -o x", 3, "is a model, not a folder of results"),
    ("report nowhere -o x.html", 3, "nowhere: no such folder; give the folder that was named with -o"),
    ("report empty -o x.html", 3, "empty: is not a folder of results: it has no manifest.json"),
    ("compare RUN nowhere -o x", 3, "nowhere: no such folder"),
    ("compare RUN WEIGHTS -o x", 3, "run 'headscope capture' for both"),
    ("organize WEIGHTS -o x", 3, "has no pattern.npy; 'headscope capture' writes maps"),
    ("organize story.txt -o x", 3, "story.txt: expected a folder with maps, or an .npy, .npz or .safetensors file"),
]


def headscope(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"HF_HUB_CACHE": str(folder / "hub"), "HEADSCOPE_CACHE": str(folder / "models")}
    return subprocess.run([HEADSCOPE, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mistakes")
    for name, data in FILES.items():
        path = made / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_bytes(data)
    model = str(ROOT / "models/demo")
    for words in (["capture", model, "-o", "RUN", "--text", "Simon has a kite."], ["relate", model, "-o", "WEIGHTS"]):
        done = headscope(made, words)
        assert done.returncode == 0, done.stderr
    return made


def words_of(line: str) -> list[str]:
    names = {"MODEL": "models/demo", "VIT": "models/demo-vit", "BARE": "models/induction"}
    words = shlex.split(line)
    for i, word in enumerate(words):
        head, _, rest = word.partition("/")
        if head in names:
            words[i] = str(ROOT / names[head] / rest)
    return words


@pytest.mark.parametrize(("line", "code", "expected"), MISTAKES, ids=[line or "nothing" for line, *_ in MISTAKES])
def test_a_mistake_gets_one_line_that_helps(folder: Path, line: str, code: int, expected: str) -> None:
    done = headscope(folder, words_of(line))
    assert expected in done.stderr
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("headscope: ")
    assert done.stderr.count("\n") == 1
    assert not re.search(r"\b[0-9a-f]{16}\b", done.stderr), "a fingerprint says nothing to people"
    assert done.stdout == ""
    assert not (folder / "x").exists() and not (folder / "x.html").exists()


def test_the_table_covers_all_commands() -> None:
    assert len(MISTAKES) >= 60
    commands = set(subprocess.run([HEADSCOPE, "completion", "bash"], capture_output=True, text=True, check=True)
                   .stdout.split("_headscope_words '")[1].split("'")[0].split()) - {"--help", "--version"}
    assert commands <= {line.split()[0] for line, *_ in MISTAKES if line}


def test_a_list_of_ids_as_text_is_noticed(folder: Path) -> None:
    for text in ("[1, 2, 3]", "1, 2, 3", "15496 11 995", "[5]"):
        done = headscope(folder, ["capture", str(ROOT / "models/demo"), "-o", "ids", "--text", text, "--force"])
        assert done.returncode == 0, done.stderr
        assert "looks like token ids" in done.stderr and "--ids 1,2,3" in done.stderr, text
    for text in ("In 1984", "1984", "7, 8", "1.5, 2.5, 3.5", "Simon has 3 kites, 2 bells"):
        done = headscope(folder, ["capture", str(ROOT / "models/demo"), "-o", "ids", "--text", text, "--force"])
        assert done.returncode == 0 and done.stderr == "", text


def test_ids_may_be_written_out(folder: Path) -> None:
    for ids in (["5,6,7"], ["[5, 6, 7]"], ["5", "6", "7"], ["5, 6, 7"]):
        done = headscope(folder, ["capture", str(ROOT / "models/induction"), "-o", "list", "--ids", *ids, "--force"])
        assert done.returncode == 0, done.stderr
        assert "1 input\n" in done.stdout and "3 tokens" in done.stdout
    done = headscope(folder, ["capture", str(ROOT / "models/induction"), "-o", "lists", "--ids", "5,6,7", "8,9"])
    assert "2 inputs\n" in done.stdout


def test_a_page_can_go_to_standard_output(folder: Path) -> None:
    for output in ("-", "/dev/stdout"):
        done = headscope(folder, ["report", "RUN", "-o", output])
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("<!doctype html><!-- headscope report -->")
        assert done.stdout.rstrip().endswith("</html>")
    done = headscope(folder, ["report", "RUN", "-o", "page.html"])
    assert done.stdout.splitlines()[-1].startswith("page.html (")


@pytest.mark.parametrize("size", ["300M", "300m", "300MB", "300MiB", "300mb", "0.3G", "300000000"])
def test_sizes_may_have_any_usual_unit(folder: Path, size: str) -> None:
    done = headscope(folder, ["relate", str(ROOT / "models/induction"), "-o", "sized", "--memory", size, "--force"])
    assert done.returncode == 0, done.stderr
