"""Giving old memories the words that somebody would ask with: by a model, or by whoever fills in a list of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from memsync import secrets
from memsync.errors import InvalidMemory, LlmError, Remedy, UsageError
from memsync.janitor.plan import Enrich, seal
from memsync.llm.answers import TEXT, find_misfit, list_of, object_of, prompt
from memsync.llm.judge import TokenBatchBuilder
from memsync.llm.llm import Llm, tokens_of
from memsync.memories.filters import sort_by_importance
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import MAX_WORD, clean_cues

_MOST: Final = 5  # cues that are taken from a model for one memory
_ANSWER: Final = 80  # tokens of the answer for one memory
SHAPE: Final = object_of("memories", memories=list_of(object_of("id", "cues", id=TEXT, cues=list_of(TEXT))))


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
    bare = find_bare(project)
    shown = [{"id": entry.id, "content": entry.content, "cues": []} for entry in bare[:limit]]
    return {"count": len(shown), "left": len(bare) - len(shown), "memories": shown}


def read_steps(project: Project, given: Any) -> list[Enrich]:
    """Return what *given*, a list as `list_bare` returns it with cues filled in, asks for; empty lists are passed over.

    Raises:
        UsageError: it has another shape, or cues that cannot be stored.
        MemoryNotFound, AmbiguousId
    """
    if wrong := find_misfit(given, SHAPE, "the list"):
        raise UsageError(f"{wrong}; give what ", Remedy("memory enrich --list --json"), " prints, with cues filled in")
    steps = []
    for one in given["memories"]:
        try:
            cues = clean_cues(one["cues"])
        except InvalidMemory as error:
            raise UsageError(f"{one['id']}: {error}") from None
        if cues:
            steps.append(_step(project.get(one["id"]), cues))
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
