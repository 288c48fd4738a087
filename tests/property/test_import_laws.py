"""What comes of a file that is imported at once is what comes of its items one after another."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memsync import Memsync
from memsync.format.codec import decode
from memsync.memories.imports import Candidate, Outcome
from memsync.records import Memory

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
PORT = "the staging database of the shop listens on port 5433"
TEXTS = (
    PORT,
    f"  {PORT.upper()} ",
    f"{PORT}, and the replica behind it on port 5434 since the last move",
    PORT.replace("5433", "6543"),
    "on port 5433 the shop has its staging database listen",
    "Decision: the staging database of the shop listens on port 5433 (observed in turn 12)",
    "release notes are written by hand on Fridays",
    "release notes are written by hand on Fridays, by Marta",
    "release notes are not written by hand on Fridays",
    "the password of the shop is Tr0ub4dor&3x",
    "A is the service that B calls",
    "",
)
memories = st.fixed_dictionaries(
    {
        "id": st.sampled_from(("", "", "", "mm-one", "mm-two")),
        "content": st.sampled_from(TEXTS),
        "tags": st.sampled_from(((), ("db",), ("db", "ops"))),
        "cues": st.sampled_from(((), ("postgres",))),
        "created_at": st.none() | st.integers(-3, 3).map(lambda days: NOW + timedelta(days=days)),
    }
).map(lambda fields: Memory(**fields))


def take(directory: Path, files: list[list[Candidate]]) -> tuple[list[Outcome], list[Memory | None]]:
    """Import *files* one after another, and return what became of each item, and what the file says: an edit of a stored line spells defaults out, and is a tick later."""
    (directory / ".gobby").mkdir(parents=True)
    env = {"HOME": str(directory / "home"), "MEMSYNC_HOME": str(directory / "home")}
    with pytest.MonkeyPatch.context() as patch:
        drawn = count()
        patch.setattr(os, "urandom", lambda size: next(drawn).to_bytes(size, "big"))
        with Memsync.open(directory, clock=lambda: NOW, env=env) as project:
            outcomes = [one for items in files for one in project.import_(items).outcomes]
            project.export("project")
    path = directory / ".gobby" / "memories.jsonl"
    memories = (decode(line).memory for line in path.read_bytes().splitlines()) if path.exists() else ()
    return outcomes, [memory and memory._replace(updated_at=None) for memory in memories]


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(memories, min_size=1, max_size=8))
def test_a_file_at_once_comes_to_what_its_items_one_by_one_do(tmp_path_factory, memories):
    directory = tmp_path_factory.mktemp("imports", numbered=True)
    items = [Candidate(f"file:{number}", memory) for number, memory in enumerate(memories, 1)]
    assert take(directory / "whole", [items]) == take(directory / "single", [[item] for item in items])
    shutil.rmtree(directory)
