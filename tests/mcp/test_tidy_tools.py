"""An agent judges likely copies: batches that fit, merges that can be undone, and what only looks alike is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from calling import Caller, connected

from memsync.agents.live import Live
from memsync.janitor.runs import undo
from memsync.mcp.early import choose
from memsync.mcp.server import build

SAME = (
    "Run make fmt before each commit; CI rejects Go that is not formatted.",
    "Before every commit run make fmt 1.2, since CI rejects unformatted Go files.",
)
SWAPPED = (
    "Validate the payload first, then authenticate the caller",
    "Authenticate the caller first, then validate the payload",
)


@pytest.fixture
def tidy(repo, clock) -> Iterator[Caller]:
    with connected(build(Live(repo.root, clock=clock), choose("core,tidy"))) as caller:
        yield caller


def ask(caller: Caller, name: str, /, **arguments: object) -> str:
    result = caller.ask("call_tool", name, arguments)
    assert not result.is_error, result.content
    return result.content[0].text


def write(repo, line, *texts: str) -> None:
    repo.write_memories("".join(line(f"mm-{number:04d}", text) for number, text in enumerate(texts)))


def texts_of(project) -> set[str]:
    project.stores.refresh()
    return {memory.content for memory in project.store("project").memories().values() if not memory.archived_at}


def test_a_cluster_is_shown_with_what_would_be_lost_and_merged_with_the_text_that_keeps_it(tidy, repo, line, project):
    write(repo, line, *SAME)
    shown = ask(tidy, "likely_copies")
    kept, dropped = re.findall(r"^(?:keep|drop) (mm-\d+)", shown, re.MULTILINE)
    assert (kept, dropped) == ("mm-0001", "mm-0000")  # of which nothing is lost
    done = ask(
        tidy, "merge_memories", merges=[{"keep": "mm-0000", "drop": ["mm-0001"], "content": "make fmt 1.2 first"}]
    )
    assert done.startswith("1 merged; the user can undo it with `memsync janitor undo ")
    assert done.endswith("no likely copies are left")
    assert texts_of(project) == {"make fmt 1.2 first"}
    assert project.get("mm-0000").memory.supersedes == ("mm-0001",)  # its source, which is archived
    undo(project)
    assert texts_of(project) == set(SAME)


def test_a_text_that_lacks_a_value_of_its_sources_is_refused(tidy, repo, line, project):
    write(repo, line, *SAME)
    said = ask(tidy, "merge_memories", merges=[{"keep": "mm-0000", "drop": ["mm-0001"], "content": "make fmt first"}])
    assert said.startswith("not merged: mm-0000: the content lacks 1.2 of mm-0001; put it in")
    assert texts_of(project) == set(SAME)


def test_what_would_be_lost_is_said(tidy, repo, line):
    write(repo, line, SAME[0].replace("CI", "CI 3"), SAME[1])
    assert re.search(r"^  lost: (1\.2|3)", ask(tidy, "likely_copies"), re.MULTILINE)


def test_what_is_kept_is_not_shown_again(tidy, repo, line):
    write(repo, line, *SAME)
    assert ask(tidy, "keep_both", groups=[["mm-0000", "mm-0001"]]) == "1 groups are kept\nno likely copies are left"
    assert ask(tidy, "likely_copies", again=True) == "no likely copies are left"


def test_roles_swapped_are_neither_shown_nor_merged_whoever_says_so(tidy, repo, line, project):
    write(repo, line, *SWAPPED)
    assert ask(tidy, "likely_copies") == "no likely copies are left"
    said = ask(tidy, "merge_memories", merges=[{"keep": "mm-0000", "drop": ["mm-0001"], "content": "either order"}])
    assert said.startswith("not merged: mm-0000: mm-0001 says otherwise; archive the one that is no longer true")
    assert len(texts_of(project)) == 2


def test_what_everybody_sees_does_not_go_for_what_is_private_or_of_the_user(tidy, repo, line, project):
    write(repo, line, SAME[0])
    for scope in ("private", "global"):
        mine = project.remember(SAME[1], scope=scope).entry.id
        said = ask(tidy, "merge_memories", merges=[{"keep": mine, "drop": ["mm-0000"]}])
        assert f"not merged: {mine}: mm-0000 is project, where {mine} is not seen" in said


def test_batches_have_at_most_8000_characters_and_show_everything_once(tidy, repo, line):
    texts = [
        f"{text} Module {n} of team {chr(65 + n % 26)}{n} has target t{n * 7919}. " * 3
        for n in range(40)
        for text in SAME
    ]
    write(repo, line, *texts)
    shown, seen = ask(tidy, "likely_copies"), []
    while "no likely copies" not in shown:
        assert len(shown) <= 8000
        groups = [re.findall(r"^(?:keep|drop) (mm-\d+)", part, re.MULTILINE) for part in shown.split("\n\n")]
        groups = [ids for ids in groups if ids]
        seen += [frozenset(ids) for ids in groups]
        shown = ask(tidy, "keep_both", groups=groups)
    assert len(seen) == len(set(seen)) > 3
