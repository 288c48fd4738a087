"""Bringing in skills from a folder, with whatever lies beside their SKILL.md: all of them or, on an error, none."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.errors import InvalidSkill, NoStore, OutsideTree, Remedy, UsageError, blaming, write_failed
from memsync.records import SKILL_PREFIX, Scope, new_id
from memsync.skills import check, file
from memsync.skills import file as skillfile
from memsync.skills.entries import SkillEntry
from memsync.skills.skills import Skills
from memsync.skills.store import SKILL_FILE, SkillStore
from memsync.store import files
from memsync.system.home import find_home

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
    check.refuse(data, name, "SKILL.md")
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


# Making the skills visible to clients that look elsewhere: by links, or where those are not possible, by copies.
#
# Claude Code reads `.claude/skills`, Codex and Gemini CLI read `.agents/skills` (measured).


# What a copy has in its metadata, so that it is known as one and may be replaced.
_MARK: Final = ("metadata", "copied-from")


class Linked(NamedTuple):
    """What was done at `path`: linked, copied, kept as it was, removed, or left because it is not ours."""

    path: Path
    done: str


def link(skills: Skills, scope: Scope, *, copy: bool = False, remove: bool = False) -> list[Linked]:
    """Make the skills of *scope* visible where its other clients look, and return what was done. Idempotent.

    A project gets `.agents/skills`, in one link where that is free, else one for each skill.
    Global skills get links in `~/.claude/skills` and `~/.agents/skills`.

    Raises:
        NoStore: private skills have no place that a client reads and git does not see.
        StoreError: what was done before stays.
    """
    store = skills.store_to_write(scope)
    with store.writing():
        found = []
        for target in _targets(skills, scope):
            files.resolve_inside(target, store.place.tree)
            names = sorted(store.skills())
            found += _unlink(store.directory, target) if remove else _link(store.directory, target, names, copy=copy)
        return found


def _targets(skills: Skills, scope: Scope) -> list[Path]:
    if scope == "project":
        return [skills.stores[scope].place.directory.parent / ".agents" / "skills"]
    if scope == "global" and find_home():
        home = Path(find_home())
        return [home / ".claude" / "skills", home / ".agents" / "skills"]
    raise NoStore("no client looks for private skills; agents find them through MCP: ", Remedy("skill apply NAME"))


def _link(source: Path, target: Path, names: list[str], *, copy: bool) -> list[Linked]:
    is_project = source.name == "skills" and source.parent.name == ".claude"
    if is_project and not copy and (not os.path.lexists(target) or target.is_symlink()):
        return [_make_link(source, target)]
    if target.is_symlink():
        return [Linked(target, "left: it is a link to somewhere else")]
    make: Callable[[Path, Path], Linked] = _make_copy if copy else _make_link
    with blaming(target):
        target.mkdir(parents=True, exist_ok=True)
    gone = [path for path in sorted(target.iterdir()) if path.name not in names and _is_ours(source, path)]
    return [make(source / name, target / name) for name in names] + [_drop(path) for path in gone]


def _unlink(source: Path, target: Path) -> list[Linked]:
    if target.is_symlink():
        return [_drop(target)] if target.resolve() == source.resolve() else []
    return [_drop(path) for path in sorted(target.iterdir()) if _is_ours(source, path)] if target.is_dir() else []


def _is_ours(source: Path, path: Path) -> bool:
    if path.is_symlink():
        return Path(os.path.normpath(path.parent / os.readlink(path))).parent in (source, source.resolve())
    file = path / SKILL_FILE
    return file.is_file() and skillfile.get(skillfile.read(file.read_bytes(), path.name).front, _MARK) is not None


def _make_link(source: Path, path: Path) -> Linked:
    if path.is_symlink() and path.resolve() == source.resolve():
        return Linked(path, "kept")
    if os.path.lexists(path):
        if not _is_ours(source.parent, path):
            return Linked(path, "left: it is not ours")
        _drop(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.path.relpath(source, path.parent.resolve()), target_is_directory=True)
    except OSError as error:
        if os.name == "nt":  # links take a privilege there
            return _make_copy(source, path)
        raise write_failed(path, error) from error
    return Linked(path, "linked")


def _make_copy(source: Path, path: Path) -> Linked:
    if os.path.lexists(path) and not _is_ours(source.parent, path):
        return Linked(path, "left: it is not ours")
    data = (source / SKILL_FILE).read_bytes()
    parts = skillfile.split(data.decode("utf-8", "replace"))
    if parts is None or skillfile.read(data, source.name).problems:
        why = Remedy("skill validate", source.name)
        raise InvalidSkill(f"{source / SKILL_FILE} cannot be read; ", why, " says why")
    new = skillfile.set_value(parts, _MARK, os.path.relpath(source, path.parent)).text().encode()
    if (path / SKILL_FILE).is_file() and (path / SKILL_FILE).read_bytes() == new:
        return Linked(path, "kept")
    if os.path.lexists(path):
        _drop(path)
    with blaming(path):
        shutil.copytree(source, path, symlinks=True)
        (path / SKILL_FILE).write_bytes(new)
    return Linked(path, "copied")


def _drop(path: Path) -> Linked:
    with blaming(path):
        if path.is_symlink():
            path.unlink()
        else:
            shutil.rmtree(path)
    return Linked(path, "removed")
