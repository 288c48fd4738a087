"""The names of the cards that wait, kept between one look and the next: a page, or a card in a client, shows one at a time."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from typing import Final, NamedTuple

from memsync.janitor import queue
from memsync.janitor.queue import Card
from memsync.memories.project import Project
from memsync.store.files import stamp
from memsync.system.beside import Beside, is_much

_SLICE: Final = 0.25  # seconds of collecting for one look
_PAUSES: Final = 20  # times as long as it took, until all is looked through again
_FRESH: Final = 30.0  # seconds after which the files that memories speak of are looked at again


class Failure(NamedTuple):
    """A search for copies that failed: why, how many seconds ago, and in how many whoever asks begins another one."""

    why: str
    age: float
    left: float


class Waiting:
    """The names of the cards that wait, collected again when a file that they come from has changed.

    That goes on for as long as a page may take, and with the next page from there: what no process has screened yet
    takes a while. Copies are looked for when they are asked for; among many memories by *beside*, a command that lists them, if there is one.
    """

    def __init__(self, beside: Beside | None = None) -> None:
        self._seen: Hashable = None
        self._until = 0.0
        self._walk: Iterator[list[str]] | None = None
        self._found: list[str] = []  # by the present walk
        self._names: list[str] = []  # by the one before it
        self._took = 0.0
        self._copies: tuple[Hashable, list[str]] = (None, [])
        self._beside = beside
        self._answers = 0  # of it that were taken

    @property
    def is_reading(self) -> bool:
        """Whether more may come."""
        return self._walk is not None

    @property
    def count(self) -> int:
        """How many are known to wait, without a look."""
        return len({*self._found, *self._names})

    @property
    def seconds(self) -> float | None:
        """For how long copies have been looked for beside us; None if they are not."""
        return self._beside.seconds if self._beside and self._is_looking(self._beside) else None

    @property
    def failure(self) -> Failure | None:
        """What became of the last search for copies beside us, if it failed and no other one runs."""
        beside = self._beside
        if beside is None or self._is_looking(beside) or not beside.failure:
            return None
        return Failure(beside.failure, beside.age, max(0.0, _PAUSES * beside.seconds - beside.age))

    def _is_looking(self, beside: Beside) -> bool:
        """Tell whether *beside* runs, or has ended since its answer was last asked for: a page that is being made says one or the other."""
        return beside.is_going or self._answers != beside.count

    def stop(self) -> None:
        """Let go of the project, of which the next walk is another."""
        self._walk = self._seen = None

    def names(self, project: Project, kind: str = "") -> list[str]:
        """Return the names, as far as they are known; some may be decided by now."""
        seen = _look(project)
        if kind == queue.COPIES:
            return self._list_copies(project, seen)
        if self._walk is None and (self._seen != seen or time.monotonic() > self._until):
            self._walk, self._found, self._took, self._seen = queue.walk(project), [], 0.0, seen
        if self._walk is not None:
            self._go_on(project, self._walk)
        return queue.sort_names([*self._found, *self._names])

    def _list_copies(self, project: Project, seen: Hashable) -> list[str]:
        """Return the names of copies; of many memories those that were found before, as long as others are looked for."""
        beside, is_old = self._beside, self._copies[0] != seen
        if beside is None or not is_much(stamp.size for store in project.stores.values() for stamp in store.look()):
            if is_old:
                self._copies = seen, queue.list_copies(project)
            if beside:
                self._answers, beside.failure = beside.count, ""
            return self._copies[1]
        if not beside.is_going and self._answers != beside.count:
            self._answers = beside.count
            said, beside.answer = beside.answer or {}, None
            if "cards" in said:
                self._copies = self._copies[0], [card["name"] for card in said["cards"]]
            else:  # it failed, and is tried again after a while
                self._copies = None, self._copies[1]
        elif not beside.is_going and is_old and (not beside.count or beside.age > _PAUSES * beside.seconds):
            self._copies = seen, self._copies[1]
            beside.begin()
        return self._copies[1]

    def _go_on(self, project: Project, walk: Iterator[list[str]]) -> None:
        began = time.monotonic()
        try:
            names = next(walk, None)
            while names is not None and time.monotonic() - began <= _SLICE:
                self._found += names
                names = next(walk, None)
            self._found += names or []
        except BaseException:  # a store that cannot be read: begin anew once it can
            self._walk = self._seen = None
            raise
        if names is None:
            self._walk, self._names, self._found = None, self._found, []
            project.screening.save()  # what has changed since this walk began is found by the next one
        self._took += time.monotonic() - began
        self._until = time.monotonic() + max(_FRESH, _PAUSES * self._took)

    def drop(self, project: Project, name: str) -> None:
        """Take out a card that was decided here, without collecting the others again."""
        self._names = [one for one in self._names if one != name]
        self._found = [one for one in self._found if one != name]
        now = _look(project)
        self._seen = now if self._walk is None else self._seen
        self._copies = now, [one for one in self._copies[1] if not queue.is_same(one, name)]

    def put_back(self, project: Project, name: str) -> None:
        """Have a card again whose decision was taken back: no search proposes copies whose merge was undone."""
        if name.startswith(queue.COPIES):
            self._copies = _look(project), [name, *self._copies[1]]


def find_card(project: Project, names: Sequence[str], start: int, at: str = "") -> tuple[int, Card | None]:
    """Return the first card of *names* from *start* on, all around, that still waits, and its place.

    The one at *start* may be named otherwise, by *at*: of copies with another one first.
    """
    for number in (*range(start, len(names)), *range(start)):
        if card := queue.read_card(project, at if at and number == start else names[number]):
            return number, card
    return 0, None


def _look(project: Project) -> Hashable:
    project.journal.write()
    found = []
    for store in project.stores.values():
        local = store.place.local
        names = ("candidates/memories.jsonl", "candidates/skills", "state.db", "state.db-wal")
        found.append((store.look(), *(stamp(local / name) for name in names)))
    return tuple(found)
