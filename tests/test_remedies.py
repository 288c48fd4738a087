"""What errors and reports tell people and models to do can be done: each command exists and takes its words."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from memsync.agents.live import Live
from memsync.cli.app import cli
from memsync.errors import MemsyncError, Remedy
from memsync.mcp.server import OFFERS
from memsync.mcp.tool import Desk

PACKAGE = Path(__file__).parents[1] / "memsync"
TREES = {path.relative_to(PACKAGE): ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
NAMED = re.compile(r"`memsync ([^`]*)`")
ANY = "x1"  # stands for a word that is known when it runs


def text_of(node: ast.AST) -> str:
    """Return the text of a string in the code, ANY for each part that is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else ANY for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ANY


def strings(tree: ast.AST) -> Iterator[str]:
    """Yield the texts in *tree* but for docstrings, each f-string whole."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.JoinedStr | ast.Constant):
            yield text_of(node)
        else:
            yield from strings(node)


def calls_of(name: str) -> Iterator[ast.Call]:
    for tree in TREES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield node


REMEDIES = sorted({" ".join(map(text_of, call.args)) for call in calls_of("Remedy")})
TOLD = sorted({words for tree in TREES.values() for text in strings(tree) for words in NAMED.findall(text)})


def find(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that *words* begin with, and the rest of them."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words:
        inner = command.get_command(click.Context(command), words[0])
        assert inner is not None, words
        command, words = inner, words[1:]
    return command, words


OPTIONS = {option for offer in OFFERS for one in find(offer.command.split())[0].params for option in one.opts}


@pytest.fixture
def desk(repo):
    return Desk(Live(repo.root), OFFERS)


@pytest.mark.parametrize("words", [w for w in sorted({*REMEDIES, *TOLD}) if not w.startswith(("--", ANY))])
def test_a_command_that_somebody_is_told_to_run_exists_and_takes_these_words(words):
    command, rest = find(shlex.split(words))
    try:
        command.make_context(words, rest)
    except click.BadParameter as error:  # what is left out or filled in is for whoever reads it
        if not isinstance(error, click.MissingParameter) and ANY not in error.message:
            raise


@pytest.mark.parametrize("words", [words for words in REMEDIES if words.startswith("--")])
def test_an_option_that_somebody_is_told_to_give_exists(words):
    assert words.split()[0] in OPTIONS


@pytest.mark.parametrize("words", REMEDIES)
def test_a_model_is_told_a_tool_or_that_it_is_for_the_user(desk, words):
    said = desk.explain(MemsyncError(Remedy(words)))
    command = {offer.name: offer.command for offer in OFFERS}.get(said)
    if command:
        assert words.split()[: len(command.split())] == command.split()
    else:
        assert said.endswith(("(for the user to run)", "(for the user to give)"))
        assert not any(f"{words} ".startswith(f"{offer.command} ") for offer in OFFERS)


def test_a_remedy_is_spelled_as_its_reader_does_it(desk):
    error = MemsyncError("use ", Remedy("--private"), ", ", Remedy("--from"), " or ", Remedy("skill update", "x"))
    assert str(error) == "use --private, --from or `memsync skill update x`"
    assert desk.explain(error, {"--private": "private: true", "--from": "source"}) == (
        "use private: true, source or update_skill"
    )


def test_below_the_faces_no_error_names_a_command_or_an_option_in_plain_words():
    plain = [
        f"{path}:{node.lineno}: {text}"
        for path, tree in TREES.items()
        if path.parts[0] not in ("cli", "mcp")
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and node.exc is not None
        for call in ast.walk(node.exc)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") != "Remedy"
        for argument in call.args
        if not isinstance(argument, ast.Call)
        for text in [text_of(argument)]
        if NAMED.search(text) or {word.strip(";,()") for word in text.split() if word.startswith("--")} & OPTIONS
    ]
    assert plain == []
