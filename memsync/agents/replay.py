"""Recorded sessions, played again in the order of time: which repeated failures would have met their memory, and when.

A *repeat* is a session in which a class of failure comes that an earlier session had. Nothing looks ahead: a memory
about a class is there once the first session with that class has ended. Each door (start, prompts, calls, failures)
has a ledger of its own, so that none hides what another gives.
"""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from memsync.clients.transcript_events import Call, Prompt, Result, Session, is_about
from memsync.learn.failures import Failure, Label, classify, classify_by
from memsync.records import Memory
from memsync.store.checkout import Checkout

_OUTCOMES: Final = (
    "in_time",
    "start",
    "prompt",
    "earlier_call",
    "call",
    "after_right",
    "after_wrong",
    "silent",
    "wrong_lines",
)
_UNKNOWN: Final = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)  # the time of an event that has none
SAME: Final = "same person"
ANOTHER: Final = "another person"


class Given(NamedTuple):
    """What a session was given at one door: the ids of the lines, how many characters, and at a tool why each line was."""

    ids: tuple[str, ...] = ()
    chars: int = 0
    why: Mapping[str, str] = {}


class Arm(Protocol):
    """Something that gives lines to sessions."""

    def ask(self, door: str, session: str, payload: Mapping[str, Any], when: dt.datetime) -> Given:
        """Return what *session* is given at *door* (an event of a hook) for *payload*."""

    def add(self, memories: Sequence[Memory]) -> None:
        """Let *memories* be there from now on."""


@dataclass(slots=True)
class Totals:
    """Counts over repeats, and over all calls; `lines` and `chars` are those given at calls that are no repeat."""

    repeats: int = 0
    in_time: int = 0
    start: int = 0
    prompt: int = 0
    earlier_call: int = 0
    call: int = 0
    after_right: int = 0
    after_wrong: int = 0
    silent: int = 0
    wrong_lines: int = 0
    calls: int = 0
    lines: int = 0
    chars: int = 0
    stale_lines: int = 0

    def outcome(self) -> dict[str, int]:
        """Return what became of a single repeat."""
        return {name: value for name, value in asdict(self).items() if name in _OUTCOMES}

    def as_dict(self) -> dict[str, Any]:
        """Return the counts, and those of lines per 100 calls."""
        per = 100 / self.calls if self.calls else 0.0
        return {
            **asdict(self),
            "lines_per_100_calls": round(self.lines * per, 2),
            "chars_per_100_calls": round(self.chars * per, 1),
        }


@dataclass(slots=True)
class Report:
    """What one arm gave: in all, of each kind of failure, where the first failure was the same person's or another's, and by which reason.

    `met` says of each repeat what became of it, in order; `before` counts the sessions that only taught.
    """

    arm: str
    totals: Totals = field(default_factory=Totals)
    before: Totals = field(default_factory=Totals)
    met: list[dict[str, Any]] = field(default_factory=list)
    by_kind: dict[str, Totals] = field(default_factory=lambda: defaultdict(Totals))
    by_person: dict[str, Totals] = field(default_factory=lambda: defaultdict(Totals))
    by_reason: dict[str, Totals] = field(default_factory=lambda: defaultdict(Totals))

    def as_dict(self) -> dict[str, Any]:
        """Return the totals and their splits."""
        reasons = {why: replace(one, calls=self.totals.calls) for why, one in self.by_reason.items() if why}
        splits = {"by_kind": self.by_kind, "by_person": self.by_person, "by_reason": reasons}
        return {
            "arm": self.arm,
            "totals": self.totals.as_dict(),
            "before": self.before.as_dict(),
            **{name: {key: one.as_dict() for key, one in sorted(rows.items())} for name, rows in splits.items()},
        }


class Step(NamedTuple):
    """One call of a session with what came before it, and the classes it failed by."""

    prompt: str | None
    call: Call
    result: Result | None
    failures: tuple[Failure, ...]

    @property
    def error(self) -> str | None:
        """What the call said as it failed; None if the client does not say that it did, or the user refused it."""
        return self.result.text if self.result and self.result.failed and not self.result.refusal else None


class Played(NamedTuple):
    """A session made ready: its steps, and the root of the repository on the machine it ran on."""

    session: Session
    steps: tuple[Step, ...]


class Tree:
    """What the repository at *root* had at a time on the branch that is checked out: files and folders."""

    def __init__(self, root: Path) -> None:
        self._git = Checkout(root)
        rows = (self._git.ask("log", "--first-parent", "--format=%ct %H") or "").splitlines()
        self._commits = [(int(seconds), name) for seconds, _, name in (row.partition(" ") for row in rows)]
        self._oldest = self._commits[-1][1] if self._commits else ""
        self._known: dict[str, frozenset[str]] = {}

    def paths(self, when: dt.datetime | None) -> frozenset[str]:
        """Return every file and folder of the last commit before *when*: of the oldest where all are later, of the newest without a time."""
        before = when.timestamp() if when else float("inf")
        commit = next((name for seconds, name in self._commits if seconds <= before), self._oldest)
        if not commit:
            return frozenset()
        if commit not in self._known:
            listed = (self._git.ask("ls-tree", "-r", "-z", "--name-only", commit) or "").split("\0")
            folders = {str(parent) for path in listed for parent in Path(path).parents}
            self._known[commit] = frozenset(filter(None, listed)) | folders
        return self._known[commit]


def find_missing(path: str, root: str, there: frozenset[str]) -> str:
    """Return the first part of *path* that is not *there*, relative to *root* of its machine; "" if none is, or it leads elsewhere."""
    if path.startswith(("/", "~")) or (len(path) > 1 and path[1] == ":"):
        inner = path.removeprefix(root.rstrip("/") + "/") if root else path
        if inner == path:
            return ""
        path = inner
    parts = os.path.normpath(path).split("/")
    if not there or parts[0] in ("..", "."):
        return ""
    for size in range(1, len(parts) + 1):
        if (part := "/".join(parts[:size])) not in there:
            return part
    return ""


def pair_calls(sessions: Iterable[Session], tree: Tree | None, labels: Sequence[Label] = ()) -> list[Played]:
    """Pair the calls of each session with their results, and tell by which classes they failed. Calls of subagents are left out."""
    played = []
    for session in sessions:
        results = {event.id: event for event in session.events if isinstance(event, Result)}
        steps, prompt = [], None
        there = tree.paths(session.start) if tree else frozenset()
        for event in session.events:
            if isinstance(event, Prompt) and not event.thread:
                prompt = event.text
            elif isinstance(event, Call) and not event.thread:
                result = results.get(event.id)
                found: Sequence[Failure] = ()
                if result is not None and labels:
                    found = classify_by(labels, event, result)
                elif result is not None:
                    found = classify(event, result, partial(find_missing, root=session.cwd, there=there))
                steps.append(Step(prompt, event, result, tuple(found)))
                prompt = None
        played.append(Played(session, tuple(steps)))
    return played


class Class(NamedTuple):
    """A class of failure with its members: how often, in which sessions (the oldest first), of how many people."""

    failure: Failure
    failures: int
    members: tuple[str, ...]
    people: int


def list_classes(played: Sequence[Played]) -> list[Class]:
    """Return the classes that came in more than one session, the most frequent first."""
    counts: Counter[str] = Counter()
    where: dict[str, list[Session]] = defaultdict(list)
    known: dict[str, Failure] = {}
    for one in played:
        for failure in (failure for step in one.steps for failure in step.failures):
            counts[failure.name] += 1
            known.setdefault(failure.name, failure)
            if one.session not in where[failure.name]:
                where[failure.name].append(one.session)
    found = [
        Class(known[name], counts[name], tuple(one.id for one in held), len({one.person for one in held}))
        for name, held in where.items()
        if len(held) > 1
    ]
    return sorted(found, key=lambda one: (-len(one.members), one.failure.name))


class Lines:
    """Memories by what they are about: which class each belongs to, and which are held back until that was met."""

    def __init__(self, memories: Sequence[Memory], classes: Iterable[Failure], labels: Sequence[Label] = ()) -> None:
        self.memories = {memory.id: memory for memory in memories}
        by_label = {label.name: set(label.memories) for label in labels}
        self._about: dict[str, set[str]] = {
            failure.name: by_label.get(failure.name)
            or {memory.id for memory in memories if is_about(memory.content, failure.words)}
            for failure in classes
        }
        self._words = {failure.name: failure.words for failure in classes}

    def of(self, name: str) -> set[str]:
        """Return the ids of the memories about the class *name*."""
        return self._about.get(name, set())

    def held_back(self) -> set[str]:
        """Return the ids of all memories that are about some class."""
        return set().union(*self._about.values())

    def add(self, memories: Iterable[Memory]) -> None:
        """Take in *memories* that were learned on the way."""
        for memory in memories:
            self.memories[memory.id] = memory
            for name, words in self._words.items():
                if is_about(memory.content, words):
                    self._about[name].add(memory.id)


Learn = Callable[[Session], Sequence[Memory]]


def replay(
    name: str,
    played: Iterable[Played],
    arm: Arm,
    lines: Lines,
    *,
    learn: Learn | None = None,
    tree: Tree | None = None,
    since: dt.datetime | None = None,
) -> Report:
    """Play sessions, in the order of time, to *arm*, and count what it gave from *since* on; those before only teach.

    *learn* returns the memories that a session leaves behind, which *arm* has by then.
    """
    report, earlier = Report(name), Report(name)
    waiting = lines.held_back()
    arm.add([memory for id_, memory in lines.memories.items() if id_ not in waiting])
    met: dict[str, str] = {}  # the class, and who met it first
    for one in played:
        counts = since is None or (one.session.start or _UNKNOWN) >= since
        _play(report if counts else earlier, one, arm, lines, met, tree)
        names = {failure.name for step in one.steps for failure in step.failures}
        due = {id_ for cls in names for id_ in lines.of(cls)} & waiting
        waiting -= due
        ended = one.session.events[-1].when or _UNKNOWN
        arm.add([lines.memories[id_]._replace(created_at=ended, updated_at=None) for id_ in sorted(due)])
        if learn is not None:
            lines.add(learn(one.session))
        for cls in names:
            met.setdefault(cls, one.session.person)
    report.before = earlier.totals
    return report


class _Had(NamedTuple):
    """What a session was given before a call, door by door."""

    start: tuple[str, ...]
    prompts: set[str]
    calls: dict[str, str]  # and why


def _play(report: Report, one: Played, arm: Arm, lines: Lines, met: Mapping[str, str], tree: Tree | None) -> None:
    session, about = one.session, {"cwd": one.session.cwd}
    when = session.start or _UNKNOWN
    started = arm.ask("session-start", f"{session.id}.start", {**about, "source": "startup"}, when)
    had, done = _Had(started.ids, set(), {}), set[str]()
    there = tree.paths(session.start) if tree else frozenset()
    for step in one.steps:
        when = step.call.when or when
        if step.prompt is not None:
            asked = {**about, "prompt": step.prompt}
            had.prompts.update(arm.ask("prompt", f"{session.id}.prompts", asked, when).ids)
        call = {**about, "tool_name": step.call.tool, "tool_input": step.call.given, "tool_use_id": step.call.id}
        given, after = arm.ask("pre-tool", f"{session.id}.calls", call, when), Given()
        if step.error is not None:
            after = arm.ask("post-tool", f"{session.id}.failures", {**call, "error": step.error}, when)
        repeats = [failure for failure in step.failures if failure.name in met and failure.name not in done]
        own = {id_ for failure in step.failures for id_ in lines.of(failure.name)}
        for failure in repeats:
            done.add(failure.name)
            counts = _judge(lines.of(failure.name), own, had, given, after)
            outcome = {"session": session.id, "class": failure.name, "line": step.call.line, **counts.outcome()}
            report.met.append(outcome)
            who = SAME if met[failure.name] == session.person else ANOTHER
            for totals in (report.totals, report.by_kind[failure.kind], report.by_person[who]):
                _add(totals, counts)
            early = {**had.calls, **given.why}
            report.by_reason[_find_reason(early, lines.of(failure.name))].in_time += counts.in_time
            report.by_reason[_find_reason(after.why, own)].after_right += counts.after_right
            report.by_reason[next(iter(after.why.values()), "")].after_wrong += counts.after_wrong
        had.calls.update({**dict.fromkeys(given.ids, ""), **given.why})
        ids = (*given.ids, *after.ids)
        report.totals.calls += 1
        report.totals.stale_lines += sum(_is_stale(lines.memories.get(id_), there) for id_ in ids)
        if not repeats:
            report.totals.lines += len(ids)
            report.totals.chars += given.chars + after.chars
            for why in (*given.why.values(), *after.why.values()):
                report.by_reason[why].lines += 1


def _find_reason(why: Mapping[str, str], right: Collection[str]) -> str:
    return next((text for id_, text in why.items() if id_ in right), "")


def _judge(right: set[str], own: set[str], had: _Had, given: Given, after: Given) -> Totals:
    """Return what became of one repeat: *right* are the lines about its class, *own* those about any class of its call."""
    counts = Totals(
        repeats=1,
        start=int(not right.isdisjoint(had.start)),
        prompt=int(not right.isdisjoint(had.prompts)),
        earlier_call=int(not right.isdisjoint(had.calls)),
        call=int(right.isdisjoint(had.calls) and not right.isdisjoint(given.ids)),
        after_right=int(not own.isdisjoint(after.ids)),
        after_wrong=int(bool(after.ids) and own.isdisjoint(after.ids)),
        wrong_lines=sum(id_ not in own for id_ in (*given.ids, *after.ids)),
    )
    counts.in_time = counts.earlier_call + counts.call
    counts.silent = int(not (counts.in_time or after.ids))
    return counts


def _add(totals: Totals, counts: Totals) -> None:
    for name, value in asdict(counts).items():
        setattr(totals, name, getattr(totals, name) + value)


def _is_stale(memory: Memory | None, there: frozenset[str]) -> bool:
    from memsync.memories.anchors import parse

    paths = [path for text in memory.anchors if (path := parse(text).path)] if memory else []
    return bool(there and paths) and not any(path.rstrip("/") in there for path in paths)
