"""`memsync sync`, also spelled `memsync sync`."""

from __future__ import annotations

import click

from memsync.cli import render
from memsync.cli.app import Answer, cli, command
from memsync.format.as_json import as_json
from memsync.memories.project import Project


@command(cli)
@click.option("--import", "only_import", is_flag=True, help="Only take in what changed in the files.")
@click.option("--export", "only_export", is_flag=True, help="Only write and stage what is ours.")
@click.option("--commit", is_flag=True, help="Commit the memory file, and nothing else.")
@click.option(
    "--push",
    is_flag=True,
    help="Commit, then push the branch; where others were first, rebase or merge, and try again.",
)
def sync(project: Project, /, only_import: bool, only_export: bool, commit: bool, push: bool) -> Answer:
    """Take in what changed, export and stage; commit and push if asked.

    Conflicts in the memory file are resolved on the way. Without --import and --export it does both. A commit of ours holds the
    memory file alone and leaves what you staged as it is. A push is never
    forced, and never sends a branch without memories over one that has some.

    Our block in AGENTS.md and the like, where there is one, is brought up to date. What the clients of
    memory.bridges noted for themselves is proposed (`memsync candidates`).

    \b
    Examples:
      memsync sync
      memsync sync --import --export
      memsync sync --push
    """
    from memsync.memories.sync import sync as run
    from memsync.setup.clients import refresh_blocks
    from memsync.setup.notes import Taken, take_in

    both = only_import == only_export
    done = run(project, take_in=both or only_import, export=both or only_export, commit=commit, push=push)
    blocks = list(map(str, refresh_blocks(project) if both or only_export else ()))
    notes = take_in(project) if both or only_import else Taken()
    value = {**as_json(done), "blocks": blocks, "notes": notes}
    return Answer(value, "\n".join([render.synced(done), *blocks, *render.notes(notes)]), 1 if done.held else 0)
