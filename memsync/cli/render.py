"""Results as text for people. Nothing here decides anything."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from memsync.cli import terminal
from memsync.memories.results import RELATIONS, Entry, Remembered, as_json
from memsync.records import DEFAULT_SOURCE, FIELDS, Field, age, names_of, short_id, shown_id
from memsync.safety.guard import shown_label, shown_type
from memsync.system import texts

if TYPE_CHECKING:
    from memsync.git.history import Commit

printable = texts.printable
one_line = texts.one_line
count = texts.count

_SHOWN: Final = 20
_GUESSES: Final = 2  # at most so many texts are named that may be like a new one


def to_json(value: Any) -> str:
    """Return *value* as indented JSON that any terminal and parser can take."""
    text = json.dumps(as_json(value), ensure_ascii=False, indent=2)
    return texts.escape_json(text.encode("utf-8", "replace").decode())


def memories(number: int) -> str:
    """Return "1 memory", or how many memories."""
    return count(number, "memory")


def entry_line(entry: Entry, now: datetime, before: str = "", mark: str = "") -> str:
    """Return *before*, and about *entry* its id, its text, and what kind it is, how old, whose and what of it to know; then *mark*."""
    memory, id_ = entry.memory, click.style(short_id(entry.id), fg="yellow")
    return terminal.flow(f"{before}{id_}", one_line(memory.content), one_line(f"({_list_facts(entry, now)}){mark}"))


def _list_facts(entry: Entry, now: datetime) -> str:
    memory = entry.memory
    importance = f"importance {entry.effective_importance:.2g}"
    facts = [shown_type(memory.memory_type), importance, age(memory.written_at, now)]
    facts += [f"in {os.path.basename(entry.repo)}"] if entry.repo and entry.scope == "project" else []
    facts += [] if entry.scope == "project" else [entry.scope]
    facts += [f"#{shown_label(tag)}" for tag in memory.tags]
    notes = ["archived"] if memory.archived_at else []
    notes += [f"out of date: {entry.out_of_date}"] if entry.stale else []
    notes += [f"in conflict with {short_id(memory.conflict_of)}"] if memory.conflict_of else []
    notes += [f"flagged: {entry.flagged}; unread"] if entry.flagged else []
    return "; ".join([", ".join(facts), *notes])


def commit(one: Commit | None) -> str:
    """Return when *one* was made, its hash, by whom it is and what it is called."""
    if one is None:
        return "not committed yet"
    day = f"{one.when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{day} {click.style(one.short, fg='cyan')} {one_line(f'{one.author}: {one.subject}')}"


def diff_row(row: str) -> str:
    """Return a row of a unified diff in the usual colours."""
    return click.style(printable(row), fg={"+": "green", "-": "red", "@": "cyan"}.get(row[:1]))


def entry_whole(entry: Entry, now: datetime, successors: Iterable[str] = (), root: Path | None = None) -> str:
    """Return everything about one memory, also what took its place; its anchors linked to files below *root*."""
    memory = entry.memory
    said = memory.source_type if memory.source_type != DEFAULT_SOURCE else ""  # as good as nothing: files leave it out
    rows = {
        "id": shown_id(memory.id),
        "repository": entry.repo,
        "type": shown_type(memory.memory_type),
        "importance": f"{memory.importance:g} (today {entry.effective_importance:.2g})",
        "tags": ", ".join(map(shown_label, memory.tags)),
        "scope": entry.scope,
        "source": " ".join(map(shown_label, filter(None, (said, memory.source_session_id)))),
        "author": shown_label(memory.author or ""),
        "created": _format_time(memory.created_at, now),
        "updated": _format_time(memory.updated_at, now),
        "archived": _format_time(memory.archived_at, now),
        "superseded by": ", ".join(map(shown_id, successors)),
        **{f.name: _spell_list(f, getattr(memory, f.name)) for f in FIELDS if f.name in _LISTS},
        "out of date": ", ".join(entry.stale),
        "conflict of": shown_id(memory.conflict_of) if memory.conflict_of else "",
        "flagged": entry.flagged
        and f"{entry.flagged}; given to an agent after `memsync approve {shown_id(entry.id)}` only",
        "recalled": count(entry.access_count, "time") if entry.access_count else "",
        **{shown_label(key): str(value) for key, value in sorted(memory.extra.items()) if value is not None},
    }
    shown = {name: one_line(text) for name, text in rows.items() if text}
    if root and memory.anchors:
        shown["anchors"] = ", ".join(_link_anchor(anchor, root) for anchor in memory.anchors)
    head = "\n".join(f"{click.style(name, dim=True)}: {text}" for name, text in shown.items())
    return f"{head}\n\n{printable(memory.content)}"


_LISTS: Final = {*names_of("list", "ids")} - {"tags"}


def _spell_list(field: Field, words: Iterable[str]) -> str:
    show = shown_id if field.kind == "ids" else str if field.is_shown_plainly else shown_label
    return ("; " if field.is_searched else ", ").join(map(show, words))


def _link_anchor(anchor: str, root: Path) -> str:
    path = root / anchor.partition("#")[0]
    return terminal.link(one_line(anchor), path) if path.is_file() else one_line(anchor)


def _format_time(moment: datetime | None, now: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC ({age(moment, now)})" if moment else ""


def remembered(result: Remembered, now: datetime) -> str:
    """Return what became of a text, what it became, and what else is much like it."""
    colour = "yellow" if result.status in ("exists", "blocked") else "green"
    reason = f" ({one_line(result.reason)})" if result.reason else ""
    said = f"{click.style(result.status, fg=colour)}{reason}"
    if result.status == "superseded":  # what is named is the new one
        said = f"{click.style('replaces', fg=colour)} {', '.join(map(short_id, result.entry.memory.supersedes))}"
    lines = [entry_line(result.entry, now, f"{said}: ")]
    commands = (anchor for anchor in result.entry.memory.anchors if anchor.startswith("$"))
    if due := "; ".join(map(one_line, (*result.entry.memory.triggers, *commands))):
        lines.append(f"  due at {due}")
    told = sorted((o for o in result.similar if o.relation in RELATIONS), key=lambda o: not o.may_replace)
    most = max(_GUESSES, sum(other.may_replace for other in told))
    for other in told[:most]:
        line = f"  {RELATIONS[other.relation]} ({one_line(other.reason)}): "
        lines.append(entry_line(other, now, click.style(line, fg="yellow")))
    lines += [f"  … and {len(told) - most} more that may be like it (--json tells all)"] if told[most:] else []
    wrong = [short_id(other.id) for other in result.similar if other.may_replace]
    if wrong and not result.entry.memory.archived_at:
        supersedes = " ".join(f"--supersedes {id_}" for id_ in wrong)
        lines.append(f"  no longer true? memsync update {short_id(result.entry.id)} {supersedes}")
    if result.entry.flagged:
        advice = f"  no agent is given it unasked before you run `memsync approve {short_id(result.entry.id)}`"
        lines.append(click.style(advice, fg="yellow"))
    if result.degraded:
        lines.append(f"{click.style('degraded', fg='yellow')}: compared by words only, because {result.degraded}")
    return "\n".join(lines)


def first(blocks: Iterable[str]) -> list[str]:
    """Return the first of *blocks*, and how many more there are."""
    found = list(blocks)
    more = len(found) - _SHOWN
    return [*found[:_SHOWN], *([f"  … and {more} more (--json tells all)"] if more > 0 else [])]


def waiting(names: Sequence[str]) -> list[str]:
    """Return a line for each instruction of the repository that waits for approval."""
    return [f"waits    {one_line(name)} (`memsync trust --show`)" for name in names]
