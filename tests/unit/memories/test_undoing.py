"""The last command that changed memories is taken back whole, or not at all."""

from __future__ import annotations

import json
import os
from datetime import timedelta

import pytest

from memsync.errors import MemsyncError
from memsync.memories import sharing
from memsync.memories.imports import Candidate
from memsync.memories.project import Project
from memsync.memories.undoing import forget_steps, list_commands, note_steps, undo
from memsync.records import Memory, parse_time, utc_now


@pytest.fixture
def command(repo):
    """Run a function on the project as one command."""

    def run(words, do):
        with Project.open(repo.root) as project:
            result = do(project)
            note_steps(project, words)
        return result

    return run


def texts(repo):
    with Project.open(repo.root) as project:
        return {(entry.scope, entry.content) for entry in project.entries()}


def go(repo, **how):
    with Project.open(repo.root) as project:
        return undo(project, **how)


def test_what_was_added_changed_and_removed_is_as_before_one_command_after_the_other(repo, command):
    first = command("remember", lambda p: p.remember("the API listens on 8081")).entry
    command("update", lambda p: p.update(first.id, content="the API listens on 8082"))
    command("rm", lambda p: p.forget(first.id))
    assert texts(repo) == set()
    go(repo)
    assert texts(repo) == {("project", "the API listens on 8082")}
    go(repo)
    assert texts(repo) == {("project", "the API listens on 8081")}
    go(repo)
    assert texts(repo) == set()
    with pytest.raises(MemsyncError, match="no command"):
        go(repo)


def test_what_can_be_taken_back_is_noted_without_waiting_for_the_disk(repo, monkeypatch):
    with Project.open(repo.root) as project:
        project.remember("the API listens on 8081")
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", lambda _: pytest.fail("waits for the disk"))
            note_steps(project, "remember")
        assert [one.name for one in list_commands(project)] == ["`memsync remember`"]


def test_a_note_that_calls_private_by_its_former_name_is_taken_back(repo, home, command):
    command("remember", lambda p: p.remember("the client is Acme", private=True))
    (path,) = home.rglob("undo.json")
    path.write_bytes(path.read_bytes().replace(b'"private"', b'"stealth"'))
    go(repo)
    assert texts(repo) == set()


def test_what_was_taken_back_is_done_again_until_something_else_is_done(repo, command):
    command("remember", lambda p: p.remember("uploads are limited to 10 MB"))
    go(repo)
    go(repo, again=True)
    assert texts(repo) == {("project", "uploads are limited to 10 MB")}
    go(repo)
    command("remember", lambda p: p.remember("prices are integers"))
    with pytest.raises(MemsyncError, match="done again"):
        go(repo, again=True)


def test_what_replaced_another_goes_and_the_other_is_no_longer_archived(repo, command):
    old = command("remember", lambda p: p.remember("uploads are limited to 25 MB")).entry
    command("remember", lambda p: p.remember("uploads are limited to 10 MB", supersedes=[old.id]))
    go(repo)
    assert texts(repo) == {("project", "uploads are limited to 25 MB")}


def test_a_command_that_added_changed_and_removed_many_is_taken_back_in_one_write_of_each_kind(repo, command):
    def write(project):
        return [
            project.remember(text).entry
            for text in ("prices are in cents", "uploads end at 10 MB", "staging is in Oslo")
        ]

    def change(project):
        project.forget(kept[0].id)
        project.update(kept[1].id, content="uploads end at 25 MB")
        project.update(kept[2].id, content="staging is in Bergen")
        project.remember("the linter is strict")

    kept = command("import", write)
    before = texts(repo)
    command("(a change of many)", change)
    after = texts(repo)
    with Project.open(repo.root) as project:
        undo(project)
        appended = repo.memories.read_bytes().count(b"\n")
    assert texts(repo) == before
    go(repo, again=True)
    assert texts(repo) == after
    assert appended == 3 + 1 + 2 * 2 + 2, (
        "the file, a line brought back, two with what they replace, and a removal with it"
    )


def test_a_removal_is_not_dated_by_another_memory_that_a_wrong_clock_has_put_into_the_future(repo, command):
    late = utc_now() + timedelta(days=300)
    texts = {"plain": None, "late": late}

    def bring(project):
        project.import_(Candidate(id_, Memory(id=id_, content=id_, created_at=at)) for id_, at in texts.items())

    command("import", bring)
    with Project.open(repo.root) as project:
        undo(project)
        lines = map(json.loads, repo.memories.read_text("utf-8").splitlines())
        gone = {line["id"]: parse_time(line["deleted_at"]) for line in lines if "deleted_at" in line}
    assert gone["plain"] < late < gone["late"]


def test_what_was_moved_is_moved_back(repo, command):
    one = command("remember", lambda p: p.remember("the client is Acme", scope="private")).entry
    command("share", lambda p: sharing.share(p, [one.id]))
    assert texts(repo) == {("project", "the client is Acme")}
    go(repo)
    assert texts(repo) == {("private", "the client is Acme")}
    go(repo, again=True)
    assert texts(repo) == {("project", "the client is Acme")}


def test_what_came_before_a_move_out_of_sight_is_taken_back_after_it_and_nothing_private_comes_along(repo, command):
    one = command("remember", lambda p: p.remember("the API listens on 8081")).entry
    command("edit", lambda p: p.update(one.id, content="the API listens on 8082"))
    command("unshare", lambda p: sharing.unshare(p, [one.id]))
    command("edit", lambda p: p.update(one.id, content="the client is Acme"))
    go(repo)
    go(repo)
    assert texts(repo) == {("project", "the API listens on 8082")}
    assert not [path for path in repo.root.rglob("*") if path.is_file() and b"Acme" in path.read_bytes()]
    go(repo)
    assert texts(repo) == {("project", "the API listens on 8081")}
    go(repo, again=True)
    assert texts(repo) == {("project", "the API listens on 8082")}


def test_what_somebody_changed_since_stays_and_the_rest_is_taken_back(repo, command):
    both = command("import", lambda p: [p.remember("prices are integers"), p.remember("dates are in UTC")])
    with Project.open(repo.root) as project:  # no command of this machine: an agent, or a checkout
        project.update(both[0].entry.id, importance=0.1)
    assert go(repo).left == (f"{both[0].entry.id} was changed since and stays as it is",)
    assert texts(repo) == {("project", "prices are integers")}


def test_nothing_is_taken_back_where_somebody_changed_all_of_it_since(repo, command):
    one = command("remember", lambda p: p.remember("prices are integers")).entry
    with Project.open(repo.root) as project:  # no command of this machine: an agent, or a checkout
        project.update(one.id, importance=0.1)
    with pytest.raises(MemsyncError, match="was changed since `memsync remember`, so nothing was taken back"):
        go(repo)
    assert texts(repo) == {("project", "prices are integers")}


def test_what_is_purged_is_in_no_note(repo, command):
    one = command("remember", lambda p: p.remember("the cat is called Tom")).entry
    with Project.open(repo.root) as project:
        project.purge(one.id)
        forget_steps(project, [one.id])
        note_steps(project, "rm")
        (purged,) = list_commands(project)
        assert (purged.steps, purged.can_go, "cat" in repr(purged)) == ((), False, False)


def test_a_command_is_noted_behind_the_others_which_are_not_read_again(repo, command):
    path = repo.root / ".gobby" / "local" / "undo.json"
    command("remember", lambda p: p.remember("prices are integers"))
    before = path.read_bytes()
    command("remember", lambda p: p.remember("uploads are limited to 10 MB"))
    assert path.read_bytes().startswith(before)
    assert path.read_bytes().count(b"\n") == 2


def test_no_more_commands_are_kept_than_can_be_taken_back_however_many_are_noted(repo):
    path = repo.root / ".gobby" / "local" / "undo.json"
    with Project.open(repo.root) as project:
        for number in range(200):
            project.remember(f"the number of part {number} is {number * 7919}")
            note_steps(project, f"(part {number})")
        names = [one.name for one in list_commands(project)]
    assert names == [f"part {number}" for number in range(199, 149, -1)]
    assert path.stat().st_size < 20_000


def test_what_is_noted_as_before_there_were_lines_is_taken_back_too(repo, command):
    path = repo.root / ".gobby" / "local" / "undo.json"
    command("remember", lambda p: p.remember("prices are integers"))
    path.write_text(json.dumps({"done": [json.loads(path.read_bytes())], "undone": []}))
    command("remember", lambda p: p.remember("uploads are limited to 10 MB"))
    go(repo)
    assert texts(repo) == {("project", "prices are integers")}
    go(repo)
    assert texts(repo) == set()


def test_a_damaged_line_keeps_no_other_command_from_being_taken_back(repo, command):
    path = repo.root / ".gobby" / "local" / "undo.json"
    command("remember", lambda p: p.remember("prices are integers"))
    path.write_bytes(path.read_bytes() + b'["remember", "2026-\n[1, 2, 3]\n{"done": 7}\n')
    command("remember", lambda p: p.remember("uploads are limited to 10 MB"))
    go(repo)
    go(repo)
    assert texts(repo) == set()
