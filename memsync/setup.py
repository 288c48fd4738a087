"""Setting up a project, and moving its memories into and out of the work tree."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from memsync import attributes, config, files, replaced
from memsync.errors import ConfigError, StoreNotWritable, UsageError
from memsync.git import driver, repo
from memsync.reach import Reach
from memsync.records import Scope
from memsync.routing import Place

GITIGNORE: Final = "local/\n"


class Step(NamedTuple):
    """Something to do, and what is said once it is done."""

    text: str
    do: Callable[[], object]


def init(reach: Reach) -> list[str]:
    """Make the project ready for memories, and say what was made. Does nothing the second time.

    Raises:
        NoStore, StoreError
    """
    place = reach.layout.place(reach.default_scope)
    files.make_local(place.local, private=place.private, tree=place.tree)
    done = []
    for step in steps(reach, reach.default_scope):
        step.do()
        done.append(step.text)
    return done


def steps(reach: Reach, scope: Scope) -> Iterator[Step]:
    """Yield what the store of *scope* still lacks; looking writes nothing.

    Raises:
        NoStore, StoreError
    """
    place = reach.layout.place(scope)
    if not place.memories.exists():
        yield Step(f"created {place.memories}", lambda: files.create(place.memories, b"", private=place.private))
    if place.private:
        return
    ignore = place.directory / ".gitignore"
    if not ignore.exists():
        yield Step(f"created {ignore}", lambda: files.create(ignore, GITIGNORE.encode(), private=False))
    if reach.layout.git:
        yield from _git_steps(place)


def _git_steps(place: Place) -> Iterator[Step]:
    path = files.resolve_inside(place.directory.parent / ".gitattributes", place.tree)
    data, _ = files.read(path)
    if (new := attributes.added(data)) != data:
        yield Step(f"added our lines to {path}", lambda: files.rewrite(path, new, was=data))


def set_value(reach: Reach, key: str, value: str, *, is_global: bool) -> Path:
    """Set one setting in the project's config file, under stealth in its private one, or in the user's.

    Raises:
        ConfigError, NoStore, StoreError: nothing was changed.
    """
    parsed = config.parse_value(key, value)
    if key == "memory.embedder":
        _check_embedder(parsed)
    if key == "memory_sync.stealth":
        raise UsageError("stealth also moves memories; use `memsync memory config --stealth on` or `off`")
    scope: Scope = "global" if is_global else "stealth" if config.is_personal(key, parsed) else reach.default_scope
    place = reach.layout.place(scope)
    if scope == "stealth":
        reach.keep_key()
    with reach.store(scope).writing():
        config.store(place, key, value)
    del reach.loaded
    return place.config


def _check_embedder(spec: str) -> None:
    from memsync.index.embed import choose

    try:
        choose(spec)
    except ValueError as error:
        raise ConfigError(f"memory.embedder: {error}") from None


def turn_stealth(reach: Reach, on: bool, *, move: bool) -> list[str]:
    """Switch stealth, and say what happened.

    With *move* the memories go along, with their local history: into the home
    store, which leaves nothing of ours in the work tree unless git tracks it;
    or back into it.

    Raises:
        NoStore, ConfigError, GitFailed, StoreError: the setting is as before.
    """
    place, project = reach.layout.place("stealth"), reach.layout.project
    reach.keep_key()
    done = []
    if project and on and project.directory.exists():
        if reach.layout.git and repo.is_tracked(project.memories):
            done += _leave_local(reach, move=move)
        elif move:
            done += _move(reach, on)
    elif project and not on and move:
        done += _move(reach, on)
    with reach.store("stealth").writing():
        config.store(place, "memory_sync.stealth", on)
    del reach.loaded
    reach.__dict__.pop("finder", None)  # its cache is in the wrong place now
    return [f"stealth is {'on' if on else 'off'} for this project", *done]


def _move(reach: Reach, on: bool) -> list[str]:
    """Move every memory from the project's store to the stealth store, or back. Nothing happens without both locks."""
    project, stealth = reach.store("project"), reach.store("stealth")
    old, new = (project, stealth) if on else (stealth, project)
    with project.writing(), stealth.writing():
        moved = new.adopt(old)
        old.remove([id_ for id_ in moved if old.get(id_)], reach.clock(), keep=False)
        kept = len(old.memories())
        left = _leave_tree(reach, project.place, stealth.place) if on and old.is_spent() else []
    for store in (new, old):
        if store.in_log_form:
            store.export()
    rest = f"; {kept} stay, because the other store has a different text under the same id" if kept else ""
    if on and not left:
        left = [f"{project.place.memories} is kept, because it holds lines that are no memories"]
    return [f"moved {len(moved)} memories to {new.place.memories}{rest}", *left]


def _leave_local(reach: Reach, *, move: bool) -> list[str]:
    """Leave a memory file that git tracks as it is; with *move* take out what lies beside it untracked.

    The local history goes to the stealth store.
    """
    project, stealth = reach.store("project"), reach.store("stealth")
    said = f"{project.place.memories} is tracked by git and stays as it is; new memories are private"
    if not move or not project.place.local.exists():
        return [said]
    with project.writing(), stealth.writing():
        if waiting := project.waiting:
            return [said, f"{waiting} of its memories wait for a commit in {project.place.local}, which is kept too"]
        replaced.keep(stealth.place.local, list(project.replaced().values()), private=True)
        _leave_tree(reach, project.place, stealth.place)
    return [said]


def _leave_tree(reach: Reach, place: Place, private: Place) -> list[str]:
    """Take what is ours out of the work tree, unless it holds something else or git tracks it. Under both locks."""

    def is_ours(path: Path) -> bool:
        return path.exists() and not (reach.layout.git and repo.is_tracked(path))

    if is_ours(place.config):
        config.move(place, private)
    try:
        ignore = place.directory / ".gitignore"
        if is_ours(ignore) and ignore.read_bytes() == GITIGNORE.encode():
            ignore.unlink()
        is_tracked = bool(reach.layout.git) and repo.is_tracked(place.memories)
        if not is_tracked:
            place.memories.unlink(missing_ok=True)
        shutil.rmtree(place.local, ignore_errors=True)
        with suppress(OSError):
            place.directory.rmdir()
        _drop_attributes(place.directory.parent / ".gitattributes")
        if reach.layout.git:
            driver.uninstall(reach.layout.git.root)
    except OSError as error:
        why = f"{error.strerror or error}; the memories are in {private.memories} now"
        raise StoreNotWritable(
            place.directory, why, "remove what is left of it by hand, and switch stealth on again"
        ) from error
    stays = place.directory.exists()
    return [
        f"{place.directory} holds other files and stays" if stays else f"nothing of memsync is left in {place.tree}"
    ]


def _drop_attributes(path: Path) -> None:
    """Take our lines out of .gitattributes, unless they were committed."""
    data, _ = files.read(path)
    rest = attributes.removed(data, repo.committed(path) or b"")
    if rest:
        files.rewrite(path, rest, was=data)
    else:
        path.unlink(missing_ok=True)
