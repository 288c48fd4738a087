"""The pages *Memories* and of one record: what they show. What the forms on them do is in `edits` and `bulk`."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import count, islice
from typing import Any, Final, NamedTuple

from memsync.errors import Changed, MemsyncError, NotIndexed
from memsync.janitor import queue
from memsync.memories import anchors, citations
from memsync.memories.filters import Filters
from memsync.memories.fingerprints import mark
from memsync.memories.links import links_of
from memsync.memories.project import Project
from memsync.memories.results import Entry, Hit
from memsync.records import SCOPES, Memory, names_of, sent_id, shown_id
from memsync.web import pages
from memsync.web.desk import Given, Page, Routes, plain_lines
from memsync.web.shelf import Shelf

routes = Routes()

_ROWS: Final = 50
_FOUND: Final = 15  # of a search, which answers each key: what nobody has screened yet takes a millisecond a row
_LEAST: Final = 0.005  # confidence of what is shown: below, "0.00" would stand beside it
_MOST: Final = 100_000  # rows of one answer: what is on the screen already is asked for at once
_PARTS: Final = ("lexical", "semantic", "identifier", "phrase", "wording")
LISTS: Final = tuple(name for name in names_of("list") if name != "tags")  # each entry on a line of its own
_SHORT: Final = 4  # characters of an id that may be a word
_ID: Final = re.compile(rf"[\w-]{{{_SHORT + 1},}}")
_AGES: Final[Mapping[str, tuple[str, int]]] = {
    "1": ("today", 1),
    "7": ("last 7 days", 7),
    "30": ("last 30 days", 30),
    "365": ("last year", 365),
    "old": ("older than a year", 365),
}
SORTS: Final[Mapping[str, tuple[str, Callable[[Entry], Any]]]] = {
    "importance": ("most important", lambda entry: (-entry.effective_importance, entry.id, entry.scope)),
    "new": ("last written", lambda entry: (-_when(entry), entry.id)),
    "old": ("first written", lambda entry: (_when(entry), entry.id)),
    "used": ("most recalled", lambda entry: (-entry.access_count, -entry.effective_importance, entry.id)),
    "type": ("type", lambda entry: (entry.memory.memory_type, -entry.effective_importance, entry.id)),
    "text": ("text", lambda entry: (entry.content.casefold(), entry.id)),
}


def _when(entry: Entry) -> float:
    moment = entry.memory.written_at
    return moment.timestamp() if moment else 0.0


def version_of(memory: Memory) -> str:
    """Return what tells *memory* from any other version of it: a form says which one it was made from."""
    return mark(memory).hex()


@dataclass(frozen=True, slots=True)
class Row:
    """A memory in a list; `why` says where its score comes from, `weak` that it only shares words with the query."""

    entry: Entry
    why: str = ""
    weak: bool = False

    @property
    def pick(self) -> str:
        """What a form sends of a chosen row: which memory, and which version of it was on the screen."""
        return f"{self.entry.scope} {version_of(self.entry.memory)} {sent_id(self.entry.id)}"


def has_hub() -> bool:
    """Tell whether this user has a hub; asks nobody."""
    from memsync.hub import config

    try:
        config.load()
    except MemsyncError:
        return False
    return True


class Found(NamedTuple):
    """Some of the memories that were asked for: `total` is None where only the best were looked for."""

    rows: Sequence[Row]
    total: int | None
    more: bool
    degraded: str = ""
    seconds: float | None = None  # for which the index has been made; until then rows have all words as they are typed


@routes.reads("/memories", Shelf)
def show_list(shelf: Shelf, project: Project, given: Given) -> Page:
    """Return the page *Memories*."""
    offset = given.number("offset", 0, most=_MOST)
    query = given.get("q")
    limit = max(given.number("shown", 0, most=_MOST), _FOUND if query else _ROWS)
    filters = read_filters(project, given)
    found = (
        _search(shelf, project, query, filters, offset, limit)
        if query
        else _list(shelf, project, given, filters, offset, limit)
    )
    asked = {name: given.get(name) for name in ("q", *FIELDS)}
    said = {name: value for name, value in asked.items() if value}
    return Page(
        "memories.html",
        {
            "found": found,
            "asked": asked,
            "is_narrow": bool(said.keys() & {"q", *_NARROWING}),
            "is_filtered": bool(said.keys() - {"q"}),
            "choices": shelf.look(project).choices,
            "scopes": [scope for scope in SCOPES if scope in project.stores],
            "ages": {name: text for name, (text, _) in _AGES.items()},
            "sorts": {name: text for name, (text, _) in SORTS.items()},
            "next": pages.address("/memories", {**said, "offset": str(offset + limit)}) if found.more else "",
            "command": _spell_list(said),
            "problems": shelf.look(project).problems,
            "has_hub": has_hub(),
            "beside": pages.address("/hub", said) if given.get("hub") and query else "",
        },
    )


_NARROWING: Final = ("type", "tag", "scope", "author", "age", "least", "file", "stale")
FIELDS: Final = (*_NARROWING, "archived", "sort", "hub")


def read_filters(project: Project, given: Given) -> Filters:
    """Return the filters that the list's form says."""
    scope, chosen = given.get("scope"), _choose(project, given)
    return Filters(
        scopes=tuple(one for one in SCOPES if scope in ("", one)),
        memory_type=given.get("type") or None,
        tags_all=[given.get("tag")] if given.get("tag") else (),
        min_importance=given.share("least"),
        archived=bool(given.get("archived")),
        keep=chosen if any(map(given.get, ("author", "age", "file", "stale"))) else None,
    )


def _choose(project: Project, given: Given) -> Callable[[Entry], bool]:
    """Return whether an entry has the author, the age and the file that are asked for, and whether a file of it has changed or gone."""
    author, age, file = given.get("author"), given.get("age"), given.get("file")
    days = _AGES.get(age, ("", 0))[1]
    since = (project.clock() - timedelta(days=days)).timestamp()

    def keep(entry: Entry) -> bool:
        return (
            (not author or entry.memory.author == author)
            and (not days or (_when(entry) > 0 and (_when(entry) < since) == (age == "old")))
            and (not file or any(file in anchors.parse(anchor).path for anchor in entry.memory.anchors))
            and (not given.get("stale") or bool(entry.memory.anchors and project.mark(entry).stale))
        )

    return keep


def _search(shelf: Shelf, project: Project, query: str, filters: Filters, offset: int, limit: int) -> Found:
    found, making = None, shelf.index
    is_locked = making.is_going and project.finder.is_lean and not project.finder.file.describe()["fresh"]
    if not is_locked:
        with suppress(NotIndexed):
            found = project.search(query, filters, limit=offset + limit + 1)
    if found is None:
        if making.failure:
            raise NotIndexed
        making.begin()
        skimmed = shelf.look(project).entries(filters, query.casefold().split())
        rows = [Row(entry) for entry in islice(skimmed, offset, offset + limit + 1)]
        return Found(rows[:limit], None, len(rows) > limit, seconds=making.seconds)
    shown = [hit for hit in found[offset : offset + limit] if hit.confidence >= _LEAST]
    rows = [Row(hit, _explain(hit), found.is_weak(hit)) for hit in shown]
    return Found(rows, None, len(found) > offset + limit, found.degraded)


def _explain(hit: Hit) -> str:
    parts = " + ".join(f"{name} {hit.parts[name]:.2f}" for name in _PARTS if abs(hit.parts.get(name, 0.0)) >= _LEAST)
    boost = f", importance ×{hit.parts['boost']:.2f}" if "boost" in hit.parts else ""
    return f"score {hit.score:.2f} = {parts or '0'}{boost}"


def _list(shelf: Shelf, project: Project, given: Given, filters: Filters, offset: int, limit: int) -> Found:
    look, end, order = shelf.look(project), offset + limit, given.get("sort")
    allowed = look.entries(filters)
    if not any(given.get(name) for name in _NARROWING) and order in ("", "importance"):
        # In their order already, so that most are never looked at.
        first, total = list(islice(allowed, end)), len(look.memories) if filters.archived else look.live
    else:
        passed = count()
        counted = (entry for entry, _ in zip(allowed, passed, strict=False))
        first = heapq.nsmallest(end, counted, key=SORTS.get(order, SORTS["importance"])[1])
        total = next(passed)
    rows = [Row(project.mark(entry)) for entry in first[offset:]]
    return Found(rows, total, total > end)


def _spell_list(asked: Mapping[str, str]) -> str:
    """Return the command that shows the same, as far as the command line has the filter."""
    named = {"type": "type", "tag": "tag", "least": "min_importance", "scope": "scope"}
    options = {option: asked.get(name) for name, option in named.items()}
    archived = bool(asked.get("archived"))
    return pages.command(
        "memory", "search" if "q" in asked else "list", text=asked.get("q"), **options, archived=archived
    )


class Anchored(NamedTuple):
    """An anchor, what has become of it ("" if nothing), and the code that it names now."""

    anchor: str
    stale: str
    code: anchors.Excerpt | None


def find_entry(project: Project, given: Given, name: str = "id") -> Entry:
    """Return the memory that a page or a form names, in the field *name*.

    Raises:
        MemoryNotFound, AmbiguousId, NoStore
    """
    scope = given.get("scope")
    return project.get(given.raw(name), next((one for one in SCOPES if one == scope), None))


@routes.reads("/memory", Shelf)
def show_record(shelf: Shelf, project: Project, given: Given) -> Page:
    """Return the page of one memory."""
    return record_page(shelf, project, find_entry(project, given))


def record_page(
    shelf: Shelf, project: Project, entry: Entry, *, said: Mapping[str, str] | None = None, error: Exception | str = ""
) -> Page:
    """Return the page of *entry*; after an *error* the form holds what was *said*."""
    memory = entry.memory
    return Page(
        "memory.html",
        {
            "entry": entry,
            "row": Row(entry),
            "version": version_of(memory),
            "values": said or values_of(memory),
            "is_changed": isinstance(error, Changed),
            "secret": _find_secret(project, entry),
            "types": shelf.look(project).choices.types,
            "lists": LISTS,
            "anchored": _read_anchors(project, entry),
            "relatives": list(_find_relatives(shelf, project, entry)),
            "given": project.state(entry.scope).uses_of(entry.id) if entry.scope in project.stores else [],
            "waits": bool(entry.flagged) or project.screening.waits_to_stop(entry, project.settings),
            "ref": memory.id,
            "successor": pages.address("/memory/new", {"supersedes": shown_id(entry.id), "scope": entry.scope}),
            "why": pages.address("/sessions", {"for": sent_id(entry.id)}),
            "has_history": entry.scope == "project" and project.layout.git is not None,
            "history": pages.address("/memory/history", {"id": sent_id(entry.id)}),
        },
        error,
    )


def _find_secret(project: Project, entry: Entry) -> str:
    """Return the address of the card that says what to do with a secret that *entry* shows others; "" if it shows none."""
    name = queue.name_card("secret", entry)
    return pages.address("/review", {"at": name, "kind": "secret"}) if queue.read_card(project, name) else ""


def values_of(memory: Memory) -> dict[str, str]:
    """Return what the form of *memory* holds before anybody types."""
    return {
        "content": plain_lines(memory.content),
        "type": plain_lines(memory.memory_type),
        "importance": f"{memory.importance:g}",
        "tags": plain_lines(", ".join(memory.tags)),
        **{name: plain_lines("\n".join(getattr(memory, name))) for name in LISTS},
    }


def _read_anchors(project: Project, entry: Entry) -> list[Anchored]:
    root = project.layout.root
    if root is None or entry.scope == "global":
        return [Anchored(text, "", None) for text in entry.memory.anchors]
    return [
        Anchored(text, "".join(citations.find_stale([text], root)), anchors.read_excerpt(text, root))
        for text in entry.memory.anchors
    ]


def _find_relatives(shelf: Shelf, project: Project, entry: Entry) -> Iterator[tuple[str, Entry]]:
    """Yield the memories that *entry* names, and those that name it, each after how they are linked."""
    one = entry.memory
    named, linked = set(_ID.findall(one.content)), {link.target: link.relation for link in links_of(one)}
    for two, make in shelf.look(project).pairs():
        if two.id == one.id:
            continue
        if two.id in one.supersedes:
            yield "supersedes", make()
        if one.id in two.supersedes:
            yield "superseded by", make()
        if one.conflict_of == two.id or two.conflict_of == one.id:
            yield "in conflict with", make()
        if two.id in linked or two.id in named:
            yield linked.get(two.id, "mentions"), make()
        if len(one.id) > _SHORT and one.id in two.content and one.id in _ID.findall(two.content):
            yield "mentioned by", make()
