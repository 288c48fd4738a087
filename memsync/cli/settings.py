"""`memsync memory config`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from memsync import config as settings
from memsync.cli import render
from memsync.cli.app import json_option, open_project, print_result
from memsync.errors import UsageError
from memsync.installing import turn_stealth
from memsync.setup import set_value

if TYPE_CHECKING:
    from memsync.service import Memsync


@click.command()
@click.argument("key", required=False)
@click.argument("value", required=False)
@click.option("--stealth", type=click.Choice(["on", "off"]), help="Keep every memory out of the work tree, or not.")
@click.option("--move/--keep", default=None, help="With --stealth: take the memories along, or not.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--global", "is_global", is_flag=True, help="Set it for all your projects.")
@json_option
@click.pass_context
def config(ctx: click.Context, /, key: str | None, value: str | None, stealth: str | None, **options: Any) -> None:
    """Show the settings, show one, or set one.

    \b
    Examples:
      memsync memory config
      memsync memory config memory.recall_limit 10
      memsync memory config --stealth on
    """
    project = open_project(ctx)
    as_json = options["as_json"]
    if stealth and (key or options["is_global"]):
        raise UsageError("--stealth is for this project and takes no setting; give one or the other")
    if not stealth and (options["move"] is not None or options["yes"]):
        raise UsageError("--move, --keep and --yes go with --stealth on or off")
    if stealth:
        done = _stealth(project, stealth == "on", options["move"], options["yes"])
        print_result(as_json, {"stealth": stealth == "on", "done": done}, "\n".join(done))
    elif key and value is not None:
        path = set_value(project, key, value, is_global=options["is_global"])
        print_result(
            as_json, {"key": key, "value": settings.get(project.settings, key), "path": str(path)}, f"set in {path}"
        )
    elif key:
        one = settings.get(project.settings, key)
        print_result(as_json, {"key": key, "value": one}, _spelled(one))
    else:
        _show_settings(project, as_json)


def _stealth(project: Memsync, on: bool, move: bool | None, yes: bool) -> list[str]:
    """Switch stealth; memories leave the work tree unless told otherwise, and enter it only when told."""
    if move is None:
        move = on or yes
        if not yes and sys.stdin.isatty():
            where = (
                "out of the work tree" if on else "into the work tree, where they can be committed and seen by others"
            )
            move = click.confirm(f"Move the memories {where}?", default=on)
    done = turn_stealth(project, on, move=move)
    if not on and not move:
        done.append("private memories stay private; `memsync memory config --stealth off --move` moves them")
    return done


def _spelled(value: object) -> str:
    """Spell a value as the YAML file would."""
    if isinstance(value, tuple):
        value = " ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value) or '""'


def _show_settings(project: Memsync, as_json: bool) -> None:
    loaded = project.loaded
    rows = {key: settings.get(loaded.settings, key) for key in settings.KEYS}
    sources = {key: str(path) for key, path in loaded.sources.items()}
    lines = [f"{key} = {_spelled(rows[key])}  {click.style('# ' + settings.describe(key), dim=True)}" for key in rows]
    lines += [f"{key} is set in {path}" for key, path in sources.items()]
    for warning in loaded.warnings:
        click.echo(f"memsync: {render.one_line(warning)}", err=True)
    print_result(as_json, {"settings": rows, "sources": sources, "warnings": list(loaded.warnings)}, "\n".join(lines))
