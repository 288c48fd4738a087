"""Skills as plain calls: find, write, use, check and export them."""

from __future__ import annotations

import builtins
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memsync.errors import (
    AmbiguousSkill,
    InvalidSkill,
    Remedy,
    SecretFound,
    SkillNotFound,
    UsageError,
    blaming,
    closest,
)
from memsync.format.scopes import mark_text
from memsync.git.stage import keep_out
from memsync.records import SCOPES, SKILL_PREFIX, Memory, Scope, Skill, as_scope, clean_tags, new_id, valid_text
from memsync.skills import check, file
from memsync.skills.entries import Checked, SkillEntry, version_of
from memsync.skills.store import SKILL_FILE, SkillStore
from memsync.store.files import resolve_named

if TYPE_CHECKING:
    from memsync.index.core import Index
    from memsync.memories.project import Project

# Characters of the instructions that a search sees; what a skill is for stands at its beginning.
_SEARCHED: Final = 4_000
# What a matching trigger adds to a score (0-1 and more): as much as a good match of words.
_TRIGGERED: Final = 0.5
_BESIDE: Final = 5  # skills that are shown after memories


class Skills:
    """The skills in reach of a directory: its project's, its private ones and the user's."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.stores: dict[Scope, SkillStore] = {
            scope: SkillStore(store.place) for scope, store in project.stores.items()
        }
        self._indexed: tuple[tuple[tuple[Scope, str, Skill], ...], Index] | None = None

    def list(
        self, query: str | None = None, *, scope: Scope | None = None, limit: int | None = None
    ) -> builtins.list[SkillEntry]:
        """Return the skills by name; with a *query* those that answer it, best first."""
        if query and query.strip():
            return self.search(query, scope=scope, limit=limit)
        return sorted(self._entries(scope), key=lambda entry: (entry.name, SCOPES.index(entry.scope)))[:limit]

    def refuse_off(self) -> None:
        """Do nothing unless skills are switched off: then none is offered, neither to an agent nor at a terminal.

        Raises:
            UsageError: they are.
        """
        if not self._project.settings.skills_enabled:
            raise UsageError("skills are switched off here (skills.enabled); go on without them")

    def _entries(self, scope: Scope | None = None) -> builtins.list[SkillEntry]:
        found, scope = [], scope and as_scope(scope)
        for where, store in self.stores.items():
            if scope in (None, where):
                usage, outcomes = self._project.state(where).usage(), self._project.state(where).outcomes()
                for name, file in store.skills().items():
                    used, ended = usage.get(file.skill.id), outcomes.get(file.skill.id)
                    rate = ended and round(ended.successes / (ended.successes + ended.failures), 4)
                    entry = SkillEntry(
                        skill=file.skill,
                        scope=where,
                        path=store.path(name),
                        problems=file.problems,
                        use_count=used.access_count if used else 0,
                        success_rate=rate,
                    )
                    found.append(entry)
        return found

    def get(self, ref: str, scope: Scope | None = None) -> SkillEntry:
        """Return the skill that *ref* names: a name, an id, or the beginning of an id.

        A project's skill comes before a private one of the same name, and that before a global one.

        Raises:
            SkillNotFound, AmbiguousSkill
        """
        if scope:
            self._project.layout.place(scope)
        found = sorted(self._entries(scope), key=lambda entry: SCOPES.index(entry.scope))
        for entry in found:
            if ref in (entry.name, entry.skill.id):
                return entry
        lower = ref.lower()
        fits = [e for e in found if lower and e.skill.id.startswith((lower, SKILL_PREFIX + lower))]
        if len(fits) > 1:
            raise AmbiguousSkill(ref, [e.skill.id for e in fits])
        if not fits:
            raise SkillNotFound(ref, near=closest(ref, [e.name for e in found]))
        return fits[0]

    def search(self, query: str, *, scope: Scope | None = None, limit: int | None = None) -> builtins.list[SkillEntry]:
        """Return the skills that answer *query* by their words, their meaning or their trigger, best first."""
        entries = {(entry.scope, entry.skill.id): entry for entry in self._entries(scope)}
        ranking = self._index().search(
            query,
            limit=max(len(entries), 1),
            allow=lambda where, memory: 1.0 if (where, memory.id) in entries else None,
            weighed=0,
        )
        scores = {(match.scope, match.memory.id): match.parts.score for match in ranking.matches}
        for key, entry in entries.items():
            if check.is_triggered(entry.skill.trigger_pattern, query):
                scores[key] = scores.get(key, 0.0) + _TRIGGERED
        best = sorted(scores, key=lambda key: (-scores[key], entries[key].name))
        return [replace(entries[key], score=scores[key]) for key in best[:limit]]

    def search_beside(
        self, query: str | None, *, scope: Scope | None = None, at: str | None = None
    ) -> builtins.list[SkillEntry]:
        """Return the skills to show after the memories that answer *query*; their scores do not compare with those.

        Raises:
            UsageError: there is no query, or it is about another time (*at*) than now, or skills are switched off.
        """
        self.refuse_off()
        if at is not None:
            raise UsageError("skills are found as they are now; leave out the skills or the revision")
        if not query or not query.strip():
            raise UsageError("which skills fit depends on a query; give one")
        return self.search(query, scope=scope, limit=_BESIDE)

    def _index(self) -> Index:
        from memsync.index.bulk import make_index

        skills = tuple(
            (scope, name, file.skill) for scope, store in self.stores.items() for name, file in store.skills().items()
        )
        if self._indexed is None or self._indexed[0] != skills:
            records = [(scope, make_record(skill)) for scope, _, skill in skills]
            index = make_index(records, self._project.finder.meaning, stop_words=self._project.settings.stop_words)
            self._indexed = skills, index
        return self._indexed[1]

    def refresh(self) -> None:
        """Take in what changed in the folders of skills."""
        if any(store.skills() for store in self.stores.values()):
            self._index()

    def stats(self) -> dict[str, Any]:
        """Return counts, and the most used skills."""
        entries = self._entries()
        used = sorted((e for e in entries if e.use_count), key=lambda e: (-e.use_count, e.name))
        return {
            "total": len(entries),
            "by_scope": {scope: sum(e.scope == scope for e in entries) for scope in self.stores},
            "uses": sum(e.use_count for e in entries),
            "most_used": [e.as_dict(whole=False) for e in used[:5]],
            "with_problems": sorted(e.name for e in entries if e.problems),
        }

    def create(
        self,
        name: str,
        instructions: str,
        *,
        description: str | None = None,
        trigger_pattern: str = "",
        tags: Collection[str] = (),
        scope: Scope | None = None,
        source_session_id: str | None = None,
    ) -> SkillEntry:
        """Write a new skill. *instructions* may be a whole SKILL.md; without a description its first line is one.

        Raises:
            InvalidSkill, StoreError: nothing was written.
        """
        check.clean_name(name)
        store = self.store_to_write(scope or self._project.default_scope)
        fields = {
            **_clean(name=name, description=description),
            "id": new_id(name, self._project.clock(), is_taken=self.is_taken, count=0, prefix=SKILL_PREFIX),
            **_clean(trigger_pattern=trigger_pattern, tags=tags),
            "source_session_id": source_session_id,
        }
        data = file.make(_clean_text(instructions), {key: value for key, value in fields.items() if value})
        data = check.fix(data, name)
        check.refuse(data, name, "SKILL.md")
        self.refuse_secret(data, store.place.scope)
        with store.writing():
            store.create(name, data)
        self.note(f"created the skill {name}", "delete", name, store.place.scope)
        return self.get(name, store.place.scope)

    def update(
        self,
        ref: str,
        *,
        name: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        trigger_pattern: str | None = None,
        tags: Collection[str] | None = None,
        scope: Scope | None = None,
        was: str | None = None,
    ) -> SkillEntry:
        """Change the given fields; every other line of the file keeps its bytes. The old file stays in the trash.

        With *was*, the `version` that somebody has read, only if the skill is still that.

        Raises:
            SkillNotFound, InvalidSkill, StoreError: nothing was changed.
        """
        entry = self.get(ref, scope)
        store = self.store_to_write(entry.scope)
        wanted = _clean(
            name=name, description=description, instructions=instructions, trigger_pattern=trigger_pattern, tags=tags
        )
        changes = {key: value for key, value in wanted.items() if value != getattr(entry.skill, key)}
        with store.writing():
            data, _ = store.read(entry.name)
            if was is not None and was != (now := version_of(file.read(data, entry.name).skill)):
                raise InvalidSkill(f"{entry.name} was changed since: it is {now} now, not {was}; read it again")
            self.refuse_secret(new := file.edit(data, changes), entry.scope)
            name = changes.pop("name", entry.name)
            if name != entry.name:  # an id that is only derived from the name would be lost with it
                renamed = file.edit(data, {"name": name, "id": entry.skill.id})
                store.rename(entry.name, name, renamed, was=data)
                data, new = renamed, file.edit(renamed, changes)
            store.rewrite(name, new, was=data)
        if name != entry.name:
            self._project.journal.note_change(
                f"renamed the skill {entry.name}", f"skill update {name} --name {entry.name}"
            )
        if new != data:
            self.note(f"changed the skill {name}", "restore", name, entry.scope)
        return self.get(name, entry.scope)

    def delete(self, ref: str, scope: Scope | None = None) -> SkillEntry:
        """Move a skill with all its files to the local trash, and return it; `restore` brings it back."""
        entry = self.get(ref, scope)
        store = self.store_to_write(entry.scope)
        with store.writing():
            store.remove(entry.name)
        self.note(f"deleted the skill {entry.name}", "restore", entry.name, entry.scope)
        return entry

    def restore(self, name: str, scope: Scope | None = None) -> SkillEntry:
        """Undo the last `update` or `delete` of a skill on this machine; of an `update`, doing it twice redoes it.

        Raises:
            SkillNotFound, StoreError
        """
        known = [
            where for where, store in self.stores.items() if scope in (None, where) and name in store.list_trashed()
        ]
        if not known:
            raise SkillNotFound(name, " that was changed or removed on this machine")
        store = self.store_to_write(known[0])
        with store.writing():
            is_new = not store.path(name).exists()
            store.restore(name)
        self.note(f"restored the skill {name}", "delete" if is_new else "restore", name, known[0])
        return self.get(name, known[0])

    def note(self, what: str, verb: str, name: str, scope: Scope) -> None:
        """Have `memsync undo` know of a change, and that *verb* takes it back."""
        where = "" if scope == "project" else f" --scope {scope}"
        self._project.journal.note_change(mark_text(what, scope), f"skill {verb} {name}{where}")

    def apply(self, ref: str, *, outcome: bool | None = None, scope: Scope | None = None) -> SkillEntry:
        """Return a skill to follow, and count the use; with an *outcome* count that instead."""
        entry = self.get(ref, scope)
        state = self._project.state(entry.scope)
        if outcome is None:
            state.record_use([(entry.skill.id, self._project.clock())])
        else:
            state.record_outcome(entry.skill.id, success=outcome)
        return self.get(ref, scope)

    def validate(self, refs: Iterable[str] = (), *, fix: bool = False) -> builtins.list[Checked]:
        """Check the given skills, else all, as clients and the specification's validator do; with *fix* fix them."""
        entries = [self.get(ref) for ref in refs] or self.list()
        return [self._validate(entry, fix=fix) for entry in entries]

    def _validate(self, entry: SkillEntry, *, fix: bool) -> Checked:
        store, name = self.stores[entry.scope], entry.name
        data, _ = store.read(name)
        problems, mended, unfixed = check.check(data, name), False, ""
        if fix and any(not problem.harmless for problem in problems):
            try:
                new = check.fix(data, name)
            except InvalidSkill as error:
                new, unfixed = data, str(error)
            if new != data:
                with self.store_to_write(entry.scope).writing():
                    store.rewrite(name, new, was=data)
                self.note(f"fixed the skill {name}", "restore", name, entry.scope)
                problems, mended = check.check(new, name), True
            if any(not problem.harmless for problem in problems):
                unfixed = unfixed or "what is left, only you can decide"
        return Checked(name=name, path=entry.path, problems=tuple(problems), mended=mended, unfixed=unfixed)

    def export(
        self,
        directory: Path | None = None,
        *,
        scope: Scope | None = None,
        all_scopes: bool = False,
        force: bool = False,
    ) -> builtins.list[SkillEntry]:
        """Copy the project's skills, or those of *scope* or all, with all their files, and return them as they are there.

        Without a *directory* into .claude/skills. What is private or global says so in its SKILL.md.

        Raises:
            InvalidSkill: one is there already and differs, and *force* is off; nothing was copied.
            UsageError: git has one there already, which is private here.
            StoreError
        """
        directory = directory or self.store_to_write("project").directory
        into = resolve_named(directory, self._project.layout.root)
        found = {entry.name: entry for entry in reversed(self.list(scope=None if all_scopes else scope or "project"))}
        copies = {into / name: (entry, _mark_scope(entry)) for name, entry in sorted(found.items())}
        other = [to for to, (entry, data) in copies.items() if to.exists() and not _hold_same(entry.path, to, data)]
        if other and not force:
            raise InvalidSkill(f"{other[0]} already exists and differs; ", Remedy("--force"), " replaces its files")
        own = os.path.realpath(self._project.layout.place("project").skills) if "project" in self.stores else ""
        for target, (entry, data) in copies.items():
            # Of its own folder git is to have what is shared later; the gate reads what is there.
            is_seen = entry.scope != "project" and os.path.realpath(into) != own
            with keep_out(self._project.layout.git if is_seen else None, target), blaming(target):
                if not target.exists() or target in other:
                    shutil.copytree(entry.path.parent, target, dirs_exist_ok=True, symlinks=True)
                    if entry.scope != "project":
                        (target / SKILL_FILE).write_bytes(data)
        return [replace(entry, path=directory / target.name / SKILL_FILE) for target, (entry, _) in copies.items()]

    def store_to_write(self, scope: Scope) -> SkillStore:
        """Return the store of *scope* for a write."""
        place = self._project.layout.place(scope)
        self._project.stores.allow_write(place.scope, place.skills)
        return self.stores[place.scope]

    def refuse_secret(self, data: bytes, scope: Scope) -> None:
        """Refuse what looks like a secret where others than the user may see it.

        Raises:
            SecretFound
        """
        from memsync.safety import secrets

        if scope != "private" and (found := secrets.scan(data.decode(errors="replace"), self._project.vetting.allowed)):
            raise SecretFound(secrets.describe(found))

    def is_taken(self, id_: str) -> bool:
        """Tell whether a skill in reach has that id."""
        return any(entry.skill.id == id_ for entry in self._entries())


def make_record(skill: Skill) -> Memory:
    """Return *skill* as an index takes it: its name, its description, and the beginning of what it says."""
    text = f"{skill.name.replace('-', ' ')}: {skill.description}\n{skill.instructions[:_SEARCHED]}"
    return Memory(id=skill.id, content=text, memory_type="skill", tags=skill.tags)


def _clean(**given: Any) -> dict[str, Any]:
    return {name: _CLEAN[name](value) for name, value in given.items() if value is not None}


def _clean_text(text: str) -> str:
    text = valid_text(text, "instructions").replace("\r\n", "\n").strip()
    if not text:
        raise InvalidSkill("the instructions are empty; say what to do, step by step")
    return text


_CLEAN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "name": check.clean_name,
    "description": check.clean_description,
    "instructions": _clean_text,
    "trigger_pattern": check.clean_trigger,
    "tags": clean_tags,
}


def _mark_scope(entry: SkillEntry) -> bytes:
    """Return the SKILL.md of a copy of *entry*: as it is, where it is the project's own or no client can read it."""
    data = entry.path.read_bytes()
    if entry.scope == "project":
        return data
    with suppress(InvalidSkill, UnicodeDecodeError):
        return file.edit(data, {"scope": entry.scope})
    return data


def _hold_same(one: Path, other: Path, data: bytes) -> bool:
    """Tell whether the folder *other* has all files that lie beside the SKILL.md *one*, with the same bytes, and *data* for that."""
    sources = [Path(root, name) for root, _, names in os.walk(one.parent) for name in names]
    targets = [other / source.relative_to(one.parent) for source in sources]
    return all(
        b.is_file() and b.read_bytes() == (data if a == one else a.read_bytes())
        for a, b in zip(sources, targets, strict=True)
    )
