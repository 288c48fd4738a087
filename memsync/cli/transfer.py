"""`memsync import` and `export`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from memsync.cli import render
from memsync.cli.app import Answer, command, wants_json
from memsync.cli.memory import choose_filters, memory
from memsync.cli.options import allow_secret_option, filter_options, target_options
from memsync.cli.terminal import track
from memsync.errors import UsageError
from memsync.memories import imports
from memsync.memories.project import Project
from memsync.records import Scope
from memsync.system.heap import collector_paused
from memsync.transfer import readers, sources, writers

_BAR_FROM = 500


@command(memory)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--from", "--format", "source", type=click.Choice(sources.SOURCES), help="Whose memories.  [default: by PATH]"
)
@click.option("--map", "pairs", multiple=True, metavar="FIELD=KEY", help="Which key holds a field, e.g. content=text.")
@click.option(
    "--project", "named", metavar="NAME", help="Which one, of a store for many.  [default: this folder's name]"
)
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
@allow_secret_option
@target_options
def import_(
    project: Project, /, paths: tuple[str, ...], pairs: tuple[str, ...], scope: Scope | None, **how: Any
) -> Answer:
    """Import memories from files or folders ("-": standard input).

    Reads what other tools keep, any JSONL or JSON (with --map), and Markdown
    bullets. Copies of what is stored are left out, and what is not worth it is
    named. All of it is written, or nothing.

    \b
    Examples:
      memsync import --from claude-memory ~/.claude/projects/-home-me-shop/memory --dry-run
      memsync import ../old-shop --from beads
      memsync import ~/.claude-mem --dry-run
      memsync import . --from cursor
      memsync import notes.md
      memsync import dump.json --map content=text --map tags=labels
    """
    click.get_current_context().with_resource(collector_paused())
    mapping = _parse_mapping(pairs)
    found = [c for path in paths for c in _read_candidates(project, path, how["source"], mapping, how["named"])]
    project.vetting.allows_secrets = how["allow_secret"]
    report = project.import_(track(found, "importing", least=_BAR_FROM), scope=scope, dry_run=how["dry_run"])
    return Answer(report, render.import_report(report))


def _parse_mapping(pairs: tuple[str, ...]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise UsageError(f"--map {pair}: give it as FIELD=KEY, for example content=text")
    return dict(pair.split("=", 1) for pair in pairs)


def _read_candidates(
    project: Project, path: str, source: sources.Source | None, mapping: dict[str, str], named: str | None
) -> Iterable[imports.Candidate]:
    if path != "-":
        return sources.read(Path(path), source, mapping, tree=project.layout.root, project=named)
    return sources.read_bytes(sys.stdin.buffer.read(), "stdin", source, mapping)


@command(memory)
@click.option("-o", "--output", metavar="FILE", help='Write a copy there ("-": standard output).')
@click.option("--format", "format_", type=click.Choice(writers.FORMATS), help="Of the copy.  [default: by FILE]")
@filter_options
def export(
    project: Project, /, output: str | None, format_: readers.Format | None, scope: Scope | None, **chosen: Any
) -> Answer | None:
    """Put the memory file in canonical form, or with -o write a copy.

    Canonical form is one line a memory, sorted by id; doing it twice changes
    no byte. A copy holds what the filters let through.

    \b
    Examples:
      memsync export
      memsync export -o memories.md --type preference
      memsync export -o - --format json
    """
    if output is None:
        done = project.export(scope or project.default_scope)
        said = f"left alone: {done.held}" if done.held else ("put in canonical form" if done.changed else "no change")
        return Answer(done, f"{done.path}: {said}")
    if output == "-" and wants_json():
        raise UsageError("-o - prints the copy itself; leave out --json, and --format json gives JSON")
    if output != "-":
        writers.refuse_store(project, output)
    found = project.memories(choose_filters(project, scope, **chosen))
    copy = writers.spell(found, format_ or writers.format_of(output))
    if output == "-":
        click.echo(copy.encode("utf-8", "replace"), nl=False)
        return None
    writers.write(Path(output), copy, project.layout.root)
    hidden = sum(entry.scope != "project" for entry in found)
    text = f"wrote {render.memories(len(found))} to {output}" + (
        f" ({hidden} of them private or global)" if hidden else ""
    )
    return Answer({"path": output, "count": len(found)}, text)
