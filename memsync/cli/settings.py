"""`memsync memory config`."""

from __future__ import annotations

import sys
from typing import Any, Final

import click

from memsync.cli import render
from memsync.cli.app import Answer, command
from memsync.cli.memory import memory
from memsync.errors import UsageError
from memsync.memories.project import Project
from memsync.setup.installing import turn_stealth
from memsync.setup.repository import set_value
from memsync.store import settings
from memsync.store.trust import what_leaves

_MOVE: Final = "memsync memory config --stealth off --move"


@command(memory)
@click.argument("key", required=False)
@click.argument("value", required=False)
@click.option("--stealth", type=click.Choice(["on", "off"]), help="Keep every memory out of the work tree, or not.")
@click.option(
    "--move/--keep",
    default=None,
    help="With --stealth: take the memories along, or not; off: those that stealth alone made private.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask; with off nothing is moved unless you say --move.")
@click.option("--global", "is_global", is_flag=True, help="Set it for all your projects.")
def config(project: Project, /, key: str | None, value: str | None, stealth: str | None, **options: Any) -> Answer:
    """Show the settings, show one, or set one.

    \b
    Examples:
      memsync memory config
      memsync memory config memory.recall_limit 10
      memsync memory config --stealth on
    """
    if stealth and (key or options["is_global"]):
        raise UsageError("--stealth is for this project and takes no setting; give one or the other")
    if not stealth and (options["move"] is not None or options["yes"]):
        raise UsageError("--move, --keep and --yes go with --stealth on or off")
    if stealth:
        turn = _turn_on if stealth == "on" else _turn_off
        result = turn(project, options["move"], ask=sys.stdin.isatty() and not options["yes"])
        return Answer(result, "\n".join(result["done"]))
    if key and value is not None:
        path = set_value(project, key, value, is_global=options["is_global"])
        known = settings.get(project.settings, key)
        note = what_leaves(settings.name_of(key), known)
        found = {"key": key, "value": known, "path": str(path), **({"note": note} if note else {})}
        return Answer(found, "\n".join(filter(None, (f"set in {path}", note))))
    if key:
        one = settings.get(project.settings, key)
        return Answer({"key": key, "value": one}, _spell_value(one))
    return _show_settings(project)


def _turn_on(project: Project, move: bool | None, *, ask: bool) -> dict[str, Any]:
    """Switch stealth on; memories leave the work tree unless told otherwise."""
    if move is None:
        move = not ask or click.confirm("Move the memories out of the work tree?", default=True, err=True)
    return {"stealth": True, "done": turn_stealth(project, True, move=move)}


def _turn_off(project: Project, move: bool | None, *, ask: bool) -> dict[str, Any]:
    """Switch stealth off; memories enter the work tree only when told, and by name."""
    from memsync.setup.stealth import move_to_root, plan_off

    project = move_to_root(project)
    plan, now = plan_off(project), project.clock()
    if ask and move is not False and plan.moves:
        for entry in plan.moves:
            click.echo(render.entry_line(entry, now), err=True)
        what = f"Move {render.memories(len(plan.moves))} into the work tree, where others can see what is committed?"
        move = click.confirm(what, default=False, err=True)
    done = turn_stealth(project, False, move=bool(move), plan=plan)
    done += [f"{id_} stays private: {why}" for id_, why in plan.stays]
    moved = [entry.id for entry in plan.moves] if move else []
    if len(plan.moves) > len(moved):
        left = ", ".join(entry.id for entry in plan.moves)
        done.append(f"written under stealth and still private: {left}; `{_MOVE}` moves them into the work tree")
    elif move and not plan.moves:
        done.append("nothing was written under stealth that could be moved")
    if plan.private:
        done.append(f"private as before: {render.memories(plan.private)}; `memsync memory share ID` moves one")
    kept = [{"id": id_, "why": why} for id_, why in plan.stays]
    return {"stealth": False, "done": done, "moved": moved, "kept": kept}


def _spell_value(value: object) -> str:
    """Spell a value as the YAML file would."""
    return settings.spell(value) or '""'


def _show_settings(project: Project) -> Answer:
    loaded = project.loaded
    rows = {key: settings.get(loaded.settings, key) for key in settings.KEYS}
    sources = {key: str(path) for key, path in loaded.sources.items()}
    lines = [
        f"{key} = {_spell_value(rows[key])}  {click.style('# ' + settings.describe(key), dim=True)}" for key in rows
    ]
    lines += [f"{key} is set in {path}" for key, path in sources.items()]
    for warning in loaded.warnings:
        click.echo(f"memsync: {render.one_line(warning)}", err=True)
    return Answer({"settings": rows, "sources": sources, "warnings": loaded.warnings}, "\n".join(lines))
