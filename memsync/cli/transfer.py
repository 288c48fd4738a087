"""`memsync import`, `export` and `mirror`."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import click

from memsync.cli import render
from memsync.cli.app import Answer, cli, command, wants_json
from memsync.cli.choosing import choose_filters
from memsync.cli.memory import memory
from memsync.cli.options import (
    ScopeName,
    all_scopes_option,
    allow_secret_option,
    choose_scopes,
    filter_options,
    let_secrets_pass,
    target_options,
)
from memsync.cli.render import one_line
from memsync.cli.terminal import track
from memsync.cli.words import is_dialogue
from memsync.errors import UsageError
from memsync.format.scopes import read_scope
from memsync.memories import imports
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import Scope
from memsync.system.programs import collector_paused
from memsync.system.texts import count, escape_json
from memsync.transfer import readers, sources, writers
from memsync.transfer.mirrors import KINDS, Mirrored, add_mirror, load_mirrors, remove_mirror, sync_mirrors

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
@click.option(
    "--restore", is_flag=True, help="Take a copy of ours back as it is: nothing is compared, or taken for a secret."
)
@allow_secret_option
@target_options
@click.option("--scope", type=ScopeName(), help="All of it there, whatever a copy says.")
def import_(
    project: Project, /, paths: tuple[str, ...], pairs: tuple[str, ...], scope: Scope | None, **how: Any
) -> Answer:
    """Import memories from files or folders ("-": standard input).

    Reads what other tools keep, any JSONL or JSON (with --map), and Markdown
    bullets. Copies of what is stored are left out, and what is not worth it is
    named. All of it is written, or nothing.

    Memories that a copy calls private or global go there, and on a terminal you
    are asked. A memory that is private or global here never becomes the
    project's.

    \b
    Examples:
      memsync import --from claude-memory ~/.claude/projects/-home-me-shop/memory --dry-run
      memsync import ../old-shop --from beads
      memsync import ~/.claude-mem --dry-run
      memsync import . --from cursor
      memsync import notes.md
      memsync import dump.json --map content=text --map tags=labels
      memsync import copy.jsonl --private
    """
    click.get_current_context().with_resource(collector_paused())
    for pair in pairs:
        if "=" not in pair:
            raise UsageError(f"--map {pair}: give it as FIELD=KEY, for example content=text")
    mapping = dict(pair.split("=", 1) for pair in pairs)
    found: list[imports.Candidate] = []
    for path in paths:
        if path == "-":
            found += sources.read_bytes(sys.stdin.buffer.read(), "stdin", how["source"], mapping)
        else:
            tree = project.layout.root
            found += sources.read(Path(path), how["source"], mapping, tree=tree, project=how["named"])
    let_secrets_pass(project, wanted=how["allow_secret"])
    project.expect_store(scope)
    if scope is None and not how["dry_run"]:
        _ask_for_scopes(found)
    tracked = track(found, "importing", least=_BAR_FROM)
    report = project.import_(tracked, scope=scope, dry_run=how["dry_run"], restoring=how["restore"])
    return Answer(report, _format_report(report))


def _format_report(report: imports.ImportReport) -> str:
    verb = "would be " if report.dry_run else ""
    names = ("created", "updated", "duplicate", "skipped")
    counts = ", ".join(f"{report.count(name)} {name}" for name in names)
    told = [o for o in report.outcomes if o.status in ("duplicate", "skipped")]
    beside = ", ".join(f"{number} {name}" for name, number in report.beside.items())
    reasons = render.first(
        f"  {one.status} {render.one_line(one.where)}: {render.one_line(one.reason)}" for one in told
    )
    return "\n".join([f"{verb}{counts}{f' ({beside})' if beside else ''}", *reasons])


def _ask_for_scopes(found: Iterable[imports.Candidate]) -> None:
    """Ask on a terminal whether what a copy calls private or global is to go there; in a pipe it does."""
    said = Counter(scope for one in found if one.memory and (scope := read_scope(one.memory)[1]))
    if said and is_dialogue():
        what = ", ".join(f"{number} {scope}" for scope, number in said.items())
        if not click.confirm(f"Of these are {what}. Import them as that?", default=True, err=True):
            raise UsageError("nothing was imported; --scope project, private or global says where all of it goes")


@command(memory)
@click.option("-o", "--output", metavar="FILE", help='Write a copy there ("-": standard output); for okf a folder.')
@click.option(
    "--format", "format_", type=click.Choice([*writers.FORMATS, "okf"]), help="Of the copy.  [default: by FILE]"
)
@click.option("--force", is_flag=True, help="Replace FILE, whosever it is.")
@filter_options
@all_scopes_option
def export(
    project: Project,
    /,
    output: str | None,
    format_: str | None,
    force: bool,
    scope: Scope | None,
    all_scopes: bool,
    **chosen: Any,
) -> Answer | None:
    """Put the memory file in canonical form, or with -o write a copy.

    Canonical form is one line a memory, sorted by id; doing it twice changes
    no byte. A copy holds what the filters let through of the project's
    memories; --scope or --all-scopes takes private and global ones along, and
    each of them says so in the copy. A file that memsync did not write is not
    overwritten.

    \b
    Examples:
      memsync export
      memsync export -o memories.md --type preference
      memsync export -o - --format json
      memsync export -o all.jsonl --all-scopes
      memsync export --format okf -o knowledge
    """
    scopes = choose_scopes(scope, all_scopes=all_scopes)
    if output is None:
        if all_scopes or force:
            raise UsageError("--all-scopes and --force are for a copy; say where it goes with -o")
        done = project.export(scope or project.default_scope)
        said = f"left alone: {done.held}" if done.held else ("put in canonical form" if done.changed else "no change")
        return Answer(done, f"{done.path}: {said}")
    if output == "-" and wants_json():
        raise UsageError("-o - prints the copy itself; leave out --json, and --format json gives JSON")
    every = project.memories(choose_filters(project, scope, **chosen))
    found = [entry for entry in every if entry.scope in scopes]
    beside = [entry for entry in found if entry.scope != "project"]
    left = _count_scopes(entry for entry in every if entry.scope not in scopes)
    hint = f"{left} left out; --all-scopes takes them along" if left else ""
    text = f"wrote {render.memories(len(found))} to {output}" + (f" ({_count_scopes(beside)})" if beside else "")
    answer = Answer({"path": output, "count": len(found)}, "; ".join(filter(None, (text, hint))))
    if format_ == "okf":
        if output == "-":
            raise UsageError("a bundle of OKF is a folder; name one: -o FOLDER")
        writers.write_bundle(project, Path(output), found, force=force, private=bool(beside))
        return answer
    kind = cast(readers.Format, format_) if format_ else writers.format_of(output)
    copy = writers.spell(found, kind)
    if output == "-":
        text = copy.encode("utf-8", "replace").decode()
        click.echo(text if kind == "markdown" else escape_json(text), nl=False)
        if hint:
            click.echo(f"memsync: {hint}", err=True)
        return None
    writers.write(project, Path(output), copy, force=force, private=bool(beside))
    return answer


def _count_scopes(found: Iterable[Entry]) -> str:
    return ", ".join(f"{number} {scope}" for scope, number in Counter(e.scope for e in found).items())


@cli.group()
def mirror() -> None:
    """Keep another tool's memory folder and the project's memories alike."""


@command(mirror)
@click.argument("kind", metavar="KIND", type=click.Choice(KINDS))
@click.argument("path", metavar="PATH", type=click.Path(path_type=Path))
def add(project: Project, /, kind: str, path: Path) -> Answer:
    """Mirror the folder PATH from the next `memsync sync` or commit on.

    What is written, edited or removed there becomes so in the project's memories, and the other way round. KIND is
    claude-memory, serena, cline, vscode, letta, basic-memory or obsidian. It holds for this clone alone.

    \b
    Examples:
      memsync mirror add claude-memory .claude/memory
      memsync mirror add serena .serena/memories
    """
    made = add_mirror(project, kind, path)
    project.journal.note_change(f"mirrored {made.path}", f"mirror rm {shlex.quote(made.path)}")
    said = f"{one_line(made.path)} is mirrored; `memsync sync` brings both sides together"
    if made.is_kept_out(project):
        said += "\ngit does not have this folder; what is written in it becomes memories, which git has"
    return Answer({"kind": made.kind, "path": made.path}, said)


@command(mirror)
def list_(project: Project, /) -> Answer:
    """List the mirrors of this clone.

    \b
    Example:
      memsync mirror list
    """
    found = load_mirrors(project)
    value = [{"kind": one.kind, "path": one.path, "statements": len(one.rows)} for one in found]
    rows = [f"{one.kind:14} {one_line(one.path)}: {count(len(one.rows), 'statement')}" for one in found]
    return Answer({"mirrors": value}, "\n".join(rows) or "no mirrors; `memsync mirror add KIND PATH` makes one")


@command(mirror)
@click.argument("path", metavar="PATH")
def rm(project: Project, /, path: str) -> Answer:
    """Mirror PATH no more; both sides stay as they are.

    \b
    Example:
      memsync mirror rm .claude/memory
    """
    gone = remove_mirror(project, path)
    way = f"mirror add {gone.kind} {shlex.quote(gone.path)}"
    project.journal.note_change(f"mirrored {gone.path} no more", way)
    return Answer({"path": gone.path}, f"{one_line(gone.path)} is mirrored no more")


@command(mirror)
def sync(project: Project, /) -> Answer:
    """Bring both sides of each mirror together, and do nothing else.

    `memsync sync` and each commit do it too, and a server of memsync as soon as something changes.

    \b
    Example:
      memsync mirror sync
    """
    done = sync_mirrors(project)
    return Answer({"mirrors": [one._asdict() for one in done]}, "\n".join(format_mirrored(done)) or "no mirrors")


def format_mirrored(done: Sequence[Mirrored]) -> list[str]:
    """Return a line a mirror, and one for each note."""
    lines = []
    for one in done:
        said = f"{count(one.memories, 'memory')} and {count(one.statements, 'statement')} changed"
        lines.append(f"mirror {one_line(one.path)}: {said if one.memories or one.statements else 'no change'}")
        lines += [f"  {one_line(note)}" for note in dict.fromkeys(one.notes)]
    return lines
