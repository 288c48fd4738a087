"""`source_type` says who wrote a memory, by the way it came in: what the user wrote is never archived by itself."""

from __future__ import annotations

import pytest

from memsync import Memsync
from memsync.agents.actions import ACTIONS, Turn
from memsync.agents.session import RecallSession
from memsync.learn.candidates import Candidates
from memsync.learn.extract import extract
from memsync.transfer.readers import read_bytes

TEXT = "We always deploy the billing service from the release branch."


def learn(project, file):
    """Approve what a file of notes holds."""
    file.write_text(f"- {TEXT}\n")
    extract(project, file)
    waiting = Candidates(project)
    waiting.approve([one.memory.id for one in waiting.memories()])


@pytest.mark.parametrize(
    ("come_in", "writer"),
    [
        (lambda project, **_: project.remember(TEXT), "user"),
        (lambda server, **_: server.call("remember", content=TEXT), "agent"),
        (lambda shell, **_: shell.remember(TEXT), "agent"),
        (lambda turn, **_: ACTIONS["save_memory"].do(turn, {"content": TEXT}), "session"),
        (lambda project, file, **_: learn(project, file), "inferred"),
        (lambda project, **_: project.import_(read_bytes(f"- {TEXT}\n".encode(), "notes.md")), "import"),
    ],
    ids=["user", "tool", "shell of a session", "workflow", "learned", "import"],
)
def test_who_wrote_is_known_by_the_way_in_and_what_a_person_repeats_is_theirs(
    project, server, repo, clock, tmp_path, come_in, writer
):
    shell = Memsync.open(repo.root, clock=clock, env={"CLAUDE_CODE_SESSION_ID": "s1"})
    turn = Turn(RecallSession(project, "s1"), {})
    come_in(project=project, server=server, shell=shell, turn=turn, file=tmp_path / "notes.md")
    project.stores.refresh()
    (entry,) = project.memories()
    assert entry.memory.source_type == writer
    assert project.remember(entry.content).entry.memory.source_type == "user"
