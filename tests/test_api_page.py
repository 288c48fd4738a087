"""docs/api.md says what programs may rely on: each call takes what it says, each result has these attributes."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest

import memsync
from memsync import Candidate, Filters, Memory, Project, RecallSession
from memsync.records import Fields

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
CALLS = re.findall(r"^\| `(\w+)\(([^)]*)\)`", PAGE, re.MULTILINE)
RESULTS = re.findall(r"^\| `([A-Z]\w+)`[^|]*\| ([^|]+) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("name", "parameters"), CALLS, ids=[name for name, _ in CALLS])
def test_a_call_takes_what_the_page_says(name, parameters):
    takes = dict(inspect.signature(getattr(Project, name)).parameters)
    if "fields" in takes:
        del takes["fields"]
        takes |= {n: inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None) for n in get_type_hints(Fields)}
    wanted = [word.strip() for word in parameters.split(",") if word.strip()]
    if "**values" in wanted:
        assert any(one.kind is one.VAR_KEYWORD for one in takes.values())
        return
    after_star = wanted[wanted.index("*") + 1 :] if "*" in wanted else []
    short = {"id": "ref"}
    names = {short.get(word, word) for word in wanted if word != "*"}
    assert names <= takes.keys()
    assert [word for word in after_star if takes[word].kind is not inspect.Parameter.KEYWORD_ONLY] == []
    assert [n for n, one in takes.items() if one.default is one.empty and n not in {"self", *names}] == []


@pytest.mark.parametrize(("name", "attributes"), RESULTS, ids=[name for name, _ in RESULTS])
def test_a_result_has_the_attributes_of_the_page(name, attributes):
    result = getattr(memsync, name)
    assert is_dataclass(result)
    had = {one.name for one in fields(result)} | {n for n, _ in inspect.getmembers(result)}
    named = re.findall(r"`(\w+)[`(]", attributes)
    assert named
    assert set(named) - had == set()


def test_the_page_lists_calls_and_results():
    assert {"remember", "recall", "search", "get", "update", "forget", "restore", "export"} <= {n for n, _ in CALLS}
    assert {"Entry", "Hit", "Recall", "Remembered", "Similar"} <= {name for name, _ in RESULTS}


@pytest.mark.parametrize("name", memsync.__all__)
def test_what_is_exported_is_there_and_on_the_page(name):
    assert getattr(memsync, name).__name__ in (name, "Project")
    assert f"`{name}" in PAGE


def test_a_program_of_before_the_rooms_still_runs(repo):
    with memsync.Memsync.open(repo.root) as m:
        first = m.remember("The API listens on port 8080")
        assert (first.status, first.entry.scope) == ("created", "project")
        second = m.remember("The API listens on port 9090")
        assert [(one.id, one.relation) for one in second.similar] == [(first.entry.id, "contradicts")]
        found = m.recall("which port does the API listen on", Filters(memory_type="fact"))
        assert {hit.id for hit in found.hits} == {first.entry.id, second.entry.id}
        assert found.gate >= found.floor
        assert [entry.id for entry in m.list(limit=1)] == [m.memories()[0].id]
        report = m.import_([Candidate("a program", Memory(id="", content="Retries are capped at 5"))])
        assert (report.count("created"), report.outcomes[0].status) == (1, "created")
        assert "8080" in RecallSession(m, "one").on_turn("which port does the API listen on?").text


@pytest.mark.parametrize("call", ["remember", "update"])
def test_a_field_that_no_memory_has_is_refused(repo, call):
    with memsync.Memsync.open(repo.root) as m:
        first = m.remember("The API listens on port 8080").entry.id
        with pytest.raises(TypeError, match="no field 'tag'"):
            getattr(m, call)(first, tag=["api"])
        assert [entry.content for entry in m.list()] == ["The API listens on port 8080"]
