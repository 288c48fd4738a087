"""Rows are whole where a machine reads, and wrap where a person does."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import click
import pytest
from helpers import memsync
from hypothesis import example, given
from hypothesis import strategies as st

from memsync.cli import terminal
from memsync.cli.edit import parse, spell
from memsync.errors import UsageError
from memsync.memories.results import Entry
from memsync.records import Memory, clean_content

LONG = "the public API limits a client after 600 requests a minute and answers 429 with a Retry-After header in seconds"


@pytest.fixture
def at_terminal(monkeypatch):
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "24")


def test_a_pipe_gets_one_whole_line(monkeypatch):
    monkeypatch.setattr(terminal, "is_terminal", lambda: False)
    assert click.unstyle(terminal.flow("mm-a", LONG, "(fact)")) == f"mm-a {LONG} (fact)"


def test_a_terminal_gets_every_word_in_lines_below_each_other(at_terminal):
    rows = click.unstyle(terminal.flow("mm-a", LONG, "(fact, today)")).split("\n")
    assert max(map(len, rows)) <= 60
    assert " ".join(" ".join(rows).split()) == f"mm-a {LONG} (fact, today)"
    assert {len(row) - len(row.lstrip()) for row in rows[1:]} == {5}


@pytest.mark.parametrize(
    ("env", "is_link"),
    [({"TERM_PROGRAM": "WezTerm"}, True), ({"VTE_VERSION": "6003"}, True), ({"VTE_VERSION": "4000"}, False),
     ({"TERM_PROGRAM": "WezTerm", "NO_COLOR": "1"}, False), ({"KITTY_WINDOW_ID": "1", "TERM": "dumb"}, False), ({}, False)],
)  # fmt: skip
def test_a_file_is_a_link_where_the_terminal_shows_links(at_terminal, monkeypatch, env, is_link):
    for name in ("VTE_VERSION", "TERM_PROGRAM", "NO_COLOR", "KITTY_WINDOW_ID", "FORCE_HYPERLINK", "WT_SESSION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", **env}.items():
        monkeypatch.setenv(name, value)
    assert ("\033]8;;file:///a/b" in terminal.link("b", Path("/a/b"))) is is_link


@pytest.mark.parametrize(
    ("env", "wanted"),
    [({}, None), ({"FORCE_COLOR": "1"}, True), ({"CLICOLOR_FORCE": "1"}, True), ({"FORCE_COLOR": "0"}, None), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)  # fmt: skip
def test_colours_are_what_the_environment_says(monkeypatch, env, wanted):
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert terminal.choose_colour() is wanted


ONE = Entry(
    memory=Memory("mm-aaaaaa", "the API\n\nlistens", tags=("api", "net")), scope="project", effective_importance=0.5
)
TWO = Entry(
    memory=Memory("mm-bbbbbb", "--- mm-cccccc\ntype: is text", cues=("why; not",)),
    scope="project",
    effective_importance=0.5,
)


def test_a_document_says_nothing_new_until_somebody_changes_it():
    assert parse(spell([ONE]), [ONE]) == []
    assert parse(spell([ONE]).replace("\n", "\r\n"), [ONE]) == []


@given(st.text(max_size=40).filter(str.strip))
@example("one line\u2028of two")
@example("--- mm-bbbbbb\nis a line of it")
@example("two\r\nlines")
@example("text\x0c\n  with odd spaces ")
def test_a_document_keeps_any_text_to_the_letter(text):
    entry = replace(ONE, memory=ONE.memory._replace(content=clean_content(text)))
    assert parse(spell([entry, TWO]), [entry, TWO]) == []


def test_a_document_changes_texts_tags_and_numbers_and_leaves_out_what_was_taken_out():
    text = spell([ONE, TWO]).replace("listens", "listens on 8081").replace("api, net", "api").replace("0.5", "0.9", 1)
    (draft,) = parse(text[: text.index("\n---- mm-bbbbbb")], [ONE, TWO])
    assert draft.entry is ONE
    assert draft.changes == {"content": "the API\n\nlistens on 8081", "tags": ("api",), "importance": 0.9}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("importance: 0.5", "importance: high", "line 7"),
        ("importance: 0.5", "importance: 7", "line 7: importance 7.0 is not between"),
        ("tags:", "tag:", "line 8: 'tag: api, net' is no field"),
        ("the API\n\nlistens", "", "the content is empty"),
        ("--- mm-aaaaaa", "--- mm-zzzzzz", "belongs to no memory"),
    ],
)
def test_a_mistake_in_a_document_is_said_with_its_line(old, new, said):
    with pytest.raises(UsageError, match=said):
        parse(spell([ONE]).replace(old, new), [ONE])


@pytest.mark.parametrize("id_", ["x\nmm-victim1", "x mm-victim1", "--purge", "x'y", "\x1b[2J", "$(x)"])
def test_an_id_that_goes_on_to_xargs_is_one_word_and_no_option(repo, id_):
    repo.write_memories(json.dumps({"id": id_, "content": "deploy on Fridays"}) + "\n")
    for form in ("--ids", "--format={id}"):
        shown = memsync("list", form, cwd=repo.root).out.rstrip("\n")
        assert re.fullmatch(r"odd-\w+", shown)
        assert "deploy on Fridays" in memsync("show", shown, cwd=repo.root).out
