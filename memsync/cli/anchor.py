"""`memsync anchor`: what a memory is about."""

from __future__ import annotations

import click

from memsync.cli import render
from memsync.cli.app import Answer, command
from memsync.cli.choosing import find_ref
from memsync.cli.memory import memory
from memsync.cli.options import scope_option
from memsync.memories.edits import add_anchors, pin_again
from memsync.memories.project import Project
from memsync.records import Scope, shown_id


@command(memory)
@click.argument("ref", metavar="ID|WORDS")
@click.argument("places", metavar="[ANCHOR]...", nargs=-1)
@scope_option
def anchor(project: Project, /, ref: str, places: tuple[str, ...], scope: Scope | None) -> Answer:
    """Say what a memory is about: it is given before that is edited or run, and marked when it changes.

    ANCHOR is PATH, PATH#SYMBOL, FOLDER/, a glob, or '$ COMMAND', beside those
    that the memory has. Without one, its anchors are set to the files as they
    are now: what was moved is followed, and what is gone is dropped.

    \b
    Examples:
      memsync anchor mm-a1b src/client.py#MAX_RETRIES
      memsync anchor mm-a1b migrations/ '$ git push'
      memsync anchor mm-a1b
    """
    ref = find_ref(project, (ref,), scope)
    result = pin_again(project, ref, scope) if not places else add_anchors(project, ref, places, scope)
    lines = [f"{shown_id(result.id)} is anchored to {render.one_line(text)}" for text in result.memory.anchors]
    return Answer(result, "\n".join(lines) or f"{shown_id(result.id)} is anchored to nothing")
