"""The log of all stores: with a limit or a moment the same rows as of the whole, and no more of the history is read."""

from __future__ import annotations

import random

import pytest
from helpers import GitRepo, memory_line, memsync

from memsync import Memsync
from memsync.memories.log import Row, read_log


def tell(row: Row) -> tuple:
    event = row.event
    return row.when, row.who, row.kind, row.scope, row.memory, event and (event.commit, event.before, event.after)


def commit(repo: GitRepo, lines: list[str], minute: int) -> None:
    repo.write_memories("".join(lines))
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", f"at {minute}", f"--date=@{1_760_000_000 + 60 * minute} +0000")


def grow(repo: GitRepo, draw: random.Random, *, skew: int = 0, branches: bool = False) -> None:
    """Commit additions, changes in both forms, removals and clean-ups, whose dates may go back, on branches that may meet again."""
    for number in range(24):
        lines = repo.memories.read_text().splitlines(True) if repo.memories.exists() else []
        known = sorted({line.split('"id": "')[1][:9] for line in lines})
        chosen, text = draw.choice(known or ["mm-aaaaaa"]), f"text {draw.randrange(99)} of {number}"
        new = memory_line(f"mm-{''.join(draw.choices('abcdefgh', k=6))}", text)
        changed = memory_line(chosen, text, updated_at=f"2026-01-01T00:{number:02}:00Z")
        kept = [line for line in lines if chosen not in line]
        lines = draw.choice([[*lines, new], [*lines, changed], [*kept, changed], [*kept, new], sorted([*kept, new])])
        commit(repo, lines, number + draw.randrange(-skew, skew + 1))
        if branches and number % 7 == 3:
            repo.git("checkout", "-q", "-b", f"b{number}", "HEAD~1")
        elif branches and number % 7 == 6:
            repo.git("merge", "-q", "-X", "ours", "-m", "meet", "main")
    with repo.memories.open("a") as file:
        file.write(memory_line("mm-zzzzzz", "not committed", updated_at="2026-01-02T00:00:00Z"))


@pytest.mark.parametrize("kind", [{}, {"skew": 9}, {"branches": True}, {"branches": True, "skew": 9}])
def test_the_newest_rows_are_those_of_the_whole_log(repo, kind):
    grow(repo, random.Random(5), **kind)
    with Memsync.open(repo.root) as project:
        project.remember("The vault is opened on Mondays", scope="private")
        whole, is_more = read_log(project)
        assert not is_more
        assert len(whole) > 20
        for limit in (1, 2, 3, 5, 8, 13, len(whole), 99):
            found, is_more = read_log(project, limit=limit)
            assert list(map(tell, found)) == list(map(tell, whole[:limit]))
            assert is_more == (len(whole) > limit)
        for since in [row.when for row in whole[::5]]:
            found, is_more = read_log(project, since, limit=4)
            later = [row for row in whole if row.when >= since]
            assert list(map(tell, found)) == list(map(tell, later[:4]))
            assert is_more == (len(later) > 4)


def test_no_older_version_is_read_than_the_rows_need(repo):
    for number in range(12):
        commit(repo, [memory_line("mm-aaaaaa", f"text {number}")], number)
    first = repo.git("rev-parse", "HEAD~11:.gobby/memories.jsonl").strip()
    (repo.root / ".git" / "objects" / first[:2] / first[2:]).unlink()
    with Memsync.open(repo.root) as project:
        found, is_more = read_log(project, limit=2)
        assert [row.event.before.content for row in found] == ["text 10", "text 9"]
        assert is_more
        assert [row.event for row in read_log(project)[0]] == [None]  # git cannot tell all of it


def test_what_a_memory_was_long_before_is_known_where_its_line_was_only_added_to(repo):
    lines = [memory_line("mm-aaaaaa", "the port is 8080")]
    for number in range(9):
        commit(repo, lines, number)
        lines.append(memory_line(f"mm-bbbbb{'abcdefghi'[number]}", f"text {number}"))
    commit(repo, [*lines, memory_line("mm-aaaaaa", "the port is 8081", updated_at="2026-01-01T00:00:00Z")], 10)
    with Memsync.open(repo.root) as project:
        changed = [row for row in read_log(project, limit=2)[0] if row.kind == "changed"]
    assert [(row.event.before.content, row.event.after.content) for row in changed] == [
        ("the port is 8080", "the port is 8081")
    ]


def test_the_command_says_that_there_is_more(repo):
    for number in range(9):
        commit(repo, [memory_line("mm-aaaaaa", f"text {number}")], number)
    lines = memsync("log", "-n", "2", cwd=repo.root).out.splitlines()
    assert len(lines) == 3
    assert lines[-1] == "… and more (-n 20 shows more)"
    assert len(memsync("log", cwd=repo.root).out.splitlines()) == 9
    told = memsync("log", "-n", "2", "--json", cwd=repo.root).json
    assert (told["count"], told["more"], len(told["changes"])) == (2, True, 2)
    assert memsync("log", "--scope", "global", cwd=repo.root).out == "nothing changed\n"


def test_where_the_older_commits_changed_no_memory_nothing_more_is_announced(repo):
    for number in range(12):
        commit(repo, ["\n"] * number, number)
    for number in range(3):
        commit(repo, [memory_line("mm-aaaaaa", f"text {number}")], 12 + number)
    found = {limit: memsync("log", "-n", str(limit), "--json", cwd=repo.root).json for limit in (2, 3, 4)}
    assert {limit: (said["count"], said["more"]) for limit, said in found.items()} == {
        2: (2, True),
        3: (3, False),
        4: (3, False),
    }
    assert "more" not in memsync("log", "-n", "3", cwd=repo.root).out
