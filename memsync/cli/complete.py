"""What the shell offers after TAB: ids with their texts, tags, types, settings, skills, sessions, revisions."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

import click
from click.shell_completion import CompletionItem

from memsync.errors import MemsyncError
from memsync.memories.filters import Filters
from memsync.memories.project import Project
from memsync.records import TYPE_ORDER
from memsync.store import settings
from memsync.system.texts import one_line

Offer = tuple[str, str]  # a word, and what it means
_MOST: Final = 200
_FILES: Final = frozenset({"PATH", "FILE", "DIR", "OUT", "SUITE"})
_WORD: Final = re.compile(r"[A-Z]+")


def equip(command: click.Command) -> None:
    """Let the parameters of *command* offer what is there, by the word that its help shows for them."""
    for param in command.params:
        shown = set(_WORD.findall(param.metavar or param.human_readable_name.upper()))
        if command.name == "sessions" and isinstance(param, click.Argument):
            shown = {"SESSION"}
        if not isinstance(param.type, click.types.StringParamType):
            continue
        if shown & _FILES:
            param.shell_complete = lambda _, incomplete: [CompletionItem(incomplete, type="file")]  # type: ignore[method-assign,assignment]
        elif known := sorted(shown & _OFFERS.keys()):
            param.shell_complete = partial(_offer, _OFFERS[known[0]])  # type: ignore[method-assign]


def _offer(read: Callable[[Project], Iterable[Offer]], _: click.Context, incomplete: str) -> list[CompletionItem]:
    found: list[CompletionItem] = []
    logging.disable()  # a line is being typed
    with suppress(MemsyncError, OSError), Project.open() as project:
        for word, meaning in read(project):
            if word.startswith((incomplete, f"mm-{incomplete}")):
                found.append(CompletionItem(word, help=one_line(meaning)[:80] or None))
                if len(found) == _MOST:
                    break
    logging.disable(logging.NOTSET)
    return found


def _list_sessions(project: Project) -> Iterable[Offer]:
    from memsync.agents.sessions import list_sessions

    return ((str(one.id), "") for one in list_sessions(project))


def _list_revisions(project: Project) -> Iterable[Offer]:
    if project.layout.git is None:
        return []
    from memsync.git import history

    return [("HEAD", ""), *((name, "") for name in history.list_branches(project.layout.git.root, _MOST))]


_OFFERS: Final[Mapping[str, Callable[[Project], Iterable[Offer]]]] = {
    "ID": lambda project: ((one.id, one.content) for one in project.memories(Filters(archived=True))),
    "TAG": lambda project: ((tag, "") for tag in sorted({tag for one in project.entries() for tag in one.memory.tags})),
    "TYPE": lambda project: (
        (name, "") for name in dict.fromkeys([*TYPE_ORDER, *(one.memory.memory_type for one in project.entries())])
    ),
    "KEY": lambda _: ((key, settings.describe(key)) for key in settings.KEYS),
    "SKILL": lambda project: ((one.name, one.skill.description) for one in project.skills.list()),
    "SESSION": _list_sessions,
    "REV": _list_revisions,
    "WHEN": _list_revisions,
    "BRANCH": _list_revisions,
}
