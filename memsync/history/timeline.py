"""What commits did to the memories, a stretch of them at a time, however long the history is."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from memsync.format.codec import Line
from memsync.git import history
from memsync.history.events import Event, Kind, find_uncommitted, read_steps
from memsync.history.lines import files_of
from memsync.memories.anchors import parse
from memsync.memories.project import Project
from memsync.records import same_but_for_time

_NO_FILE: Final = "no file"
_KEPT: Final = 32  # commits: one page and some
_MOST: Final = 200  # memories of each; of more only how many they are is known


@dataclass(frozen=True, slots=True)
class Stretch:
    """What happened in some commits that led to *tip*, newest first, to how many more memories, and whether older ones follow."""

    tip: str
    events: Sequence[Event]
    commits: int
    is_last: bool
    left: int = 0


def read_stretch(
    project: Project, tip: str = "", *, skip: int = 0, most: int = 25, seconds: float = math.inf
) -> Stretch:
    """Return what *most* commits did, behind *skip* others that led to *tip*; without one to HEAD, and not committed yet.

    After *seconds* no further one is read, but for the first: of a large file a few are read in a second.

    Raises:
        NoHistory: there is no git, or *tip* names no commit.
    """
    files = files_of(project)
    end = time.monotonic() + seconds
    now: list[Event] = []
    if not tip:
        tip = history.head(files.root)
        now = find_uncommitted(project, files, tip)[::-1]
    if not tip:
        return Stretch("", now, 0, is_last=True)
    tip = history.resolve(files.root, tip).id
    found, names = history.list_commits(files.root, files.path, tip, skip=skip, most=most + 1)
    events: list[Event] = []
    commits = left = 0
    for commit in found[:most]:
        if commits and time.monotonic() > end:
            break
        happened, more = _read_commit(files.root, commit, tuple(names))
        events, commits, left = [*events, *happened], commits + 1, left + more
    return Stretch(tip, [*now, *_link(events)], commits, is_last=len(found) <= commits, left=left)


@lru_cache(_KEPT)
def _read_commit(root: Path, commit: str, names: tuple[str, ...]) -> tuple[Sequence[Event], int]:
    """Return what a commit did, which nothing changes any more, to some memories, and to how many more."""
    steps = history.steps(root, names, revs=["--no-walk=unsorted", commit])
    found = [*read_steps(root, steps, bool, {})][::-1]
    return found[:_MOST], len(found[_MOST:])


def _link(events: Sequence[Event]) -> list[Event]:
    """Return *events* with what each memory was before, as far as an older one of them says so: a line may stand beside that which it replaces."""
    latest: dict[str, Line] = {}
    linked = []
    for event in reversed(events):
        known = latest.get(event.id)
        one = replace(event, old=known) if known and event.before is None else event
        latest[event.id] = event.new
        if not same_but_for_time(one.before, one.after):
            linked.append(one)
    return linked[::-1]


def count_churn(events: Iterable[Event], by: Literal["type", "file"]) -> Mapping[str, Mapping[Kind, int]]:
    """Return how often memories of each type, or with an anchor in each file, were added, changed or removed."""
    found: dict[str, Counter[Kind]] = {}
    for event in events:
        memory = event.after or event.before
        if memory is not None:
            files = dict.fromkeys(parse(anchor).path for anchor in memory.anchors) or [_NO_FILE]
            for name in [memory.memory_type] if by == "type" else files:
                found.setdefault(name, Counter())[event.kind] += 1
    return dict(sorted(found.items(), key=lambda one: (-one[1].total(), one[0])))
