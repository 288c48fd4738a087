"""What was learned and nobody has looked at yet. It waits outside of the repository's files until it is approved."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from memsync.errors import AmbiguousId, MemoryNotFound, Remedy, SkillNotFound, closest
from memsync.format import codec, jsonl
from memsync.format.scopes import read_scope
from memsync.format.textdiff import diff_lines
from memsync.index.dedup import decide
from memsync.memories.project import Project
from memsync.memories.results import Entry, Remembered
from memsync.records import ALLOW_TAG, Memory, Scope, clean_content, content_hash, derive_id, shown_id
from memsync.skills import check, file
from memsync.skills.entries import SkillEntry
from memsync.skills.store import SKILL_FILE
from memsync.store import files
from memsync.store.lock import lock
from memsync.store.places import Place
from memsync.system.texts import count

_MEMORIES: Final = "memories.jsonl"
_REJECTED: Final = "rejected.txt"
_REFUSED: Final = "rejected.jsonl"  # what was rejected, word for word, for those whose hash stands in the other


_AGAIN: Final = 0.05  # importance for each more session that taught it
_MOST_IMPORTANT: Final = 0.9
_MOST_HEARD: Final = 200  # of what only one session taught, the newest
_SAME: Final = 0.8  # share of the words from which two that do not contradict each other are one lesson


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A memory that may be worth keeping: why, and where it was read (`file:line`); `also`: sessions that taught it again.

    `heard`: nobody is asked about it before another session teaches it too.
    """

    memory: Memory
    rationale: str = ""
    where: str = ""
    also: tuple[str, ...] = ()
    heard: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the record with rationale and where."""
        also = {"also": list(self.also)} if self.also else {}
        return {**codec.fields_of(self.memory), "rationale": self.rationale, "where": self.where, **also}


def best_of(proposals: Sequence[Proposal], most: int | None) -> list[Proposal]:
    """Return the *most* important of *proposals*, in the order given."""
    ranked = sorted(range(len(proposals)), key=lambda number: -proposals[number].memory.importance)
    return [proposals[number] for number in sorted(ranked[:most])]


class Candidates:
    """What waits for approval in a project: skills as files, memories as lines. Local; losing it loses no memory."""

    def __init__(self, project: Project) -> None:
        self._project = project
        place, private = project.layout.place(project.default_scope), project.layout.private
        self._here = _Folder(place)
        # What came while stealth was on waits in the private store, also after it is off.
        self._all = [self._here, *([_Folder(private)] if private and private != place else [])]
        self.directory = self._here.path

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
        check.refuse(data, name, "draft")
        folder = self._folder_of_skill(name)
        folder.drop_skill(name)
        folder.write_skill(name, data)
        self._project.journal.note_change(f"proposed the skill {name}", f"skill reject {name}")
        return folder.skill_path(name)

    def skill_path(self, name: str) -> Path:
        """Return where the candidate *name* is: a file to edit before it is approved."""
        return self._folder_of_skill(name).skill_path(name)

    def _folder_of_skill(self, name: str) -> _Folder:
        return next((folder for folder in self._all if folder.skill_path(name).exists()), self._here)

    def skills(self) -> dict[str, bytes]:
        """Return the files of the candidates by name."""
        found = {name: data for folder in reversed(self._all) for name, data in folder.read_skills().items()}
        return dict(sorted(found.items()))

    def skill_diff(self, name: str) -> str:
        """Return what approving *name* would change, as a unified diff.

        Raises:
            SkillNotFound: no such candidate.
        """
        new = self._read_skill(name)
        old = b""
        store = self._project.skills.stores[self._folder_of_skill(name).place.scope]
        if name in store.skills():
            old, _ = store.read(name)
            new = file.edit(old, _read_fields(new, name))
        before, after = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (old, new))
        rows = diff_lines(before, after, context=3)
        heads = f"--- {name}/{SKILL_FILE} (now)\n+++ {name}/{SKILL_FILE}\n" if rows else ""
        return heads + "".join(f"{row}\n" if row.startswith("@") else row for row in rows)

    def _read_skill(self, name: str) -> bytes:
        found = self.skills().get(name)
        if found is None:
            raise SkillNotFound(name, " waits for approval", near=closest(name, self.skills()))
        return found

    def approve_skill(self, name: str) -> SkillEntry:
        """Write the candidate into the repository; over a skill of that name it is an update, which `restore` undoes.

        Raises:
            SkillNotFound: no such candidate.
            InvalidSkill, SecretFound, StoreError: it stays a candidate.
        """
        data = self._read_skill(name)
        skills, scope = self._project.skills, self._folder_of_skill(name).place.scope
        if name in skills.stores[scope].skills():
            entry = skills.update(name, **_read_fields(data, name), scope=scope)
        else:
            entry = skills.create(name, data.decode(), scope=scope)
        self._folder_of_skill(name).drop_skill(name)
        return entry

    def reject_skill(self, name: str) -> None:
        """Drop the candidate.

        Raises:
            SkillNotFound: no such candidate.
        """
        self._read_skill(name)
        self._folder_of_skill(name).drop_skill(name)
        self._project.journal.note_change(f"dropped the candidate skill {name}")

    # memories

    def propose(self, proposals: Iterable[Proposal], *, most: int | None = None, least: float = 0.0) -> list[Proposal]:
        """Put memories up for approval, and return those that are new: not stored, not waiting and not rejected before.

        What waits already and was learned in another session again is one proposal that says so, and a more important
        one. *most*: how many at most; the most important ones, in the order given. What is less important than *least*
        is only heard: other sessions that teach it too put it up.
        """
        with self._here.writing():
            waiting = {one.memory.id: one for one in self._here.read_memories()}
            known = {content_hash(one.memory.content) for one in self.memories()}
            known = known.union(*(folder.read_rejected() for folder in self._all))
            found: list[Proposal] = []
            for proposal in proposals:
                if again := _find_again(proposal, (*waiting.values(), *found)):
                    if again.memory.id in waiting:
                        merged = waiting[again.memory.id] = _merge(again, proposal)
                        if again.heard and max(merged.memory.importance, proposal.memory.importance) >= least:
                            found.append(replace(waiting.pop(again.memory.id), heard=False))
                    continue
                hash_ = content_hash(proposal.memory.content)
                if hash_ in known or any(store.by_hash(hash_) for store in self._project.stores.values()):
                    continue
                known.add(hash_)
                memory = proposal.memory._replace(id=derive_id(proposal.memory.content))
                found.append(replace(proposal, memory=memory, heard=memory.importance < least))
            heard = [one for one in (*waiting.values(), *found) if one.heard]
            best = best_of([one for one in found if not one.heard], most)
            heard += [replace(one, heard=True) for one in found if one.also and one not in best]
            heard, found = heard[-_MOST_HEARD:], best
            self._here.write_memories([*heard, *(one for one in waiting.values() if not one.heard), *found])
        if found:
            ids = " ".join(one.memory.id for one in found)
            self._project.journal.note_change(f"proposed {count(len(found), 'memory')}", f"reject {ids}")
        return found

    def memories(self) -> list[Proposal]:
        """Return the memories that wait, in the order they came."""
        found: dict[str, Proposal] = {}
        for folder in self._all:
            for one in folder.read_memories():
                if not one.heard:
                    found.setdefault(one.memory.id, one)
        return list(found.values())

    def get(self, ref: str) -> Proposal:
        """Return the memory that waits under *ref*, an id or the beginning of one.

        Raises:
            MemoryNotFound: none or several do.
        """
        (found,) = self._find([ref])
        return found

    def approve(self, ids: Iterable[str]) -> list[Remembered]:
        """Remember the named candidates, as one by hand would be: copies are found, secrets are blocked, what they name is anchored.

        What a correction supersedes is archived, and its tags are taken over.

        Raises:
            MemoryNotFound: no such candidate; nothing was stored.
            SecretFound, StoreError: what was stored before stays, the rest waits.
        """
        from memsync.memories.naming import Named, name_all
        from memsync.memories.remember import Draft, store_draft

        done = []
        for proposal in self._find(ids):
            folder = next(folder for folder in self._all if proposal in folder.read_memories())
            replaces = tuple(find_live(self._project, proposal.memory.supersedes))
            tags = dict.fromkeys([*proposal.memory.tags, *(tag for entry in replaces for tag in entry.memory.tags)])
            kept = tuple(tag for tag in tags if tag != ALLOW_TAG)  # so that what was pinned stays pinned
            memory, said = read_scope(proposal.memory)
            memory = memory._replace(author=self._project.author, supersedes=(), tags=kept)
            worth = max([memory.importance, *(entry.memory.importance for entry in replaces)])
            memory = memory._replace(importance=worth)
            scope = "private" if said == "private" else _choose_scope(replaces, folder.place.scope)
            self._project.expect_store(scope)
            with Named(memory.content, None if scope == "global" else self._project.layout.root) as named:
                vetted = self._project.vetting.vet(name_all(memory, named), scope)
            is_chosen = folder is not self._here or scope != folder.place.scope
            draft = Draft(vetted, scope, memory.importance, replaces, is_chosen=is_chosen, is_approved=True)
            done.append(store_draft(self._project, draft))
            self._drop({memory.id})
            self._note("approved", proposal)
        return done

    def reject(self, ids: Iterable[str]) -> list[Proposal]:
        """Drop the named candidates; the same text is not proposed again.

        Raises:
            MemoryNotFound: no such candidate; nothing was dropped.
        """
        chosen = self._find(ids)
        with self._here.writing():
            self._here.add_rejected([content_hash(one.memory.content) for one in chosen], chosen)
        self._drop({one.memory.id for one in chosen})
        for one in chosen:
            self._note("rejected", one)
        return chosen

    def rejected(self) -> list[Memory]:
        """Return what was rejected, as far as its words were kept."""
        return [
            one.memory
            for folder in self._all
            for one in folder.read_refused()
            if content_hash(one.memory.content) in folder.read_rejected()
        ]

    def _note(self, decided: str, proposal: Proposal) -> None:
        self._project.journal.note_change(
            f"{decided} {proposal.memory.content}", proposal=codec.encode(make_record(proposal))
        )

    def edit(self, ref: str, text: str) -> Proposal:
        """Give the candidate *ref* another text, and so another id; the old one is not proposed again.

        Raises:
            MemoryNotFound: no such candidate.
            InvalidMemory: nothing was changed.
        """
        old = self.get(ref)
        content = clean_content(text)
        new = replace(old, memory=old.memory._replace(content=content, id=derive_id(content)))
        self._rewrite(lambda one: new if one == old else one)
        if new.memory.content != old.memory.content:
            with self._here.writing():
                self._here.add_rejected([content_hash(old.memory.content)])
            self._project.journal.note_change(
                f"changed the candidate {shown_id(new.memory.id)}", f"candidates edit {new.memory.id}"
            )
        return new

    def put_back(self, proposal: Proposal) -> None:
        """Let *proposal* wait again, also if it was rejected."""
        with self._here.writing():
            self._here.drop_rejected({content_hash(proposal.memory.content)})
            waiting = self._here.read_memories()
            if proposal.memory.id not in {one.memory.id for one in waiting if not one.heard}:
                self._here.write_memories([*waiting, proposal])

    def take_again(self, proposal: Proposal) -> None:
        """Have *proposal*, which was put back, decided about as before: stored meanwhile, or else rejected."""
        hash_ = content_hash(proposal.memory.content)
        if not any(store.by_hash(hash_) for store in self._project.stores.values()):
            with self._here.writing():
                self._here.add_rejected([hash_])
        self._drop({proposal.memory.id})

    def _find(self, ids: Iterable[str]) -> list[Proposal]:
        waiting = self.memories()
        chosen = []
        for ref in ids:
            matches = [one for one in waiting if one.memory.id.startswith((ref, f"mm-{ref}"))]
            if len(matches) != 1:
                raise MemoryNotFound(
                    ref, " waits for approval, or several do", Remedy("memory candidates"), " shows the ids"
                )
            chosen += matches
        return chosen

    def _drop(self, ids: Collection[str]) -> None:
        self._rewrite(lambda one: None if one.memory.id in ids else one)

    def _rewrite(self, change: Callable[[Proposal], Proposal | None]) -> None:
        for folder in self._all:
            if folder.holds_memories():
                with folder.writing():
                    folder.write_memories(filter(None, map(change, folder.read_memories())))


class _Folder:
    """The candidates of one place. Whoever changes something does so in `writing`."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.path = place.local / "candidates"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock; the folder is made if it is not there."""
        self._make(self.path)
        with lock(self.path / "lock"):
            yield

    def _make(self, directory: Path) -> None:
        files.prepare(self.place)
        files.make_dirs(directory, private=self.place.private)

    def skill_path(self, name: str) -> Path:
        return self.path / "skills" / name / SKILL_FILE

    def read_skills(self) -> dict[str, bytes]:
        found = sorted(self.path.glob(f"skills/*/{SKILL_FILE}"))
        return {path.parent.name: files.read(path)[0] for path in found}

    def write_skill(self, name: str, data: bytes) -> None:
        """Write a skill, unless one of that name is there."""
        self._make(self.skill_path(name).parent)
        files.create(self.skill_path(name), data, private=self.place.private)

    def drop_skill(self, name: str) -> None:
        with suppress(FileNotFoundError):
            shutil.rmtree(self.skill_path(name).parent)

    def holds_memories(self) -> bool:
        return (self.path / _MEMORIES).exists()

    def read_memories(self) -> list[Proposal]:
        return self._read_proposals(_MEMORIES)

    def read_refused(self) -> list[Proposal]:
        return self._read_proposals(_REFUSED)

    def _read_proposals(self, name: str) -> list[Proposal]:
        data, _ = files.read(self.path / name)
        return [make_proposal(line.memory) for line in jsonl.read_lines(data) if line.memory]

    def write_memories(self, proposals: Iterable[Proposal]) -> None:
        self._rewrite(_MEMORIES, lambda _: b"".join(codec.encode(make_record(one)) + b"\n" for one in proposals))

    def read_rejected(self) -> set[str]:
        """Return the hashes of the texts that nobody wants proposed again."""
        data, _ = files.read(self.path / _REJECTED)
        return set(data.decode("ascii", "replace").split())

    def add_rejected(self, hashes: Iterable[str], refused: Iterable[Proposal] = ()) -> None:
        if kept := b"".join(codec.encode(make_record(one)) + b"\n" for one in refused):
            files.append(self.path / _REFUSED, kept, private=self.place.private)
        if rows := "".join(f"{hash_}\n" for hash_ in hashes):
            files.append(self.path / _REJECTED, rows.encode(), private=self.place.private)

    def drop_rejected(self, hashes: Collection[str]) -> None:
        def leave_out(was: bytes) -> bytes:
            return b"".join(row + b"\n" for row in was.split() if row.decode("ascii", "replace") not in hashes)

        self._rewrite(_REJECTED, leave_out)

    def _rewrite(self, name: str, change: Callable[[bytes], bytes]) -> None:
        path = self.path / name
        was, _ = files.read(path)
        if (rows := change(was)) != was:
            files.rewrite(path, rows, was=was, temp=path.with_suffix(".tmp"), private=self.place.private)

    def add(self, skills: Mapping[str, bytes], other: _Folder) -> None:
        """Add *skills*, and what was rejected in *other*, as far as they are not there yet."""
        there = self.read_refused()
        refused = [one for one in other.read_refused() if one not in there]
        self.add_rejected(sorted(other.read_rejected() - self.read_rejected()), refused)
        for name, data in skills.items():
            self.write_skill(name, data)


def carry(place: Place, to: Place) -> None:
    """Let what waits in *place* wait in *to* as well; a second time changes nothing."""
    old, new = _Folder(place), _Folder(to)
    if not old.path.is_dir():
        return
    with new.writing():
        there = new.read_memories()
        ids = {one.memory.id for one in there}
        new.write_memories([*there, *(one for one in old.read_memories() if one.memory.id not in ids)])
        new.add(old.read_skills(), old)


def carry_back(private: Place, kept: Place, place: Place) -> None:
    """Let what waited in *place*, as *kept* has it, and still waits in *private*, wait in *place* again, and there only."""
    out, was, back = _Folder(private), _Folder(kept), _Folder(place)
    if not was.path.is_dir():
        return
    with back.writing(), out.writing():
        waiting = out.read_memories()
        memories = [one for one in was.read_memories() if one in waiting]
        skills = dict(was.read_skills().items() & out.read_skills().items())
        back.write_memories([*memories, *(one for one in back.read_memories() if one not in memories)])
        back.add(skills, was)
        shutil.rmtree(was.path)  # from here on a second time changes nothing
        out.write_memories(one for one in waiting if one not in memories)
        for name in skills:
            out.drop_skill(name)


def _find_again(new: Proposal, others: Iterable[Proposal]) -> Proposal | None:
    """Return that of *others* which a session taught as well, if *new* is the lesson of one."""
    sessions = (one for one in others if one.memory.source_session_id and new.memory.source_session_id)
    return next((one for one in sessions if is_same_lesson(new.memory, one.memory)), None)


def _merge(waiting: Proposal, new: Proposal) -> Proposal:
    """Return *waiting* with where *new* was learned as well, if that is another session.

    Words that were only heard, and are the same to the letter, are rather those of a template, unless the user now
    asks to have them remembered.
    """
    memory, session = waiting.memory, new.memory.source_session_id
    known, told = memory.importance, new.memory.importance
    is_same = waiting.heard and memory.content == new.memory.content and told <= known
    is_template = is_same and not (memory.anchors or memory.triggers)
    if is_template or session in {memory.source_session_id, *(text.rpartition(":")[0] for text in waiting.also)}:
        return waiting
    importance = round(min(max(known, told) + _AGAIN, max(_MOST_IMPORTANT, known, told)), 2)
    triggers = tuple(dict.fromkeys((*memory.triggers, *new.memory.triggers)))
    also = (*waiting.also, f"{session}:{new.where.rpartition(':')[2]}")
    return replace(waiting, memory=memory._replace(importance=importance, triggers=triggers), also=also)


def is_same_lesson(one: Memory, other: Memory) -> bool:
    """Tell whether two memories teach the same: they are due by the same trigger, or have none and say the same in whatever words."""
    if one.triggers and other.triggers:
        here, there = ({re.sub(r"[()\[\]]", "", text) for text in memory.triggers} for memory in (one, other))
        return bool(here & there) or one.content == other.content
    relation = decide(one.content, other.content, 0.0).relation
    if relation in ("duplicate", "contained", "contains"):
        return True
    here, there = (set(re.findall(r"\w{2,}", text.lower())) for text in (one.content, other.content))
    return relation != "contradicts" and len(here & there) >= _SAME * len(here | there)


def make_record(proposal: Proposal) -> Memory:
    """Return *proposal* as a record, whose other keys say why and where."""
    about = {
        "rationale": proposal.rationale,
        "where": proposal.where,
        **({"also": list(proposal.also)} if proposal.also else {}),
        **({"heard": True} if proposal.heard else {}),
    }
    return proposal.memory._replace(extra={**proposal.memory.extra, **about})


def make_proposal(memory: Memory) -> Proposal:
    """Return the proposal that `make_record` made a record of."""
    extra = dict(memory.extra)
    rationale, where, also = str(extra.pop("rationale", "")), str(extra.pop("where", "")), extra.pop("also", ())
    also = tuple(map(str, also)) if isinstance(also, list) else ()
    heard = extra.pop("heard", None) is True
    return Proposal(memory=memory._replace(extra=extra), rationale=rationale, where=where, also=also, heard=heard)


def find_live(project: Project, ids: Iterable[str]) -> Iterator[Entry]:
    """Yield those of the memories *ids* that are there and not archived."""
    for id_ in ids:
        with suppress(MemoryNotFound, AmbiguousId):
            if not (entry := project.get(id_)).memory.archived_at:
                yield entry


def _choose_scope(replaces: Collection[Entry], here: Scope) -> Scope:
    """Return where a correction belongs: where what it replaces was, and never where more people read it."""
    scopes: set[Scope] = {entry.scope for entry in replaces}
    if "private" in scopes:
        return "private"
    return "global" if "global" in scopes else here


def _read_fields(data: bytes, name: str) -> dict[str, Any]:
    """Return what a candidate says, for an update of a skill that has more to it."""
    skill = file.read(data, name).skill
    wanted = {field: getattr(skill, field) for field in ("description", "instructions", "trigger_pattern", "tags")}
    return {field: value for field, value in wanted.items() if value}
