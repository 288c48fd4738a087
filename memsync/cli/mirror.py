"""`memsync mirror`: folders of other tools that hold what the project remembers, both ways."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from memsync.cli.app import Answer, cli, command
from memsync.cli.render import one_line
from memsync.memories.project import Project
from memsync.system.texts import count
from memsync.transfer.mirrors import KINDS, Mirrored, add_mirror, load_mirrors, remove_mirror, sync_mirrors


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
