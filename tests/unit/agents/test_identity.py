"""Which session a fork was made of."""

from __future__ import annotations

import os

import pytest

from memsync.agents.past import find_parent
from memsync.agents.session import RecallSession


@pytest.mark.parametrize(
    ("words", "parent"),
    [
        (["claude", "--resume", "aa", "--fork-session"], "aa"),
        (["claude", "-r", "aa", "--fork-session", "--continue"], "aa"),
        (["claude", "-p", "hi", "--continue", "--fork-session"], "latest"),
        (["claude", "-c", "--fork-session"], "latest"),
        (["claude", "--resume", "--fork-session"], ""),  # the user chose from a list
        (["claude"], ""),
    ],
)
def test_a_fork_is_of_the_session_that_the_command_line_of_its_client_means(project, tmp_path, words, parent):
    for age, name in enumerate(("mine", "latest", "older")):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("{}")
        os.utime(path, (1000 - age, 1000 - age))
    payload = {"session_id": "mine", "transcript_path": str(tmp_path / "mine.jsonl"), "client_words": words}
    assert find_parent(project, payload) == parent


def test_a_fork_within_a_client_is_of_the_session_in_the_same_process(project):
    project.remember("one")  # so that there is a store to note it in
    for session, pids in (("far", [7, 8]), ("near", [5, 6]), ("mine", [4, 6])):
        RecallSession(project, session).note_client(pids)
    assert (
        find_parent(project, {"session_id": "mine", "client_pids": [4, 6], "client_words": ["claude", "-r", "x"]})
        == "near"
    )
