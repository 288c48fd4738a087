"""The tools on memories: Gobby's names and parameters, and what the command line has beyond them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, TypedDict

from pydantic import Field

from memsync.mcp.parameters import At, Id, Limit, Tags, Target, Where, open_at, resolve_inside
from memsync.mcp.tool import ADD, COUNT, READ, Offer, Progress, Spread
from memsync.memories import events, reach
from memsync.memories.counts import Stats
from memsync.memories.filters import Filters
from memsync.memories.imports import Candidate, ImportReport
from memsync.memories.listing import suggest_questions
from memsync.memories.project import Project
from memsync.memories.results import Entry, Recall, Remembered, list_entries
from memsync.records import SCOPES
from memsync.store.changes import Exported
from memsync.transfer.sources import Source, read

_STEP: Final = 100  # items between two words of progress
_RECALLED: Final = 10  # memories that a recall returns, unless the call or memory.recall_limit says otherwise


Importance = Annotated[float | None, Field(ge=0, le=1)]
Superseded = Annotated[Tags, Field(description="Ids it replaces.")]


def _choose_filters(  # noqa: PLR0913 - what a memory can be chosen by
    *,
    memory_type: str | None = None,
    tags_all: Tags = None,
    tags_any: Tags = None,
    tags_none: Tags = None,
    min_importance: Importance = None,
    archived: bool = False,
    exclude: list[str] | None = None,
    include_global: bool = True,
    scope: Where = None,
) -> Filters:
    scopes = tuple(name for name in SCOPES if include_global or name != "global")
    return Filters(
        scopes=(scope,) if scope else scopes,
        memory_type=memory_type,
        tags_all=tags_all or (),
        tags_any=tags_any or (),
        tags_none=tags_none or (),
        min_importance=min_importance or 0.0,
        archived=archived,
        exclude=frozenset(exclude or ()),
    )


Chosen = Annotated[Filters, Spread(_choose_filters)]


class _Lists(TypedDict, total=False):
    tags: Tags
    cues: Annotated[list[str] | None, Field(description="2 or 3 questions or symptoms that it answers.")]
    links: Annotated[list[str] | None, Field(description="because:ID, needs:ID, see:ID or see:skill/NAME.")]
    triggers: Annotated[list[str] | None, Field(description="Due at 'not: WRONG_NAME', 'fails: ERROR'.")]
    supersedes: Superseded
    anchors: Annotated[
        list[str] | None,
        Field(description='Due before this is read or run: PATH, PATH#SYMBOL, FOLDER/, a glob, "$ COMMAND".'),
    ]


def remember(
    project: Project,
    content: Annotated[str, Field(description="One statement that makes sense on its own.")],
    memory_type: Annotated[str, Field(description="fact, preference, pattern, context or rule.")] = "fact",
    importance: Annotated[Importance, Field(description="0 to 1, else 0.7.")] = None,
    *,
    lists: Annotated[_Lists, Spread(_Lists)],
    scope: Target = None,
) -> Remembered:
    """Store what later sessions need and cannot read from the code.

    Decisions and why, preferences of the user, conventions, traps; no secrets.
    The answer says what became of it, and which memory it may replace.
    """
    project.expect_store(scope)
    return project.remember(content, memory_type=memory_type, importance=importance, scope=scope, **lists)


def recall(
    project: Project,
    query: Annotated[str | None, Field(description="A question, or words.")] = None,
    limit: Limit | None = None,
    at: At = None,
    *,
    skills: Annotated[bool, Field(description="Skills that answer it too.")] = False,
    filters: Chosen,
) -> Mapping[str, Any]:
    """Look up what earlier sessions learned about this project, best first.

    Ask before you decide or search for what may have been settled. Without a
    query: the most important.
    """
    with open_at(project, at) as place:
        scope = next(iter(filters.scopes)) if len(filters.scopes) == 1 else None
        known = place.skills.search_beside(query, scope=scope, at=at) if skills else None
        found = _recall(place, query, filters, place.limit_of(_RECALLED) if limit is None else limit)
        value = found.as_dict()
        if query and at is None and all(map(found.is_weak, found)) and (nearest := suggest_questions(place, found)):
            value["nearest"] = nearest
        if not found and (problems := place.finder.tell_problems()):
            value["problems"] = problems
        return value if known is None else {**value, "skills": [entry.as_dict(whole=False) for entry in known]}


def list_memories(project: Project, limit: Limit = 50, at: At = None, *, filters: Chosen) -> Mapping[str, Any]:
    """List memories, the most important first. To answer a question use recall."""
    with open_at(project, at) as place:
        return list_entries(place.list_all(filters, limit=limit))


def _recall(project: Project, query: str | None, filters: Filters, limit: int) -> Recall:
    """Return what answers *query* here and, where the user wants that, in the other repositories of this machine."""
    found = project.recall(query, filters, limit=limit)
    if not project.settings.all_repos or not query:
        return found
    others = [one for one in reach.open_known(project) if one is not project]
    shared = replace(filters, scopes=[scope for scope in filters.scopes if scope == "project"])
    return reach.join([found, *(reach.recall_in([one], query, shared, limit=limit) for one in others)], limit)


def get_memory(project: Project, memory_id: Id, scope: Where = None, at: At = None) -> Entry:
    """Show everything about one memory."""
    with open_at(project, at) as place:
        return place.get(memory_id, scope)


class _Changes(TypedDict, total=False):
    content: Annotated[str | None, Field(description="The new text.")]
    importance: Importance
    tags: Annotated[Tags, Field(description="In place of old ones.")]
    cues: list[str] | None
    links: list[str] | None
    triggers: list[str] | None
    memory_type: str | None
    supersedes: Superseded
    anchors: Annotated[list[str] | None, Field(description="[] for none.")]


def update_memory(
    project: Project, memory_id: Id, scope: Where = None, *, changes: Annotated[_Changes, Spread(_Changes)]
) -> Remembered:
    """Change what is given of a memory; restore_memory undoes it."""
    return project.update(memory_id, scope=scope, **changes)


def forget(project: Project, memory_id: Id, scope: Where = None) -> Mapping[str, Any]:
    """Remove a memory that is wrong; restore_memory undoes it."""
    return {"forgotten": [project.forget(memory_id, scope)]}


def restore_memory(project: Project, memory_id: Id, scope: Where = None, at: At = None) -> Remembered:
    """Undo the last forget or update_memory of a memory, or take it from git; twice is redo."""
    return events.undo(project, memory_id, scope, at)


def memory_stats(project: Project, *, filters: Chosen) -> Stats:
    """Count memories by type, store, source and tag; archived ones are counted too."""
    return project.stats(replace(filters, archived=True))


def import_memories(
    project: Project,
    paths: Annotated[list[str], Field(min_length=1, description="Files or folders of this project.")],
    source: Annotated[Source | None, Field(description="Whose they are, instead of guessing.")] = None,
    map: Annotated[dict[str, str] | None, Field(description='Which key holds a field: {"content": "text"}.')] = None,  # noqa: A002 - the CLI's name
    *,
    dry_run: Annotated[bool, Field(description="Only say what would happen.")] = False,
    scope: Target = None,
    progress: Progress,
) -> ImportReport:
    """Import memories from files of this project: all of them or, on an error, none. Copies are left out."""
    project.expect_store(scope)
    found = [candidate for path in paths for candidate in read(resolve_inside(project, path), source, map)]
    return project.import_(_report_progress(found, progress), scope=scope, dry_run=dry_run)


def _report_progress(found: list[Candidate], progress: Progress) -> Iterator[Candidate]:
    for number, candidate in enumerate(found):
        if number % _STEP == 0:
            progress(number, len(found))
        yield candidate
    progress(len(found), len(found))


def export_memories(project: Project, scope: Where = None) -> Exported:
    """Put the memory file in canonical form, ready to be committed. Happens by itself when the server rests."""
    return project.export(scope or project.default_scope)


OFFERS: Final = (
    Offer("memory remember", remember, "Remember", ADD, always=True),
    Offer("memory recall", recall, "Recall", READ, always=True, card=True),
    Offer("memory forget", forget, "Forget", ADD),
    Offer("memory list", list_memories, "List memories", READ),
    Offer("memory show", get_memory, "Show a memory", READ),
    Offer("memory update", update_memory, "Update a memory", ADD),
    Offer("memory restore", restore_memory, "Restore a memory", COUNT),
    Offer("memory stats", memory_stats, "Memory statistics", READ),
    Offer("memory import", import_memories, "Import memories", ADD, {"--from": "source"}),
    Offer("memory export", export_memories, "Export memories", ADD),
)
