"""A memory is named by its id, or by words that it alone holds; commands that write refuse to guess."""

from __future__ import annotations

import pytest

from memsync.cli import choosing
from memsync.cli.choosing import find_refs
from memsync.errors import MemsyncError
from memsync.memories.project import Project


@pytest.fixture
def project(repo):
    with Project.open(repo.root) as project:
        yield project


def test_words_name_the_memory_that_alone_holds_all_of_them_in_its_text_cues_or_tags(project):
    uploads = project.remember("Uploads are limited to 25 MB", tags=["edge"]).entry.id
    port = project.remember("The API listens on port 8081", cues=["connection refused"]).entry.id
    assert find_refs(project, ("API", "port")) == find_refs(project, ("refused",)) == [port]
    assert find_refs(project, ("edge", "limit")) == [uploads]
    assert find_refs(project, ("limited to", "API listens")) == [uploads, port]  # in quotes: each on its own
    assert find_refs(project, (port, "uploads")) == [port, uploads]


def test_what_is_archived_is_named_only_where_no_other_holds_the_words(project):
    old = project.remember("Uploads are limited to 25 MB").entry.id
    new = project.remember("Uploads are limited to 10 MB", supersedes=[old]).entry.id
    assert find_refs(project, ("uploads",)) == [new]
    assert find_refs(project, ("25",)) == [old]


def test_the_beginning_of_an_id_is_left_to_those_who_know_ids_unless_a_text_has_it_too(repo):
    repo.write_memories(
        '{"id":"mm-cents2","content":"Emails go out at night"}\n{"id":"mm-b","content":"Prices in cents"}\n'
    )
    with Project.open(repo.root) as project:
        assert find_refs(project, ("mm-cen",)) == ["mm-cen"]
        assert find_refs(project, ("cents2",)) == ["cents2"]
        assert find_refs(project, ("mm-cents2", "gone")) == ["mm-cents2", "gone"]
        with pytest.raises(
            MemsyncError, match=r"'cents' fits 2 memories \(mm-cents2, mm-b\); give an id, or more words"
        ):
            find_refs(project, ("cents",))


def test_where_several_or_none_hold_the_words_a_pipe_is_told_and_a_person_chooses(project, monkeypatch, capsys):
    ids = [project.remember(f"{name} tests run on Thursdays").entry.id for name in ("Load", "Smoke")]
    with pytest.raises(MemsyncError, match="'tests run' fits 2 memories"):
        find_refs(project, ("tests", "run"))
    assert all(f"{id_} " in capsys.readouterr().err for id_ in ids[:1])
    with pytest.raises(MemsyncError, match="no memory holds all of 'tests Monday'"):
        find_refs(project, ("tests", "Monday"))
    monkeypatch.setattr(choosing, "is_dialogue", lambda: True)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "2")
    assert find_refs(project, ("tests", "run")) == ids[1:]
