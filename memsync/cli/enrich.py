"""`memsync enrich`: parse, one call, render."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click

from memsync.cli import render
from memsync.cli.app import Answer, command
from memsync.cli.janitor import apply_plan, show_plan
from memsync.cli.memory import memory
from memsync.errors import UsageError
from memsync.janitor import enrich as enriching
from memsync.janitor.plan import Plan
from memsync.llm.llm import open_llm
from memsync.memories.project import Project
from memsync.store import files
from memsync.system.limits import read_json

_SOURCE: Final = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)


@command(memory)
@click.argument("source", metavar="[FILE]", required=False, type=_SOURCE)
@click.option("-n", "--limit", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="How many.")
@click.option("--list", "only_list", is_flag=True, help="Only list memories without cues; with --json, to fill in.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def enrich(project: Project, /, source: Path | None, limit: int, only_list: bool, dry_run: bool) -> Answer:
    """Have memories found by an asker's words too: the cues in FILE ("-": standard input), or those of llm.provider.

    Cues are questions that a memory answers, symptoms and other names. They are
    searched and never shown as its text. FILE is what --list --json prints, with
    cues filled in. `memsync janitor undo` takes a run back.

    \b
    Examples:
      memsync enrich --list --json > cues.json
      memsync enrich cues.json --dry-run
      memsync enrich --limit 200
    """
    if only_list:
        found = enriching.list_bare(project, limit)
        return Answer(found, _format_bare(found))
    if source is not None:
        plan = Plan(steps=[*enriching.read_steps(project, _read(source))])
    else:
        llm = open_llm(project)
        steps, failed = enriching.ask_model(project, llm, enriching.find_bare(project)[:limit])
        plan = Plan(steps=[*steps], notes=[f"not every memory was answered for: {failed}"] if failed else [])
    return show_plan(project, plan) if dry_run else apply_plan(project, plan)


def _format_bare(found: dict[str, Any]) -> str:
    lines = [f"{render.short_id(one['id'])} {render.one_line(one['content'])}" for one in found["memories"]]
    left = f"{found['left']} more without cues" if found["left"] else ""
    return "\n".join([*lines, *filter(None, [left])]) or "every memory has cues"


def _read(source: Path) -> Any:
    data = sys.stdin.buffer.read() if str(source) == "-" else files.read(source)[0]
    try:
        return read_json(data)
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from None
