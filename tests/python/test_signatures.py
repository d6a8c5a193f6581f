"""The functions, the command line and the application layer have the same options."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Callable
from typing import Any

import pytest

import headscope
from conftest import ROOT
from headscope import _native

COMMANDS: dict[str, list[Any]] = dict(_native.all_options())
FUNCTIONS = _native.functions()
# ``Model.info`` instead of inspect; figures of a single model are for the command line; families is no request.
NO_FUNCTION = {"families", "inspect", "reproduce"}


def function_of(command: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(headscope, command)
    return found


def test_every_command_is_a_function() -> None:
    assert set(FUNCTIONS) == set(COMMANDS) - NO_FUNCTION


@pytest.mark.parametrize("command", FUNCTIONS)
def test_every_option_is_a_parameter_with_the_same_default(command: str) -> None:
    signature = inspect.signature(function_of(command))
    options = [option for option in COMMANDS[command] if not option.command_line_only]
    assert set(signature.parameters) == {option.parameter for option in options} | {"progress"}
    for option in options:
        parameter = signature.parameters[option.parameter]
        if option.required:
            assert parameter.default is inspect.Parameter.empty
            assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        else:
            default = tuple(option.default) if isinstance(option.default, list) else option.default
            assert parameter.default == default
            assert type(parameter.default) is type(default)
        assert parameter.annotation not in (inspect.Parameter.empty, "")
    # Positional options come first.
    names = list(signature.parameters)
    for place, option in enumerate(option for option in options if option.positional):
        assert names[place] == option.parameter


@pytest.mark.parametrize("command", FUNCTIONS)
def test_help_shows_every_parameter(command: str) -> None:
    text = pydoc.plain(pydoc.render_doc(function_of(command)))
    for option in COMMANDS[command]:
        if option.command_line_only:
            assert f"\n        {option.parameter} :" not in text
            continue
        described = re.search(rf"^ *{option.parameter} : (.*)\n( .*)", text, re.MULTILINE)
        assert described, option.parameter
        assert len(described[2].strip()) > 5
        if not option.required:
            assert ", default " in described[1]
    assert not re.search(r"--\w", text)


# What an option of each kind is in Python, if it takes no objects.
KINDS = {"flag": "bool", "integer": "int", "number": "float"}


@pytest.mark.parametrize("command", FUNCTIONS)
def test_types_and_texts_are_those_of_the_option(command: str) -> None:
    signature, objects = inspect.signature(function_of(command)), _native.Request(command).objects
    text = " ".join(str(function_of(command).__doc__).split())
    for option in COMMANDS[command]:
        if option.command_line_only:
            continue
        annotation = str(signature.parameters[option.parameter].annotation)
        types = annotation.removesuffix(" | None")
        if option.parameter not in objects and option.kind in KINDS:
            assert types == KINDS[option.kind], option.parameter
        if option.holds_paths and option.kind == "path":
            assert "str | os.PathLike[str]" in types
        if option.parameter not in objects and option.kind == "text":
            assert all(repr(choice) in types for choice in option.choices), option.parameter
        # The sentence about it is the option's, and follows its type and default.
        help_text = " ".join(option.help.split())
        if option.kind == "flag" and option.default is True:
            help_text = f"False: {help_text[0].lower()}{help_text[1:]}"
        required = signature.parameters[option.parameter].default is inspect.Parameter.empty
        default = "" if required else ", default "
        begin = text.index(f"{option.parameter} : {annotation}{default}".replace("'", '"'))
        assert help_text in text[begin:], option.parameter


def test_the_documentation_knows_every_name() -> None:
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    for name in set(headscope.__all__) - {"__version__"}:
        assert re.search(rf"\b{name}\b", page), name
    # Parameters that it shows in code exist.
    parameters = {name for command in FUNCTIONS for name in inspect.signature(function_of(command)).parameters}
    others: set[Callable[..., Any]] = {
        *(headscope.load, headscope.from_torch, headscope.view, headscope.Model.weights),
        *(headscope.Relation.affinity, headscope.Result.save, headscope.Result.plot),
    }
    parameters |= {name for function in others for name in inspect.signature(function).parameters}
    from headscope import _plots

    parameters |= {name for plot in vars(_plots).values() if inspect.isfunction(plot)
                   for name in inspect.signature(plot).parameters}
    shown = set(re.findall(r"`(\w+)=", page)) | set(re.findall(r"\((?:[^()]*, )?(\w+)=", page))
    assert shown and shown <= parameters, shown - parameters
    for function in FUNCTIONS:
        assert f"`{function}(" in page, function


@pytest.mark.parametrize("command", list(COMMANDS))
def test_the_program_shows_every_option(command: str, cli: Callable[..., str]) -> None:
    words = re.findall(r"[\w-]+", cli(command, "--help"))
    for option in COMMANDS[command]:
        assert option.flag in words, option.flag


def test_positional_text() -> None:
    for name in ("capture", "prune", "patch"):
        assert list(inspect.signature(function_of(name)).parameters)[:2] == ["model", "text"]
    assert list(inspect.signature(headscope.report).parameters)[:2] == ["run", "page"]


def test_enumerations_have_the_names_of_the_options() -> None:
    choices = {option.parameter: option.choices for option in COMMANDS["relate"]}
    assert [str(metric) for metric in headscope.Metric] == choices["metric"]
    assert [str(null) for null in headscope.NullModel] == choices["null"]
    assert "".join(headscope.Role) == "QKVO"
    assert isinstance(headscope.Metric.MAX_COS, str) and str(headscope.Metric.MAX_COS) == "max-cos"
    assert headscope.Metric("pk") is headscope.Metric.PK


def test_enumerations_and_their_texts_are_accepted(model: headscope.Model) -> None:
    by_enum = headscope.relate(model, metric=[headscope.Metric.CS, headscope.Metric.PK],
                               null=headscope.NullModel.SPAN, tokens_for="none")
    by_text = headscope.relate(model, metric="cs,pk", null="span", tokens_for="none")
    assert by_enum.files == by_text.files
    assert all(by_enum._files.content(name) == by_text._files.content(name) for name in by_enum.files)
    assert by_enum.affinity("OQ", headscope.Metric.CS) is not None
    assert (model.weights(0, headscope.Role.Q) == model.weights(0, "Q")).all()
