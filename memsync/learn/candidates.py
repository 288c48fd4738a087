"""What was learned and nobody has looked at yet. It waits outside of the repository's files until it is approved."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from memsync.errors import InvalidSkill, MemoryNotFound, SkillNotFound
from memsync.format import codec, jsonl
from memsync.memories.project import Project
from memsync.memories.results import Remembered
from memsync.records import Memory, content_hash, derive_id
from memsync.skills import check, file
from memsync.skills.entries import SkillEntry
from memsync.skills.store import SKILL_FILE
from memsync.store import files
from memsync.store.places import Place

_MEMORIES: Final = "memories.jsonl"
_REJECTED: Final = "rejected.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A memory that may be worth keeping: why, and where it was read (`file:line`)."""

    memory: Memory
    rationale: str = ""
    where: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the record with rationale and where."""
        return {**codec.fields_of(self.memory), "rationale": self.rationale, "where": self.where}


def best_of(proposals: Sequence[Proposal], most: int | None) -> list[Proposal]:
    """Return the *most* important of *proposals*, in the order given."""
    ranked = sorted(range(len(proposals)), key=lambda number: -proposals[number].memory.importance)
    return [proposals[number] for number in sorted(ranked[:most])]


class Candidates:
    """What waits for approval in a project: skills as files, memories as lines. Local; losing it loses no memory."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._place = project.layout.place(project.default_scope)
        # What came while stealth was on waits in the private store, also after it is off.
        private = project.layout.stealth
        self._places = [self._place, *([private] if private and private != self._place else [])]
        self.directory = directory_of(self._place)

    def count(self) -> dict[str, int]:
        """Return how many memories and how many skills wait."""
        return {"memories": len(self.memories()), "skills": len(self.skills())}

    # skills

    def propose_skill(self, name: str, data: bytes) -> Path:
        """Put the SKILL.md *data* up for approval; an earlier candidate of that name is replaced.

        Raises:
            InvalidSkill: it could not be written as it is.
        """
        check.clean_name(name)
        wrong = [problem for problem in check.check(data, name) if not problem.harmless]
        if wrong:
            raise InvalidSkill(f"line {wrong[0].number} of the draft: {wrong[0].why}")
        path = self.skill_path(name)
        self._make(path.parent)
        shutil.rmtree(path.parent)
        self._make(path.parent)
        files.create(path, data, private=self._place.private)
        return path

    def skill_path(self, name: str) -> Path:
        """Return where the candidate *name* is: a file to edit before it is approved."""
        return _skill_path(self._place_of_skill(name) or self._place, name)

    def _place_of_skill(self, name: str) -> Place | None:
        return next((place for place in self._places if _skill_path(place, name).exists()), None)

    def skills(self) -> dict[str, bytes]:
        """Return the files of the candidates by name."""
        found: dict[str, bytes] = {}
        for place in self._places:
            found = {**_skills(place), **found}
        return dict(sorted(found.items()))

    def skill_diff(self, name: str) -> str:
        """Return what approving *name* would change, as a unified diff.

        Raises:
            SkillNotFound: no such candidate.
        """
        old, new = self._change(name)
        before, after = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (old, new))
        return "".join(difflib.unified_diff(before, after, f"{name}/{SKILL_FILE} (now)", f"{name}/{SKILL_FILE}"))

    def _change(self, name: str) -> tuple[bytes, bytes]:
        """Return the file of the skill *name* as it is, empty if there is none, and as approving makes it."""
        data = self._skill(name)
        store = self._project.skills.stores[(self._place_of_skill(name) or self._place).scope]
        if name not in store.skills():
            return b"", data
        old, _ = store.read(name)
        return old, file.edit(old, _fields(data, name))

    def _skill(self, name: str) -> bytes:
        found = self.skills().get(name)
        if found is None:
            raise SkillNotFound(name, " waits for approval")
        return found

    def approve_skill(self, name: str) -> SkillEntry:
        """Write the candidate into the repository; over a skill of that name it is an update, which `restore` undoes.

        Raises:
            SkillNotFound: no such candidate.
            InvalidSkill, SecretFound, StoreError: it stays a candidate.
        """
        data = self._skill(name)
        place = self._place_of_skill(name) or self._place
        skills, scope = self._project.skills, place.scope
        if name in skills.stores[scope].skills():
            entry = skills.update(name, **_fields(data, name), scope=scope)
        else:
            entry = skills.create(name, data.decode(), scope=scope)
        self.reject_skill(name)
        return entry

    def reject_skill(self, name: str) -> None:
        """Drop the candidate.

        Raises:
            SkillNotFound: no such candidate.
        """
        self._skill(name)
        shutil.rmtree(self.skill_path(name).parent)

    # memories

    def propose(self, proposals: Iterable[Proposal], *, most: int | None = None) -> list[Proposal]:
        """Put memories up for approval, and return those that are new: not stored, not waiting and not rejected before.

        *most*: how many at most; the most important ones, in the order given.
        """
        with _writing(self._place):
            waiting = {content_hash(one.memory.content) for one in self.memories()} | self._read_rejected()
            found = []
            for proposal in proposals:
                hash_ = content_hash(proposal.memory.content)
                if hash_ in waiting or any(store.by_hash(hash_) for store in self._project.stores.values()):
                    continue
                waiting.add(hash_)
                found.append(replace(proposal, memory=_named(proposal.memory)))
            found = best_of(found, most)
            _write(self._place, [*_memories(self._place), *found])
        return found

    def memories(self) -> list[Proposal]:
        """Return the memories that wait, in the order they came."""
        found = {one.memory.id: one for place in reversed(self._places) for one in _memories(place)}
        ids = dict.fromkeys(one.memory.id for place in self._places for one in _memories(place))
        return [found[id_] for id_ in ids]

    def approve(self, ids: Iterable[str]) -> list[Remembered]:
        """Remember the named candidates, as one by hand would be: copies are found, secrets are blocked.

        Raises:
            MemoryNotFound: no such candidate; nothing was stored.
            SecretFound, StoreError: what was stored before stays, the rest waits.
        """
        from memsync.memories.remember import Draft, store_draft

        done = []
        for proposal in self._named(ids):
            place = next(place for place in self._places if proposal in _memories(place))
            memory = proposal.memory._replace(author=self._project.author)
            vetted = self._project.vetting.vet(memory, place.scope)
            draft = Draft(vetted, place.scope, memory.importance, (), is_chosen=place != self._place)
            done.append(store_draft(self._project, draft))
            self._drop({memory.id})
        return done

    def reject(self, ids: Iterable[str]) -> list[Proposal]:
        """Drop the named candidates; the same text is not proposed again.

        Raises:
            MemoryNotFound: no such candidate; nothing was dropped.
        """
        chosen = self._named(ids)
        gone = {one.memory.id for one in chosen}
        rows = "".join(f"{content_hash(one.memory.content)}\n" for one in chosen)
        with _writing(self._place):
            files.append(self.directory / _REJECTED, rows.encode(), private=self._place.private)
        self._drop(gone)
        return chosen

    def _named(self, ids: Iterable[str]) -> list[Proposal]:
        known: Mapping[str, Proposal] = {one.memory.id: one for one in self.memories()}
        chosen = []
        for ref in ids:
            fits = [one for id_, one in known.items() if id_.startswith((ref, f"mm-{ref}"))]
            if len(fits) != 1:
                raise MemoryNotFound(ref, " waits for approval, or several do")
            chosen.append(fits[0])
        return chosen

    def _read_rejected(self) -> set[str]:
        return set[str]().union(*map(_read_rejected, self._places))

    def _drop(self, gone: Collection[str]) -> None:
        for place in self._places:
            if (directory_of(place) / _MEMORIES).exists():
                with _writing(place):
                    _write(place, [one for one in _memories(place) if one.memory.id not in gone])

    def _make(self, directory: Path) -> None:
        _make(self._place, directory)


def directory_of(place: Place) -> Path:
    """Return where candidates of *place* wait."""
    return place.local / "candidates"


def carry(old: Place, new: Place) -> None:
    """Let what waits in *old* wait in *new* as well; a second time changes nothing."""
    if not directory_of(old).is_dir():
        return
    with _writing(new):
        there = {one.memory.id for one in _memories(new)}
        _write(new, [*_memories(new), *(one for one in _memories(old) if one.memory.id not in there)])
        _put(new, _skills(old), _read_rejected(old))


def carry_back(private: Place, kept: Place, place: Place) -> None:
    """Let what waited in *place*, as *kept* has it, and still waits in *private*, wait in *place* again, and there only."""
    if not directory_of(kept).is_dir():
        return
    with _writing(place), _writing(private):
        waiting = _memories(private)
        back = [one for one in _memories(kept) if one in waiting]
        skills = {name: data for name, data in _skills(kept).items() if _skills(private).get(name) == data}
        _write(place, [*back, *(one for one in _memories(place) if one not in back)])
        _put(place, skills, _read_rejected(kept))
        shutil.rmtree(directory_of(kept))  # from here on a second time changes nothing
        _write(private, [one for one in waiting if one not in back])
        for name in skills:
            shutil.rmtree(_skill_path(private, name).parent)


def _put(place: Place, skills: Mapping[str, bytes], rejected: set[str]) -> None:
    if more := rejected - _read_rejected(place):
        rows = "".join(f"{hash_}\n" for hash_ in sorted(more))
        files.append(directory_of(place) / _REJECTED, rows.encode(), private=place.private)
    for name, data in skills.items():
        _make(place, _skill_path(place, name).parent)
        files.create(_skill_path(place, name), data, private=place.private)


def _skill_path(place: Place, name: str) -> Path:
    return directory_of(place) / "skills" / name / SKILL_FILE


def _skills(place: Place) -> dict[str, bytes]:
    found = sorted(directory_of(place).glob(f"skills/*/{SKILL_FILE}"))
    return {path.parent.name: files.read(path)[0] for path in found}


def _memories(place: Place) -> list[Proposal]:
    data, _ = files.read(directory_of(place) / _MEMORIES)
    return [_proposal(line.memory) for line in jsonl.read_lines(data) if line.memory]


def _read_rejected(place: Place) -> set[str]:
    data, _ = files.read(directory_of(place) / _REJECTED)
    return set(data.decode("ascii", "replace").split())


@contextmanager
def _writing(place: Place) -> Iterator[None]:
    _make(place, directory_of(place))
    with files.lock(directory_of(place) / "lock"):
        yield


def _write(place: Place, proposals: list[Proposal]) -> None:
    path = directory_of(place) / _MEMORIES
    rows = b"".join(codec.encode(_record(one)) + b"\n" for one in proposals)
    was, _ = files.read(path)
    if rows != was:
        files.replace(path, rows, was=was, temp=path.with_suffix(".tmp"), private=place.private)


def _make(place: Place, directory: Path) -> None:
    files.make_local(place.local, private=place.private, tree=place.tree)
    files.make_dirs(directory, private=place.private)


def _named(memory: Memory) -> Memory:
    return memory._replace(id=derive_id(memory.content))


def _record(proposal: Proposal) -> Memory:
    about = {"rationale": proposal.rationale, "where": proposal.where}
    return proposal.memory._replace(extra={**proposal.memory.extra, **about})


def _proposal(memory: Memory) -> Proposal:
    extra = dict(memory.extra)
    rationale, where = str(extra.pop("rationale", "")), str(extra.pop("where", ""))
    return Proposal(memory=memory._replace(extra=extra), rationale=rationale, where=where)


def _fields(data: bytes, name: str) -> dict[str, Any]:
    """Return what a candidate says, for an update of a skill that has more to it."""
    skill = file.read(data, name).skill
    wanted = {field: getattr(skill, field) for field in ("description", "instructions", "trigger_pattern", "tags")}
    return {field: value for field, value in wanted.items() if value}
