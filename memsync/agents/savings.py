"""What memory would have saved: the failures of recorded sessions that came back, what they cost, and a memory for each."""

from __future__ import annotations

import datetime as dt
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from memsync.agents.memory_tests import ask, open_as_cloned
from memsync.agents.replay import Given, Lines, Played, Step, find_missing, replay
from memsync.agents.trials import Hooks, Track, Trial
from memsync.clients.transcript_files import Archive
from memsync.format.cases import Case
from memsync.learn.candidates import Proposal
from memsync.learn.extract import place
from memsync.learn.failures import Failure, program_of
from memsync.learn.repairs import Tried, explain
from memsync.learn.said import Lesson
from memsync.learn.transcripts import list_here
from memsync.memories import commands
from memsync.memories.naming import Named, name_all
from memsync.memories.project import Project
from memsync.records import Memory, derive_id, format_time
from memsync.safety import secrets
from memsync.safety.secrets import tidy
from memsync.system.home import find_home
from memsync.system.texts import count, one_line

_SHOWN: Final = ("id", "content", "triggers", "anchors")
_PAUSE: Final = 300.0  # seconds that count of a longer pause: the user was away
_TRIES: Final = 20  # calls after a failure that are looked at
_LONGEST: Final = 120  # characters of what identifies a class, or of a linter's words, in a memory
_ASKED: Final = 300  # of a command or path that is asked for in a memory test
_HOME: Final = re.compile(r"~\w*/|/(?:home|Users|root)/|:[\\/]*Users", re.IGNORECASE)
_WORDING: Final = {  # what a memory says of each kind of name, its trigger, its anchor: {0} is the name, {1} the command
    "path": ("There is no `{0}` in this repository", "not: {0}", ""),
    "name": ("There is no command, script or target `{0}` in this project", "not: {0}", ""),
    "flag": ("`{1}` has no option `{0}`", "", "$ {1}"),
    "rule": ("The linter's rule `{0}` fails here again and again", "fails: {0}", ""),
    "module": ("The module `{0}` is not installed where the agents work", "fails: {0}", ""),
    "program": ("The program `{0}` is not installed where the agents work", "", "$ {0}"),
}


class Miss(NamedTuple):
    """One failing call: its session, and the calls that it cost."""

    played: Played
    at: int
    cost: range

    @property
    def step(self) -> Step:
        """The failing call itself."""
        return self.played.steps[self.at]

    def is_since(self, when: dt.datetime | None) -> bool:
        """Tell whether its session began at *when* or later."""
        start = self.played.session.start
        return when is None or (start is not None and start >= when)


@dataclass(frozen=True, slots=True)
class Saving:
    """A class of failure that came back: every time after its first session, what that cost, and the memory that is proposed.

    `in_time`: at how many of the sessions in which it came back that memory would have been given before the failing call, or with it.
    """

    failure: Failure
    first: Miss
    again: tuple[Miss, ...]
    calls: int
    minutes: float
    memory: Memory | None
    in_time: int = 0

    @property
    def sessions(self) -> int:
        """In how many sessions it came back."""
        return len({one.played.session.id for one in self.again})

    @property
    def people(self) -> tuple[str, ...]:
        """Who met it, by opaque marks; "" is the user of this machine."""
        return tuple(sorted({one.played.session.person for one in (self.first, *self.again)}))

    def as_dict(self, *, words: bool) -> dict[str, Any]:
        """Return the figures and the memory; with *words* also what was called and said, in which sessions, and by whom."""
        said = {"who": list(self.people), "misses": [_describe(one) for one in (self.first, *self.again)]}
        return {
            "class": self.failure.name,
            "kind": self.failure.kind,
            "times": len(self.again),
            "sessions": self.sessions,
            "people": len(self.people),
            "calls": self.calls,
            "minutes": round(self.minutes, 1),
            "first": _spell_time(self.first),
            "last": _spell_time(self.again[-1]),
            "in_time": self.in_time,
            "about": about.content if (about := _write(self.failure)) else "",
            "memory": self.memory and {name: getattr(self.memory, name) for name in _SHOWN},
            **(said if words else {}),
        }


def _spell_time(miss: Miss) -> str:
    when = miss.step.call.when
    return format_time(when) if when else ""


def _describe(miss: Miss) -> dict[str, Any]:
    call, error = miss.step.call, miss.step.result.text if miss.step.result else ""
    given = call.command or next((str(one) for one in call.given.values() if isinstance(one, str)), "")
    about = {"session": one_line(miss.played.session.id), "line": call.line, "tool": one_line(call.tool)}
    return {**about, "call": one_line(given, 300), "said": one_line(error[-400:])}


class Savings(NamedTuple):
    """All that came back, what cost most first; `calls` and `minutes` count a call once that failed by two classes."""

    found: list[Saving]
    calls: int
    minutes: float

    def as_dict(self, *, words: bool) -> dict[str, Any]:
        """Return the sums, and each class as `Saving.as_dict`."""
        return {
            "repeats": sum(one.sessions for one in self.found),
            "in_time": sum(one.in_time for one in self.found),
            "cost": {"calls": self.calls, "minutes": round(self.minutes, 1)},
            "back": [one.as_dict(words=words) for one in self.found],
        }


def list_sessions(project: Project) -> list[Path]:
    """Return where sessions of the project's repository are: this machine's transcripts, and the repository if it has checkpoints."""
    root = project.layout.git.root if project.layout.git else None
    return [*list_here(project), *([root] if root and Archive(root).ref else [])]


def find_savings(trial: Trial, since: dt.datetime | None = None) -> Savings:
    """Return the failures of *trial* that came back from *since* on, and a memory for each whose cause is plain."""
    misses: dict[str, list[Miss]] = defaultdict(list)
    for one in trial.played:
        for at, step in enumerate(one.steps):
            for failure in step.failures:
                misses[failure.name].append(Miss(one, at, _follow(one.steps, at)))
    found, spent = [], dict[tuple[str, int], float]()
    for known in trial.classes:
        first, *rest = misses[known.failure.name]
        again = [one for one in rest if one.played is not first.played and one.is_since(since)]
        if again:
            cost = {(one.played.session.id, at): _measure(one.played.steps, at) for one in again for at in one.cost}
            spent |= cost
            memory = _propose(known.failure, [first, *again], trial)
            found.append(Saving(known.failure, first, tuple(again), len(cost), sum(cost.values()) / 60, memory))
    found.sort(key=lambda one: (-one.calls, one.failure.name))
    return Savings(found, len(spent), sum(spent.values()) / 60)


class _BeforeCalls(Hooks):
    """The hook before a tool alone: no other gives anything in time."""

    def ask(self, door: str, session: str, payload: Mapping[str, Any], when: dt.datetime) -> Given:
        return super().ask(door, session, payload, when) if door == "pre-tool" else Given()


def try_out(trial: Trial, savings: Savings, since: dt.datetime | None, track: Track) -> Savings:
    """Return *savings* with what memsync's own hook would have given in time, had each memory been there from its first session on."""
    proposed = {one.failure.name: _complete(one.memory, trial.repository) for one in savings.found if one.memory}
    if not proposed:
        return savings
    played = []
    for one in trial.played:
        failing = [at for at, step in enumerate(one.steps) if any(each.name in proposed for each in step.failures)]
        if failing:
            played.append(one._replace(steps=one.steps[: failing[-1] + 1]))
    counts: Counter[str] = Counter()
    with _BeforeCalls(trial.repository) as hooks:
        lines = Lines(list(proposed.values()), [one.failure for one in trial.classes])
        for row in replay("proposed", track(played), hooks, lines, since=since).met:
            counts[row["class"]] += row["in_time"]
    return savings._replace(found=[replace(one, in_time=counts[one.failure.name]) for one in savings.found])


def _complete(memory: Memory, root: Path | None) -> Memory:
    """Return *memory* as approving it would store it, with the triggers and anchors that its text names."""
    with Named(memory.content, root) as named:
        return name_all(memory, named)


def _follow(steps: Sequence[Step], at: int) -> range:
    """Return what the failure at *at* cost: the calls up to the next of that program or tool that worked.

    The call alone, where none did within 20 calls, or before the user said something.
    """
    what = program_of(steps[at].call) or steps[at].call.tool
    for later in range(at + 1, min(at + 1 + _TRIES, len(steps))):
        step = steps[later]
        if step.prompt is not None:
            break
        has_worked = step.result is not None and step.error is None and not step.failures
        if has_worked and (program_of(step.call) or step.call.tool) == what:
            return range(at, later)
    return range(at, at + 1)


def _measure(steps: Sequence[Step], at: int) -> float:
    """Return the seconds from call *at* to the next, or to its own result where the user spoke first."""
    step, following = steps[at], steps[at + 1] if at + 1 < len(steps) else None
    end = following.call if following and following.prompt is None else step.result
    if not (step.call.when and end and end.when):
        return 0.0
    return min(max((end.when - step.call.when).total_seconds(), 0.0), _PAUSE)


def list_questions(savings: Savings, project: Project) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the calls that failed again and for which *project* gives a memory about it: door and text, and the ids of these."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    with open_as_cloned(project) as cloned:
        cloned.stores.refresh()
        memories = cloned.store("project").memories()
        for one in savings.found:
            for door, said in filter(None, (_ask_again(miss, one.failure) for miss in one.again)):
                given = ask(cloned, Case(0, {door: said}))
                if ids := tuple(id_ for id_ in given if _is_about(memories.get(id_), one.failure)):
                    found[door, said] = ids
    return found


def _ask_again(miss: Miss, failure: Failure) -> tuple[str, str] | None:
    """Return the failing call as a memory test asks it: by the command of it that failed, or by its file in the repository.

    None where others would read of this machine or its user by it, or nobody would read it at all.
    """
    call, root = miss.step.call, miss.played.session.cwd.rstrip("/") + "/"
    parts = (shlex.join(commands.strip(words)) for words in commands.split(call.command))
    door, said = "command", next((one for one in parts if any(word in one for word in failure.words)), "")
    if not call.command:
        door, said = "path", str(call.given.get("file_path") or "")
        said = said if said.startswith(root) and root != "/" else ""
    said = said.replace(root, "") if root != "/" else said
    is_own = _HOME.search(said) or tidy(said, home=find_home()) != said
    return (door, said) if said and len(said) <= _ASKED and said.isprintable() and not is_own else None


def _is_about(memory: Memory | None, failure: Failure) -> bool:
    said = " ".join((memory.content, *memory.triggers, *memory.anchors)) if memory else ""
    return any(word in said for word in failure.words)


def list_proposals(savings: Savings) -> list[Proposal]:
    """Return the memories for the review queue, each with what it would have saved."""
    return [
        Proposal(
            memory=one.memory,
            rationale=f"failed again {count(len(one.again), 'time')} in {count(one.sessions, 'session')}, {count(one.calls, 'call')}",
            where=f"{one.memory.source_session_id or ''}:{one.first.step.call.line}",
        )
        for one in savings.found
        if one.memory
    ]


def _propose(failure: Failure, misses: Sequence[Miss], trial: Trial) -> Memory | None:
    """Return what the sessions show to work instead, else that it fails; None where the cause is gone, or a secret would be told."""
    there = trial.tree.paths(None) if trial.tree else frozenset[str]()
    about = _write(failure)
    if about is None or failure.words[0] in there:
        return None
    told = [lesson for one in misses if (lesson := _explain(failure, one, trial))]
    texts = [one.text for one in told]
    best = max(told, key=lambda one: texts.count(one.text), default=None)
    content = best.text if best else about.content
    memory = about._replace(
        id=derive_id(content), content=content, source_session_id=misses[0].played.session.id[:64] or None
    )
    memory = memory._replace(triggers=best.triggers, anchors=best.anchors) if best else memory
    return None if secrets.scan(content) else memory


def _write(failure: Failure) -> Memory | None:
    """Return that *failure* is to be expected, as a memory; None where its name is no plain short word."""
    what, _, rest = failure.name.partition(" ")
    if len(rest) > _LONGEST or not rest.isprintable() or "`" in rest:
        return None
    content, trigger, anchor = (part.format(failure.words[0], rest.partition(" ")[0]) for part in _WORDING[what])
    memory = Memory("", content, importance=0.7, source_type="session")
    return memory._replace(triggers=(trigger,) if trigger else (), anchors=(anchor,) if anchor else ())


def _explain(failure: Failure, miss: Miss, trial: Trial) -> Lesson | None:
    """Return what the calls after *miss* show about it, if the files that this names are still there."""
    session, steps = miss.played.session, miss.played.steps[miss.at :]
    there = trial.tree.paths(session.start) if trial.tree else frozenset[str]()
    tried = [Tried(one.call, one.result) for one in steps if one.result]
    lesson = explain(failure, tried, 0, partial(find_missing, root=session.cwd, there=there))
    placed = place(lesson, session.cwd, trial.repository) if lesson else None
    return placed if lesson and placed and len(placed.anchors) == len(lesson.anchors) else None
