"""Taking all of memsync out of a repository takes nothing else, and nothing that is not in the copy."""

from __future__ import annotations

import pytest

from memsync import Memsync
from memsync.errors import MemsyncError
from memsync.memories.reach import note_known
from memsync.setup import purging


def test_what_another_tool_keeps_beside_the_memories_stays(project, repo):
    project.remember("CI needs Node 20")
    tasks = repo.root / ".gobby" / "tasks.jsonl"
    tasks.write_text("{}\n")
    purging.purge(purging.list_doomed(project))
    assert sorted(path.name for path in (repo.root / ".gobby").iterdir()) == ["tasks.jsonl"]
    tasks.unlink()
    project.stores.refresh()
    assert [one.path for one in purging.list_doomed(project)] == [repo.root / ".gobby"]


def test_nothing_of_the_repository_stays_in_the_home_and_what_is_of_others_does(project, repo, home):
    project.remember("CI needs Node 20")
    project.remember("the client is Acme", scope="private")
    note_known(project)
    other = home / ".gobby" / "repositories" / "0"
    other.write_text("/elsewhere\n")
    purging.purge(purging.list_doomed(project))
    assert [path for path in (home / ".gobby").rglob("*") if path.parent.name in ("projects", "repositories")] == [
        other
    ]


def test_without_a_copy_of_every_line_nothing_is_removed(repo, line):
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20") + "{ half a line\n")
    with (
        Memsync.open(repo.root) as project,
        pytest.raises(MemsyncError, match=r"memories\.jsonl:2: .*nothing was removed"),
    ):
        purging.save_copies(project)
