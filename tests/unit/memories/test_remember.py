"""What becomes of a text that is remembered: folded in, kept beside, in place of another, or asked about."""

from __future__ import annotations

import os
import sys

import pytest

from memsync import Memsync
from memsync.errors import MemoryNotFound
from memsync.format.codec import decode
from memsync.memories import naming
from memsync.memories.filters import Filters
from memsync.memories.results import as_json
from memsync.setup.repository import set_value
from memsync.system import programs

LONG = "GPU tests are skipped by default; pass `-m gpu` to run them"


def decisions(project: Memsync) -> list[tuple[str, str]]:
    """Return the dedup log, oldest first: what was decided on which text."""
    project.close()
    return [(row.decision, row.new_text) for row in reversed(project.state("project").dedup_log())]


def test_a_copy_is_not_stored_and_the_caller_hears_where_it_is(project):
    first = project.remember("The tests need docker", tags=["ci"], importance=0.4)
    again = project.remember("the tests need `docker`.", tags=["make"], importance=0.9)
    assert (again.status, again.entry.id) == ("exists", first.entry.id)
    assert (again.entry.content, again.entry.memory.tags) == ("The tests need docker", ("ci", "make"))
    assert again.entry.memory.importance == 0.9
    assert again.reason == "the same words in the same order; tags and importance updated"
    assert decisions(project) == [("auto_reject", "the tests need `docker`.")]


def test_a_text_that_says_more_takes_the_place_and_the_id_of_the_one_that_says_less(project):
    first = project.remember("GPU tests are skipped by default", tags=["gpu"])
    more = project.remember(LONG, tags=["ci"])
    assert (more.status, more.entry.id, more.entry.content) == ("updated", first.entry.id, LONG)
    assert more.entry.memory.tags == ("gpu", "ci")
    assert project.restore(first.entry.id).entry.content == "GPU tests are skipped by default"


def test_a_text_that_says_less_changes_nothing(project):
    first = project.remember(LONG)
    less = project.remember("GPU tests are skipped by default")
    assert (less.status, less.entry) == ("exists", first.entry)


def test_what_contradicts_is_stored_and_told_first(project):
    project.remember("Grandmother keeps bees behind the API gateway")
    old = project.remember("The API listens on port 8080")
    new = project.remember("The API listens on port 8081")
    assert new.status == "created"
    assert [(hit.id, hit.relation) for hit in new.similar][:1] == [(old.entry.id, "contradicts")]
    assert new.similar[0].reason == "'8081' against '8080'"
    assert as_json(new)["similar"][0]["relation"] == "contradicts"


def test_the_same_text_in_another_scope_is_another_memory(project):
    project.remember("The tests need docker")
    assert project.remember("the tests need `docker`.", scope="global").status == "created"


def test_a_text_about_nothing_known_has_nothing_similar(project):
    project.remember("The API listens on port 8080")
    assert project.remember("Grandmother keeps bees").similar == ()


def test_what_is_superseded_is_hidden_and_kept_and_can_come_back(project):
    old = project.remember("The API listens on port 8080").entry
    new = project.remember("The platform chooses the ports", supersedes=[old.id[:6]])
    assert (new.status, new.entry.memory.supersedes) == ("superseded", (old.id,))
    assert [hit.id for hit in project.recall("port")] == [new.entry.id]
    assert [entry.id for entry in project.memories()] == [new.entry.id]
    assert {entry.id for entry in project.memories(Filters(archived=True))} == {old.id, new.entry.id}
    back = project.restore(old.id)
    assert back.reason == f"it is no longer archived, nor superseded by {new.entry.id}"
    assert project.get(new.entry.id).memory.supersedes == ()
    assert {entry.id for entry in project.memories()} == {old.id, new.entry.id}


def test_a_memory_of_another_scope_can_be_superseded(project):
    old = project.remember("The API listens on port 8080").entry
    project.remember("My API listens on port 9090", supersedes=[old.id], scope="private")
    assert project.get(old.id).memory.archived_at is not None


def test_a_copy_that_supersedes_makes_the_stored_one_stand_for_the_old(project):
    old, kept = (project.remember(text).entry for text in ("The port is 8080", "The platform chooses all ports"))
    done = project.remember("the platform chooses all `ports`", supersedes=[old.id])
    assert (done.status, done.entry.id, done.entry.memory.supersedes) == ("superseded", kept.id, (old.id,))
    assert project.get(old.id).memory.archived_at is not None


def test_an_update_can_supersede_and_says_what_its_text_contradicts(project):
    old, mine, other = (
        project.remember(text).entry
        for text in ("The gateway caches for an hour", "The API listens on port 8080", "The docs live in the wiki")
    )
    done = project.update(other.id, content="The API listens on port 8081", supersedes=[old.id])
    assert (done.status, done.reason) == ("superseded", "content, supersedes")
    assert [(hit.id, hit.relation) for hit in done.similar] == [(mine.id, "contradicts")]
    assert project.get(old.id).memory.archived_at is not None


def test_nothing_is_written_if_what_should_be_superseded_is_not_there(project):
    with pytest.raises(MemoryNotFound):
        project.remember("The platform chooses the ports", supersedes=["mm-nothere"])
    assert project.memories() == []


def test_what_was_replaced_does_not_come_back_by_being_said_again(project):
    old = project.remember("The API listens on port 8080").entry
    new = project.remember("The platform chooses the ports", supersedes=[old.id]).entry
    for text in ("The API listens on port 8080", "the API listens on port `8080`."):
        again = project.remember(text)
        assert (again.status, again.entry.id) == ("exists", old.id)
        assert f"was replaced by {new.id}; `memsync restore {old.id}` brings it back" in again.reason
        assert [(one.id, one.relation) for one in again.similar] == [(new.id, "contradicts")]
    assert [entry.id for entry in project.memories()] == [new.id]


def test_what_stands_for_it_is_found_over_several_corrections_and_is_nothing_once_that_is_gone(project):
    texts = ("We deploy with Fabric", "We deploy with Ansible", "We deploy by pushing a tag")
    one = project.remember(texts[0]).entry
    two = project.remember(texts[1], supersedes=[one.id]).entry
    three = project.remember(texts[2], supersedes=[two.id]).entry
    assert f"replaced by {three.id};" in project.remember(texts[0]).reason
    project.forget(three.id)
    assert project.remember(texts[0]).reason == "it was archived, and is back"


def test_who_says_that_it_replaces_its_successor_has_it_back(project):
    old = project.remember("The API listens on port 8080").entry
    new = project.remember("The platform chooses the ports", supersedes=[old.id]).entry
    back = project.remember("The API listens on port 8080", supersedes=[new.id])
    assert (back.status, back.entry.id, back.entry.memory.supersedes) == ("updated", old.id, (new.id,))
    assert [entry.id for entry in project.memories()] == [old.id]
    assert project.get(new.id).memory.supersedes == ()


LIKELY = ("Run `make fmt` before every commit of the Go code", "Before each commit of Go code, `make fmt` must be run")


def test_a_model_that_calls_two_texts_the_same_keeps_the_second_out_but_in_the_log(project):
    asked = []
    project.verify = lambda new, old: (asked.append((new, old)), (True, "both ask for the formatter"))[1]
    project.remember(LIKELY[0])
    done = project.remember(LIKELY[1])
    assert (done.status, done.reason, asked) == ("exists", "both ask for the formatter", [LIKELY[::-1]])
    (row,) = project.state("project").dedup_log()
    assert (row.decision, row.review_status) == ("llm_reject", "unreviewed")
    assert decode(row.rejected or b"").memory.content == LIKELY[1]


def test_a_model_cannot_drop_a_path_or_a_number(project):
    project.verify = lambda new, old: (True, "the same")
    project.remember(LIKELY[0])
    done = project.remember(f"{LIKELY[1]}, see docs/style.md")
    assert (done.status, [hit.relation for hit in done.similar]) == ("created", ["contains"])


def test_a_model_that_sees_a_difference_or_no_answer_keeps_both(project):
    project.verify = lambda new, old: (False, "one is about tests")
    project.remember(LIKELY[0])
    assert project.remember(LIKELY[1]).status == "created"
    project.verify = lambda new, old: None
    assert project.remember("`make fmt` must run before each of the commits of Go code").status == "created"
    assert [decision for decision, _ in decisions(project)][:2] == ["llm_keep", "fallback_keep"]


def test_contradictions_are_no_question_for_a_model(project):
    project.verify = lambda new, old: pytest.fail("asked")
    project.remember("The API listens on port 8080")
    assert project.remember("The API listens on port 8081").status == "created"


def test_the_strict_setting_keeps_likely_copies_out_but_never_a_contradiction(project):
    set_value(project, "janitor.dedup.strict", "on", is_global=False)
    first = project.remember(LIKELY[0]).entry
    assert (project.remember(LIKELY[1]).status, decisions(project)[-1][0]) == ("exists", "fallback_reject")
    assert project.remember("Do not run `make fmt` before every commit of the Go code").status == "created"
    assert project.get(first.id).content == LIKELY[0]


def test_without_vectors_it_compares_words_and_says_so(project, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    set_value(project, "memory.embedder", "openai:nobody@http://127.0.0.1:9/v1", is_global=True)
    project.remember("The tests need docker")
    copy = project.remember("the tests need `docker`.")
    assert copy.status == "exists"
    assert copy.degraded


def test_a_store_that_cannot_be_read_keeps_nobody_from_remembering_in_another(project):
    project.store("global").place.memories.parent.mkdir(parents=True, exist_ok=True)
    project.store("global").place.memories.write_bytes("x".encode("utf-16"))
    done = project.remember("The tests need docker")
    assert done.status == "created"
    assert "UTF-16" in done.degraded


@pytest.mark.skipif(sys.platform == "win32", reason="NOT TESTED on Windows: a script stands for git")
def test_what_another_process_stores_while_git_looks_is_not_stored_twice(repo, project, tmp_path, monkeypatch):
    text = "send_all waits for the queue before it closes the socket"
    project.remember("read_one is quick")
    git, path = programs.find("git"), os.environ["PATH"]
    script = tmp_path / "bin" / "git"
    script.parent.mkdir()
    script.write_text(
        "#!/bin/sh\n"
        f"""[ "$1" = grep ] && PATH='{path}' '{sys.executable}' -P -m memsync remember '{text}' >/dev/null\n"""
        f"""exec '{git}' "$@"\n"""
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{path}")
    monkeypatch.setattr(naming, "_PATIENCE", 60.0)
    assert project.remember(text).status == "exists"
    assert [entry.content for entry in project.list()].count(text) == 1
