"""Bringing in skills from a folder, with whatever lies beside their SKILL.md: all of them or, on an error, none."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.errors import InvalidSkill, OutsideTree, Remedy, UsageError, blaming
from memsync.records import SKILL_PREFIX, Scope, new_id
from memsync.skills import check, file
from memsync.skills.entries import SkillEntry
from memsync.skills.skills import refuse_invalid
from memsync.skills.store import SKILL_FILE, SkillStore
from memsync.store import files

if TYPE_CHECKING:
    from memsync.memories.project import Project

_MOST_FILES: Final = 500  # of one skill
_MOST_BYTES: Final = 16 << 20  # of all files of one skill
_PASSED_OVER: Final = (".git", "__pycache__")


class Brought(NamedTuple):
    """What became of one folder: imported, replaced (the old one is in the trash), or kept because it is the same."""

    status: str
    skill: SkillEntry

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON, without the instructions."""
        return {"status": self.status, "skill": self.skill.as_dict(whole=False)}


class _Guest(NamedTuple):
    """A skill that comes: its name, its SKILL.md as it will be, and the files beside it with their sources."""

    name: str
    data: bytes
    beside: dict[str, Path]


def bring_in(project: Project, source: Path, *, scope: Scope | None = None, force: bool = False) -> list[Brought]:
    """Copy the skill in *source*, or each skill in a folder of it, into the store of *scope*, else the default one.

    Raises:
        UsageError: there is no skill, or a copy says that one is private or global, and no *scope* is named.
        InvalidSkill: one cannot be loaded, is too large, holds a link, or differs from one that is there
            already and *force* is off; nothing was copied.
        SecretFound: a file looks like it holds one.
        StoreError
    """
    skills, named = project.skills, scope is not None
    scope = scope or project.default_scope
    store = skills.store_to_write(scope)
    guests = [_read(project, folder, scope, is_named=named) for folder in _find_folders(source)]
    if not guests:
        raise UsageError(f"{source}: no {SKILL_FILE}, neither there nor in a folder of it")
    with store.writing():
        same = {guest.name for guest in guests if _is_there(store, guest)}
        taken = {guest.name for guest in guests if os.path.lexists(store.directory / guest.name)} - same
        if taken and not force:
            raise InvalidSkill(f"skill {min(taken)} already exists and differs; ", Remedy("--force"), " replaces it")
        for guest in guests:
            if guest.name in taken:
                store.remove(guest.name)
            if guest.name not in same:
                _write(store, guest)
                skills.note(
                    f"imported the skill {guest.name}",
                    "restore" if guest.name in taken else "delete",
                    guest.name,
                    scope,
                )
    words = dict.fromkeys(same, "kept") | dict.fromkeys(taken, "replaced")
    return [Brought(words.get(guest.name, "imported"), skills.get(guest.name, scope)) for guest in guests]


def _find_folders(source: Path) -> list[Path]:
    if (source / SKILL_FILE).is_file():
        return [Path(os.path.abspath(source))]
    with blaming(source):
        return sorted(path for path in source.iterdir() if (path / SKILL_FILE).is_file() and not path.is_symlink())


def _read(project: Project, folder: Path, scope: Scope, *, is_named: bool) -> _Guest:
    skills, name = project.skills, check.clean_name(folder.name)
    beside = dict(_list_files(folder))
    with blaming(folder):
        data = beside.pop(SKILL_FILE).read_bytes()
        others = [path.read_bytes() for path in beside.values()] if scope != "private" else []
    data = _take_scope(check.fix(data, name), folder, is_named=is_named)
    refuse_invalid(data, name)
    for text in (data, *others):
        skills.refuse_secret(text, scope)
    id_ = file.read(data, name).skill.id
    holder = next((entry.name for entry in skills.list() if entry.skill.id == id_), name)
    if holder != name:  # ids are random: it is a copy under another name
        fresh = new_id(name, project.clock(), is_taken=skills.is_taken, count=0, prefix=SKILL_PREFIX)
        data = file.edit(data, {"id": fresh})
    return _Guest(name, data, beside)


def _take_scope(data: bytes, folder: Path, *, is_named: bool) -> bytes:
    """Return the SKILL.md *data* without what a copy says of its scope.

    Raises:
        UsageError: it says one, and the user has named none.
    """
    parts = file.split(data.decode("utf-8", "replace"))
    said = file.value_of(parts.front, "scope") if parts else None
    if said not in ("private", "global"):
        return data
    if not is_named:
        raise UsageError(
            f"{folder} is a copy of a {said} skill; ",
            Remedy("--private"),
            " or ",
            Remedy("--global"),
            " says where it goes",
        )
    return file.edit(data, {"scope": ""})


def _list_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a skill by their paths within *folder*.

    Raises:
        InvalidSkill: there are too many, they are too large, or one is not a plain file.
    """
    count = size = 0
    for root, dirs, names in os.walk(folder):
        dirs[:] = sorted(name for name in dirs if name not in _PASSED_OVER)
        for name in (*sorted(names), *(name for name in dirs if os.path.islink(os.path.join(root, name)))):
            path = Path(root, name)
            found = path.lstat()
            if not stat.S_ISREG(found.st_mode):
                raise InvalidSkill(f"{path} is not a plain file; replace it by one, or take it out")
            count, size = count + 1, size + found.st_size
            if count > _MOST_FILES or size > _MOST_BYTES:
                raise InvalidSkill(f"{folder}: more than {_MOST_FILES} files or {_MOST_BYTES >> 20} MiB")
            yield path.relative_to(folder).as_posix(), path


def _is_there(store: SkillStore, guest: _Guest) -> bool:
    """Tell whether the store has that very skill, file for file."""
    target = store.directory / guest.name
    try:
        files.resolve_inside(target, store.place.tree)
        return (target / SKILL_FILE).read_bytes() == guest.data and all(
            (target / name).read_bytes() == path.read_bytes() for name, path in guest.beside.items()
        )
    except (OSError, OutsideTree):
        return False


def _write(store: SkillStore, guest: _Guest) -> None:
    """Write the files beside it first: a skill is there once its SKILL.md is."""
    target = files.resolve_inside(store.directory / guest.name, store.place.tree)
    for name, path in guest.beside.items():
        to = target / name
        files.make_dirs(to.parent, private=store.place.private)
        with blaming(to):
            shutil.copy(path, to)
    store.create(guest.name, guest.data)
