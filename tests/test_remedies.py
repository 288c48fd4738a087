"""What errors and reports tell people and models to do can be done: each command exists and takes its words."""

from __future__ import annotations

import ast
import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from memsync.agents.live import Live
from memsync.cli.app import cli, run
from memsync.errors import MemsyncError, Remedy
from memsync.learn.candidates import Candidates
from memsync.mcp.server import OFFERS
from memsync.mcp.tool import Desk
from memsync.memories.project import Project

PACKAGE = Path(__file__).parents[1] / "memsync"
NAMED = re.compile(r"`memsync ([^`]*)`")
ANY = "x1"  # stands for a word that is known when it runs


def parse_all() -> Iterator[tuple[Path, ast.Module]]:
    """Yield each module of the package with its tree; who kept them would slow each collection of garbage by half a second."""
    for path in PACKAGE.rglob("*.py"):
        yield path.relative_to(PACKAGE), ast.parse(path.read_text(encoding="utf-8"))


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


@functools.cache
def read_what_is_said() -> tuple[set[str], set[str]]:
    """Return the words of each Remedy in the code, and the commands that its texts name; when it is run, not in each worker."""
    remedies, named = set(), set()
    for _, tree in parse_all():
        named |= {words for text in strings(tree) for words in NAMED.findall(text)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Remedy":
                remedies.add(" ".join(map(text_of, node.args)))
    return remedies, named


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


# What is put in place of a word that is filled in, by the beginning of the command; else the id of a memory.
FILLED = {
    "candidates": "candidate",
    "approve": "candidate",
    "reject": "candidate",
    "dedup": "1",
    "janitor run": "plan.md",
    "skill": "release",
    "init": "codex",
    "uninstall": "codex",
    "git": "post-merge",
    "config": "gpt-x",
    "restore": "mm-000000",
}
SPELLED = {  # what holds two words that differ
    "mirror add KIND PATH": "mirror add claude-memory mirrored",
    "mirror rm": "mirror rm mirrored",
    "memory enrich -": "memory enrich filled.json",  # what an agent hands over
    "share ID": "share mm-000001",
    "share x1": "share mm-000002",
    "config x1 x1": "config llm.retries 3",
    "tags rm x1 x1": "tags rm private mm-000000",
}
PLACES = re.compile(rf"\b(?:{ANY}|ID…?|NAME|FILE|TEXT|QUERY|MODEL)(?!\w)|\{{\w*\}}")
# Needs a hub, a commit, a session, or something to take back; it says so, and other tests run it where that is there.
REFUSED = re.compile(
    r"hub|skill (?:approve|reject|restore)|janitor undo(?! --list)|dedup reverse|review --undo|restore ID --at|(?:memory )?extract|sessions show"
)
LAST = re.compile(r"(?:init|config|uninstall)\b")  # after these others would be refused
ENDLESS = re.compile(r"ui|mcp|serve|hub init")  # or making a database; each has tests of its own


def test_every_command_that_somebody_is_told_to_run_does_it_when_it_is_pasted(repo, monkeypatch, capsys):
    monkeypatch.chdir(repo.root)
    monkeypatch.setenv("EDITOR", "sed -i s/check/step/")
    repo.write_memories("".join(f'{{"id":"mm-{n:06}","content":"fact {n} of thing{n}"}}\n' for n in range(30)))
    (repo.root / "CLAUDE.md").write_text("".join(f"- Always run check {n} before a commit\n" for n in range(9)))
    (repo.root / "mirrored").mkdir()
    (repo.root / "filled.json").write_text('{"memories": [{"id": "mm-000000", "cues": ["the first of them"]}]}')
    (repo.root / ".gobby/tests.jsonl").write_text('{"prompt": "ok", "silent": true}\n')
    (repo.root / ".claude/skills/release").mkdir(parents=True)
    (repo.root / ".claude/skills/release/SKILL.md").write_text(
        "---\nname: release\ndescription: How to\n---\nmake it\n"
    )
    used = "init --agent none; memory init; remember uploads are small; remember uploads are small; janitor run --plan plan.md"
    for words in f"{used}; update mm-000000 --tag private; unshare mm-000001; unshare mm-000002".split("; "):
        assert run(words.split()) == 0
    with Project.open() as project:
        candidates = [one.memory.id for one in Candidates(project).memories()]
    ids = [f"mm-{n:06}" for n in range(3, 30)]
    wrong = []
    told = (
        words
        for words in set.union(*read_what_is_said())
        if not words.startswith(("--", ANY)) and not ENDLESS.match(words)
    )
    for words in sorted(told, key=lambda words: (bool(LAST.match(words)), words)):
        kind = next((value for begin, value in FILLED.items() if words.startswith(begin)), "memory")
        named = candidates.pop() if kind == "candidate" and PLACES.search(words) else kind
        filled = PLACES.sub(lambda _, named=named: ids.pop() if named == "memory" else named, SPELLED.get(words, words))
        code = run(shlex.split(filled))
        if code not in ((1, 2) if REFUSED.match(words) else (0,)):
            wrong.append((code, filled, capsys.readouterr().err[-200:]))
    assert wrong == []


def test_a_command_that_does_not_end_by_itself_takes_the_words_that_somebody_is_told():
    for words in filter(ENDLESS.match, set.union(*read_what_is_said())):
        command, rest = find(words.split())
        assert command.make_context(words, rest, parent=click.Context(cli, **cli.context_settings))


def test_an_option_that_somebody_is_told_to_give_exists():
    told = {words.split()[0] for words in read_what_is_said()[0] if words.startswith("--")}
    assert told - OPTIONS == set()


def test_a_model_is_told_a_tool_or_that_it_is_for_the_user(desk):
    command = {offer.name: offer.command for offer in OFFERS}
    for words in read_what_is_said()[0]:
        said = desk.explain(MemsyncError(Remedy(words)))
        if said in command:
            assert words.split()[: len(command[said].split())] == command[said].split()
        else:
            assert said.endswith(("(for the user to run)", "(for the user to give)"))
            assert not any(f"{words} ".startswith(f"{offer.command} ") for offer in OFFERS), words


def test_a_remedy_is_spelled_as_its_reader_does_it(desk):
    error = MemsyncError("use ", Remedy("--private"), ", ", Remedy("--from"), " or ", Remedy("skill update", "x"))
    assert str(error) == "use --private, --from or `memsync skill update x`"
    assert desk.explain(error, {"--private": 'scope: "private"', "--from": "source"}) == (
        'use scope: "private", source or update_skill'
    )


def test_below_the_faces_no_error_names_a_command_or_an_option_in_plain_words():
    plain = [
        f"{path}:{node.lineno}: {text}"
        for path, tree in parse_all()
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
