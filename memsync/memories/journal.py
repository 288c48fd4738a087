"""Noting what memories were used for, what was decided on new texts, in batches, and what else a command changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Final, NamedTuple

from memsync.records import Scope
from memsync.store.state import Action, Dedup, State

_BATCH: Final = 500
SESSION_NAMES: Final = (
    "MEMSYNC_SESSION_ID",
    "CLAUDE_CODE_SESSION_ID",
)  # in an environment; the first that is set counts
_LATE: Final = 1.0  # seconds that a decision may wait for others before it is logged


class Use(NamedTuple):
    """What happened to a memory in which agent session, and the fingerprint by which it is known from then on."""

    scope: Scope
    id: str
    action: Action
    at: datetime
    known: str
    session: str | None = None


class Change(NamedTuple):
    """Something besides memories that a command changed, and the command that takes it back, "" where none does.

    `proposal`: the record of a candidate that was decided about, which `undo` lets wait again.
    """

    what: str
    way: str = ""
    proposal: str = ""


class Journal:
    """Collects uses and decisions; *state_of* returns where those of a scope are kept, and *env* may name the session.

    Never touches a tracked file. A process that is killed forgets some uses and nothing else.
    """

    def __init__(self, state_of: Callable[[Scope], State], env: Mapping[str, str]) -> None:
        self._state_of = state_of
        self._env = env
        self._session = ""
        self._is_agents = False
        self._uses: list[Use] = []
        self._decisions: list[tuple[Scope, Dedup]] = []
        self._logged_at = time.monotonic()
        self.changes: list[Change] = []  # since the last command was noted (memories/undoing.py)

    @property
    def is_full(self) -> bool:
        """Whether the next batch of uses should be written."""
        return len(self._uses) >= _BATCH

    @contextmanager
    def in_session(self, id_: str) -> Iterator[None]:
        """Work for the agent session *id_*, whichever one this process was started by."""
        before = self._session, self._is_agents
        self._session, self._is_agents = id_, True
        try:
            yield
        finally:
            self._session, self._is_agents = before

    @property
    def writer(self) -> str:
        """Who writes, as far as can be told: an agent, by a tool or a shell of its session, or else the user."""
        return "agent" if self._is_agents or self.session_id else "user"

    @property
    def session_id(self) -> str | None:
        """The agent session that this runs in, if somebody or the environment names one."""
        return self._session or next(filter(None, map(self._env.get, SESSION_NAMES)), None)

    def note_change(self, what: str, way: str = "", proposal: bytes = b"") -> None:
        """Have `memsync undo` know of a `Change`, so that it takes nothing older back in its place."""
        self.changes.append(Change(what, way, proposal.decode()))

    def add_use(self, use: Use) -> None:
        """Note *use*, which is the present session's; `write` writes it."""
        self._uses.append(use._replace(session=self.session_id))

    def add_decision(self, scope: Scope, row: Dedup) -> None:
        """Note a decision on a new text: at once if a different text was rejected, else in batches."""
        self._decisions.append((scope, row))
        is_late = time.monotonic() - self._logged_at > _LATE
        if row.decision in ("llm_reject", "fallback_reject") or is_late or len(self._decisions) >= _BATCH:
            self.write_decisions()

    def write_decisions(self) -> None:
        """Write the decisions that wait for the next batch."""
        decisions, self._decisions = self._decisions, []
        self._logged_at = time.monotonic()
        for scope in dict.fromkeys(scope for scope, _ in decisions):
            self._state_of(scope).log_dedup(row for where, row in decisions if where == scope)

    def write(self) -> None:
        """Write all that waits."""
        self.write_decisions()
        uses, self._uses = self._uses, []
        for scope in dict.fromkeys(use.scope for use in uses):
            mine = [use for use in uses if use.scope == scope]
            state = self._state_of(scope)
            counted = [(use.id, use.at) for use in mine if use.action in ("accessed", "injected")]
            state.record_use(counted, {use.id: use.known for use in mine})
            for session in dict.fromkeys(use.session for use in mine):
                if session:
                    rows = [(use.id, use.action, use.at) for use in mine if use.session == session]
                    state.record_session(session, rows)
