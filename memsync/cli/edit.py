"""`memsync edit`: memories in an editor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from memsync.cli import document, render, terminal
from memsync.cli.app import Answer, command
from memsync.cli.choosing import choose
from memsync.cli.document import Draft
from memsync.cli.memory import memory, warn_of_type
from memsync.cli.options import allow_secret_option, filter_options, let_secrets_pass
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import Scope


@command(memory)
@click.argument("refs", metavar="[ID|WORDS]...", nargs=-1)
@allow_secret_option
@filter_options
def edit(project: Project, /, refs: tuple[str, ...], allow_secret: bool, scope: Scope | None, **filters: Any) -> Answer:
    """Change memories in $EDITOR: by ID, or all that the filters fit.

    They come as one small document. What you save is checked before anything is written, and a mistake opens it again.

    \b
    Examples:
      memsync edit mm-a1b
      memsync edit --tag billing --since 1week
    """
    let_secrets_pass(project, wanted=allow_secret)
    chosen = choose(project, refs, scope, filters, "edit", yes=True)
    drafts = _ask(project, chosen)
    done = [
        project.update(draft.entry.id, scope=draft.entry.scope, was=draft.entry.memory, **draft.changes)
        for draft in drafts
    ]
    lines = [render.remembered(result, project.clock()) for result in done]
    return Answer({"changed": done}, "\n".join(lines) or "nothing was changed")


def _ask(project: Project, chosen: Sequence[Entry]) -> list[Draft]:

    def read(saved: str) -> list[Draft]:
        drafts = document.parse(saved, chosen)
        for draft in drafts:
            warn_of_type(project, draft.changes.get("memory_type"))
            project.vetting.vet(draft.entry.memory._replace(**draft.changes), draft.entry.scope)
        return drafts

    return terminal.edit_until(document.spell(chosen), read) or []
