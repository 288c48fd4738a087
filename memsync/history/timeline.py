"""What commits did to the memories, a stretch of them at a time, however long the history is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from memsync.git import history
from memsync.history.events import Event, Kind, differences_now, files_of, read_steps
from memsync.history.lines import lines_known, read_live
from memsync.memories.anchors import parse
from memsync.memories.project import Project

_NO_FILE: Final = "no file"


@dataclass(frozen=True, slots=True)
class Stretch:
    """What happened in some commits that led to *tip*, newest first, and whether older ones follow."""

    tip: str
    events: Sequence[Event]
    commits: int
    is_last: bool


def read_stretch(project: Project, tip: str = "", *, skip: int = 0, most: int = 25) -> Stretch:
    """Return what *most* commits did, behind *skip* others that led to *tip*; without one to HEAD, and not committed yet.

    Reads no other versions of the file than theirs, so that a page costs the same whatever lies behind it.

    Raises:
        NoHistory: there is no git, or *tip* names no commit.
    """
    files = files_of(project)
    now: list[Event] = []
    known = lines_known(project)
    raws = {line.raw: line.raw for line in known.values()}
    if not tip:
        tip = history.head(files.root)
        now = differences_now(project, read_live(files.root, files.path, "HEAD", known))[::-1]
    if not tip:
        return Stretch("", now, 0, is_last=True)
    tip = history.resolve(files.root, tip).id
    found, names = history.list_commits(files.root, files.path, tip, skip=skip, most=most + 1)
    here = found[:most]
    steps = history.steps(files.root, names, revs=["--no-walk=unsorted", *here], known=raws) if here else ()
    events = [*now, *list(read_steps(files.root, steps, bool, known))[::-1]]
    return Stretch(tip, events, len(here), is_last=len(found) <= most)


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
