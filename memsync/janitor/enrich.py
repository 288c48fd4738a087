"""Giving old memories the words that somebody would ask with: by a model, or by whoever fills in a list of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from memsync.errors import InvalidMemory, LlmError, MemsyncError, Remedy, UsageError
from memsync.janitor.plan import Enrich, seal
from memsync.llm.answers import TEXT, find_misfit, list_of, object_of, prompt
from memsync.llm.judge import TokenBatchBuilder
from memsync.llm.llm import Llm, tokens_of
from memsync.memories.anchors import parse
from memsync.memories.filters import sort_by_importance
from memsync.memories.naming import Named, name_all
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import MAX_WORD, clean_cues, format_time, parse_time
from memsync.safety import secrets
from memsync.store import files
from memsync.store.lock import lock
from memsync.system.limits import read_object

_MOST: Final = 5  # cues that are taken from a model for one memory
_ANSWER: Final = 80  # tokens of the answer for one memory
SHAPE: Final = object_of("memories", memories=list_of(object_of("id", "cues", id=TEXT, cues=list_of(TEXT))))
_ONE: Final = object_of("id", "cues", id=TEXT, cues=list_of(TEXT), about=list_of(TEXT))
_GIVEN: Final = object_of("memories", memories=list_of(_ONE))
_DUE: Final = 3  # memories that an agent is asked about at a session's end
_PAUSE: Final = timedelta(days=14)  # before it is asked about the same one again
_ASKED: Final = "enrich.json"


def find_bare(project: Project) -> list[Entry]:
    """Return the memories that may be written and have no cues, the most important first; none that waits for a person."""
    found = (
        entry
        for entry in project.entries()
        if not (entry.memory.cues or entry.memory.conflict_of)
        and not (entry.scope == "project" and project.settings.stealth)
    )
    return [entry for entry in map(project.screening.screen, sort_by_importance(found)) if not entry.flagged]


def list_bare(project: Project, limit: int) -> dict[str, Any]:
    """Return the first *limit* memories without cues, for somebody to fill these in, and how many more there are."""
    return _list(project, find_bare(project), limit)


def list_due(project: Project, limit: int) -> dict[str, Any]:
    """Return what `list_bare` does: at most three, none that was listed here in the last two weeks, holds a secret, or is another's own."""
    place = project.layout.place(project.default_scope)
    if not place.directory.is_dir():
        return _list(project, (), 0)
    path = place.local / _ASKED
    files.prepare(place)
    with lock(place.local / "enrich.lock"):
        was, now = files.read(path)[0], project.clock()  # not earlier than what another process has just noted
        asked = {id_: at for id_, at in _read_asked(was).items() if now - _PAUSE < at <= now}
        due = [entry for entry in find_bare(project) if entry.id not in asked and _may_be_shown(project, entry)]
        found = _list(project, due, min(limit, _DUE))
        asked |= dict.fromkeys((one["id"] for one in found["memories"]), now)
        data = json.dumps({id_: format_time(at) for id_, at in asked.items()}).encode()
        if found["memories"]:
            files.rewrite(path, data, was=was, private=place.private)
    return found


def _read_asked(data: bytes) -> dict[str, datetime]:
    """Return when which memory was listed; nothing where that cannot be read."""
    try:
        return {id_: at for id_, text in read_object(data).items() if (at := parse_time(text))}
    except MemsyncError:
        return {}


def _may_be_shown(project: Project, entry: Entry) -> bool:
    is_own = entry.scope == "project" or entry.memory.author in (None, project.author)
    return is_own and not project.screening.holds_secret(entry, lambda: project.vetting.allowed)


def _list(project: Project, bare: Sequence[Entry], limit: int) -> dict[str, Any]:
    shown = [
        {"id": entry.id, "content": entry.content, "cues": [], "about": list(_find_about(project, entry))}
        for entry in bare[:limit]
    ]
    return {"count": len(shown), "left": len(bare) - len(shown), "memories": shown}


def _find_about(project: Project, entry: Entry) -> dict[str, tuple[str, str]]:
    """Return the anchors and triggers that stand in the text of *entry* and that it lacks: as they are shown, each with its field and what is stored."""
    memory = entry.memory
    with Named(memory.content, None if entry.scope == "global" else project.layout.root) as named:
        full = name_all(memory, named)
    anchors = [one for one in full.anchors if one not in memory.anchors]
    triggers = [one for one in full.triggers if one not in memory.triggers and "triggers" not in memory.extra]
    return {
        **{str(parse(one)._replace(blob="")): ("anchors", one) for one in anchors},
        **{one: ("triggers", one) for one in triggers},
    }


def read_steps(project: Project, given: Any) -> list[Enrich]:
    """Return what *given*, a list as `list_bare` returns it with cues filled in, asks for; empty lists are passed over.

    Raises:
        UsageError: it has another shape, or cues that cannot be stored.
        MemoryNotFound, AmbiguousId
    """
    if wrong := find_misfit(given, _GIVEN, "the list"):
        raise UsageError(f"{wrong}; give what ", Remedy("memory enrich --list --json"), " prints, with cues filled in")
    steps = []
    for one in given["memories"]:
        try:
            cues = clean_cues(one["cues"])
        except InvalidMemory as error:
            raise UsageError(f"{one['id']}: {error}") from None
        about = one.get("about", ())
        if cues or about:
            entry = project.get(one["id"])
            known = _find_about(project, entry) if about else {}
            taken = [known[text] for text in about if text in known]
            anchors, triggers = (tuple(text for of, text in taken if of == kind) for kind in ("anchors", "triggers"))
            if cues or taken:
                steps.append(_step(entry, cues)._replace(anchors=anchors, triggers=triggers))
    return steps


def ask_model(project: Project, llm: Llm, entries: Sequence[Entry]) -> tuple[list[Enrich], str]:
    """Return what a model would have *entries* found by, and why some of them have no answer, "" if all have."""
    steps: list[Enrich] = []
    rows = [({"id": entry.id, "content": secrets.redact(entry.content)}, entry) for entry in entries]
    sizes = [(row, tokens_of(json.dumps(row[0], ensure_ascii=False)) + _ANSWER) for row in rows]
    for batch in TokenBatchBuilder(llm.window, project.settings.batch_percent).batches(sizes):
        known = {entry.id: entry for _, entry in batch}
        try:
            said = llm.ask(prompt("memory_enrich", memories=[row for row, _ in batch]), SHAPE)
        except LlmError as error:
            return steps, str(error)
        for one in said["memories"]:
            cues = clean_cues([cue for cue in one["cues"] if len(cue) <= MAX_WORD][:_MOST])
            if cues and (entry := known.pop(one["id"], None)):
                steps.append(_step(entry, cues))
    return steps, ""


def _step(entry: Entry, cues: tuple[str, ...]) -> Enrich:
    return Enrich(entry.scope, entry.id, cues, {entry.id: seal(entry.memory)})
