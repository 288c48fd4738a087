"""`memsync init`, `status`, `doctor`, `demo` and `completion`."""

from __future__ import annotations

from typing import Any

import click

from memsync.cli import render
from memsync.cli.app import json_option, open_project, print_result


@click.command()
@click.option("--stealth", is_flag=True, help="Keep memories out of the work tree.")
@json_option
@click.pass_context
def init(ctx: click.Context, /, stealth: bool, as_json: bool) -> None:
    """Make this repository ready for memories. Safe to run again.

    Undo: `git clean -n .gobby` shows what was made; `memsync memory config
    --stealth on` takes it out of the work tree and keeps the memories.

    \b
    Examples:
      memsync init
      memsync init --stealth
    """
    from memsync.setup import init as set_up
    from memsync.setup import turn_stealth

    project = open_project(ctx)
    done = turn_stealth(project, True, move=True) if stealth and not project.settings.stealth else []
    done += set_up(project)
    where = project.layout.place(project.default_scope).memories
    lines = done or ["nothing to do"]
    lines.append(f'memories live in {where}; try: memsync memory remember "…"')
    print_result(as_json, {"path": str(where), "done": done}, "\n".join(lines))


@click.command()
@json_option
@click.pass_context
def status(ctx: click.Context, /, as_json: bool) -> None:
    """Show the stores, settings and what is pending.

    \b
    Example:
      memsync status --json
    """
    project = open_project(ctx)
    stores = project.status()
    value: dict[str, Any] = {
        "root": str(project.layout.root) if project.layout.root else None,
        "git": project.layout.git is not None,
        "stealth": project.settings.stealth,
        "stores": [store.as_dict() for store in stores],
    }
    print_result(as_json, value, render.status(value, stores))


@click.command()
@click.option("--fix", is_flag=True, help="Mend what is safe; nothing is lost.")
@json_option
@click.pass_context
def doctor(ctx: click.Context, /, fix: bool, as_json: bool) -> None:
    """Look for trouble; exit 1 if there is some. Without --fix nothing is written.

    \b
    Examples:
      memsync doctor
      memsync doctor --fix
    """
    from memsync.doctor import examine, mend

    project = open_project(ctx)
    done = mend(project) if fix else []
    found = examine(project)
    text = "\n".join([*(f"fixed {line}" for line in done), render.findings(found)])
    value = {"fixed": done, "findings": [finding.as_dict() for finding in found]}
    print_result(as_json, value, text)
    if any(finding.level != "note" for finding in found):
        ctx.exit(1)


@click.command()
@click.option("--keep", is_flag=True, help="Leave the repository for you to look at.")
def demo(keep: bool) -> None:
    """Tell the story of memsync in a temporary repository.

    \b
    Example:
      memsync demo
    """
    from memsync.demo import tell

    for line in tell(keep=keep):
        click.echo(line)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    Example:
      memsync completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    from memsync.cli.app import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "memsync", "_MEMSYNC_COMPLETE").source())
