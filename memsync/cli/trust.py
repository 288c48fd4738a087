"""`memsync trust`: what of a repository acts, and only with your approval."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Sequence

import click

from memsync.cli import render
from memsync.cli.app import Answer, cli, command, wants_json
from memsync.cli.options import require_person
from memsync.errors import Remedy, UsageError, closest, suggest
from memsync.memories.project import Project
from memsync.memories.stores import keep_key
from memsync.store.trust import RULES, Approvals, Instruction, Word
from memsync.store.workflow import find_instructions


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
