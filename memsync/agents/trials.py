"""What gives lines to replayed sessions: memsync's own hooks on a copy of the repository, and what it is compared with; and a replay made ready."""

from __future__ import annotations

import datetime as dt
import os
import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

from memsync.agents import hooks
from memsync.agents.replay import Class, Given, Lines, Played, Report, Tree, list_classes, pair_calls, replay
from memsync.clients import facts
from memsync.clients.transcript_events import Session
from memsync.clients.transcript_files import Found, read_all
from memsync.errors import MemsyncError
from memsync.format import jsonl
from memsync.format.codec import encode
from memsync.learn.candidates import Candidates
from memsync.learn.extract import from_session
from memsync.learn.failures import Label, read_labels
from memsync.learn.session_end import LEAST_OF_ONE, MOST_OF_ONE
from memsync.learn.worth import instruction_files
from memsync.memories.project import Project
from memsync.records import Memory, derive_id
from memsync.store import files
from memsync.store.checkout import Checkout

_WORD: Final = re.compile(r"\w+")
_MOST: Final = {"prompt": 3, "pre-tool": 1, "post-tool": 1}  # lines of the arms that know no gate
_REASONS: Final = ("it is anchored", "it is due", "it is about", "a call failed with a name", "a call failed with what")
_KEPT: Final = 64  # words of a question to them


class Hooks:
    """The hooks as an agent's client calls them, in a copy of the repository that holds the memories of the arm alone.

    Used as a context: the copy is in a temporary folder, and nothing else is written.
    """

    def __init__(self, repository: Path | None) -> None:
        self._repository = repository
        self._client = facts.find("claude")
        self._matchers = [(hook.name, re.compile(hook.matcher or "")) for hook in self._client.hooks]
        self._now = dt.datetime.now(dt.UTC)
        self._named: set[str] = set()

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory(prefix="memsync-replay-")
        top = Path(self._folder.name).resolve()
        self.root = top / "work"
        self._file = self.root / ".gobby" / "memories.jsonl"
        copied = self._repository is not None and self._copy(self._repository)
        if not copied:
            self.root.mkdir(exist_ok=True)
        shutil.rmtree(self.root / ".gobby", ignore_errors=True)
        self._file.parent.mkdir()
        self._file.touch()
        env = {**os.environ, "MEMSYNC_HOME": str(top / "home")}
        self.project = Project.open(self.root, clock=lambda: self._now, env=env).with_settings(author="nobody")
        return self

    def _copy(self, repository: Path) -> bool:
        options = ("-c", f"core.hooksPath={os.devnull}", "clone", "-q", "--shared", "--single-branch")
        done = Checkout(repository).run(*options, str(repository), str(self.root), env={"GIT_LFS_SKIP_SMUDGE": "1"})
        return done.code == 0

    def __exit__(self, *raised: object) -> None:
        self.project.close()
        self._folder.cleanup()

    def add(self, memories: Sequence[Memory]) -> None:
        """Append *memories* to the file of the copy, as a pull would."""
        with self._file.open("ab") as file:
            file.writelines(encode(memory) + b"\n" for memory in memories)

    def ask(self, door: str, session: str, payload: Mapping[str, Any], when: dt.datetime) -> Given:
        """Return what the hook gives, where the client would have asked it for that tool."""
        tool = payload.get("tool_name")
        if tool and not any(name == door and matcher.fullmatch(str(tool)) for name, matcher in self._matchers):
            return Given()
        self._now = when
        there = str(payload.get("cwd") or "").rstrip("/")
        here = self._move(payload, there) if there else dict(payload)
        asked = {**here, "cwd": str(self.root), "session_id": session}
        reply = hooks.answer(self.project, self._client, door, asked)
        reply.used()
        if not reply.given:
            return Given()
        why = {id_: next((one for one in _REASONS if text.startswith(one)), "") for id_, text in reply.why.items()}
        return Given(reply.given, len(reply.out), why)

    def learn(self, session: Session) -> list[Memory]:
        """Return what memsync proposes by its rules as *session* ends, everything approved; the copy has it from now on."""
        self._now = session.events[-1].when or self._now
        found = from_session(self.project, session, session.id)
        candidates = Candidates(self.project)
        learned = []
        for one in candidates.propose(found.proposed, most=MOST_OF_ONE, least=LEAST_OF_ONE):
            with suppress(MemsyncError):  # such as a secret, which waits
                learned += [self._name(done.entry.memory) for done in candidates.approve([one.memory.id])]
        return learned

    def _name(self, memory: Memory) -> Memory:
        """Give *memory* an id that follows from its text: equals are ordered by id, and two runs must order them alike."""
        if memory.id in self._named:
            return memory
        named = memory._replace(id=derive_id(memory.content))
        data = self._file.read_bytes()
        self._file.write_bytes(data.replace(f'"{memory.id}"'.encode(), f'"{named.id}"'.encode()))
        self._named.add(named.id)
        return named

    def _move(self, value: Any, there: str) -> Any:
        """Return *value* with the paths below *there*, on the machine of the session, as paths relative to the copy.

        The random name of its folder is no word of a question.
        """
        if isinstance(value, str):
            return value.replace(f"{there}/", "").replace(there, ".")
        if isinstance(value, Mapping):
            return {key: self._move(one, there) for key, one in value.items()}
        if isinstance(value, list):
            return [self._move(one, there) for one in value]
        return value


class Instructions:
    """What the instruction files of the repository say, at each start; `ID` stands for all of it. No text: no memory at all."""

    ID: Final = "instructions"

    def __init__(self, text: str = "") -> None:
        self._given = Given((self.ID,), len(text)) if text else Given()

    def add(self, memories: Sequence[Memory]) -> None:
        """Keep none."""

    def ask(self, door: str, session: str, payload: Mapping[str, Any], when: dt.datetime) -> Given:  # noqa: ARG002
        """Return the files at a start."""
        return self._given if door == "session-start" else Given()


class _Ledger:
    """Lines that are given once a session, as many as are found, without a gate."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._given: dict[str, set[str]] = {}

    def add(self, memories: Sequence[Memory]) -> None:
        """Have *memories* from now on."""
        self._texts.update((memory.id, memory.content) for memory in memories)

    def _give(self, session: str, found: Sequence[str], most: int) -> Given:
        had = self._given.setdefault(session, set())
        new = [id_ for id_ in found if id_ not in had][:most]
        had.update(new)
        return Given(tuple(new), sum(len(self._texts[id_]) for id_ in new))


class WordSearch(_Ledger):
    """SQLite's FTS5 with bm25 over the same lines: the best three at a prompt, the best one at a call or a failure."""

    def __init__(self) -> None:
        super().__init__()
        self._rows = sqlite3.connect(":memory:")
        self._rows.execute("CREATE VIRTUAL TABLE line USING fts5(id UNINDEXED, content)")

    def add(self, memories: Sequence[Memory]) -> None:
        """Have *memories* from now on."""
        super().add(memories)
        self._rows.executemany("INSERT INTO line VALUES (?, ?)", [(one.id, one.content) for one in memories])

    def ask(self, door: str, session: str, payload: Mapping[str, Any], when: dt.datetime) -> Given:  # noqa: ARG002
        """Return the best lines for all words of the question."""
        words = list(dict.fromkeys(_WORD.findall(_text_of(payload))))[:_KEPT]
        if door not in _MOST or not words:
            return Given()
        asked = " OR ".join(f'"{word}"' for word in words)
        rows = self._rows.execute("SELECT id FROM line WHERE line MATCH ? ORDER BY bm25(line), id LIMIT 20", (asked,))
        return self._give(session, [id_ for (id_,) in rows], _MOST[door])


class Placebo(_Ledger):
    """Lines at random, as many as word search may give."""

    def __init__(self) -> None:
        super().__init__()
        self._random = random.Random(0)  # noqa: S311 - the same bytes each time

    def ask(self, door: str, session: str, payload: Mapping[str, Any], when: dt.datetime) -> Given:  # noqa: ARG002
        """Return lines whatever was asked."""
        if door not in _MOST or not self._texts:
            return Given()
        ids = list(self._texts)
        return self._give(session, self._random.sample(ids, min(len(ids), 20)), _MOST[door])


def _text_of(payload: Mapping[str, Any]) -> str:
    """Return what a search by words is asked: the prompt, the error, or all that the call was given."""
    if text := payload.get("prompt") or payload.get("error"):
        return str(text)
    given = payload.get("tool_input")
    return " ".join(str(value) for value in given.values()) if isinstance(given, Mapping) else ""


Track = Callable[[Iterable[Any]], Iterable[Any]]
CONTROLS = ("learned", "words", "random", "instructions", "none")


@dataclass(frozen=True, slots=True)
class Trial:
    """Sessions ready to be played, the classes of their failures, and the lines."""

    found: Found
    played: Sequence[Played]
    classes: Sequence[Class]
    memories: Sequence[Memory]
    labels: Sequence[Label]
    repository: Path | None
    tree: Tree | None

    def run(self, name: str, *, since: dt.datetime | None = None, track: Track = iter) -> Report:
        """Play all sessions to the arm *name*, and count those from *since* on."""
        failures = [one.failure for one in self.classes]
        played = track(self.played)
        if name in ("instructions", "none"):
            text = _read_instructions(self.repository) if name == "instructions" else ""
            held = [Memory(Instructions.ID, text)] if text else []
            return replay(name, played, Instructions(text), Lines(held, failures), since=since)
        lines = Lines(() if name == "learned" else self.memories, failures, self.labels)
        if name in ("words", "random"):
            arm = WordSearch() if name == "words" else Placebo()
            return replay(name, played, arm, lines, tree=self.tree, since=since)
        with Hooks(self.repository) as hooks:
            learn = hooks.learn if name == "learned" else None
            return replay(name, played, hooks, lines, learn=learn, tree=self.tree, since=since)

    def as_dict(self) -> dict[str, Any]:
        """Return what was read, in figures, and the classes that came back."""
        return {
            "sessions": len(self.played),
            "others": self.found.others,
            "absent": self.found.absent,
            "odd_lines": sum(one.session.odd for one in self.played),
            "calls": sum(len(one.steps) for one in self.played),
            "failures": sum(step.error is not None for one in self.played for step in one.steps),
            "lines": len(self.memories),
            "classes": [
                {
                    "class": one.failure.name,
                    "kind": one.failure.kind,
                    "failures": one.failures,
                    "sessions": len(one.members),
                    "people": one.people,
                    "members": list(one.members),
                }
                for one in self.classes
            ],
        }


def prepare(
    project: Project,
    sessions: Iterable[Path],
    *,
    memories: Path | None = None,
    labels: Path | None = None,
    until: dt.datetime | None = None,
    track: Track = iter,
) -> Trial:
    """Read *sessions*, and the lines of *memories* or else those of the shared store of *project*."""
    found = read_all(sessions, track)
    root = project.layout.root
    tree = Tree(root) if root and project.layout.git else None
    known = read_labels(labels) if labels else []
    kept = [one for one in found.sessions if until is None or one.start is None or one.start < until]
    played = pair_calls(kept, tree, known)
    return Trial(found, played, list_classes(played), _read_lines(project, memories), known, root, tree)


def _read_lines(project: Project, path: Path | None) -> list[Memory]:
    if path is None:
        return [entry.memory for entry in project.entries() if entry.scope == "project"]
    lines = jsonl.current(jsonl.read_lines(files.read(path)[0]))
    return [line.memory for line in lines.values() if line.memory is not None]


def _read_instructions(repository: Path | None) -> str:
    paths = instruction_files(repository) if repository else []
    return "\n".join(path.read_text("utf-8", "replace") for path in paths)
