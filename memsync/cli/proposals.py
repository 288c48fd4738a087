"""`memsync memory init|extract|candidates|approve|reject`: parse, one call, render."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memsync.cli import render
from memsync.cli.app import Answer, command, model_option, yes_option
from memsync.cli.memory import memory
from memsync.errors import UsageError
from memsync.format.as_json import as_json
from memsync.learn.candidates import Candidates, Proposal
from memsync.memories.project import Project
from memsync.poison.guard import shown_type

if TYPE_CHECKING:
    from memsync.learn.extract import Extracted
    from memsync.memories.results import Entry

_NEXT = "`memsync memory approve ID…` or `--all` stores them, `memsync memory reject ID…` drops them"


_READ = "flagged ones read like orders to an agent: `memsync memory show ID`, then `memsync memory approve ID` or `forget ID`"


def _format_proposal(one: Proposal) -> str:
    memory = one.memory
    head = f"{click.style(render.short_id(memory.id) or '-', fg='yellow')} "
    facts = click.style(f"({shown_type(memory.memory_type)}, importance {memory.importance:g}, {one.where})", dim=True)
    return f"{head}{facts} {render.one_line(memory.content)}"


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
    from memsync.learn.first_memories import start

    done = start(project, scan=scan, instructions=instructions, use_model=not no_llm, dry_run=dry_run, approve=yes)
    lines = [f"updated {render.one_line(one.content)}" for one in done.updated]
    lines += [f"no longer so: {render.short_id(one.id)} {render.one_line(one.content)}" for one in done.gone]
    lines += [f"edited by hand, left alone: {render.short_id(one.id)}" for one in done.edited]
    if yes and not dry_run:
        lines += [f"{one.status} {render.one_line(one.entry.content)}" for one in done.stored] or ["nothing new"]
    else:
        lines += _list_proposals(done.proposed, "nothing new to propose")
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
      memsync memory extract CLAUDE.md docs/decisions.md
      memsync memory extract --from-session 7970d88b-31d1-4d06-b145-c11df6b86bfc --dry-run
    """
    from memsync.learn.extract import extract as take
    from memsync.learn.lessons import transcript_of

    if not sources:
        sources = (transcript_of(project, session or project.journal.session_id),)
    elif session:
        raise UsageError("give files or --from-session, not both")
    found = [take(project, source, use_model=not no_llm, dry_run=dry_run) for source in sources]
    value = {"sources": [{"source": str(s), **as_json(one)} for s, one in zip(sources, found, strict=True)]}
    return Answer(value, _format_extracted(found, dry_run=dry_run))


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
def candidates(project: Project, /) -> Answer:
    """Show the memories that wait for approval.

    Proposed ones wait to be stored. Flagged ones are stored and read like
    orders to an agent: no agent is given them unasked before you approve them.

    \b
    Example:
      memsync memory candidates
    """
    found, flagged = Candidates(project).memories(), project.flagged()
    value = {"count": len(found), "candidates": found, "flagged": flagged}
    lines = _list_proposals(found, "no memory waits for approval") if found or not flagged else []
    lines += [render.entry_line(entry, project.clock()) for entry in flagged]
    return Answer(value, "\n".join([*lines, _READ] if flagged else lines))


_all_option = click.option("--all", "is_all", is_flag=True, help="All that wait.")


def _choose_ids(waiting: Candidates, refs: tuple[str, ...], *, is_all: bool) -> list[str]:
    if bool(refs) == is_all:
        raise UsageError("give ids or --all; `memsync memory candidates` shows what waits")
    return [one.memory.id for one in waiting.memories()] if is_all else list(refs)


@command(memory)
@click.argument("refs", metavar="[ID...]", nargs=-1)
@_all_option
@click.option("--revoke", is_flag=True, help="Let flagged memories wait again.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask: you have read the flagged ones.")
def approve(project: Project, /, refs: tuple[str, ...], is_all: bool, revoke: bool, yes: bool) -> Answer:
    """Store proposed memories, or let a flagged one be given to agents.

    A flagged memory reads like an order to an agent. It is shown whole, and
    asked about; an edit of it waits again. --all takes only what was proposed.

    \b
    Examples:
      memsync memory approve mm-a1b2c3
      memsync memory approve mm-d4e5f6 --revoke
    """
    waiting = Candidates(project)
    proposed = {one.memory.id for one in waiting.memories()}
    flagged = [] if is_all else [ref for ref in refs if not any(id_.startswith((ref, f"mm-{ref}")) for id_ in proposed)]
    refs = tuple(ref for ref in refs if ref not in flagged)
    if revoke:
        flagged, refs = [*flagged, *refs], ()
    for entry in (entries := [project.get(ref) for ref in flagged]):
        _decide(project, entry, revoke=revoke, yes=yes)
    done = waiting.approve(_choose_ids(waiting, refs, is_all=is_all)) if refs or not flagged else []
    lines = [f"{one.status} {render.one_line(one.entry.content)}" for one in done]
    lines += [f"{'no longer approved' if revoke else 'approved'} {render.short_id(entry.id)}" for entry in entries]
    value = {"approved": [*done, *(project.get(entry.id) for entry in entries)]}
    return Answer(value, "\n".join(lines) or "nothing waits")


def _decide(project: Project, entry: Entry, *, revoke: bool, yes: bool) -> None:
    """Let agents be given *entry*, or no longer, once the user has seen it."""
    if revoke:
        if not project.screening.revoke(entry):
            raise UsageError(f"{render.short_id(entry.id)} is not approved; nothing to revoke")
        return
    if not entry.flagged:
        raise UsageError(
            f"{render.short_id(entry.id)} does not wait for approval; `memsync memory candidates` shows what does"
        )
    click.echo(f"{render.entry_whole(entry, project.clock())}\n", err=True)
    if not yes and not sys.stdin.isatty():
        raise UsageError(
            "a flagged memory is approved by a person: run this in a terminal, or with --yes once you have read it"
        )
    if not yes:
        click.confirm("Give it to agents from now on?", abort=True, err=True)
    project.screening.approve(entry)


@command(memory)
@click.argument("refs", metavar="[ID...]", nargs=-1)
@_all_option
def reject(project: Project, /, refs: tuple[str, ...], is_all: bool) -> Answer:
    """Drop proposed memories; the same text is not proposed again.

    \b
    Example:
      memsync memory reject mm-a1b2c3
    """
    waiting = Candidates(project)
    gone = waiting.reject(_choose_ids(waiting, refs, is_all=is_all))
    text = "\n".join(f"rejected {render.one_line(one.memory.content)}" for one in gone) or "nothing waits"
    return Answer({"rejected": gone}, text)
