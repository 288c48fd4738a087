"""`memsync config` and `trust`: the settings, and what of a repository acts only with your approval."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Sequence
from typing import Any, Final

import click

from memsync.cli import render, terminal
from memsync.cli.app import Answer, cli, command, wants_json
from memsync.cli.options import require_person
from memsync.errors import Remedy, UsageError, closest, suggest
from memsync.memories.project import Project
from memsync.memories.stores import keep_key
from memsync.origin import templates
from memsync.setup.installing import turn_stealth
from memsync.setup.repository import rewrite_settings, set_value, unset_value
from memsync.setup.stealth import move_to_root, plan_off
from memsync.store import files, settings
from memsync.store.settings import Settings
from memsync.store.trust import RULES, Approvals, Instruction, Word, is_harmless, what_leaves
from memsync.store.workflow import find_instructions

_MOVE: Final = "memsync config --stealth off --move"
_SHAPES: Final = {  # of what follows each word: how many at least and at most, and what
    "get": (1, 1, "KEY"),
    "set": (2, 99, "KEY VALUE"),
    "unset": (1, 1, "KEY"),
    "list": (0, 0, "no more"),
    "edit": (0, 0, "no more"),
}


@command(cli)
@click.argument("words", nargs=-1, metavar="[get|set|unset|list|edit] [KEY] [VALUE]")
@click.option("--unset", "is_unset", is_flag=True, help="Take KEY out, so that the default counts again.")
@click.option("--list", "is_list", is_flag=True, help="Show every setting, as without KEY.")
@click.option("--origin", is_flag=True, help="Say of each in which file it is set.")
@click.option("--stealth", type=click.Choice(["on", "off"]), help="Keep every memory out of the work tree, or not.")
@click.option(
    "--move/--keep",
    default=None,
    help="With --stealth: take the memories along, or not; off: those written meanwhile, too, or none.",
)
@click.option(
    "-y", "--yes", is_flag=True, help="Do not ask; with off only what was shared before is moved unless you say --move."
)
@click.option("--global", "is_global", is_flag=True, help="Set it for all your projects.")
def config(
    project: Project, /, words: tuple[str, ...], is_unset: bool, is_list: bool, stealth: str | None, **options: Any
) -> Answer:
    """Show the settings, or get, set, unset or edit them.

    \b
    Examples:
      memsync config
      memsync config memory.recall_limit
      memsync config memory.recall_limit 10
      memsync config --unset memory.recall_limit
      memsync config --list --origin
      memsync config edit --global
      memsync config --stealth on
    """
    is_global = options["is_global"]
    if stealth:
        if words or is_global:
            raise UsageError("--stealth is for this project and takes no setting; give one or the other")
        if stealth == "off":
            require_person(project, "switch stealth off")
        turn = _turn_on if stealth == "on" else _turn_off
        result = turn(project, options["move"], ask=sys.stdin.isatty() and not options["yes"])
        back = f"config --stealth {'off' if stealth == 'on' else 'on'}"
        project.journal.note_change(f"switched stealth {stealth}", back)
        return Answer(result, "\n".join(result["done"]))
    if options["move"] is not None or options["yes"]:
        raise UsageError("--move, --keep and --yes go with --stealth on or off")
    verb, rest = _read_verb(words, is_unset=is_unset, is_list=is_list)
    if verb == "edit":
        require_person(project, "edit settings")
        return _edit_file(project, is_global=is_global)
    if verb in ("set", "unset"):
        return _set_value(project, rest[0], " ".join(rest[1:]) if verb == "set" else None, is_global=is_global)
    return _show_settings(project, *rest, origin=options["origin"])


def _read_verb(words: tuple[str, ...], *, is_unset: bool, is_list: bool) -> tuple[str, tuple[str, ...]]:
    """Return what is to be done, and its words: KEY alone gets, KEY VALUE sets."""
    named = words[0] if words and words[0] in _SHAPES else ""
    rest = words[1:] if named else words
    verb = "unset" if is_unset else "list" if is_list else named or ("set" if rest[1:] else "get" if rest else "list")
    least, most, shape = _SHAPES[verb]
    if not least <= len(rest) <= most:
        raise UsageError(f"config {verb} takes {shape}; `memsync config` lists the settings")
    return verb, rest


def _set_value(project: Project, key: str, value: str | None, *, is_global: bool) -> Answer:
    name = settings.name_of(key)
    parsed = settings.get(Settings(), key) if value is None else settings.parse_value(name, value)
    if not is_harmless(name, parsed):
        require_person(project, f"set {name}")
    if value is None:
        path = unset_value(project, key, is_global=is_global)
    else:
        path = set_value(project, key, value, is_global=is_global)
    known = settings.get(project.settings, key)
    found = {"key": key, "value": known, "path": str(path)}
    if value is None:
        return Answer(found, f"taken out of {path}; the value is {_spell_value(known)} now")
    if note := what_leaves(name, known):
        return Answer({**found, "note": note}, f"set in {path}\n{note}")
    return Answer(found, f"set in {path}")


def _edit_file(project: Project, *, is_global: bool) -> Answer:
    place = project.layout.place("global" if is_global else project.default_scope)
    was, _ = files.read(place.config)
    text = was.decode("utf-8-sig") or (templates() / "config.yaml").read_text(encoding="utf-8")

    def keep(saved: str) -> bool:
        rewrite_settings(project, place, saved, was)
        return True

    changed = terminal.edit_until(text, keep, ".yaml") is not None
    said = f"saved {place.config}" if changed else "nothing was changed"
    return Answer({"path": str(place.config), "changed": changed}, said)


def _origin_of(project: Project, name: str) -> str:
    source = project.loaded.sources.get(name)
    return str(source) if source else "default"


def _turn_on(project: Project, move: bool | None, *, ask: bool) -> dict[str, Any]:
    if move is None:
        move = not ask or click.confirm("Move the memories out of the work tree?", default=True, err=True)
    return {"stealth": True, "done": turn_stealth(project, True, move=move)}


def _turn_off(project: Project, move: bool | None, *, ask: bool) -> dict[str, Any]:
    """Switch stealth off; what was not shared before enters the work tree only when told, and by name."""
    project = move_to_root(project)
    plan, now = plan_off(project), project.clock()
    if ask and move is not False and plan.moves:
        for entry in plan.moves:
            click.echo(render.entry_line(entry, now), err=True)
        what = f"Move {render.memories(len(plan.moves))} into the work tree, where others can see what is committed?"
        move = click.confirm(what, default=False, err=True) or None
    done = turn_stealth(project, False, move=move, plan=plan)
    done += [f"{id_} stays private: {why}" for id_, why in plan.stays]
    moved = [entry.id for entry in plan.choose(move)]
    if left := ", ".join(entry.id for entry in (*plan.back, *plan.moves) if entry.id not in moved):
        done.append(f"private since stealth was on: {left}; `{_MOVE}` moves them into the work tree")
    elif move and not plan.moves:
        done.append("nothing became private under stealth that could be moved")
    if plan.private:
        done.append(f"private as before: {render.memories(plan.private)}; `memsync share ID` moves one")
    kept = [{"id": id_, "why": why} for id_, why in plan.stays]
    return {"stealth": False, "done": done, "moved": moved, "kept": kept}


def _spell_value(value: object) -> str:
    return settings.spell(value) or '""'


def _show_settings(project: Project, key: str | None = None, *, origin: bool) -> Answer:
    if key is not None:
        known = settings.get(project.settings, key)
        if not origin:
            return Answer({"key": key, "value": known}, _spell_value(known))
        where = _origin_of(project, settings.name_of(key))
        return Answer({"key": key, "value": known, "origin": where}, f"{_spell_value(known)}  # {where}")
    loaded = project.loaded
    found = {key: settings.get(loaded.settings, key) for key in settings.KEYS}
    sources = {key: str(path) for key, path in loaded.sources.items()}
    told = {key: _origin_of(project, key) if origin else settings.describe(key) for key in found}
    lines = [f"{key} = {_spell_value(found[key])}  {click.style('# ' + told[key], dim=True)}" for key in found]
    lines += [] if origin else [f"{key} is set in {path}" for key, path in sources.items()]
    for warning in loaded.warnings:
        click.echo(f"memsync: {render.one_line(warning)}", err=True)
    return Answer({"settings": found, "sources": sources, "warnings": loaded.warnings}, "\n".join(lines))


@command(cli, is_quiet=True)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--show", is_flag=True, help="Show what waits and what is approved, and change nothing.")
@click.option("--refuse", is_flag=True, help="Say no to that content: it does not wait any more.")
@click.option("--revoke", is_flag=True, help="Take back what was approved or refused.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def trust(project: Project, /, names: tuple[str, ...], *, yes: bool, **said: bool) -> Answer:
    """Approve what this repository wants memsync to do.

    It is shown first. Workflow files, the mode auto-commit and memory.secrets.allow of a
    repository do nothing until you approve that very content; one that changes
    waits again. Approvals hold in every clone of the project on this machine.
    NAME (a file, or file: setting, as shown) picks some of it.
    Without a terminal to ask at, only --yes approves; in the shell of an agent nothing does.
    docs/security.md says what a repository may set without asking.

    \b
    Examples:
      memsync trust --show
      memsync trust
      memsync trust .gobby/workflows/team.yaml --yes
      memsync trust --refuse
      memsync trust --revoke
    """
    if sum(said.values()) > 1:
        raise UsageError("give one of --show, --refuse and --revoke")
    approvals = Approvals(project.layout)
    if said["revoke"]:
        return _revoke(project, approvals, _pick_names(names, approvals.names))
    found = find_instructions(project.layout, project.loaded)
    chosen = [one for one in found if one.name in _pick_names(names, [one.name for one in found])]
    waiting = [one for one in chosen if not approvals.cover(one) and (names or approvals.wait(one))]
    lines = _describe_instructions("waits", waiting)
    if said["show"]:
        lines = [line for one in chosen for line in _describe_instructions(_state_of(approvals, one), [one])]
    if said["show"] or not waiting:
        return _answer(project, [], lines or ["nothing waits for your approval"])
    if said["refuse"]:
        return _note(project, waiting, "refused", [])
    require_person(project, "approve what a repository wants memsync to do")
    if not yes:
        if wants_json() or not sys.stdin.isatty():
            click.echo("memsync: nothing was approved; `memsync trust --yes` approves it, --refuse says no", err=True)
            return _answer(project, [], lines)._replace(code=1)
        click.echo("\n".join(lines))
        click.confirm("Shall memsync do this here from now on?", abort=True)
        lines = []
    return _note(project, waiting, "approved", lines)


def _revoke(project: Project, approvals: Approvals, names: Sequence[str]) -> Answer:
    done = approvals.remove(names)
    if done:
        project.journal.note_change(f"no longer decided: {', '.join(done)}", shlex.join(["trust", *done]))
    told = [f"no longer decided: {render.one_line(name)}" for name in done]
    return _answer(project, done, told or ["nothing was approved or refused"])


def _note(project: Project, ones: Sequence[Instruction], word: Word, lines: Sequence[str]) -> Answer:
    """Note *word* of *ones*, and answer so after *lines*."""
    keep_key(project.layout)
    Approvals(project.layout).add(ones, word)
    names = [one.name for one in ones]
    project.journal.note_change(f"{word} {', '.join(names)}", shlex.join(["trust", *names, "--revoke"]))
    return _answer(project, names, [*lines, *(f"{word}: {render.one_line(name)}" for name in names)])


def _state_of(approvals: Approvals, one: Instruction) -> str:
    return "waits" if approvals.wait(one) else "approved" if approvals.cover(one) else "refused"


def _pick_names(names: Sequence[str], known: Collection[str]) -> list[str]:
    """Return those of *known* that *names* mean, all of them without one.

    Raises:
        UsageError: a name means none.
    """
    for name in names:
        if not any(_is_meant(name, one) for one in known):
            advice = suggest(closest(name, known), Remedy("trust --show"), " shows the names")
            raise UsageError(f"nothing is called {name!r} here; ", *advice)
    return [one for one in known if not names or any(_is_meant(name, one) for name in names)]


def _is_meant(name: str, known: str) -> bool:
    file, _, key = known.rpartition(": ")
    return known == name or (file == name and key in RULES)  # a file may be called "team.yaml: more.yaml"


def _describe_instructions(state: str, found: Sequence[Instruction]) -> list[str]:
    lines = []
    for one in found:
        colour = {"waits": "yellow", "approved": "green"}.get(state, "red")
        lines.append(f"{click.style(state, fg=colour)}: {render.one_line(one.name)} (sha256 {one.digest[:12]})")
        text = one.content.decode("utf-8", "backslashreplace").rstrip("\n")
        lines += [f"  {render.printable(row)}" for row in text.split("\n")]
    return lines


def _answer(project: Project, done: Sequence[str], lines: Sequence[str]) -> Answer:
    approvals = Approvals(project.layout)
    parts: dict[str, list[dict[str, str]]] = {"waits": [], "approved": [], "refused": []}
    for one in find_instructions(project.layout, project.loaded):
        parts[_state_of(approvals, one)].append(one.as_dict())
    parts = {"waiting": parts.pop("waits"), **parts}
    return Answer({**parts, "changed": done}, "\n".join(lines))
