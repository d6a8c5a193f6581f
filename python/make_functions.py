"""make_functions.py MODULE_FOLDER OUTPUT_FOLDER: writes the functions and enumerations of the package.

Names, defaults and descriptions come from the application layer in C++, through the module ``_native`` in
MODULE_FOLDER. CMake runs this after it has built the module. The output is ``_functions.py``, with one function per
command, and ``_enums.py``.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

WIDTH = 120
PATH = "str | os.PathLike[str]"
#: Parameters that come last, because all functions have them.
LAST = ("memory", "run", "force")

#: The class of the result of a command, and what runs it. Only ``report`` gives a text.
RESULTS = {
    "relate": ("Relation", "_call.run(Relation, locals())"),
    "capture": ("Capture", "_call.run(Capture, locals())"),
    "detect": ("Detection", "_call.run(Detection, locals())"),
    "organize": ("Organization", "_call.run(Organization, locals())"),
    "softmax": ("Invariance", "_call.run(Invariance, locals())"),
    "prune": ("Pruning", "_call.run(Pruning, locals())"),
    "patch": ("Patching", "_call.run(Patching, locals())"),
    "compare": ("Comparison", "_call.compare(Comparison, locals())"),
    "report": ("str", "_call.report(locals())"),
}
RETURNS = {
    "relate": "Affinities, edges, hubs, the head graph and its tree.",
    "capture": "The maps, tokens and outputs of every input.",
    "detect": "The scores of every head.",
    "organize": "Trees, embeddings, affinities and sparsity of heads, queries and keys.",
    "softmax": "Errors, exponents and agreements of every head.",
    "prune": "Rankings of the heads, curves of the damage, and the heads that were removed.",
    "patch": "The edges that were cut with their effects, the screen of all edges, and the circuit.",
    "compare": "Differences of all features between every two runs.",
    "report": "What the command line prints.",
}
#: Types of the parameters that take objects besides texts, by kind of object, and a sentence about them.
OBJECTS = {
    "model": (f"Model | Module | {PATH}",
              "Or a model that is loaded, a Hugging Face module, or a TransformerBridge around one."),
    "inputs": (f"{PATH} | ArrayLike | Mapping[str, ArrayLike] | Sequence[{PATH} | ArrayLike]",
               "Or token ids, images of PIL, uint8 [height, width, 3] or normalized pixels [channels, height, width]; "
               "what a tokenizer or an image processor returned; paths of files; a list of these for several inputs."),
    "ids": (f"ArrayLike | {PATH} | Sequence[{PATH} | ArrayLike]",
            "Or such integers, also inputs of different lengths."),
    "images": (f"{PATH} | ArrayLike | Sequence[{PATH} | ArrayLike]",
               "Or images of PIL, or arrays of uint8 [height, width, 3]."),
    "pixels": (f"ArrayLike | {PATH} | Sequence[{PATH}]", "Or an array of such numbers."),
    "labels": (f"ArrayLike | {PATH}", "Or an array of such integers."),
    "signed_labels": (f"ArrayLike | {PATH}", "Or an array of such integers."),
    "head_labels": (f"Mapping[str, object] | Detection | Run | {PATH}",
                    "Or a dict of its contents, heads by class, or what ``detect`` returned."),
    "paired": (f"ArrayLike | {PATH} | Sequence[{PATH}]", "Or token ids or pixels, in the forms that ``text`` takes."),
    "edges": (
        f"{PATH} | Table | Mapping[str, Sequence[str]] | Iterable[Sequence[str]]",
        "Or a table with these columns, also of pandas, or triples of these three texts.",
    ),
    "maps": (f"Capture | Run | ArrayLike | {PATH}", "Or what ``capture`` returned, or an array."),
    "mask": (f"ArrayLike | {PATH}", "Or an array, whose zeros are absent."),
}
#: The same for parameters of single commands.
SPECIAL = {
    ("compare", "runs"): (
        f"Iterable[{PATH} | Run | Result] | Mapping[str, {PATH} | Run | Result]",
        "Or what ``capture`` or ``relate`` returned; a mapping gives them names.",
    ),
    ("report", "run"): (f"{PATH} | Run | Result | Iterable[Result]", "Or results that belong together."),
}
#: What ``None`` means.
ABSENT = {"run": "None keeps them in memory."}
ENUM_ABOUT = {
    "Metric": "How close the matrices of two heads are.",
    "NullModel": "What affinities are compared with.",
    "Role": "The matrices of a head: query, key, value and output.",
}


def literal(value: Any) -> str:
    """The Python source of a default."""
    if isinstance(value, list):
        items = ", ".join(map(literal, value))
        return f"({items},)" if len(value) == 1 else f"({items})"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def enum_with(choices: list[str], enums: dict[str, list[str]]) -> str | None:
    return next((name for name, values in enums.items() if values == choices), None)


def type_of(option: Any, enums: dict[str, list[str]]) -> str:
    """The annotation of an option that takes no objects."""
    enum = enum_with(option.choices, enums)
    if option.kind == "list":
        one = PATH if option.holds_paths else "str | int" if option.takes_integers else "str"
        one = f"{enum} | {one}" if enum else one
        return f"{one} | Sequence[{one}]"
    if option.kind == "text" and option.choices:
        values = f"Literal[{', '.join(map(literal, option.choices))}]"
        return f"{enum} | {values}" if enum else values
    if option.kind == "text":
        return "str | int" if option.takes_integers else "str"
    return {"flag": "bool", "integer": "int", "number": "float", "path": PATH}[option.kind]


def sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith(".") else text + "."


def about(option: Any) -> str:
    """What a parameter means."""
    text = option.help
    # The command line describes what switching such a flag off does.
    if option.kind == "flag" and option.default is True:
        text = f"False: {text[0].lower()}{text[1:]}"
    text = sentence(text)
    if option.kind == "list" and option.choices:
        text += f" Any of {', '.join(option.choices)}."
    return text


class Parameter:
    """A parameter of a function."""

    def __init__(self, command: str, option: Any, objects: dict[str, str], enums: dict[str, list[str]]) -> None:
        self.name: str = option.parameter
        self.default = None if option.required else literal(option.default)
        self.about = about(option)
        special = SPECIAL.get((command, self.name)) or OBJECTS.get(objects.get(self.name, ""))
        self.type = special[0] if special else type_of(option, enums)
        if special:
            self.about += " " + special[1]
        if self.default == "None":
            self.type += " | None"
            self.about += f" {ABSENT[self.name]}" if self.name in ABSENT else ""

    def source(self) -> str:
        return f"{self.name}: {self.type}" + (f" = {self.default}" if self.default is not None else "")

    def document(self) -> str:
        default = f", default {self.default}" if self.default is not None else ""
        body = textwrap.fill(self.about, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8,
                             break_on_hyphens=False, break_long_words=False)
        return f"    {self.name} : {self.type}{default}\n{body}\n"


class Progress(Parameter):
    """The parameter that every function has."""

    def __init__(self) -> None:
        self.name, self.type, self.default = "progress", "bool | None", "None"
        self.about = "Whether to show a progress bar. None shows it on terminals and in notebooks."


def function(native: Any, command: str) -> str:
    """The source of a function."""
    request = native.Request(command)
    enums = native.enumerations()
    options = [option for option in request.options if not option.command_line_only]
    # Texts may be given by position, as the main input of a model.
    positional = [option for option in options if option.positional or option.required]
    positional += [option for option in options if option.parameter == "text" and "ids" in request.objects]
    first = [Parameter(command, option, request.objects, enums) for option in positional]
    options.sort(key=lambda option: LAST.index(option.parameter) if option.parameter in LAST else -1)
    rest = [Parameter(command, option, request.objects, enums) for option in options if option not in positional]
    rest.append(Progress())
    result, call = RESULTS[command]
    lines = ["@_call.checked", f"def {command}("]
    lines += [f"    {one.source()}," for one in first] + ["    *,"] + [f"    {one.source()}," for one in rest]
    lines += [f") -> {result}:", f'    """{sentence(request.about)}', ""]
    lines += [f"    ``headscope {command}`` on the command line has the same options.", ""]
    lines += ["    Parameters", "    ----------"]
    lines += [one.document().rstrip("\n") for one in first + rest]
    lines += ["", "    Returns", "    -------", f"    {result}", f"        {RETURNS[command]}"]
    lines += ["", "    Raises", "    ------", "    Error", "        One of its subclasses, by the kind of the failure.",
              '    """', f"    return {call}"]
    return "\n".join(lines)


def functions(native: Any) -> str:
    """The source of ``_functions.py``."""
    commands = native.functions()
    results = sorted({RESULTS[command][0] for command in commands} - {"str"})
    header = f'''"""The commands as functions. Generated by make_functions.py: change the options in C++ instead."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from . import _call
from ._arrays import ArrayLike
from ._enums import Metric, NullModel
from ._live import Module
from ._model import Model
from ._result import Result
from ._run import Run
from ._tables import Table
from .results import {', '.join(results)}
'''
    return header + "".join(f"\n\n{function(native, command)}\n" for command in commands)


def member(value: str) -> str:
    """The name of a value in an enumeration."""
    return value.upper().replace("-", "_")


def enums(native: Any) -> str:
    """The source of ``_enums.py``."""
    text = '''"""Names of metrics, null models and roles. Generated by make_functions.py: change them in C++ instead."""

# ruff: noqa: E741

from __future__ import annotations

from enum import Enum


class _Text(str, Enum):
    """Values that are also their text."""

    def __str__(self) -> str:
        return str(self.value)
'''
    for name, values in native.enumerations().items():
        text += f'\n\nclass {name}(_Text):\n    """{ENUM_ABOUT[name]}"""\n\n'
        text += "".join(f"    {member(value)} = {literal(value)}\n" for value in values)
    return text


def main(module_folder: str, output_folder: str) -> None:
    sys.path.insert(0, module_folder)
    import _native

    for name, source in (("_functions.py", functions(_native)), ("_enums.py", enums(_native))):
        Path(output_folder, name).write_text(source, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
