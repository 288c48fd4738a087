"""`memsync janitor review`: likely copies, a key a cluster."""

from __future__ import annotations

import sys

import click

from memsync.cli import render
from memsync.cli.app import Answer, command, wants_json
from memsync.cli.janitor import janitor
from memsync.cli.review import Round, list_names
from memsync.cli.terminal import track
from memsync.janitor import queue
from memsync.janitor.batches import describe, list_records, spell
from memsync.janitor.likely import find_clusters
from memsync.memories.project import Project


@command(janitor)
def review(project: Project, /) -> Answer | None:
    """Go through memories that may say the same, a key a cluster.

    b keeps the first and drops the others, a keeps all and asks no more, m lets
    you edit the text that is kept, h puts another one first, s leaves it for
    later, u takes the last key back, q stops. "lost" is what only a dropped text
    has. What is private may be dropped for a copy in the project, never the
    other way round. Without a terminal the clusters are only listed. It is the
    same as `memsync review --kind copies`.

    \b
    Examples:
      memsync janitor review
      memsync janitor review --json
    """
    if wants_json() or not sys.stdin.isatty():
        clusters = find_clusters(project, track=lambda items, label: track(items, label, least=2_000))
        known = list_records(project)
        told = [describe(known, cluster) for cluster in clusters]
        lines = [line for one in told for line in (*map(render.printable, spell(one)), "")]
        return Answer({"count": len(told), "clusters": told}, "\n".join(lines) + _count(len(told)))
    names = list_names(project, queue.COPIES)
    click.echo(_count(len(names)))
    Round(project, names).go()
    return None


def _count(number: int) -> str:
    return f"{render.count(number, 'cluster')} may say the same" if number else "no likely copies"
