"""Which memories a command is for: named by an id or by words that one alone holds, or all that filters fit, after a look and one yes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import click

from memsync.cli import render
from memsync.cli.words import is_dialogue
from memsync.errors import MemoryNotFound, MemsyncError, Remedy, UsageError
from memsync.index.terms import embedding_text
from memsync.memories.filters import Filters
from memsync.memories.listing import knows
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import SCOPES, Scope, shown_id

_MARKS: Final = ("mm-", "odd-")  # what the ids begin with that we make and show


def choose_filters(
    project: Project, scope: Scope | None, exclude: Iterable[str], since: str | None = None, **chosen: Any
) -> Filters:
    """Return what the options say. An id to leave out that no memory has leaves nothing out, and is told."""
    excluded = set()
    for ref in exclude:
        try:
            excluded.add(project.get(ref, scope).id)
        except MemoryNotFound as error:
            click.echo(f"memsync: --exclude leaves nothing out: {error}", err=True)
    if since is not None:
        from memsync.memories.log import find_moment

        moment = find_moment(project, since)
        chosen["keep"] = lambda entry: (entry.memory.written_at or moment) >= moment
    return Filters(scopes=(scope,) if scope else SCOPES, exclude=excluded, **chosen)


def choose(
    project: Project, refs: Sequence[str], scope: Scope | None, filters: Mapping[str, Any], verb: str, *, yes: bool
) -> list[Entry]:
    """Return the memories that *refs* name, or else those that *filters* fit, if somebody agrees that they are what to *verb*.

    Raises:
        UsageError: nothing says which; or nobody is there to agree.
        MemsyncError: none fits.
        MemoryNotFound, AmbiguousId: as `find_refs` raises them.
    """
    narrowing = {name: value for name, value in filters.items() if value and name != "archived"}
    if refs and narrowing:
        raise UsageError("give ids or filters, not both")
    if refs:
        named = find_refs(project, refs, scope)
        look = project.show if len(named) == 1 else project.get
        return [look(ref, scope) for ref in named]
    if not narrowing and (scope is None or verb == "share"):
        raise UsageError(f"say which to {verb}: give ids, or filters such as a tag (--help shows them)")
    found = project.memories(choose_filters(project, scope, **{"exclude": (), **filters}))
    if not found:
        raise MemsyncError("no memory fits these filters, so nothing was changed")
    if not yes:
        _ask(project, found, verb)
    return found


def _ask(project: Project, found: Sequence[Entry], verb: str) -> None:
    for line in render.first(render.entry_line(entry, project.clock(), "  ") for entry in found):
        click.echo(line, err=True)
    what = f"{verb} {render.memories(len(found))}"
    if not is_dialogue():
        raise UsageError(f"this would {what}, and nobody is here to be asked; --yes does it")
    click.confirm(f"{what}?", abort=True, err=True)


def find_refs(project: Project, words: Sequence[str], scope: Scope | None = None) -> list[str]:
    """Return the ids that *words* name, or a word as it is that fits no text: the beginning of an id.

    An id that begins with mm- is one, and so is a text in quotes on its own; other words go together, and name the memory
    that holds all of them. Where several do, a person chooses.
    """
    if all(map(_is_id, words)):
        return list(words)
    is_apart = any(_is_id(word) or len(word.split()) > 1 or knows(project, word) for word in words)
    groups = [(word,) for word in words] if is_apart else [tuple(words)]
    return list(dict.fromkeys(ref for group in groups for ref in _find_group(project, group, scope)))


def find_ref(project: Project, words: Sequence[str], scope: Scope | None = None) -> str:
    """Return the one that *words* name, as `find_refs` does.

    Raises:
        UsageError: they name several.
        MemsyncError
    """
    found = find_refs(project, words, scope)
    if len(found) != 1:
        raise UsageError(f"one memory at a time, please: {', '.join(found)}")
    return found[0]


def _is_id(word: str) -> bool:
    return word.casefold().startswith(_MARKS)


def _find_group(project: Project, words: Sequence[str], scope: Scope | None) -> Sequence[str]:
    if _is_id(words[0]) or (len(words) == 1 and knows(project, words[0])):
        return words
    fits = _find_fitting(project, " ".join(words).split(), scope)
    named = list(_find_named(project, words, scope))
    are_ids = len(named) == len(words)
    if are_ids and fits:
        fits = list({entry.id: entry for entry in (*named, *fits)}.values())
    if not fits:
        if are_ids or words[0].split() == [*words]:  # a word alone may be of an id that only git knows
            return words
        said = " ".join(words)
        raise MemsyncError(f"no memory holds all of {said!r}; ", Remedy("memory recall", said), " looks for the like")
    return [fits[0].id if len(fits) == 1 else _ask_which(project, " ".join(words), fits)]


def _find_named(project: Project, words: Sequence[str], scope: Scope | None) -> Iterator[Entry]:
    for word in words:
        with suppress(MemoryNotFound):
            yield project.get(word, scope)


def _find_fitting(project: Project, words: Sequence[str], scope: Scope | None) -> list[Entry]:
    """Return the memories whose text, cues and tags have a word that begins with each of *words*; archived ones if no other."""
    patterns = [re.compile(rf"(?<![a-z0-9]){re.escape(word.casefold())}") for word in words]
    nearest: Project | None = project
    while nearest is not None:
        fits = [
            entry
            for entry in nearest.entries(Filters(archived=True))
            if scope in (None, entry.scope)
            and (text := embedding_text(entry.memory).casefold())
            and all(pattern.search(text) for pattern in patterns)
        ]
        if fits:
            return [entry for entry in fits if not entry.memory.archived_at] or fits
        nearest = nearest.above
    return []


def _ask_which(project: Project, said: str, fits: Sequence[Entry]) -> str:
    lines = [render.entry_line(entry, project.clock(), f"{number:3} ") for number, entry in enumerate(fits, 1)]
    for line in render.first(lines):
        click.echo(line, err=True)
    if not is_dialogue():
        ids = ", ".join(shown_id(entry.id) for entry in fits[:5]) + (", …" if fits[5:] else "")
        raise MemsyncError(f"{said!r} fits {render.memories(len(fits))} ({ids}); give an id, or more words")
    number: int = click.prompt("which one", type=click.IntRange(1, len(fits)), err=True)
    return fits[number - 1].id
