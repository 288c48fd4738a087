"""Options that commands share, and what of them only a person may say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

from memsync.errors import MemsyncError, Remedy, UsageError
from memsync.memories.project import Project
from memsync.records import SCOPES, Scope, parse_time

Decorated = Callable[..., Any]


def stack(*options: Callable[[Decorated], Decorated]) -> Callable[[Decorated], Decorated]:
    """Put several options on a command, in the order given."""

    def decorate(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


target_options = stack(
    click.option("--global", "scope", flag_value="global", help="In your own store, for every project."),
    click.option("--private", "scope", flag_value="private", help="For this project, outside the work tree."),
)
allow_secret_option = click.option(
    "--allow-secret",
    is_flag=True,
    help="Accept what looks like a secret, for you on this machine; adds the tag allow-secret.",
)


def require_person(project: Project, what: str) -> None:
    """Note that *what* is done in the shell of an agent, and refuse it unless the user's own settings let agents do it.

    Raises:
        MemsyncError
    """
    from memsync.agents import hooklog
    from memsync.agents.notes import scope_of
    from memsync.clients.facts import find_shell

    if (found := find_shell(project.env)) is None:
        return
    title, variable = found
    is_allowed = project.settings.agent_approvals
    at = project.clock().isoformat()
    note = {"at": at, "event": "approval", "client": title, "what": what, "allowed": is_allowed}
    hooklog.write(project.layout, scope_of(project.layout, project.settings), note)
    if not is_allowed:
        why = f"an agent may not {what}, and this is a shell of {title} ({variable} is set): run it in a terminal of your own; there "
        raise MemsyncError(why, Remedy("config --global memory.agent_approvals on"), " lets agents do so")


def let_secrets_pass(project: Project, *, wanted: bool) -> None:
    """Have what looks like a secret pass where `--allow-secret` is *wanted*, which a person may say alone."""
    if wanted:
        require_person(project, "let pass what looks like a secret")
    project.vetting.allows_secrets = wanted


class ScopeName(click.Choice[str]):
    """The name of a scope; `stealth`, which `private` was called, is still taken."""

    def __init__(self) -> None:
        super().__init__(["project", "private", "global"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the scope that *value* names."""
        return super().convert("private" if value == "stealth" else value, param, ctx)


scope_option = click.option("--scope", type=ScopeName(), help="Only what lives there.")

all_scopes_option = click.option(
    "--all-scopes", is_flag=True, help="Private and global ones too, each marked.  [default: the project's]"
)


def choose_scopes(scope: Scope | None, *, all_scopes: bool) -> tuple[Scope, ...]:
    """Return which scopes leave their stores, to a file, a pipe or a page: the project's, unless the user says more.

    Raises:
        UsageError: both options are given.
    """
    if scope and all_scopes:
        raise UsageError("--scope and --all-scopes exclude each other; give one of them")
    return SCOPES if all_scopes else (scope or "project",)


filter_options = stack(
    click.option("--type", "memory_type", metavar="TYPE", help="Only memories of that type."),
    click.option("--tag", "tags_all", multiple=True, metavar="TAG", help="Only with this tag (repeat: with all)."),
    click.option("--any-tag", "tags_any", multiple=True, metavar="TAG", help="Only with one of these tags."),
    click.option("--no-tag", "tags_none", multiple=True, metavar="TAG", help="Without this tag."),
    click.option(
        "--min-importance", type=click.FloatRange(0, 1), default=0.0, help="Least importance today (after decay)."
    ),
    click.option("--archived", is_flag=True, help="Archived ones too."),
    click.option("--exclude", "exclude", multiple=True, metavar="ID", help="Without that memory (repeat)."),
    click.option("--since", metavar="WHEN", help='Written since: 7d, "2 weeks", a date or a revision.'),
    scope_option,
)
model_option = click.option("--no-llm", is_flag=True, help="By rules, even where a model is configured.")
yes_option = click.option("-y", "--yes", is_flag=True, help="Do not wait for approval.")


def read_time(text: str, option: str) -> datetime:
    """Return the time that *text*, the value of *option*, says.

    Raises:
        UsageError: it says none.
    """
    if (moment := parse_time(text)) is None:
        raise UsageError(f"{option}: {text!r} is not a time; write it as 2026-11-01 or 2026-11-01T09:00:00Z")
    return moment
