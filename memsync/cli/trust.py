"""`memsync trust`: what of a repository acts, and only with your approval."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

import click

from memsync.cli import render
from memsync.cli.app import json_option, open_project, print_result
from memsync.errors import UsageError
from memsync.memories.project import Project
from memsync.store.trust import Approvals, Instruction


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--show", is_flag=True, help="Show what waits and what is approved, and change nothing.")
@click.option("--revoke", is_flag=True, help="Take approvals back: ours are in force again.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_context
def trust(ctx: click.Context, /, names: tuple[str, ...], show: bool, revoke: bool, yes: bool, as_json: bool) -> None:
    """Approve what this repository wants memsync to do, having shown it.

    Workflow files, the mode auto-commit and memory.secrets.allow of a
    repository do nothing until you approve that very content; one that changes
    waits again. Approvals hold in every clone of the project on this machine.
    NAME (a file, or file: setting, as shown) picks some of it.
    docs/security.md says what a repository may set without asking.

    \b
    Examples:
      memsync trust --show
      memsync trust
      memsync trust .gobby/workflows/team.yaml --yes
      memsync trust --revoke
    """
    if show and revoke:
        raise UsageError("--show changes nothing; leave it out, or --revoke")
    project = open_project(ctx, is_quiet=True)
    approvals = Approvals(project.layout)
    if revoke:
        done = approvals.remove(_picked(names, list(approvals.known)))
        _print(
            project,
            as_json,
            done,
            [f"no longer approved: {render.one_line(name)}" for name in done] or ["nothing was approved"],
        )
        return
    found = project.instructions
    chosen = _picked(names, [one.name for one in found])
    waiting = [one for one in found if one.name in chosen and not approvals.cover(one)]
    approved = [one for one in found if one.name in chosen and approvals.cover(one)]
    lines = [*_shown("waits", waiting), *(_shown("approved", approved) if show else ())]
    if show or not waiting:
        _print(project, as_json, [], lines or ["nothing waits for your approval"])
        return
    if not (yes or as_json) and sys.stdin.isatty():
        click.echo("\n".join(lines))
        click.confirm("Shall memsync do this here from now on?", abort=True)
        lines = []
    project.keep_key()
    approvals.add(waiting)
    _print(
        project,
        as_json,
        [one.name for one in waiting],
        [*lines, *(f"approved: {render.one_line(one.name)}" for one in waiting)],
    )


def _picked(names: Sequence[str], known: Collection[str]) -> list[str]:
    """Return those of *known* that *names* mean, all of them without one.

    Raises:
        UsageError: a name means none.
    """
    for name in names:
        if not any(_means(name, one) for one in known):
            raise UsageError(f"nothing is called {name!r} here; `memsync trust --show` shows the names")
    return [one for one in known if not names or any(_means(name, one) for name in names)]


def _means(name: str, known: str) -> bool:
    return known == name or known.startswith(f"{name}: ")


def _shown(state: str, found: Sequence[Instruction]) -> list[str]:
    lines = []
    for one in found:
        colour = "yellow" if state == "waits" else "green"
        lines.append(f"{click.style(state, fg=colour)}: {render.one_line(one.name)} (sha256 {one.digest[:12]})")
        text = one.content.decode("utf-8", "backslashreplace").rstrip("\n")
        lines += [f"  {render.printable(row)}" for row in text.split("\n")]
    return lines


def _print(project: Project, as_json: bool, done: Sequence[str], lines: Sequence[str]) -> None:
    approvals = Approvals(project.layout)
    parts: dict[str, list[dict[str, str]]] = {"waiting": [], "approved": []}
    for one in project.instructions:
        parts["approved" if approvals.cover(one) else "waiting"].append(one.as_dict())
    print_result(as_json, {**parts, "changed": list(done)}, "\n".join(lines))
