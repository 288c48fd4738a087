"""`memsync status`, `sync` and `index`: where things are, and what is up to date."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

import click

from memsync.agents import hooklog
from memsync.agents.notes import scope_of
from memsync.agents.wire import list_servers
from memsync.cli import terminal
from memsync.cli.app import Answer, cli, command
from memsync.cli.render import count, memories, one_line, waiting
from memsync.cli.transfer import format_mirrored
from memsync.janitor.run import read_report
from memsync.learn.candidates import Candidates
from memsync.memories.counts import StoreStatus
from memsync.memories.project import Project
from memsync.memories.results import as_json
from memsync.memories.syncing import Synced
from memsync.memories.syncing import sync as run
from memsync.records import short_id
from memsync.setup import installing
from memsync.setup.client_status import ClientStatus, check_server, survey
from memsync.setup.clients import refresh_blocks
from memsync.setup.notes import Taken, take_in
from memsync.store.workflow import find_waiting
from memsync.transfer.mirrors import sync_mirrors


@command(cli, is_quiet=True)
def status(project: Project, /) -> Answer:
    """Show the stores, what is pending, and which agents are connected.

    \b
    Example:
      memsync status --json
    """
    stores, clients = project.status(), survey(project)
    value: dict[str, Any] = {
        "root": str(project.layout.root) if project.layout.root else None,
        "git": project.layout.git is not None,
        "git_hooks": installing.read_hook_states(project),
        "mode": project.settings.mode,
        "stealth": project.settings.stealth,
        "stores": stores,
        "clients": clients,
        "server": check_server(project, clients),
        "command": shutil.which("memsync"),
        "candidates": Candidates(project).count(),
        "answering": list_servers(project.layout),
        "last_hook": hooklog.last(project.layout, scope_of(project.layout, project.settings)),
        "janitor": read_report(project),
        "waiting": [one.name for one in find_waiting(project.layout, project.loaded)],
        "ignored": list(project.loaded.warnings),
        "flagged_skills": [f"{entry.skill.name}: {entry.flagged}" for entry in project.skills.list() if entry.flagged],
    }
    return Answer(value, _format_status(value, stores))


def _format_status(value: Mapping[str, Any], stores: Sequence[StoreStatus]) -> str:
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
            f"{store.scope:8} {store.memories:6} {noun:8}  {terminal.link(one_line(str(store.path)), store.path)}  {'; '.join(notes)}".rstrip()
        )
    lines += _describe_git_hooks(value["git_hooks"], value["mode"])
    lines += _describe_clients(value["clients"])
    lines += [f"server   {one_line(str(value['server']))}"] if value["server"] else []
    servers = [
        f"memsync {one['kind']} (pid {one['pid']})" if one["kind"] else f"pid {one['pid']}, which is silent"
        for one in value["answering"]
    ]
    lines += [one_line(f"hooks are answered by {', '.join(servers)}")] if servers else []
    lines += [_describe_hook(value["last_hook"])] if value["last_hook"] else []
    lines += [describe_janitor(value["janitor"])] if value["janitor"] else []
    kinds = (("memories", "memory", "candidates"), ("skills", "skill", "skill candidates"))
    learned = value["candidates"]
    parts = [f"{count(learned[kind], noun)} (`memsync {verb}`)" for kind, noun, verb in kinds if learned[kind]]
    lines += [f"learned  {' and '.join(parts)} to approve or reject"] if parts else []
    lines += [*waiting(value["waiting"]), *(f"ignored  {one_line(why)}" for why in value["ignored"])]
    lines += [f"skill    {one_line(why)}; read it before an agent does" for why in value["flagged_skills"]]
    if not value["command"] and not value["server"]:
        lines.append(click.style("memsync is not in the PATH, where the clients look for it", fg="yellow"))
    return "\n".join(lines)


def _describe_hook(note: Mapping[str, Any]) -> str:
    """Return a line about the last time that an agent asked, and why it was given nothing if so."""
    given = ", ".join(map(short_id, note.get("given") or ()))
    what = f"gave {given}" if given else f"gave nothing: {note.get('reason') or 'nothing to give'}"
    failed = "".join(f"; {error}" for error in note.get("errors") or ())
    return one_line(f"last asked by {note.get('client')} ({note.get('event')}, {note.get('at')}): {what}{failed}")


def describe_janitor(report: Mapping[str, Any]) -> str:
    """Return a line about what the janitor found by itself, or has done, and what to run next."""
    words = {"merges": "merged", "archived": "archived", "clusters": "groups of likely copies", "stale": "out of date"}
    found = [f"{report[name]} {word}" for name, word in words.items() if report.get(name)]
    is_done = report.get("status") == "done"
    calls = ["janitor undo" if is_done else "janitor run"] if report.get("merges") or report.get("archived") else []
    calls += ["janitor review"] if report.get("clusters") else []
    advice = f"; {' and '.join(f'`memsync {call}`' for call in calls)}" if calls else ""
    verb = "" if is_done else "would have "
    return one_line(f"janitor  {verb}{', '.join(found) or 'nothing to do'} ({report['at']}){advice}")


def _describe_git_hooks(states: Mapping[str, str], mode: str) -> list[str]:
    if not states:
        return []
    if len(kinds := set(states.values())) == 1:
        what = f"hooks {kinds.pop()}"
    else:
        what = ", ".join(f"{name} {state}" for name, state in states.items() if state != "installed")
    advice = "" if what == "hooks installed" else "; `memsync git install` puts them in"
    return [f"git      {what}, mode {mode}{advice}"]


def _describe_clients(found: Sequence[ClientStatus]) -> list[str]:
    lines = []
    for one in found:
        if one.used or one.where:
            wiring = (("hooks", one.hooks), ("MCP", one.mcp), ("block", one.block))
            said = ", ".join(f"{what} {how}" for what, how in wiring if how != "none")
            lines.append(f"{one.client:8} {said}  {', '.join(one.where)}".rstrip())
            lines += [f"  {note}" for note in one.notes]
    return lines or ["no agent is connected; `memsync init --agent claude` (or codex, gemini, all) does it"]


@command(cli)
@click.option("--import", "only_import", is_flag=True, help="Only take in what changed in the files.")
@click.option("--export", "only_export", is_flag=True, help="Only write and stage memsync's own files.")
@click.option("--commit", is_flag=True, help="Commit the memory file, and nothing else.")
@click.option(
    "--push",
    is_flag=True,
    help="Commit, then push the branch; where others were first, rebase or merge, and try again.",
)
def sync(project: Project, /, only_import: bool, only_export: bool, commit: bool, push: bool) -> Answer:
    """Take in what changed, export and stage; commit and push if asked.

    Conflicts in the memory file are resolved on the way. Without --import and --export it does both. A commit of ours holds the
    memory file alone and leaves what you staged as it is. A push is never
    forced, and never sends a branch without memories over one that has some.

    Our block in AGENTS.md and the like, where there is one, is brought up to date. What the clients of
    memory.bridges noted for themselves is proposed (`memsync candidates`). Mirrors
    (`memsync mirror`) and the memories are brought together.

    \b
    Examples:
      memsync sync
      memsync sync --import --export
      memsync sync --push
    """
    both = only_import == only_export
    mirrored = sync_mirrors(project) if both else []
    done = run(project, take_in=both or only_import, export=both or only_export, commit=commit, push=push)
    blocks = list(map(str, refresh_blocks(project) if both or only_export else ()))
    notes = take_in(project) if both or only_import else Taken()
    value = {**as_json(done), "blocks": blocks, "notes": notes, "mirrors": [one._asdict() for one in mirrored]}
    lines = [_format_synced(done), *blocks, *_format_notes(notes), *format_mirrored(mirrored)]
    return Answer(value, "\n".join(lines), 1 if done.held else 0)


def _format_synced(done: Synced) -> str:
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


def _format_notes(found: Taken) -> list[str]:
    """Return lines about what the clients noted for themselves, and what of it could not be read."""
    number = len(found.proposed)
    verb = "waits" if number == 1 else "wait"
    said = f"{count(number, 'note')} of your clients {verb} for you; `memsync candidates` shows them"
    return [*([said] if number else []), *map(one_line, found.problems)]


@cli.group()
def index() -> None:
    """Show the search index, or rebuild it. It is derived: deleting it loses nothing."""


@command(index, "status")
def show_index(project: Project, /) -> Answer:
    """Show where the index is, whether it fits the files, and what finds by meaning.

    \b
    Example:
      memsync index status --json
    """
    value = project.finder.file.describe()
    state = "fresh" if value["fresh"] else "made anew, as far as needed, by the next recall"
    lines = [
        f"{value['path'] or 'not cached: there is no store yet'}",
        f"{memories(value['memories'])}, {value['bytes']:,} bytes, {state}",
        f"embedder {value['embedder']}, {'with' if value['vectors'] else 'without'} vectors",
    ]
    return Answer(value, "\n".join(lines + ([f"degraded: {value['degraded']}"] if value["degraded"] else [])))


@command(index)
@click.option("--missing", is_flag=True, help="Only what is missing.")
def rebuild(project: Project, /, *, missing: bool) -> Answer:
    """Rebuild the index from the files, vectors included.

    \b
    Examples:
      memsync index rebuild
      memsync index rebuild --missing
    """
    finder = project.finder
    made = finder.file.ask(lambda rows: rows.count(), makes=True) if missing else None
    count = made if made is not None else len(finder.index) if missing else finder.rebuild()
    project.screen_all()
    value = {"memories": count, **finder.file.describe()}
    degraded = f"; by words only, because {value['degraded']}" if value["degraded"] else ""
    return Answer(value, f"indexed {memories(count)} with {value['embedder']}{degraded}")
