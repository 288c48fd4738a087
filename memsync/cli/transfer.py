"""`memsync memory import` and `export`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from memsync import importing, sources
from memsync.cli import render
from memsync.cli.app import (
    allow_secret_option,
    filter_options,
    json_option,
    open_project,
    print_result,
    target_options,
    tracked,
)
from memsync.errors import UsageError, blaming
from memsync.recall import Filters
from memsync.records import ALLOW_TAG, SCOPES, Scope
from memsync.results import Entry
from memsync.secrets import scan_memory

_BAR_FROM = 500


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--from", "--format", "source", type=click.Choice(sources.SOURCES), help="Whose memories.  [default: by PATH]"
)
@click.option("--map", "pairs", multiple=True, metavar="FIELD=KEY", help="Which key holds a field, e.g. content=text.")
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
@allow_secret_option
@target_options
@json_option
@click.pass_context
def import_(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    pairs: tuple[str, ...],
    scope: Scope | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Import memories from PATHs: files or folders ("-": standard input).

    Reads what other tools keep, any JSONL or JSON (with --map), and Markdown
    bullets. Copies of what is stored are left out, and what is not worth it is
    named. All of it is written, or nothing.

    \b
    Examples:
      memsync memory import --from claude-memory ~/.claude/projects/-home-me-shop/memory --dry-run
      memsync memory import ../old-shop --from beads
      memsync memory import notes.md
      memsync memory import dump.json --map content=text --map tags=labels
    """
    project = open_project(ctx)
    found = [c for path in paths for c in _candidates(path, how["source"], _mapping(pairs))]
    if how["allow_secret"]:
        found = list(map(_allowed, found))
    report = project.import_(tracked(found, "importing", least=_BAR_FROM), scope=scope, dry_run=how["dry_run"])
    print_result(as_json, report.as_dict(), render.import_report(report))


def _allowed(candidate: importing.Candidate) -> importing.Candidate:
    """Tag what looks like it holds a secret as allowed to."""
    memory = candidate.memory
    if memory is None or not scan_memory(memory):
        return candidate
    return replace(candidate, memory=memory._replace(tags=(*memory.tags, ALLOW_TAG)))


def _mapping(pairs: tuple[str, ...]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise UsageError(f"--map {pair}: give it as FIELD=KEY, for example content=text")
    return dict(pair.split("=", 1) for pair in pairs)


def _candidates(path: str, source: sources.Source | None, mapping: dict[str, str]) -> Iterable[importing.Candidate]:
    if path != "-":
        return sources.read(Path(path), source, mapping)
    return sources.read_bytes(sys.stdin.buffer.read(), "stdin", source, mapping)


@click.command()
@click.option("-o", "--output", metavar="FILE", help='Write a copy there ("-": standard output).')
@click.option(
    "--format", "format_", type=click.Choice(["jsonl", "json", "markdown"]), help="Of the copy.  [default: by FILE]"
)
@filter_options
@json_option
@click.pass_context
def export(
    ctx: click.Context, /, output: str | None, format_: str | None, scope: Scope | None, as_json: bool, **chosen: Any
) -> None:
    """Put the memory file in canonical form, or with -o write a copy.

    Canonical form is one line a memory, sorted by id; doing it twice changes
    no byte. A copy holds what the filters let through.

    \b
    Examples:
      memsync memory export
      memsync memory export -o memories.md --type preference
      memsync memory export -o - --format json
    """
    project = open_project(ctx)
    if output is None:
        done = project.export(scope or project.default_scope)
        value = {"path": str(done.path), "changed": done.changed, "held": done.held}
        said = f"left alone: {done.held}" if done.held else ("put in canonical form" if done.changed else "no change")
        print_result(as_json, value, f"{done.path}: {said}")
        return
    if output == "-" and as_json:
        raise UsageError("-o - prints the copy itself; leave out --json, or add --format json")
    if output != "-" and any(_is_same(output, store.place.memories) for store in project.stores.values()):
        raise UsageError(f"{output} is a store itself; `memsync memory export` without -o puts it in order")
    found = project.list(Filters(scopes=(scope,) if scope else SCOPES, **chosen))
    _write_copy(output, _copy(found, format_ or _format_of(output)))
    if output != "-":
        hidden = sum(entry.scope != "project" for entry in found)
        text = f"wrote {len(found)} memories to {output}" + (f" ({hidden} of them private or global)" if hidden else "")
        print_result(as_json, {"path": output, "count": len(found)}, text)


def _is_same(output: str, memories: Path) -> bool:
    return os.path.realpath(output) == os.path.realpath(memories)


def _format_of(output: str) -> str:
    return {".md": "markdown", ".markdown": "markdown", ".json": "json"}.get(Path(output).suffix.lower(), "jsonl")


def _copy(found: list[Entry], format_: str) -> str:
    if format_ == "markdown":
        return render.markdown(found)
    from memsync.codec import encode, fields_of

    if format_ == "json":
        return json.dumps([fields_of(entry.memory) for entry in found], indent=2) + "\n"
    return "".join(encode(entry.memory).decode() + "\n" for entry in sorted(found, key=lambda entry: entry.id))


def _write_copy(output: str, text: str) -> None:
    if output == "-":
        click.echo(text.encode("utf-8", "replace"), nl=False)
        return
    with blaming(Path(output)):
        Path(output).write_bytes(text.encode("utf-8", "replace"))
