"""The only writer of skills: a folder each, with a SKILL.md and whatever lies beside it; and finding what they are anchored to.

What is replaced or removed stays in the local trash, from which `restore` takes it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from memsync.errors import InvalidSkill, MemsyncError, Remedy, SkillNotFound, blaming, closest
from memsync.format.jsonl import Problem
from memsync.records import SKILL_PREFIX, Memory, derive_skill_id
from memsync.skills import file as skillfile
from memsync.skills.entries import SkillEntry
from memsync.skills.file import SkillFile
from memsync.store import files
from memsync.store.files import Stamp
from memsync.store.lock import lock
from memsync.store.places import Place
from memsync.system import local
from memsync.system.logs import Log

log = Log(__name__)

SKILL_FILE: Final = "SKILL.md"
# Bytes. Clients read a skill whole into the context, so a larger file is a mistake.
MAX_FILE: Final = 1_000_000
_KEPT: Final = 200


class SkillStore:
    """The skills of one place. Threads and processes may share it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.directory = place.skills
        self._held: dict[str, tuple[Stamp, SkillFile]] = {}
        self._warned: set[tuple[str, Problem]] = set()

    def path(self, name: str) -> Path:
        """Return where the file of the skill *name* is."""
        return self.directory / name / SKILL_FILE

    def skills(self) -> Mapping[str, SkillFile]:
        """Return the skills by folder name; only files that changed are read again.

        One that has become unreadable is returned as it last was, with what is wrong now.
        """
        held = {name: self._look(name) for name in self.names()}
        self._held = {name: found for name, found in held.items() if found}
        return {name: file for name, (_, file) in self._held.items()}

    def names(self) -> list[str]:
        """Return the folders that hold a skill, in order."""
        try:
            return sorted(entry.name for entry in os.scandir(self.directory) if self.path(entry.name).is_file())
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            log.warning("%s: %s; its skills are left out", self.directory, error.strerror or error)
            return []

    def _look(self, name: str) -> tuple[Stamp, SkillFile] | None:
        path, known = self.path(name), self._held.get(name)
        if known and known[0] == files.stamp(path):
            return known
        try:
            data, seen = self.read(name)
        except MemsyncError as error:
            self._warn(name, Problem(1, str(error)))
            return None
        file = skillfile.read(data, name)
        for problem in file.problems:
            self._warn(name, problem)
        if file.problems and known:
            file = known[1]._replace(problems=file.problems)
        return seen, file

    def _warn(self, name: str, problem: Problem) -> None:
        if (name, problem) not in self._warned:
            self._warned.add((name, problem))
            log.warning("%s:%d: %s", self.path(name), problem.number, problem.why)

    def read(self, name: str) -> tuple[bytes, Stamp]:
        """Return the bytes of a SKILL.md and their stamp.

        Raises:
            StoreUnreadable, InvalidSkill: it is too large.
            OutsideTree: a link leads out of the repository.
        """
        path = self.path(name)
        files.resolve_inside(path, self.place.tree)
        if files.stamp(path).size > MAX_FILE:
            raise InvalidSkill(f"{path} has more than {MAX_FILE:,} bytes; no client can load it")
        return files.read(path)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock of the skills: decide and write inside."""
        files.prepare(self.place)
        with lock(self.place.local / "skills.lock"):
            yield

    def create(self, name: str, data: bytes) -> None:
        """Write the file of a new skill. Under the lock.

        Raises:
            InvalidSkill: there is a folder of that name.
        """
        folder = self.directory / name
        files.resolve_inside(folder, self.place.tree)
        if os.path.lexists(self.path(name)):
            raise InvalidSkill(f"skill {name} already exists; ", Remedy("skill update", name), " changes it")
        files.make_dirs(folder, private=self.place.private)
        if not files.create(self.path(name), data, private=self.place.private):
            raise InvalidSkill(f"{self.path(name)} was just created by somebody else; look at it first")

    def rewrite(self, name: str, data: bytes, *, was: bytes) -> None:
        """Replace the file of a skill atomically; the old one goes to the trash. Under the lock.

        Raises:
            InvalidSkill: it is no longer what it *was*; nothing was changed.
        """
        if data == was:
            return
        kept = self._new_trash(name)
        files.create(kept / SKILL_FILE, was, private=self.place.private)
        self._replace(name, data, was)

    def _replace(self, name: str, data: bytes, was: bytes) -> None:
        path = files.resolve_inside(self.path(name), self.place.tree)
        temp = self.place.local / "skill.tmp"
        if files.replace(path, data, was=was, temp=temp, private=self.place.private) is None:
            raise InvalidSkill(f"{path} was just changed by somebody else; look at it, and try again")

    def rename(self, name: str, new: str, data: bytes, *, was: bytes) -> None:
        """Give the folder another name, and its file the *data* that says so. Under the lock.

        The trash keeps nothing of it: to undo a rename is to rename again.

        Raises:
            InvalidSkill: the new name is taken, or the file is no longer what it *was*; nothing was changed.
        """
        folder, target = self.directory / name, self.directory / new
        if os.path.lexists(target):
            raise InvalidSkill(f"{target} already exists")
        self._replace(name, data, was)
        with blaming(folder):
            folder.rename(target)

    def remove(self, name: str) -> Path:
        """Move the folder of a skill with all that is in it to the trash, and return where it is. Under the lock."""
        folder = self.directory / name
        if folder.is_symlink():
            raise InvalidSkill(f"{folder} is a symbolic link; remove it by hand")
        kept = self._new_trash(name)
        with blaming(folder):
            kept.rmdir()
            shutil.move(folder, kept)
        return kept

    def restore(self, name: str) -> None:
        """Bring back what was last replaced or removed under *name*; what is there now goes to the trash. Under the lock.

        Raises:
            SkillNotFound: the trash holds no such skill.
        """
        trash = [path for _, path in reversed(self._trash()) if path.name[7:] == name]
        kept = next((path for path in trash if (path / SKILL_FILE).exists()), None)
        if kept is None:
            rest = f"; files that were in its place, and are no skill, lie in {trash[0]}" if trash else ""
            near = closest(name, {path.name[7:] for _, path in self._trash()} - {name})
            raise SkillNotFound(name, f" that was changed or removed on this machine{rest}", near=near)
        if not self.path(name).exists():
            if (self.directory / name).is_dir():
                self.remove(name)  # files that somebody put there since
            with blaming(self.directory / name):
                files.make_dirs(self.directory, private=self.place.private)
                shutil.copytree(kept, self.directory / name, dirs_exist_ok=True, symlinks=True)
        else:
            was, _ = self.read(name)
            self.rewrite(name, files.read(kept / SKILL_FILE)[0], was=was)
        shutil.rmtree(kept, ignore_errors=True)

    def list_trashed(self) -> list[str]:
        """Return the names that `restore` knows."""
        return sorted({path.name[7:] for _, path in self._trash()})

    def _trash(self) -> list[tuple[int, Path]]:
        """Return what is in the trash, the oldest first: folders `000001-name`."""
        local.refuse_links(self.place.local / "trash")
        found = (self.place.local / "trash").glob("[0-9][0-9][0-9][0-9][0-9][0-9]-*")
        return sorted((int(path.name[:6]), path) for path in found if path.is_dir())

    def _new_trash(self, name: str) -> Path:
        kept = self._trash()
        for _, old in kept[: 1 - _KEPT]:
            shutil.rmtree(old, ignore_errors=True)
        path = self.place.local / "trash" / f"{(kept[-1][0] if kept else 0) + 1:06}-{name}"
        files.make_dirs(path, private=self.place.private)
        return path


_KEY: Final = b"anchors"
_LOADING: Final = "load it with get_skill or `memsync skill apply {}`"


class Anchored(NamedTuple):
    """A skill as a hook gives it: a line that names it and how it is loaded, and why no agent should be given it."""

    memory: Memory
    entry: SkillEntry

    @property
    def flagged(self) -> str:
        """Why any part of it reads like an order to an agent to betray its user; "" if none does."""
        return self.entry.flagged


def list_anchored(place: Place) -> Iterator[Anchored]:
    """Yield the skills of *place* that name anchors; one that cannot be read is left out."""
    store = SkillStore(place)
    for name in store.names():
        data = b""
        with suppress(MemsyncError):
            data, _ = store.read(name)
        if _KEY not in data:
            continue  # most have none, and YAML is slow
        found = skillfile.read(data, name)
        if anchors := skillfile.anchors_of(found.front):
            skill = found.skill
            id_ = skill.id if skill.id.startswith(SKILL_PREFIX) else derive_skill_id(name)
            text = f"Skill {name}: {skill.description.rstrip('.')}; {_LOADING.format(name)}"
            memory = Memory(id_, text, "skill", importance=1.0, anchors=anchors)
            yield Anchored(memory, SkillEntry(skill=skill, scope="project", path=store.path(name)))
