"""What differs between the memories and skills of two moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memsync.errors import StoreError
from memsync.format.codec import Line
from memsync.git import history
from memsync.memories.events import Event, Files, Kind, differences, files_of, find_uncommitted, lines_known, read_live
from memsync.memories.project import Project
from memsync.store.files import read, resolve_inside


@dataclass(frozen=True, slots=True)
class SkillChange:
    """A skill that differs: its folder's name and both texts; "" where it is not there."""

    name: str
    before: str
    after: str

    @property
    def kind(self) -> Kind:
        """What happened to it."""
        return "added" if not self.before else "removed" if not self.after else "changed"


@dataclass(frozen=True, slots=True)
class Difference:
    """What the memories and skills at *new* have that those at *old* had not, and the other way round."""

    old: str
    new: str
    memories: tuple[Event, ...]
    skills: tuple[SkillChange, ...]

    def count(self, kind: Kind) -> int:
        """Return how many memories were added, changed or removed."""
        return sum(event.kind == kind for event in self.memories)

    def as_dict(self) -> dict[str, Any]:
        """Return both ends and every change."""
        return {
            "old": self.old,
            "new": self.new,
            "memories": [event.as_change() for event in self.memories],
            "skills": [{"name": s.name, "kind": s.kind, "before": s.before, "after": s.after} for s in self.skills],
        }


def leave_out_private(project: Project, found: Difference) -> Difference:
    """Return *found* without what was made private since: commits keep it, and who is shown *found* need not read them."""
    project.stores.refresh()
    stores = [store for scope, store in project.stores.items() if scope != "project"]
    skills = {entry.name for entry in project.skills.list() if entry.scope != "project"}
    return replace(
        found,
        memories=tuple(
            one for one in found.memories if one.kind != "removed" or not any(store.get(one.id) for store in stores)
        ),
        skills=tuple(one for one in found.skills if one.kind != "removed" or one.name not in skills),
    )


def difference(project: Project, span: str = "HEAD") -> Difference:
    """Return what changed from A to B for *span* "A..B", since they parted for "A...B", from A to the work tree for "A"."""
    files = files_of(project)
    old, dots, new = span.partition("...") if "..." in span else span.partition("..")
    is_head = old in ("", "HEAD")  # which names no commit before the first one
    start = history.head(files.root) if is_head else history.resolve(files.root, old).id
    if not dots:
        found = find_uncommitted(project, files, start)
        return _compare(start, "the work tree", _read_skills(files, start), _read_skills_now(files), found)
    known = lines_known(project)
    end = history.resolve(files.root, new or "HEAD").id
    if dots == "..." and start:
        start = history.merge_base(files.root, start, end)
    before, after = _read_moment(files, start, known), _read_moment(files, end, known)
    return _compare(start, end[:10], before[1], after[1], differences(before[0], after[0]))


Moment = tuple[Mapping[str, Line], Mapping[str, str]]


def _compare(
    start: str, end: str, old: Mapping[str, str], new: Mapping[str, str], memories: Sequence[Event]
) -> Difference:
    skills = [SkillChange(name, old.get(name, ""), new.get(name, "")) for name in sorted(old.keys() | new.keys())]
    changed = tuple(skill for skill in skills if skill.before != skill.after)
    return Difference(start[:10] or "nothing", end, tuple(memories), changed)


def _read_moment(files: Files, commit: str, known: Mapping[bytes, Line]) -> Moment:
    return (read_live(files.root, files.path, commit, known) if commit else {}), _read_skills(files, commit)


def _read_skills(files: Files, commit: str) -> Mapping[str, str]:
    if not commit:
        return {}
    paths = [path for path in history.listing(files.root, commit, files.skills) if path.endswith("/SKILL.md")]
    pairs = zip(paths, history.read(files.root, [(commit, path) for path in paths]), strict=True)
    return {Path(path).parent.name: _decode(text or b"") for path, text in pairs}


def _read_skills_now(files: Files) -> dict[str, str]:
    folder = files.root / files.skills
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*/SKILL.md")):
        with suppress(StoreError):  # a link that leads out is nothing that git would commit
            found[path.parent.name] = _decode(read(resolve_inside(path, files.root))[0])
    return found


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n")
