"""`memsync share|unshare|audit`: parse, one call, render."""

from __future__ import annotations

from typing import Any

import click

from memsync.cli import render
from memsync.cli.app import Answer, command
from memsync.cli.choosing import choose, find_refs
from memsync.cli.memory import memory
from memsync.cli.options import filter_options, yes_option
from memsync.history import audit as auditing
from memsync.memories import sharing
from memsync.memories.project import Project
from memsync.records import Scope, age
from memsync.store.trust import read_consented


@command(memory)
@click.argument("refs", metavar="[ID|WORDS]...", nargs=-1)
@filter_options
@yes_option
def share(project: Project, /, refs: tuple[str, ...], scope: Scope | None, yes: bool, **filters: Any) -> Answer:
    """Move memories into the project, where they can be committed: by ID, or all private ones that the filters fit.

    Nothing moves if one of them looks like it holds a secret or has the tag
    private.

    \b
    Examples:
      memsync share mm-a1b
      memsync share --tag billing
    """
    chosen = [] if refs else choose(project, (), scope or "private", filters, "share", yes=yes)
    moved = sharing.share(project, find_refs(project, refs) if refs else [entry.id for entry in chosen])
    lines = [render.entry_line(entry, project.clock(), "shared ") for entry in moved]
    return Answer({"moved": moved}, "\n".join(lines))


@command(memory)
@click.argument("refs", metavar="ID|WORDS...", nargs=-1, required=True)
@click.option("--global", "scope", flag_value="global", help="Into your own store, for every project.")
def unshare(project: Project, /, refs: tuple[str, ...], scope: Scope | None) -> Answer:
    """Move memories out of the work tree, into your private store.

    What is committed already stays in git's history.

    \b
    Example:
      memsync unshare mm-a1b
      memsync unshare admin password
    """
    moved = sharing.unshare(project, find_refs(project, refs), scope or "private")
    lines = [render.entry_line(entry, project.clock(), "moved ") for entry in moved]
    committed = [entry.id for entry in moved if sharing.is_committed(project, entry.id)]
    if committed:
        lines.append(f"git keeps what was committed of {', '.join(committed)}; commit the removal")
    return Answer({"moved": moved, "committed": committed}, "\n".join(lines))


@command(memory)
@click.option("--history", is_flag=True, help="Every commit of every branch, too.")
def audit(project: Project, /, history: bool) -> Answer:
    """Look for secrets in shared memories and skills.

    Exit 1 if there are some. Shows what they look like, never what they are. docs/security.md says what
    to do about a secret that was committed.

    \b
    Examples:
      memsync audit
      memsync audit --history
    """
    found = auditing.current(project) + (auditing.past(project) if history else [])
    lines = []
    for one in found:
        who = f" by {one.commit.author}, {age(one.commit.when, project.clock())}" if one.commit else ""
        about = f" {one.id}" if one.id else ""
        lines.append(render.one_line(f"{one.where}{about}{who}: {one.what}"))
    theirs, mine = project.settings.allow_secrets, len(read_consented(project.layout))
    lines += [f"let through by memory.secrets.allow: {' '.join(theirs)}"] if theirs else []
    lines += [f"let through by your --allow-secret here: {mine} values"] if mine else []
    lines.append(f"{len(found)} found; change them where they are valid, first" if found else "no secrets found")
    return Answer({"found": found}, "\n".join(lines), 1 if found else 0)
