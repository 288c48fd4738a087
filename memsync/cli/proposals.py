"""`memsync memory init|extract|candidates|approve|reject`: parse, one call, render."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from memsync.check.survey import summarize
from memsync.cli import render, terminal
from memsync.cli.app import Answer, cli, command
from memsync.cli.memory import memory, read_text
from memsync.cli.options import model_option, read_time, require_person, yes_option
from memsync.errors import ImportFailed, MemoryNotFound, Remedy, UsageError
from memsync.format.scopes import read_scope
from memsync.learn.candidates import Candidates, Proposal
from memsync.learn.corrections import find_beside
from memsync.learn.extract import Extracted
from memsync.learn.extract import extract as take
from memsync.learn.lessons import transcript_of
from memsync.learn.scan import start
from memsync.learn.session_end import LEAST_OF_ONE, MOST_OF_ONE
from memsync.learn.transcripts import list_here
from memsync.memories.project import Project
from memsync.memories.results import RELATIONS, Entry, as_json
from memsync.memories.screening import is_rule, is_surely_due
from memsync.memories.similar import Similar
from memsync.records import short_id
from memsync.safety.guard import shown_type
from memsync.setup import corrected

_NEXT = "`memsync approve ID…` or `--all` stores them, `memsync reject ID…` drops them"
_READ = "flagged ones read like orders to an agent: `memsync show ID`, then `memsync approve ID` or `forget ID`"
_RULES: Final = (
    "rules of the repository ask you before what they are anchored to, and memories refuse a call once where they are due, "
    "when you have approved them: `memsync approve ID`"
)


def _format_proposal(one: Proposal) -> str:
    memory = one.memory
    where = one.where.removeprefix(f"{os.getcwd()}{os.sep}")
    if memory.source_session_id:
        where = f"line {where.rpartition(':')[2]}"
    replaced = f"; replaces {', '.join(map(short_id, memory.supersedes))}" if memory.supersedes else ""
    private = ", private" if read_scope(memory)[1] == "private" else ""
    facts = render.one_line(
        f"({shown_type(memory.memory_type)}, importance {memory.importance:g}{private}, {where}{replaced})"
    )
    head = click.style(short_id(memory.id) or "-", fg="yellow")
    return terminal.flow(head, render.one_line(memory.content), facts)


def _list_by_session(project: Project, found: Sequence[tuple[Proposal, Similar | None]]) -> Iterator[str]:
    """Yield the candidates below the session that each comes from, with what is stored beside it."""
    last: str | None = None
    for one, beside in found:
        session = one.memory.source_session_id
        if session and session != last:
            yield click.style(f"session {render.one_line(session)}:", bold=True)
        last = session
        yield _format_proposal(one)
        is_replaced = beside is not None and beside.relation == "related" and beside.id in one.memory.supersedes
        if beside and (how := "beside" if is_replaced else RELATIONS.get(beside.relation)):
            yield render.entry_line(beside, project.clock(), click.style(f"  {how} ", dim=True))


def _list_proposals(found: Sequence[Proposal], none: str) -> list[str]:
    return [*map(_format_proposal, found), _NEXT] if found else [none]


@command(memory)
@click.option("--scan/--no-scan", default=True, help="Read build files, CI, layout, README.  [default: yes]")
@click.option(
    "--import-claude-md/--no-import-claude-md",
    "instructions",
    default=True,
    help="Read CLAUDE.md, AGENTS.md, GEMINI.md, .cursorrules.  [default: yes]",
)
@click.option("--dry-run", is_flag=True, help="Show what would be proposed, and change nothing.")
@model_option
@yes_option
def init(project: Project, /, scan: bool, instructions: bool, dry_run: bool, no_llm: bool, yes: bool) -> Answer:
    """Propose the memories that a newcomer would want.

    Each names the file and line it was read from and waits until you approve
    it. Run it again after changes: what it stored and nobody edited is brought
    up to date, and what a person edited is left alone.

    \b
    Examples:
      memsync memory init --dry-run
      memsync memory init --no-import-claude-md --yes
    """
    if yes and not dry_run:
        require_person(project, "approve memories")
    done = start(project, scan=scan, instructions=instructions, use_model=not no_llm, dry_run=dry_run, approve=yes)
    lines = [f"updated {render.one_line(one.content)}" for one in done.updated]
    lines += [f"no longer so: {short_id(one.id)} {render.one_line(one.content)}" for one in done.gone]
    lines += [f"edited by hand, left alone: {short_id(one.id)}" for one in done.edited]
    if yes and not dry_run:
        lines += [f"{one.status} {render.one_line(one.entry.content)}" for one in done.stored] or ["nothing new"]
    else:
        lines += _list_proposals(done.proposed, "nothing new to propose")
    if instructions and project.layout.root and (wrong := summarize(project.layout.root)):
        lines.append(f"what you read may be wrong: {wrong}")
    return Answer(done, "\n".join(lines))


@command(memory)
@click.argument("sources", metavar="[FILE...]", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--from-session", "session", metavar="ID", help="The transcript of that session.")
@click.option("--dry-run", is_flag=True, help="Show what would be proposed, and why the rest is not.")
@model_option
def extract(project: Project, /, sources: tuple[Path, ...], session: str | None, dry_run: bool, no_llm: bool) -> Answer:
    """Propose memories from summaries, transcripts or instruction files.

    Leaves out what failed only now, what tools printed, what was asked for,
    secrets and what the code says itself. Nothing is stored until you approve.

    \b
    Examples:
      memsync extract CLAUDE.md docs/decisions.md
      memsync extract --from-session 7970d88b-31d1-4d06-b145-c11df6b86bfc --dry-run
    """
    if not sources:
        sources = (transcript_of(project, session or project.journal.session_id),)
    elif session:
        raise UsageError("give files or --from-session, not both")
    found = [take(project, source, use_model=not no_llm, dry_run=dry_run) for source in sources]
    value = {"sources": [{"source": str(s), **as_json(one)} for s, one in zip(sources, found, strict=True)]}
    return Answer(value, _format_extracted(found, dry_run=dry_run))


@command(cli)
@click.option("--last", is_flag=True, help="The last session of this repository on this machine.  [default]")
@click.option("--since", metavar="TIME", help="All its sessions since then, of every client that keeps transcripts.")
@click.option("--dry-run", is_flag=True, help="Show what would be proposed, and why the rest is not.")
@model_option
def learn(project: Project, /, last: bool, since: str | None, dry_run: bool, no_llm: bool) -> Answer:
    """Propose what your sessions teach: what you refused and put right, and what failed and then worked.

    At most five of each session, the best; what several sessions teach is one
    proposal. Nothing is stored until you approve it: `memsync review` asks.

    \b
    Examples:
      memsync learn --last
      memsync learn --since 2026-11-01 --dry-run
    """
    if last and since:
        raise UsageError("give --last or --since, not both")
    paths = sorted(
        list_here(project, read_time(since, "--since") if since else None), key=lambda one: one.stat().st_mtime
    )
    own = [path for path in paths if path.parent.name != "subagents"]
    found: dict[Path, Extracted] = {}
    for path in own if since else own[-1:]:
        with suppress(ImportFailed):  # one that its client is writing, or has left damaged
            found[path] = take(
                project, path, use_model=not no_llm, dry_run=dry_run, most=MOST_OF_ONE, least=LEAST_OF_ONE
            )
    if not found:
        raise UsageError(
            "no session of this repository is on this machine; ", Remedy("memory extract"), " FILE reads another"
        )
    value = {"sources": [{"source": str(path), **as_json(one)} for path, one in found.items()]}
    lines = [render.count(len(found), "session"), _format_extracted(list(found.values()), dry_run=dry_run)]
    return Answer(value, "\n".join(lines))


def _format_extracted(found: Sequence[Extracted], *, dry_run: bool) -> str:
    proposed = [one for each in found for one in each.proposed]
    dropped = [one for each in found for one in each.dropped]
    lines = [f"note: {render.one_line(each.note)}" for each in found if each.note]
    if dry_run:
        lines += [f"left out, {one.why}: {render.one_line(one.text)[:100]}" for one in dropped]
    elif dropped:
        lines.append(f"{len(dropped)} statements were left out; --dry-run says why")
    return "\n".join([*lines, *_list_proposals(proposed, "nothing new to propose")])


@command(memory)
@click.argument("action", required=False, type=click.Choice(["edit"]))
@click.argument("ref", metavar="[ID]", required=False)
@click.option("--text", help='The new text for edit ("-": standard input).  [default: in $EDITOR]')
def candidates(project: Project, /, action: str | None, ref: str | None, text: str | None) -> Answer:
    """Show the memories that wait for approval, by session; or edit one before.

    Proposed ones wait to be stored; below each is the stored memory that it
    contradicts or is like. `memsync review` asks about them, a key each. Flagged
    ones are stored and read like orders to an agent: no agent is given them
    unasked before you approve them. Rules of the repository ask you only after that.

    \b
    Examples:
      memsync candidates
      memsync candidates edit mm-a1b2c3
      memsync candidates edit mm-a1b2c3 --text "Branches are named feature/<ticket>"
    """
    waiting = Candidates(project)
    if action or ref or text is not None:
        one = _edit(waiting, action, ref, text)
        return Answer(one, _format_proposal(one))
    proposed = waiting.memories()  # what comes from one session goes together, in the order of the first of each
    places = {one.memory.source_session_id: number for number, one in reversed(list(enumerate(proposed)))}
    proposed = sorted(proposed, key=lambda one: places[one.memory.source_session_id])
    found = [(one, find_beside(project, one.memory.content)) for one in proposed]
    flagged, rules = project.flagged(), project.waiting_rules()
    told = [{**as_json(one), "similar": as_json([beside] if beside else [])} for one, beside in found]
    value = {"count": len(found), "candidates": told, "flagged": flagged, "rules": rules}
    lines = [*_list_by_session(project, found), _NEXT] if found else []
    for waiting_here, what in ((flagged, _READ), (rules, _RULES)):
        lines += [render.entry_line(entry, project.clock()) for entry in waiting_here]
        lines += [what] if waiting_here else []
    return Answer(value, "\n".join(lines or ["no memory waits for approval"]))


def _edit(waiting: Candidates, action: str | None, ref: str | None, text: str | None) -> Proposal:
    if not action or not ref:
        raise UsageError("say which one to edit: `memsync candidates edit ID`")
    old = waiting.get(ref)
    new = read_text(text) if text is not None else (terminal.edit(old.memory.content) or "")
    if not new.strip():
        raise UsageError("nothing was written, so nothing is changed")
    return waiting.edit(old.memory.id, new)


_all_option = click.option("--all", "is_all", is_flag=True, help="All that wait.")


def _choose_ids(waiting: Candidates, refs: tuple[str, ...], *, is_all: bool) -> list[str]:
    if bool(refs) == is_all:
        raise UsageError("give ids or --all; `memsync candidates` shows what waits")
    return [one.memory.id for one in waiting.memories()] if is_all else list(refs)


@command(memory)
@click.argument("refs", metavar="[ID...]", nargs=-1)
@_all_option
@click.option("--revoke", is_flag=True, help="Let flagged memories and rules wait again.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask: you have read them.")
def approve(project: Project, /, refs: tuple[str, ...], is_all: bool, revoke: bool, yes: bool) -> Answer:
    """Store proposed memories; let a flagged one be given to agents, or a rule ask.

    A flagged memory reads like an order to an agent, and a rule of the
    repository asks you before a command only when you want it. Each is shown
    whole, and asked about; an edit of it waits again. --all takes only what was
    proposed. In the shell of an agent nothing is approved.

    \b
    Examples:
      memsync approve mm-a1b2c3
      memsync approve mm-d4e5f6 --revoke
    """
    if revoke:
        return _revoke(project, refs, is_all=is_all)
    require_person(project, "approve memories")
    waiting = Candidates(project)
    proposed = {one.memory.id for one in waiting.memories()}
    flagged = [] if is_all else [ref for ref in refs if not any(id_.startswith((ref, f"mm-{ref}")) for id_ in proposed)]
    refs = tuple(ref for ref in refs if ref not in flagged)
    entries = _find_entries(project, flagged)
    for entry in entries:
        _decide(project, entry, yes=yes)
    done = waiting.approve(_choose_ids(waiting, refs, is_all=is_all)) if refs or not flagged else []
    said = corrected.follow(project, [one.entry for one in done if one.status == "superseded"])
    lines = [render.remembered(one, project.clock()) for one in done]
    for one in said:
        then = f"; then `{one.next}`" if one.next else ""
        lines.append(f"  also in {render.one_line(one.where)}: {render.one_line(one.text)[:80]}{then}")
    lines += [f"approved {short_id(entry.id)}" for entry in entries]
    value = {"approved": [*done, *(project.get(entry.id) for entry in entries)], "also_in": said}
    return Answer(value, "\n".join(lines) or "nothing waits")


def _revoke(project: Project, refs: Sequence[str], *, is_all: bool) -> Answer:
    """Let memories that are approved wait again; unlike approving, an agent may do that."""
    if is_all or not refs:
        raise UsageError("--revoke takes the ids of approved memories, and not --all")
    entries = _find_entries(project, refs)
    for entry in entries:
        if not project.screening.revoke(entry):
            raise UsageError(f"{short_id(entry.id)} is not approved; nothing to revoke")
    value = {"approved": [project.get(entry.id) for entry in entries], "also_in": []}
    return Answer(value, "\n".join(f"no longer approved {short_id(entry.id)}" for entry in entries))


def _find_entries(project: Project, refs: Sequence[str]) -> list[Entry]:
    try:
        return [project.get(ref) for ref in refs]
    except MemoryNotFound as error:
        advice = Remedy("memory candidates"), " shows what does"
        raise MemoryNotFound(error.ref, " waits for approval", *advice) from None


def _decide(project: Project, entry: Entry, *, yes: bool) -> None:
    """Let agents be given *entry*, or let it stop calls, once the user has seen it."""
    if not entry.flagged and not ((is_rule(entry.memory) or is_surely_due(entry.memory)) and entry.scope == "project"):
        why = f"{short_id(entry.id)} does not wait for approval; `memsync candidates` shows what does"
        raise UsageError(why)
    click.echo(f"{render.entry_whole(entry, project.clock())}\n", err=True)
    if not yes and not sys.stdin.isatty():
        raise UsageError("this is approved by a person: run it in a terminal, or with --yes once you have read it")
    if not yes:
        stops = "Let it ask you" if is_rule(entry.memory) else "Let it refuse a call once"
        what = "Give it to agents" if entry.flagged else stops
        click.confirm(f"{what} from now on?", abort=True, err=True)
    project.screening.approve(entry)


@command(memory)
@click.argument("refs", metavar="[ID...]", nargs=-1)
@_all_option
def reject(project: Project, /, refs: tuple[str, ...], is_all: bool) -> Answer:
    """Drop proposed memories; the same text is not proposed again.

    \b
    Example:
      memsync reject mm-a1b2c3
    """
    waiting = Candidates(project)
    gone = waiting.reject(_choose_ids(waiting, refs, is_all=is_all))
    text = "\n".join(f"rejected {render.one_line(one.memory.content)}" for one in gone) or "nothing waits"
    return Answer({"rejected": gone}, text)
