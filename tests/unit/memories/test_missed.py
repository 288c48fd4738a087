"""A cache that a short command missed is made by another process, once."""

from __future__ import annotations

import json

from helpers import memsync, until

from memsync.memories.missed import is_missed
from memsync.memories.project import Project


def lines(count: int) -> str:
    rows = ({"id": f"mm-{n:06d}", "content": f"note {n} " + "of what was decided " * 10} for n in range(count))
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_list_of_many_memories_has_the_cache_made_for_the_next(repo):
    repo.write_memories(lines(1_500))
    first = memsync("list", "--limit", "2", cwd=repo.root)
    until((repo.root / ".gobby/local/index/index.bin").exists)
    assert memsync("list", "--limit", "2", cwd=repo.root).out == first.out
    assert repo.git("status", "--porcelain", "--ignored=no", ".gobby/local") == ""


def test_it_is_missed_once_for_the_same_files(repo):
    repo.write_memories(lines(1_500))
    with Project.open(repo.root) as project:
        assert [is_missed(project), is_missed(project)] == [True, False]
        repo.write_memories(lines(1_501))
        assert is_missed(project)


def test_it_is_not_missed_where_it_is_there_or_reading_is_quick_or_none_can_be_kept(repo):
    repo.write_memories(lines(10))
    with Project.open(repo.root) as project:
        assert not is_missed(project)
    repo.write_memories(lines(1_500))
    with Project.open(repo.root) as project:
        project.recall("decided")
        assert not is_missed(project)
    repo.write_memories(lines(1_501))
    (repo.root / ".gobby/local/index").rename(repo.root / ".gobby/local/other")
    (repo.root / ".gobby/local/index").write_text("")
    with Project.open(repo.root) as project:
        assert not is_missed(project)
