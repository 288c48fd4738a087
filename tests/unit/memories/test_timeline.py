"""What the timeline shows of commits and of the work tree."""

from __future__ import annotations

from memsync import Memsync
from memsync.memories.log import read_stretch


def test_of_a_commit_that_brings_much_some_memories_are_told_and_the_others_counted(repo, line):
    repo.write_memories("".join(line(f"mm-{n:06}", f"number {n}") for n in range(500)))
    repo.git("add", ".gobby")
    repo.git("commit", "-q", "-m", "all")
    with Memsync.open(repo.root) as project:
        found = read_stretch(project)
    assert (found.commits, found.is_last) == (1, True)
    assert len(found.events) + found.left == 500
    assert 0 < found.left < 500


def test_of_a_merge_only_what_no_parent_has_is_told_and_before_it_stands_the_work_tree(repo, line):
    rows = {n: line(f"mm-{n:06}", f"the {n}th thing") for n in range(9)}

    def commit(*words):
        repo.write_memories("".join(rows.values()))
        repo.git("add", "-A")
        repo.git("commit", "-q", *words)

    commit("-m", "bring")
    repo.git("checkout", "-q", "-b", "side")
    rows[7] = line("mm-000007", "their seventh")
    commit("-m", "side")
    repo.git("checkout", "-q", "main")
    rows[7] = line("mm-000007", "our seventh")
    del rows[3]
    commit("-m", "ours")
    repo.git("merge", "-q", "-s", "ours", "--no-commit", "side")
    rows[7] = line("mm-000007", "both sevenths")
    commit("-m", "merge")
    rows[5] = line("mm-000005", "not committed")
    repo.write_memories("".join(rows.values()))
    with Memsync.open(repo.root) as project:
        found = read_stretch(project).events
    told = [(one.commit and one.commit.subject, one.kind, one.id[-1]) for one in found]
    assert told[:2] == [(None, "changed", "5"), ("merge", "changed", "7")]
    assert sorted(told[2:5]) == [("ours", "changed", "7"), ("ours", "removed", "3"), ("side", "changed", "7")]
    assert all(row[:2] == ("bring", "added") for row in told[5:])
