"""The model: which texts were acknowledged, and what became of them, as a dictionary; knows nothing of git or files.

Every text is unique, so it names itself. A text that was changed or forgotten by somebody who saw it may go; any
other must be there when all clones have met. What somebody changed meanwhile outlives a removal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Shown(NamedTuple):
    """A memory as a reader sees it."""

    id: str
    text: str
    tags: frozenset[str] = frozenset()
    is_copy: bool = False


@dataclass
class Family:
    """The texts that came from one first text, and the tags that were put on them: each is an event."""

    events: set[str] = field(default_factory=set)
    removals: list[frozenset[str]] = field(default_factory=list)  # of each the events that it had seen


class Ledger:
    """What was acknowledged; `find_faults` says what of it a file does not hold to."""

    def __init__(self) -> None:
        self.families: dict[str, Family] = {}
        self.family_of: dict[str, Family] = {}
        self.before: dict[str, frozenset[str]] = {}  # text -> the events that led to it
        self.taken: list[str] = []  # what somebody who saw it took away, in order
        self.replaced: set[str] = set()
        self.forgotten: set[str] = set()
        self.kept: set[str] = set()  # ids of copies that somebody tagged, which makes each a memory of its own
        self.junk: set[bytes] = set()  # lines that cannot be read
        self.fields: dict[str, bytes] = {}  # text -> a field that memsync does not know, as it is spelled
        self.user_files: dict[str, bytes] = {}

    def add(self, text: str) -> None:
        assert text not in self.family_of
        self.family_of[text] = Family({text})
        self.before[text] = frozenset({text})

    def edit(self, old: Shown, text: str) -> None:
        """Note that somebody who saw *old* put *text* in its place."""
        family = self.family_of[text] = self.family_of[old.text]
        family.events.add(text)
        self.before[text] = self.before[old.text] | old.tags | {text}
        self.replaced.add(old.text)
        self.kept.discard(old.id)
        self.taken.append(old.text)
        if old.text in self.fields:
            self.fields[text] = self.fields[old.text]

    def tag(self, old: Shown, tag: str) -> None:
        self.family_of[old.text].events.add(tag)
        if old.is_copy:
            self.kept.add(old.id)

    def forget(self, old: Shown, shown: Iterable[Shown]) -> None:
        """Note that somebody who saw all that is *shown* removed *old*."""
        family = self.family_of[old.text]
        seen = [one for one in shown if self.family_of.get(one.text) is family] + [old]
        events = frozenset().union(*(self.before[one.text] | one.tags for one in seen))
        family.removals.append(events)
        self.forgotten.add(old.text)
        self.taken.append(old.text)

    def restore(self, text: str) -> None:
        self.forgotten.discard(text)
        self.replaced.discard(text)

    @property
    def required(self) -> set[str]:
        return self.family_of.keys() - self.replaced - self.forgotten

    def find_faults(self, live: Iterable[Shown]) -> Iterator[str]:
        """Say what is wrong when *live* is all that there is, everywhere."""
        counts = Counter(one.text for one in live)
        yield from (f"lost: {text}" for text in sorted(self.required - counts.keys()))
        yield from (f"there {count} times: {text}" for text, count in sorted(counts.items()) if count > 1)
        yield from (f"nobody wrote: {text}" for text in sorted(counts.keys() - self.family_of.keys()))
        for one in live:
            if one.text in self.family_of and (why := self._explain_return(one)):
                yield f"{why}: {one.text}"

    def _explain_return(self, one: Shown) -> str:
        """Say why *one* should not be there; "" if it may be."""
        family = self.family_of[one.text]
        was_edited = any(family.events - seen for seen in family.removals)
        if one.text in self.forgotten and not was_edited:
            return "forgotten, and back"
        if one.text in self.replaced and not (one.is_copy or one.id in self.kept or was_edited):
            return "replaced, and back"
        return ""
