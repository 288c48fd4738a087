"""`memsync index rebuild|status`."""

from __future__ import annotations

import click

from memsync.cli.app import json_option, open_project, print_result
from memsync.cli.render import memories


@click.group()
def index() -> None:
    """Look at the search index, or build it anew. It is derived: deleting it loses nothing."""


@index.command()
@json_option
@click.pass_context
def status(ctx: click.Context, /, as_json: bool) -> None:
    """Show where the index is, whether it fits the files, and what finds by meaning.

    \b
    Example:
      memsync index status --json
    """
    value = open_project(ctx).finder.status()
    state = "fresh" if value["fresh"] else "made anew, as far as needed, by the next recall"
    lines = [
        f"{value['path'] or 'not cached: there is no store yet'}",
        f"{memories(value['memories'])}, {value['bytes']:,} bytes, {state}",
        f"embedder {value['embedder']}, {'with' if value['vectors'] else 'without'} vectors",
    ]
    print_result(as_json, value, "\n".join(lines + ([f"degraded: {value['degraded']}"] if value["degraded"] else [])))


@index.command()
@json_option
@click.pass_context
def rebuild(ctx: click.Context, /, as_json: bool) -> None:
    """Build the index anew from the files, vectors included.

    \b
    Example:
      memsync index rebuild
    """
    finder = open_project(ctx).finder
    count = finder.rebuild()
    value = {"memories": count, **finder.status()}
    degraded = f"; by words only, because {value['degraded']}" if value["degraded"] else ""
    print_result(as_json, value, f"indexed {memories(count)} with {value['embedder']}{degraded}")
