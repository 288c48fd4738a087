"""At a session's start the user's own memories have places, however many more important ones a team has."""

from __future__ import annotations

import json

import pytest
from helpers import GitRepo, memory_line, memsync

MINE = [("mm-mine0", "I am allergic to peanuts"), ("mm-mine1", "Answer in French"), ("mm-mine2", "No emoji, please")]


def start(repo: GitRepo) -> str:
    payload = {"session_id": "s1", "cwd": str(repo.root), "source": "startup"}
    said = memsync("hook", "session-start", "--client", "claude", cwd=repo.root, stdin=json.dumps(payload)).json
    return said["hookSpecificOutput"]["additionalContext"]


def write_team(repo: GitRepo, *, mine: int, bobs: int) -> None:
    lines = [memory_line(id_, text, author="Test User", type="preference", importance=0.7) for id_, text in MINE]
    lines += [
        memory_line(f"mm-fact{n}", f"My fact {n} is about service {n * 7}", author="Test User", importance=0.75)
        for n in range(mine)
    ]
    lines += [
        memory_line(f"mm-bobs{n}", f"The port of machine {n} is {4000 + n}", author="Bob", importance=0.8)
        for n in range(bobs)
    ]
    repo.write_memories("".join(lines))


@pytest.mark.parametrize("warm", [False, True])
def test_three_preferences_of_the_user_stand_beside_ninety_facts_of_a_colleague(repo: GitRepo, warm: bool):
    write_team(repo, mine=0, bobs=90)
    if warm:
        memsync("recall", "which port", cwd=repo.root)
    given = start(repo)
    assert [text in given for _, text in MINE] == [True, True, True]
    assert given.count("The port of machine") == 7


def test_of_the_users_own_the_preferences_come_first_and_half_of_the_places_stay_for_the_others(repo: GitRepo):
    write_team(repo, mine=9, bobs=90)
    given = start(repo)
    assert [text in given for _, text in MINE] == [True, True, True]
    assert (given.count("My fact"), given.count("The port of machine")) == (2, 5)


def test_where_all_are_the_users_own_the_most_important_are_given(repo: GitRepo):
    write_team(repo, mine=90, bobs=0)
    given = start(repo)
    assert (given.count("My fact"), sum(text in given for _, text in MINE)) == (10, 0)
