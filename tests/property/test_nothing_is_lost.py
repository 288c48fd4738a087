"""Whatever is remembered, merged, superseded, forgotten, restored, reversed and undone: no accepted text is gone for good."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from helpers import sample
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from memsync import Memsync
from memsync.errors import InvalidMemory, MemsyncError
from memsync.format.codec import decode
from memsync.format.jsonl import read_lines
from memsync.janitor import review, run, runs, survey

MEMORY_DISK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

# Copies, more and less of the same, contradictions and rewordings of each other.
TEXTS = (
    "The tests need docker",
    "the tests need `docker`.",
    "The tests need docker; start it with `make up`.",
    "The tests need docker; start it with `make up` on port 2375.",
    "The tests do not need docker",
    "The tests need podman",
    "Start docker with `make up`, which the tests need",
    "Docker is needed by the tests",
    "Klara reviews Jan's pull requests",
    "Jan reviews Klara's pull requests",
)
texts = st.sampled_from(TEXTS)


class NothingIsLost(RuleBasedStateMachine):
    """Every text that a call stored is in the file, in the local history or in the dedup log ever after."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("os.urandom", random.Random(0).randbytes)
        self.top = Path(tempfile.mkdtemp(prefix="memsync-lost-", dir=MEMORY_DISK))
        (self.top / "repo" / ".gobby").mkdir(parents=True)
        (self.top / "home").mkdir()
        (self.top / "home" / "config.yaml").write_text("memory:\n  author: A. Person\n  embedder: none\n")
        self.now = datetime(2026, 1, 15, 12, tzinfo=UTC)
        self.project = Memsync.open(
            self.top / "repo", clock=lambda: self.now, env={"MEMSYNC_HOME": str(self.top / "home")}
        )
        self.accepted: set[str] = set()

    def teardown(self) -> None:
        self.patch.undo()
        shutil.rmtree(self.top, ignore_errors=True)

    @property
    def ids(self) -> list[str]:
        return sorted(self.project.store("project").memories())

    def pick(self, number: int) -> str:
        return self.ids[number % len(self.ids)]

    @rule(text=texts, number=st.none() | st.integers(0, 9))
    def remember(self, text: str, number: int | None) -> None:
        self.now += timedelta(seconds=1)
        replaced = [self.pick(number)] if number is not None and self.ids else []
        done = self.project.remember(text, supersedes=replaced)
        is_replaced = "was replaced by" in done.reason
        assert done.entry.memory.archived_at is None or is_replaced or replaced == [done.entry.id]
        if done.status != "exists":
            self.accepted.add(text if done.status in ("created", "updated") else done.entry.content)

    @precondition(lambda self: self.ids)
    @rule(text=texts, number=st.integers(0, 9))
    def update(self, text: str, number: int) -> None:
        self.now += timedelta(seconds=1)
        try:
            self.accepted.add(self.project.update(self.pick(number), content=text).entry.content)
        except InvalidMemory:
            assert any(entry.content.lower() == text.lower() for entry in map(self.project.get, self.ids))

    @precondition(lambda self: self.ids)
    @rule(number=st.integers(0, 9))
    def forget(self, number: int) -> None:
        self.project.forget(self.pick(number))

    @rule(number=st.integers(0, 9))
    def restore(self, number: int) -> None:
        store = self.project.store("project")
        known = sorted({*store.memories(), *store.replaced()})
        if known:
            self.now += timedelta(seconds=1)
            with suppress(MemsyncError):  # there is no earlier version, or another memory says the same now
                self.project.restore(known[number % len(known)])

    @rule(number=st.integers(0, 9))
    def reverse(self, number: int) -> None:
        self.project.close()
        rows = [row for row in review.rows(self.project) if row.decision.rejected]
        if rows:
            review.reverse(self.project, rows[number % len(rows)])

    @rule()
    def tidy(self) -> None:
        self.now += timedelta(seconds=1)
        run.apply(self.project, survey.survey(self.project, ["dedup"]).steps)

    @rule()
    def take_back(self) -> None:
        self.now += timedelta(seconds=1)
        with suppress(MemsyncError):  # there was no run
            runs.undo(self.project)

    @invariant()
    def every_accepted_text_can_be_had(self) -> None:
        self.project.close()
        store = self.project.store("project")
        held = {memory.content for memory in store.memories().values()}
        for name in ("history.jsonl", "history.1.jsonl"):
            path = store.place.local / name
            held |= {
                line.memory.content for line in read_lines(path.read_bytes() if path.exists() else b"") if line.memory
            }
        rejected = (row.rejected for row in self.project.state("project").dedup_log() if row.rejected)
        held |= {memory.content for raw in rejected if (memory := decode(raw).memory)}
        assert self.accepted <= held


NothingIsLost.TestCase.settings = settings(
    max_examples=sample(25), stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestNothingIsLost = NothingIsLost.TestCase
