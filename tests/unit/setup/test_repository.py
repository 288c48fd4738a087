"""Setting up a project, and taking it out of the work tree and back."""

from __future__ import annotations

import pytest

from memsync import Memsync
from memsync.errors import ConfigError, GitFailed, InvalidMemory, MemoryNotFound, UsageError
from memsync.git import attributes
from memsync.records import SCOPES
from memsync.setup import installing, repository
from memsync.store import config


def again(repo) -> Memsync:
    return Memsync.open(repo.root)


def texts(memsync: Memsync) -> list[tuple[str, str]]:
    found = [(entry.scope, entry.content) for entry in memsync.list()]
    return sorted(found, key=lambda each: (SCOPES.index(each[0]), each[1]))


def test_init_makes_what_git_needs_once_and_nothing_the_second_time(repo):
    assert len(repository.init(again(repo))) == 3
    assert repository.init(again(repo)) == []
    assert repo.status() == "?? .gitattributes\n?? .gobby/\n"
    assert (repo.root / ".gitattributes").read_bytes() == attributes.add_lines(b"")


def test_init_leaves_the_attributes_of_others_alone(repo):
    (repo.root / ".gitattributes").write_bytes(b"*.png binary\r\n*.txt text")
    repository.init(again(repo))
    assert (repo.root / ".gitattributes").read_bytes() == (b"*.png binary\r\n*.txt text\n" + attributes.add_lines(b""))


def test_stealth_takes_everything_uncommitted_out_of_the_work_tree(repo):
    with again(repo) as memsync:
        repository.init(memsync)
        repository.set_value(memsync, "memory.recall_limit", "3", is_global=False)
        memsync.remember("alpha")
        assert installing.turn_stealth(memsync, True, move=True)[-1] == f"nothing of memsync is left in {repo.root}"
    assert repo.status("--ignored") == ""
    memsync = again(repo)
    assert (texts(memsync), memsync.settings.recall_limit) == ([("private", "alpha")], 3)


def test_a_committed_file_stays_as_it_is_under_stealth(repo):
    with again(repo) as memsync:
        repository.init(memsync)
        memsync.remember("alpha")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "memories")
    with again(repo) as memsync:
        installing.turn_stealth(memsync, True, move=True)
        memsync.remember("beta")
    assert repo.status() == ""
    assert texts(again(repo)) == [("project", "alpha"), ("private", "beta")]


def test_what_was_forgotten_can_be_restored_after_the_move(repo):
    with again(repo) as memsync:
        gone = memsync.remember("alpha").entry
        memsync.remember("beta")
        memsync.forget(gone.id)
        installing.turn_stealth(memsync, True, move=True)
    with again(repo) as memsync:
        assert memsync.restore(gone.id).entry.content == "alpha"
        assert texts(memsync) == [("private", "alpha"), ("private", "beta")]


def test_a_move_there_and_back_leaves_one_of_each_and_what_was_private_to_restore_there(repo):
    with again(repo) as memsync:
        memsync.remember("alpha")
        installing.turn_stealth(memsync, True, move=True)
    with again(repo) as memsync:
        installing.turn_stealth(memsync, False, move=True)
    memsync = again(repo)
    assert texts(memsync) == [("project", "alpha")]
    replaced = {scope: len(store.replaced()) for scope, store in memsync.stores.items()}
    assert replaced == {"project": 0, "private": 1, "global": 0}


def test_a_move_takes_what_another_process_wrote_meanwhile(repo):
    mover, writer = again(repo), again(repo)
    id_ = mover.remember("alpha v1").entry.id
    writer.update(id_, content="alpha v2")
    installing.turn_stealth(mover, True, move=True)
    assert texts(again(repo)) == [("private", "alpha v2")]


def test_nothing_leaves_the_work_tree_when_git_does_not_say_whether_it_tracks_it(repo, monkeypatch):
    with again(repo) as memsync:
        memsync.remember("alpha")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "memories")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nonexistent")
        with pytest.raises(GitFailed, match="run `git status` there"):
            installing.turn_stealth(again(repo), True, move=True)
    assert repo.status() == ""
    assert not again(repo).settings.stealth


def test_lines_that_are_no_memories_keep_the_file_where_it_is(repo):
    repo.write_memories('{"id":"a","content":"alpha"}\n{broken\n')
    done = installing.turn_stealth(again(repo), True, move=True)
    assert done[-1] == f"{repo.memories} is kept, because it holds lines that are not memories"
    assert repo.memories.read_text() == "{broken\n"
    assert texts(again(repo)) == [("private", "alpha")]


def test_stealth_is_not_a_setting_to_be_set_in_the_work_tree(repo):
    with pytest.raises(UsageError, match="config --stealth on"):
        repository.set_value(again(repo), "memory_sync.stealth", "on", is_global=False)
    assert repo.status() == ""


def test_a_personal_setting_is_kept_out_of_the_work_tree_and_found_after_a_new_remote(repo):
    repository.set_value(again(repo), "memory.embedder", "model2vec:/m", is_global=False)
    repo.git("remote", "add", "origin", "https://example.org/a/b.git")
    assert again(repo).settings.embedder == "model2vec:/m"
    assert repo.status() == ""


def test_a_local_folder_that_is_a_link_is_not_used_and_another_takes_its_place(repo, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    repo.write_memories('{"id":"a","content":"alpha"}\n')
    (repo.memories.parent / "local").symlink_to(tmp_path / "elsewhere")
    with again(repo) as memsync:
        assert [hit.id for hit in memsync.recall("alpha")] == ["a"]
        memsync.remember("beta")
        assert "is a link, so nothing in it is used" in memsync.layout.notes[0]
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert b"beta" in repo.memories.read_bytes()


def test_a_restore_brings_no_copy_of_what_is_there_again(repo):
    with again(repo) as memsync:
        old = memsync.remember("alpha").entry.id
        memsync.forget(old)
        memsync.remember("Alpha")
        with pytest.raises(InvalidMemory, match="says the same already"):
            memsync.restore(old)


def test_a_moved_setting_neither_wins_over_a_private_one_nor_chooses_an_embedder(repo):
    with again(repo) as memsync:
        repository.init(memsync)
        (memsync.layout.place("project").config).write_text(
            "memory: {recall_limit: 3, embedder: 'openai:m@http://h/v1'}\n"
        )
        place = memsync.layout.place("private")
        with memsync.store("private").writing():
            config.store(place, "memory.recall_limit", 9)
    with again(repo) as memsync:
        installing.turn_stealth(memsync, True, move=True)
    assert (again(repo).settings.recall_limit, again(repo).settings.embedder) == (9, "builtin")
    assert repo.status() == ""


def test_a_restore_after_the_way_back_makes_no_second_copy_in_the_private_store(repo):
    with again(repo) as memsync:
        installing.turn_stealth(memsync, True, move=True)
    with again(repo) as memsync:
        id_ = memsync.remember("alpha").entry.id
        memsync.forget(id_)
    with again(repo) as memsync:
        installing.turn_stealth(memsync, False, move=True)
    with again(repo) as memsync:
        memsync.restore(id_)
    with again(repo) as memsync, pytest.raises(MemoryNotFound):
        memsync.restore(id_)
    assert len(texts(again(repo))) == 1


def test_a_setting_that_names_no_embedder_is_refused(repo):
    with pytest.raises(ConfigError, match="did you mean builtin"):
        repository.set_value(again(repo), "memory.embedder", "bultin", is_global=False)
