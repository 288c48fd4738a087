"""Setting up a project: its store, and its settings."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from memsync.errors import ConfigError, Remedy, UsageError
from memsync.git import attributes
from memsync.index.embedders import choose
from memsync.memories.project import Project
from memsync.memories.reach import note_known
from memsync.memories.stores import keep_key
from memsync.records import Scope
from memsync.store import checkout, config, files, filters, settings, trust
from memsync.store.places import Place

GITIGNORE: Final = "local/\n"


class Step(NamedTuple):
    """Something to do, and what is said once it is done."""

    text: str
    do: Callable[[], object]


def init(project: Project) -> list[str]:
    """Make the project ready for memories, and say what was made. Does nothing the second time."""
    place = project.layout.place(project.default_scope)
    files.prepare(place)
    done = []
    for step in steps(project, project.default_scope):
        step.do()
        done.append(step.text)
    note_known(project)
    return done


def steps(project: Project, scope: Scope) -> Iterator[Step]:
    """Yield what the store of *scope* still lacks; looking writes nothing."""
    place = project.layout.place(scope)
    if not place.memories.exists():
        yield Step(f"created {place.memories}", lambda: files.create(place.memories, b"", private=place.private))
    if place.private:
        return
    # With core.safecrlf git refuses to add what it would check out with other line ends.
    git = project.layout.git
    newline = b"\r\n" if git and checkout.ask(git.root, "config", "--get", "core.autocrlf") == "true" else b"\n"
    ignore = place.directory / ".gitignore"
    if not ignore.exists():
        text = GITIGNORE.encode().replace(b"\n", newline)
        yield Step(f"created {ignore}", lambda: files.create(ignore, text, private=False))
    if project.layout.git:
        yield from _git_steps(place, newline)


def _git_steps(place: Place, newline: bytes) -> Iterator[Step]:
    path = files.resolve_inside(place.directory.parent / ".gitattributes", place.tree)
    data, _ = files.read(path)
    is_filtered = filters.gives_bytes(filters.find_filter(*checkout.find_checkout(place.memories)))
    if (new := attributes.add_lines(data, newline, is_filtered=is_filtered)) != data:
        yield Step(f"added our lines to {path}", lambda: files.rewrite(path, new, was=data))


def set_value(project: Project, key: str, value: str, *, is_global: bool) -> Path:
    """Set one setting in the project's config file, under stealth in its private one, or in the user's.

    Raises:
        ConfigError, NoStore, StoreError: nothing was changed.
    """
    parsed = settings.parse_value(key, value)
    if key == "memory.embedder":
        try:
            choose(str(parsed))
        except ValueError as error:
            raise ConfigError(f"memory.embedder: {error}") from None
    if key == "memory_sync.stealth":
        raise UsageError("stealth also moves memories; use ", Remedy("config --stealth on"), " or off")
    name = settings.name_of(key)
    scope: Scope = "global" if is_global else _scope_of(project, name, parsed)
    place = project.layout.place(scope)
    if scope == "private":
        keep_key(project.layout)
    was = config.read_own(place, name)
    with project.store(scope).writing():
        if scope == "project":
            said = trust.of_setting(project.layout, place.config, name, parsed)
            _approve_own(project, said, acts=trust.acts(name, parsed))
        config.store(place, key, value)
    project.reload()
    project.journal.note_change(f"set {name}", _spell_way(name, was, place))
    return place.config


def _spell_way(name: str, was: object, place: Place) -> str:
    """Return the command that gives the setting *name* of *place* the value that it *was*, or takes it out."""
    where = ["--global"] if place.scope == "global" else []
    return shlex.join(["config", *where, *(["--unset", name] if was is None else ["--", name, settings.spell(was)])])


def unset_value(project: Project, key: str, *, is_global: bool) -> Path:
    """Take one setting out of the user's config file, or out of those of the project; what is in force then is read again.

    Raises:
        ConfigError: none of them says it; nothing was changed.
        NoStore, StoreError
    """
    name = settings.name_of(key)
    if name == "memory_sync.stealth":
        raise UsageError("stealth also moves memories; use ", Remedy("config --stealth off"))
    layout = project.layout
    places = [layout.global_] if is_global else [layout.private, layout.project]
    said = {place: value for place in places if place and (value := config.read_own(place, name)) is not None}
    if not said:
        where = "your own settings" if is_global else "the settings of this project"
        raise ConfigError(
            f"{name} is not set in {where}; ", Remedy("config --list --origin"), " says where each is set"
        )
    for place, value in said.items():
        with project.store(place.scope).writing():
            config.drop(place, name, value)
        project.journal.note_change(f"took out {name}", _spell_way(name, value, place))
    project.reload()
    return next(iter(said)).config


def rewrite_settings(project: Project, place: Place, text: str, was: bytes) -> None:
    """Make *text* the settings file of *place*, which holds what it *was*, if all of it can be read.

    Raises:
        ConfigError, UsageError, StoreError: nothing was changed.
    """
    found = config.check_text(text, place.config)
    if bool(found.get("memory_sync.stealth")) != bool(config.read_own(place, "memory_sync.stealth")):
        raise UsageError("stealth also moves memories; use ", Remedy("config --stealth on"), " or off")
    if place.scope == "private":
        keep_key(project.layout)
    with project.store(place.scope).writing():
        files.rewrite(place.config, text.encode(), was=was, temp=place.local / "config.tmp", private=place.private)
        seen = config.check_text(was.decode("utf-8-sig"), place.config, is_lenient=True)
        mine = {key: value for key, value in found.items() if key not in seen or seen[key] != value}
        for key, value in mine.items() if place.scope == "project" else ():
            said = trust.of_setting(project.layout, place.config, key, value)
            _approve_own(project, said, acts=trust.acts(key, value))
    project.reload()
    words = "config edit --global" if place.scope == "global" else "config edit"
    project.journal.note_change(f"changed {place.config.name}", words)


def _scope_of(project: Project, name: str, value: object) -> Scope:
    """Return whose file says the setting *name*: the repository's if that may say it, unless the user's own for the project does already."""
    own = config.load_own(project.layout)
    private = project.layout.private
    if private and own.sources.get(name) == private.config:
        return "private"
    verdict = trust.judge(name, value, settings.get(own.settings, name))
    return "private" if verdict == "refused" else project.default_scope


def _approve_own(project: Project, set_: trust.Instruction, *, acts: bool) -> None:
    """Approve what the user sets, if it acts, and nothing else that this setting ever was."""
    approvals = trust.Approvals(project.layout)
    approvals.remove([set_.name])
    if acts:
        keep_key(project.layout)
        approvals.add([set_])
