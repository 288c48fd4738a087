"""Whatever is remembered, merged, reversed and undone: no text that was ever accepted is lost."""

from __future__ import annotations

import random
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from helpers import sample
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memsync import Memsync
from memsync.errors import MemsyncError
from memsync.format.jsonl import read_lines
from memsync.janitor import review
from memsync.janitor.plan import Archive, Merge
from memsync.janitor.run import apply
from memsync.janitor.runs import undo
from memsync.janitor.survey import survey
from memsync.records import Memory, format_time, normal_form

pytestmark = pytest.mark.slow

HEADS = ("Run make fmt before every commit", "The API listens on port 8080", "Never push to main on a Friday")
TAILS = ("", ".", " again", "; CI rejects the rest", " and use TLS")
TEXTS = st.builds(
    lambda head, tail, up: (head + tail).upper() if up else head + tail,
    *map(st.sampled_from, (HEADS, TAILS)),
    st.booleans(),
)
PICK = st.integers(0, 10**6)


class Tidying(RuleBasedStateMachine):
    """A project that people, other tools and the janitor write to; `accepted` has every text that was taken."""

    @initialize()
    def begin(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("os.urandom", random.Random(0).randbytes)
        self.root = Path(tempfile.mkdtemp())
        self.now = datetime(2026, 1, 15, tzinfo=UTC)
        env = {"MEMSYNC_HOME": str(self.root / "home")}
        self.project = Memsync.open(self.root, clock=self.tick, env=env)
        self.accepted: set[str] = set()
        self.count = 0

    def tick(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    @property
    def store(self):
        return self.project.store("project")

    def some_id(self, pick: int) -> str | None:
        ids = sorted(self.store.memories())
        return ids[pick % len(ids)] if ids else None

    @rule(text=TEXTS)
    def remember(self, text: str) -> None:
        self.accepted.add(normal_form(text))
        self.project.remember(text)

    @rule(text=TEXTS)
    def arrive_by_git(self, text: str) -> None:
        """Take in a line as a merge of two branches leaves it: nobody looked for duplicates."""
        self.count += 1
        with self.store.writing():
            self.store.add([Memory(f"mm-git{self.count}", text, tags=(f"t{self.count}",), created_at=self.tick())])
        self.accepted.add(normal_form(text))

    @rule(pick=PICK, tag=st.sampled_from(["x", "y"]))
    def edit(self, pick: int, tag: str) -> None:
        if id_ := self.some_id(pick):
            with self.store.writing():
                self.store.update({id_: {"tags": [tag], "updated_at": format_time(self.tick())}})

    @rule()
    def tidy(self) -> None:
        apply(self.project, survey(self.project, ["dedup", "review"]).steps)

    @rule(one=PICK, other=PICK, text=st.none() | TEXTS)
    def merge_by_hand(self, one: int, other: int, text: str | None) -> None:
        """Do what an edited plan may say, however wrong."""
        keep, drop = self.some_id(one), self.some_id(other)
        if keep and drop and keep != drop:
            report = apply(self.project, [Merge("project", keep, (drop,), content=text)])
            if text and report.count("done"):
                self.accepted.add(normal_form(text))

    @rule(pick=PICK)
    def archive(self, pick: int) -> None:
        if id_ := self.some_id(pick):
            apply(self.project, [Archive("project", id_)])

    @rule()
    def take_back(self) -> None:
        try:
            undo(self.project)
        except MemsyncError as error:
            assert "no run of the janitor is left" in str(error)  # noqa: PT017

    @rule(pick=PICK)
    def reverse(self, pick: int) -> None:
        rows = [row for row in review.rows(self.project) if row.decision.rejected]
        if rows:
            row = rows[pick % len(rows)]
            review.reverse(self.project, row)
            assert normal_form(row.rejected_text()) in self.live()

    @rule()
    def export(self) -> None:
        self.project.close()

    def live(self) -> set[str]:
        return {normal_form(memory.content) for memory in self.store.memories().values()}

    @invariant()
    def every_text_is_there_or_can_be_brought_back(self) -> None:
        if not hasattr(self, "project"):
            return
        kept = self.live()
        history = self.root / ".gobby" / "local" / "history.jsonl"
        if history.exists():
            kept |= {normal_form(line.memory.content) for line in read_lines(history.read_bytes()) if line.memory}
        kept |= {normal_form(row.rejected_text()) for row in review.rows(self.project) if row.decision.rejected}
        assert self.accepted <= kept

    def teardown(self) -> None:
        if hasattr(self, "root"):
            self.patch.undo()
            shutil.rmtree(self.root, ignore_errors=True)


Tidying.TestCase.settings = settings(
    max_examples=sample(40), stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestTidying = Tidying.TestCase
