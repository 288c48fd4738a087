"""One project: its settings count from the first moment on, and replacing them replaces what was made of them."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import memsync
from memsync import Filters, Memsync, Project
from memsync.errors import Changed, ConfigError, InvalidMemory
from memsync.records import Memory
from memsync.store import config
from memsync.store.places import locate


def say(root, key, value):
    path = root / ".gobby" / "config.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{key}: {value}\n", encoding="utf-8")


@pytest.mark.parametrize("make", [lambda root: Memsync(locate(root)), Memsync.open])
def test_a_project_that_nobody_asked_for_its_settings_writes_as_they_say(repo, make):
    say(repo.root, "memory_sync.mode", "on-commit")
    store = make(repo.root).store("project")
    with store.writing():
        store.add([Memory(id="mm-zzzzzz", content="written while the mode is on-commit")])
    assert not repo.memories.exists() or "mm-zzzzzz" not in repo.memories.read_text()


def test_threads_that_ask_at_the_same_moment_have_one_finder(repo):
    before, start, count = sys.getswitchinterval(), threading.Barrier(8, timeout=30), 100
    projects = [Memsync.open(repo.root) for _ in range(count)]
    found: list[list[int]] = [[] for _ in projects]

    def ask() -> None:
        for project, finders in zip(projects, found, strict=True):
            start.wait()
            finders.append(id(project.finder))

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for future in [pool.submit(ask) for _ in range(8)]:
                future.result(timeout=60)
    finally:
        sys.setswitchinterval(before)
    assert [len(set(finders)) for finders in found] == [1] * count


def test_reloaded_settings_replace_what_was_made_of_the_old_ones(repo):
    (repo.root / ".gobby").mkdir(exist_ok=True)
    project = Memsync.open(repo.root)
    author, finder = project.author, project.finder
    assert project.store("project").on_commit is False
    say(repo.root, "memory_sync.mode", "on-commit")
    with project.store("private").writing():
        config.store(project.layout.place("private"), "memory.author", "somebody else")
    project.reload()
    assert project.store("project").on_commit is True
    assert (project.author, project.finder is finder) == ("somebody else", False)
    assert author != project.author


def test_other_settings_make_another_project_and_leave_this_one(repo):
    project = Memsync.open(repo.root)
    other = project.with_settings(author="bench", stealth=True)
    assert (other.author, other.default_scope) == ("bench", "private")
    assert project.default_scope == "project"


def test_settings_of_the_user_that_cannot_be_read_are_an_error_at_once(repo, home):
    layout = locate(repo.root)
    path = layout.place("global").config
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("memory: [\n", encoding="utf-8")
    with pytest.raises(ConfigError):
        Memsync(layout)


def test_what_is_exported_is_there_and_memsync_is_the_project():
    assert all(getattr(memsync, name) for name in memsync.__all__)
    assert Memsync is Project
    assert Memsync.list is Memsync.memories


def test_a_scope_is_called_private_and_by_its_former_name(project):
    for number, how in enumerate(({"scope": "private"}, {"private": True}, {"scope": "stealth"})):
        entry = project.remember(f"The client of building {number} is Acme", **how).entry
        assert entry.scope == project.get(entry.id, "stealth").scope == "private"
        assert (
            project.forget(entry.id, "stealth").scope == project.restore(entry.id, "stealth").entry.scope == "private"
        )
    for scopes in ("private", ["stealth"]):
        assert {entry.scope for entry in project.memories(Filters(scopes=scopes))} == {"private"}
    assert project.store("stealth") is project.store("private")
    assert project.skills.create("mine", "Do it.\n", description="how to", scope="stealth").scope == "private"
    assert [skill.name for skill in project.skills.list(scope="stealth")] == ["mine"]


def test_a_scope_that_there_is_not_is_an_error_that_names_those_there_are(project):
    calls = (
        lambda: project.remember("alpha", scope="bogus"),
        lambda: project.get("mm-a", "bogus"),
        lambda: project.import_([], scope="bogus"),
        lambda: project.export("bogus"),
        lambda: project.memories(Filters(scopes=["bogus"])),
    )
    for call in calls:
        with pytest.raises(InvalidMemory, match="unknown scope 'bogus'; choose project, private or global"):
            call()


def test_an_update_of_what_was_read_is_refused_when_it_was_changed_since(project):
    read = project.remember("CI needs Node 20").entry.memory
    project.update(read.id, content="CI needs Node 22")
    with pytest.raises(Changed, match="was changed since you read it; nothing was written"):
        project.update(read.id, importance=0.9, was=read)
    now = project.get(read.id).memory
    assert (now.content, now.importance) == ("CI needs Node 22", read.importance)
    assert project.update(read.id, importance=0.9, was=now).status == "updated"


def test_a_list_that_is_cut_is_the_beginning_of_the_whole_in_any_order(repo):
    rows = [Memory(id=f"mm-{n:06d}", content=f"note {n}", importance=n % 3 / 2) for n in range(8)]
    with (project := Memsync.open(repo.root)).store("project").writing():
        project.store("project").add(rows)
    for order in (None, lambda entry: entry.memory.importance):
        whole = project.list_all(order=order)
        assert [entry.id for entry in project.list_all(limit=3, order=order)] == [entry.id for entry in whole][:3]
        assert whole[0].memory.importance == (1.0 if order is None else 0.0)


def test_after_a_purge_the_next_search_leaves_no_word_of_it(repo):
    with Memsync.open(repo.root) as project:
        project.remember("the zebra grazes")
        gone = project.remember("an okapi hides").entry
        project.finder.rebuild()
    with Memsync.open(repo.root) as project:
        project.purge(gone.id)
    with Memsync.open(repo.root) as project:
        assert len(project.search("zebra")) == 1
    assert not [path for path in (repo.root / ".gobby").rglob("*") if path.is_file() and b"okapi" in path.read_bytes()]


def test_one_text_where_a_list_is_meant_is_one_item_and_not_its_letters(repo):
    with Project.open(repo.root) as project:
        old = project.remember("Payments are settled by the night job", tags="payments").entry
        new = project.remember("Refunds wait for the bank's answer", links=f"see:{old.id}", supersedes=old.id).entry
        assert (old.memory.tags, new.memory.links, new.memory.supersedes) == (
            ("payments",),
            (f"see:{old.id}",),
            (old.id,),
        )
        assert project.update(new.id, tags="bank").entry.memory.tags == ("bank",)
        assert [hit.id for hit in project.memories(Filters(tags_any="bank"))] == [new.id]
        assert project.memories(Filters(tags_none="bank")) == project.memories(Filters(exclude=new.id)) == []
