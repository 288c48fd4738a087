"""Making the skills visible to clients that look elsewhere: by links, or where those are not possible, by copies.

Claude Code reads `.claude/skills`, Codex and Gemini CLI read `.agents/skills` (measured).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from memsync.errors import InvalidSkill, NoStore, Remedy, blaming, write_failed
from memsync.records import Scope
from memsync.skills import file as skillfile
from memsync.skills.skills import Skills
from memsync.skills.store import SKILL_FILE
from memsync.store import files
from memsync.system.home import find_home

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
    """Tell whether *path* is a link into *source*, or a copy that we made."""
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
