"""`memsync index rebuild|status`."""

from __future__ import annotations

import click

from memsync.cli.app import Answer, cli, command
from memsync.cli.render import memories
from memsync.memories.project import Project


@cli.group()
def index() -> None:
    """Show the search index, or rebuild it. It is derived: deleting it loses nothing."""


@command(index)
def status(project: Project, /) -> Answer:
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
    count = len(finder.index) if missing else finder.rebuild()
    project.screen_all()
    value = {"memories": count, **finder.file.describe()}
    degraded = f"; by words only, because {value['degraded']}" if value["degraded"] else ""
    return Answer(value, f"indexed {memories(count)} with {value['embedder']}{degraded}")
