"""Results as text for people. Nothing here decides anything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from memsync.cli import terminal
from memsync.format.scopes import name_scope
from memsync.memories.results import Entry, Recall, Remembered
from memsync.poison.guard import shown_label, shown_type
from memsync.records import DEFAULT_SOURCE, age, shown_id
from memsync.system import texts

if TYPE_CHECKING:
    from memsync.history.lost import Found
    from memsync.memories.imports import ImportReport
    from memsync.memories.listing import Stats, StoreStatus
    from memsync.memories.sync import Synced
    from memsync.setup.client_status import ClientStatus, ServerStatus
    from memsync.setup.doctor import Finding
    from memsync.setup.installing import Installed
    from memsync.setup.notes import Taken

scope = name_scope
printable = texts.printable
one_line = texts.one_line
count = texts.count

_TOLD: Final = {
    "contradicts": "contradicts",
    "duplicate": "perhaps the same as",
    "contains": "perhaps more of",
    "contained": "perhaps part of",
}
_SHOWN: Final = 20
_GUESSES: Final = 2  # at most so many texts are named that may be like a new one
_LEVELS: Final = {"error": "red", "warning": "yellow", "note": "cyan"}


def to_json(value: Any) -> str:
    """Return *value* as indented JSON that any terminal and parser can take."""
    import json

    from memsync.format.as_json import as_json

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
    facts = [
        shown_type(memory.memory_type),
        f"importance {entry.effective_importance:.2g}",
        age(memory.written_at, now),
    ]
    facts += [f"in {os.path.basename(entry.repo)}"] if entry.repo and entry.scope == "project" else []
    facts += [] if entry.scope == "project" else [scope(entry.scope)]
    facts += [f"#{shown_label(tag)}" for tag in memory.tags]
    notes = ["archived"] if memory.archived_at else []
    notes += [f"out of date: {entry.out_of_date}"] if entry.stale else []
    notes += [f"in conflict with {short_id(memory.conflict_of)}"] if memory.conflict_of else []
    return "; ".join([", ".join(facts), *notes]) + flag(entry)


def flag(entry: Entry) -> str:
    """Return the mark of a memory that no person has approved, though it reads like an order; "" for any other."""
    return f"; flagged: {entry.flagged}; unread" if entry.flagged else ""


def diff_row(row: str) -> str:
    """Return a row of a unified diff in the usual colours."""
    return click.style(printable(row), fg={"+": "green", "-": "red", "@": "cyan"}.get(row[:1]))


def short_id(id_: str) -> str:
    """Return enough of *id_* to name it: ours whole, of a UUID the first part."""
    shown = shown_id(id_)
    return shown if len(shown) <= 16 else shown[:8]


def entries(found: Sequence[Entry], now: datetime, *, none: str) -> str:
    """Return a line for each of *found*, or *none*."""
    return "\n".join(entry_line(entry, now) for entry in found) or none


def recall(found: Recall, now: datetime, *, explain: bool) -> str:
    """Return a line for each hit, weak ones last; with *explain* the parts of its score, and what an agent would be shown."""
    lines: list[str] = []
    weak = [hit for hit in found if found.is_weak(hit)]
    for hit in (*(hit for hit in found if not found.is_weak(hit)), *weak):
        if weak and hit is weak[0]:
            lines.append(click.style("weak matches:", dim=True))
        copy = f" (nearly the same as {short_id(hit.copy_of)})" if hit.copy_of else ""
        lines.append(entry_line(hit, now, mark=copy))
        if explain and hit.parts:
            from memsync.cli.render_why import explain_hit  # asked for seldom

            lines += [click.style(f"    {line}", dim=True) for line in explain_hit(found, hit)]
    lines = lines or ["no memory fits"]
    if explain and found.query:
        verdict = "would be" if found.gate >= found.floor else "nothing would be"
        lines.append(f"gate {found.gate:.2f}, floor {found.floor:.2f}: {verdict} shown unasked")
    if found.degraded:
        lines.append(f"{click.style('degraded', fg='yellow')}: searched by words only, because {found.degraded}")
    return "\n".join(lines)


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
        "scope": scope(entry.scope),
        "source": " ".join(map(shown_label, filter(None, (said, memory.source_session_id)))),
        "author": shown_label(memory.author or ""),
        "created": _format_time(memory.created_at, now),
        "updated": _format_time(memory.updated_at, now),
        "archived": _format_time(memory.archived_at, now),
        "superseded by": ", ".join(map(shown_id, successors)),
        "supersedes": ", ".join(map(shown_id, memory.supersedes)),
        "anchors": ", ".join(memory.anchors),
        "cues": "; ".join(memory.cues),
        "links": ", ".join(map(shown_label, memory.links)),
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
    told = sorted((o for o in result.similar if o.relation in _TOLD), key=lambda o: o.relation != "contradicts")
    most = max(_GUESSES, sum(other.relation == "contradicts" for other in told))
    for other in told[:most]:
        line = f"  {_TOLD[other.relation]} ({one_line(other.reason)}): "
        lines.append(entry_line(other, now, click.style(line, fg="yellow")))
    lines += [f"  … and {len(told) - most} more that may be like it (--json tells all)"] if told[most:] else []
    wrong = [short_id(other.id) for other in result.similar if other.relation == "contradicts"]
    if wrong and not result.entry.memory.archived_at:
        supersedes = " ".join(f"--supersedes {id_}" for id_ in wrong)
        lines.append(f"  no longer true? memsync update {short_id(result.entry.id)} {supersedes}")
    if result.entry.flagged:
        advice = f"  no agent is given it unasked before you run `memsync approve {short_id(result.entry.id)}`"
        lines.append(click.style(advice, fg="yellow"))
    if result.degraded:
        lines.append(f"{click.style('degraded', fg='yellow')}: compared by words only, because {result.degraded}")
    return "\n".join(lines)


def brought_back(found: Found, now: datetime) -> str:
    """Return what was lost and is back, and what is not, a line each."""
    lines = [entry_line(result.entry, now, f"{click.style('restored', fg='green')}: ") for result in found.restored]
    for one, why in found.refused:
        lines.append(f"{click.style('left alone', fg='yellow')}: {shown_id(one.memory.id)}: {one_line(why)}")
    return "\n".join(lines) or "nothing that was written here is missing"


def import_report(report: ImportReport) -> str:
    """Return the counts, and why items were left out."""
    verb = "would be " if report.dry_run else ""
    names = ("created", "updated", "duplicate", "skipped")
    counts = ", ".join(f"{report.count(name)} {name}" for name in names)
    told = [o for o in report.outcomes if o.status in ("duplicate", "skipped")]
    beside = ", ".join(f"{number} {scope(name)}" for name, number in report.beside.items())
    return "\n".join(
        [
            f"{verb}{counts}{f' ({beside})' if beside else ''}",
            *first(f"  {o.status} {one_line(o.where)}: {one_line(o.reason)}" for o in told),
        ]
    )


def first(blocks: Iterable[str]) -> list[str]:
    """Return the first of *blocks*, and how many more there are."""
    found = list(blocks)
    more = len(found) - _SHOWN
    return [*found[:_SHOWN], *([f"  … and {more} more (--json tells all)"] if more > 0 else [])]


def stats(result: Stats, now: datetime) -> str:
    """Return the counts as a small report."""
    lines = [
        f"{memories(result.total)}, average importance {result.average_importance:.2f}, {result.archived} archived"
    ]
    for name, counts in (
        ("type", result.by_type),
        ("scope", {scope(name): n for name, n in result.by_scope.items()}),
        ("source", result.by_source),
    ):
        lines += _list_counts(name, counts, limit=50)
    lines += _list_counts("tag", result.by_tag, limit=10)
    if result.most_used:
        lines += ["most recalled", *(entry_line(e, now, f"  {e.access_count:5} ") for e in result.most_used)]
    return "\n".join(lines)


def _list_counts(name: str, counts: Mapping[str, int], *, limit: int) -> list[str]:
    rows = [f"  {count:5} {shown_label(key)}" for key, count in list(counts.items())[:limit]]
    more = [f"  … and {len(counts) - limit} more"] if len(counts) > limit else []
    return [f"by {name}", *rows, *more] if rows else []


def status(value: Mapping[str, Any], stores: Sequence[StoreStatus]) -> str:
    """Return where things are and how much is there."""
    git = "" if value["git"] else " (not in git)"
    lines = [
        f"project {one_line(value['root'] or 'none: a bare repository')}{git}",
        f"stealth {'on' if value['stealth'] else 'off'}",
    ]
    for store in stores:
        notes = [f"{count(store.problems, 'problem')}, see `memsync doctor`"] if store.problems else []
        notes += ["not exported yet"] if store.pending else []
        notes += [f"{store.waiting} wait for a commit"] if store.waiting else []
        notes += [f"{store.new} new here"] if store.new else []
        notes += [f"{store.flagged} flagged, given to no agent, see `memsync candidates`"] if store.flagged else []
        noun = memories(store.memories).split()[1]
        lines.append(
            f"{scope(store.scope):8} {store.memories:6} {noun:8}  {terminal.link(one_line(str(store.path)), store.path)}  {'; '.join(notes)}".rstrip()
        )
    lines += [
        *git_hooks(value["git_hooks"], value["mode"]),
        *clients(value["clients"]),
        *server(value["server"]),
        *answering(value["answering"]),
        *last_hook(value["last_hook"]),
        *janitor(value["janitor"]),
    ]
    lines += candidates(value["candidates"])
    lines += [*waiting(value["waiting"]), *(f"ignored  {one_line(why)}" for why in value["ignored"])]
    lines += [f"skill    {one_line(why)}; read it before an agent does" for why in value["flagged_skills"]]
    lines += [click.style(one_line(why), fg="yellow") for why in value["unclaimed"]]
    if not value["command"] and not value["server"]:
        lines.append(click.style("memsync is not in the PATH, where the clients look for it", fg="yellow"))
    return "\n".join(lines)


def waiting(names: Sequence[str]) -> list[str]:
    """Return a line for each instruction of the repository that waits for approval."""
    return [f"waits    {one_line(name)} (`memsync trust --show`)" for name in names]


def candidates(waiting: Mapping[str, int]) -> list[str]:
    """Return a line about what waits for approval, if anything does."""
    kinds = (("memories", "memory", "candidates"), ("skills", "skill", "skill candidates"))
    told = [f"{count(waiting[kind], noun)} (`memsync {verb}`)" for kind, noun, verb in kinds if waiting[kind]]
    return [f"learned  {' and '.join(told)} to approve or reject"] if told else []


def answering(servers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line about the processes that answer hooks, if there are any."""
    told = [
        f"memsync {one['kind']} (pid {one['pid']})" if one["kind"] else f"pid {one['pid']}, which is silent"
        for one in servers
    ]
    return [one_line(f"hooks are answered by {', '.join(told)}")] if told else []


def last_hook(note: Mapping[str, Any] | None) -> list[str]:
    """Return a line about the last time that an agent asked, and why it was given nothing if so."""
    if note is None:
        return []
    given = ", ".join(map(short_id, note.get("given") or ()))
    what = f"gave {given}" if given else f"gave nothing: {note.get('reason') or 'nothing to give'}"
    failed = "".join(f"; {error}" for error in note.get("errors") or ())
    return [one_line(f"last asked by {note.get('client')} ({note.get('event')}, {note.get('at')}): {what}{failed}")]


def janitor(report: Mapping[str, Any] | None) -> list[str]:
    """Return a line about what the janitor found by itself, or has done, and what to run next."""
    if report is None:
        return []
    words = {
        "merges": "merged",
        "archived": "archived",
        "clusters": "clusters of likely copies",
        "stale": "out of date",
    }
    counts = [f"{report[name]} {word}" for name, word in words.items() if report.get(name)]
    steps = any(report.get(name) for name in ("merges", "archived"))
    is_done = report.get("status") == "done"
    calls = ["janitor undo" if is_done else "janitor run"] if steps else []
    calls += ["janitor review"] if report.get("clusters") else []
    said = ", ".join(counts) or "nothing to do"
    advice = f"; {' and '.join(f'`memsync {call}`' for call in calls)}" if calls else ""
    return [one_line(f"janitor  {'' if is_done else 'would have '}{said} ({report['at']}){advice}")]


def git_hooks(states: Mapping[str, str], mode: str) -> list[str]:
    """Return a line about our hooks of git and when changes reach it, if there is a git."""
    if not states:
        return []
    if len(kinds := set(states.values())) == 1:
        what = f"hooks {kinds.pop()}"
    else:
        what = ", ".join(f"{name} {state}" for name, state in states.items() if state != "installed")
    advice = "" if what == "hooks installed" else "; `memsync git install` puts them in"
    return [f"git      {what}, mode {mode}{advice}"]


def clients(found: Sequence[ClientStatus]) -> list[str]:
    """Return lines about the clients that are used here or know memsync."""
    lines = []
    for one in found:
        if one.used or one.where:
            wiring = (("hooks", one.hooks), ("MCP", one.mcp), ("block", one.block))
            said = ", ".join(f"{what} {how}" for what, how in wiring if how != "none")
            lines.append(f"{one.client:8} {said}  {', '.join(one.where)}".rstrip())
            lines += [f"  {note}" for note in one.notes]
    return lines or ["no agent is connected; `memsync init --agent claude` (or codex, gemini, all) does it"]


def server(found: ServerStatus | None) -> list[str]:
    """Return a line about the MCP server, if a client was told of it."""
    return [f"server   {one_line(str(found))}"] if found else []


def installed(result: Installed, end: Sequence[str]) -> str:
    """Return what was done to connect or disconnect the clients, and what is next."""
    head = ["nothing is written; this would be done:"] if result.dry_run and result.done else []
    lines = [*head, *(result.done or ["nothing to do"]), *result.notes, *end]
    return "\n".join([*lines, f"undo: {result.undo}"] if result.undo and result.done else lines)


def synced(done: Synced) -> str:
    """Return what a sync did, a line a step."""
    lines = [f"{memories(done.memories)} in {done.path}"]
    steps = {
        "resolved the conflict": done.resolved,
        "put the file in order": done.exported and not done.resolved,
        "staged it": done.staged,
        f"committed {(done.commit or '')[:10]}: {done.message}": done.commit,
        f"pushed to {done.pushed}": done.pushed,
        f"{count(done.problems, 'problem')}, see `memsync doctor`": done.problems,
        f"{click.style('left alone', fg='yellow')}: {one_line(done.held or '')}": done.held,
    }
    return "\n".join(lines + [text for text, is_so in steps.items() if is_so])


def notes(found: Taken) -> list[str]:
    """Return lines about what the clients noted for themselves, and what of it could not be read."""
    number = len(found.proposed)
    verb = "waits" if number == 1 else "wait"
    said = f"{count(number, 'note')} of your clients {verb} for you; `memsync candidates` shows them"
    return [*([said] if number else []), *map(one_line, found.problems)]


def findings(found: Sequence[Finding]) -> str:
    """Return a line for each thing the doctor found."""
    lines = [f"{click.style(f.level, fg=_LEVELS[f.level])} {one_line(f.where)}: {one_line(f.what)}" for f in found]
    if any(finding.fixable for finding in found):
        lines.append("`memsync doctor --fix` fixes what is safe")
    return "\n".join(lines) or "all is well"
