"""What was learned and nobody has looked at yet. It waits outside of the repository's files until it is approved."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from memsync import codec, files, jsonl, skillcheck, skillfile
from memsync.errors import InvalidSkill, MemoryNotFound, SkillNotFound
from memsync.records import Memory, content_hash, derived_id
from memsync.results import Remembered, SkillEntry
from memsync.service import Memsync
from memsync.skillstore import SKILL_FILE

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

    def __init__(self, project: Memsync) -> None:
        self._project = project
        self._place = project.layout.place(project.default_scope)
        self.directory = self._place.local / "candidates"

    def count(self) -> dict[str, int]:
        """Return how many memories and how many skills wait."""
        return {"memories": len(self.memories()), "skills": len(self.skills())}

    # skills

    def propose_skill(self, name: str, data: bytes) -> Path:
        """Put the SKILL.md *data* up for approval; an earlier candidate of that name is replaced.

        Raises:
            InvalidSkill: it could not be written as it is.
        """
        skillcheck.clean_name(name)
        wrong = [problem for problem in skillcheck.check(data, name) if not problem.harmless]
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
        return self.directory / "skills" / name / SKILL_FILE

    def skills(self) -> dict[str, bytes]:
        """Return the files of the candidates by name."""
        return {path.parent.name: path.read_bytes() for path in sorted(self.directory.glob(f"skills/*/{SKILL_FILE}"))}

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
        store = self._project.skills.stores[self._project.default_scope]
        if name not in store.skills():
            return b"", data
        old, _ = store.read(name)
        return old, skillfile.edit(old, _fields(data, name))

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
        skills, scope = self._project.skills, self._project.default_scope
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
        with self._writing():
            waiting = {content_hash(one.memory.content) for one in self.memories()} | self._rejected()
            found = []
            for proposal in proposals:
                hash_ = content_hash(proposal.memory.content)
                if hash_ in waiting or any(store.by_hash(hash_) for store in self._project.stores.values()):
                    continue
                waiting.add(hash_)
                found.append(replace(proposal, memory=_named(proposal.memory)))
            found = best_of(found, most)
            self._write([*self.memories(), *found])
        return found

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Keep others out while the list is read and written: sessions end side by side."""
        self._make(self.directory)
        with files.lock(self.directory / "lock"):
            yield

    def memories(self) -> list[Proposal]:
        """Return the memories that wait, in the order they came."""
        data, _ = files.read(self.directory / _MEMORIES)
        lines = (line for line in jsonl.read_lines(data) if line.memory)
        return [_proposal(line.memory) for line in lines if line.memory]

    def approve(self, ids: Iterable[str]) -> list[Remembered]:
        """Remember the named candidates, as one by hand would be: copies are found, secrets are blocked.

        Raises:
            MemoryNotFound: no such candidate; nothing was stored.
            SecretFound, StoreError: what was stored before stays, the rest waits.
        """
        from memsync.remember import Draft, remember

        done, scope = [], self._project.default_scope
        for proposal in self._named(ids):
            memory = proposal.memory._replace(author=self._project.author)
            draft = Draft(self._project.vetted(memory, scope), scope, memory.importance, ())
            done.append(remember(self._project, draft))
            with self._writing():
                self._write([one for one in self.memories() if one.memory.id != memory.id])
        return done

    def reject(self, ids: Iterable[str]) -> list[Proposal]:
        """Drop the named candidates; the same text is not proposed again.

        Raises:
            MemoryNotFound: no such candidate; nothing was dropped.
        """
        chosen = self._named(ids)
        gone = {one.memory.id for one in chosen}
        rows = "".join(f"{content_hash(one.memory.content)}\n" for one in chosen)
        with self._writing():
            files.append(self.directory / _REJECTED, rows.encode(), private=self._place.private)
            self._write([one for one in self.memories() if one.memory.id not in gone])
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

    def _rejected(self) -> set[str]:
        data, _ = files.read(self.directory / _REJECTED)
        return set(data.decode("ascii", "replace").split())

    def _write(self, proposals: list[Proposal]) -> None:
        path = self.directory / _MEMORIES
        rows = b"".join(codec.encode(_record(one)) + b"\n" for one in proposals)
        was, _ = files.read(path)
        if rows != was:
            files.replace(path, rows, was=was, temp=path.with_suffix(".tmp"), private=self._place.private)

    def _make(self, directory: Path) -> None:
        files.make_local(self._place.local, private=self._place.private, tree=self._place.tree)
        files.make_dirs(directory, private=self._place.private)


def _named(memory: Memory) -> Memory:
    return memory._replace(id=derived_id(memory.content))


def _record(proposal: Proposal) -> Memory:
    about = {"rationale": proposal.rationale, "where": proposal.where}
    return proposal.memory._replace(extra={**proposal.memory.extra, **about})


def _proposal(memory: Memory) -> Proposal:
    extra = dict(memory.extra)
    rationale, where = str(extra.pop("rationale", "")), str(extra.pop("where", ""))
    return Proposal(memory=memory._replace(extra=extra), rationale=rationale, where=where)


def _fields(data: bytes, name: str) -> dict[str, Any]:
    """Return what a candidate says, for an update of a skill that has more to it."""
    skill = skillfile.read(data, name).skill
    wanted = {field: getattr(skill, field) for field in ("description", "instructions", "trigger_pattern", "tags")}
    return {field: value for field, value in wanted.items() if value}
