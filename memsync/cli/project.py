"""`memsync init`, `uninstall`, `doctor`, `demo` and `completion`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem, get_completion_class

from memsync.cli import render, terminal
from memsync.cli.app import Answer, cli, command
from memsync.cli.words import is_dialogue
from memsync.clients import facts
from memsync.errors import UsageError
from memsync.learn.transcripts import list_here
from memsync.memories.project import Project
from memsync.memories.results import as_json
from memsync.setup import installing, purging
from memsync.setup.demo import tell
from memsync.setup.doctor import Finding, examine, fix_findings
from memsync.setup.installing import Installed
from memsync.setup.purging import Copy, list_doomed, save_copies

_LEVELS: Final = {"error": "red", "warning": "yellow", "note": "cyan"}
_PAUSE: Final = 0.7  # seconds, for the eye of who watches the demo


class _Agent(click.ParamType[str]):
    """The name of a client, also of one that another package brings, or one of *words*."""

    name = "agent"

    def __init__(self, *words: str) -> None:
        self._words = words

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        names = (*facts.list_names(), *self._words)
        if value not in names:
            self.fail(f"{value!r} is not one of {', '.join(names)}.", param, ctx)
        return value

    def shell_complete(self, _: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin with *incomplete*."""
        names = (*facts.list_names(), *self._words)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@command(cli)
@click.option(
    "--agent",
    "agents",
    multiple=True,
    type=_Agent("all", "none"),
    metavar="NAME",
    help="Connect this client (repeat for more), or all, or none. Default: those found here.",
)
@click.option("--stealth", is_flag=True, help="Keep everything out of the work tree.")
@click.option("--user", is_flag=True, help="Connect the clients by your own settings, for every folder of it.")
@click.option("--allow-tools", is_flag=True, help="Let the clients read with our tools without asking you.")
@click.option("--no-git-hooks", is_flag=True, help="Leave git's hooks alone.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
def init(
    project: Project,
    /,
    agents: tuple[str, ...],
    stealth: bool,
    user: bool,
    allow_tools: bool,
    no_git_hooks: bool,
    dry_run: bool,
) -> Answer:
    """Make this repository ready for memories, and connect your agents. Safe to run again.

    Writes hooks and the MCP server into the project's settings of each client
    (docs/clients.md says which files); with --stealth or --user into your own
    settings, whose hooks do nothing elsewhere. Whatever else is in a file keeps every byte. Git hooks take memories into
    your commits.

    With hooks, and all of them by `all`: claude codex gemini copilot opencode
    qwen antigravity. The MCP server only: cursor vscode zed cline crush goose
    windsurf amp droid.

    Starts the MCP server once, and says whether it answers. --allow-tools
    lets Claude Code, Gemini CLI and Qwen Code use the tools that change
    nothing without asking; Codex asks for none of these.

    Undo: `memsync uninstall`; `memsync config --stealth on` takes the
    memories out of the work tree and keeps them.

    \b
    Examples:
      memsync init
      memsync init --agent claude --agent codex
      memsync init --user --agent claude
      memsync init --stealth
      memsync init --agent all --dry-run
    """
    stealth = stealth or project.settings.stealth
    clients = installing.choose(project, agents)
    result = installing.init(
        project,
        clients,
        stealth=stealth,
        dry_run=dry_run,
        git_hooks=not no_git_hooks,
        allow_tools=allow_tools,
        user=user,
    )
    if result.done and not dry_run:
        project.journal.note_change("set memsync up here", "uninstall")
    where = project.layout.place("private" if stealth else "project").memories
    end = [] if dry_run else [f'memories live in {where}; try: memsync remember "…"']
    if not dry_run and (recorded := list_here(project)):
        end.append(
            f"{render.count(len(recorded), 'recorded session')} of yours ran here: `memsync replay` says what memory would have saved"
        )
    return Answer({"path": where, **as_json(result)}, _format_installed(result, end))


@command(cli)
@click.option(
    "--agent", "agents", multiple=True, type=_Agent("all"), metavar="NAME", help="Only this client (repeat for more)."
)
@click.option("--purge", is_flag=True, help="Remove the memories of this project too, after copies were written.")
@click.option("--export", "copy", metavar="FILE", help="With --purge: where the copies go.  [default: your home]")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before a purge.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
def uninstall(
    project: Project, /, agents: tuple[str, ...], purge: bool, copy: str | None, yes: bool, dry_run: bool
) -> Answer:
    """Take memsync out of your agents' settings; memories stay, unless you --purge.

    Without --agent git's hooks and merge drivers go too. What was there before comes back byte for byte, also where you have edited
    the rest of the file since.

    --purge shows all that goes, writes copies of the memories first, of the private ones apart, and says how to have
    them again. Your own store for every project stays.

    \b
    Examples:
      memsync uninstall
      memsync uninstall --agent codex --dry-run
      memsync uninstall --purge
    """
    if purge and agents:
        raise UsageError("--purge is for all of it, and --agent for one client; give one of them")
    copies = _save_before_purge(project, copy, yes=yes) if purge and not dry_run else []
    result = installing.uninstall(
        project, installing.choose(project, agents or facts.list_names()), dry_run=dry_run, git_hooks=not agents
    )
    if purge:
        result = _purge(project, result, copies, dry_run=dry_run)
    elif result.done and not dry_run:
        project.journal.note_change("took memsync out of the agents' settings", "init")
    return Answer(result, _format_installed(result, []))


def _save_before_purge(project: Project, copy: str | None, *, yes: bool) -> list[Copy]:
    if not yes:
        for one in list_doomed(project):
            click.echo(f"  {one.path} ({one.what})", err=True)
        if not is_dialogue():
            raise UsageError("this would remove all of that, and nobody is here to be asked; --yes does it")
        click.confirm("Remove all of that, after copies of the memories are written?", abort=True, err=True)
    return save_copies(project, Path(copy) if copy else None)


def _purge(project: Project, result: Installed, copies: list[Copy], *, dry_run: bool) -> Installed:
    doomed = purging.list_doomed(project)
    if dry_run:
        done = [f"would remove {one.path} ({one.what})" for one in doomed]
        return replace(result, done=(*result.done, *done), notes=())
    is_tracked = purging.is_tracked(project)
    back = purging.list_ways_back(project, copies)
    done = [*(f"wrote a copy to {copy.path} ({copy.held})" for copy in copies), *purging.purge(doomed)]
    notes = ["commit the removal of .gobby; older commits keep what they have"] if is_tracked else []
    notes += ["to have them again:", *(f"  {line}" for line in back)] if back else []
    return replace(result, done=(*result.done, *done), notes=tuple(notes))


def _format_installed(result: Installed, end: Sequence[str]) -> str:
    head = ["nothing is written; this would be done:"] if result.dry_run and result.done else []
    lines = [*head, *(result.done or ["nothing to do"]), *result.notes, *end]
    return "\n".join([*lines, f"undo: {result.undo}"] if result.undo and result.done else lines)


@command(cli, is_quiet=True)
@click.option("--fix", is_flag=True, help="Repair what is safe; nothing is lost.")
def doctor(project: Project, /, fix: bool) -> Answer:
    """Look for problems; --fix repairs what is safe.

    Exit 1 if there are any. Without --fix nothing is written.

    \b
    Examples:
      memsync doctor
      memsync doctor --fix
    """
    done = fix_findings(project) if fix else []
    found = examine(project)
    text = "\n".join([*(f"fixed {line}" for line in done), _format_findings(found)])
    return Answer({"fixed": done, "findings": found}, text, 1 if any(one.level != "note" for one in found) else 0)


def _format_findings(found: Sequence[Finding]) -> str:
    lines = [
        f"{click.style(f.level, fg=_LEVELS[f.level])} {render.one_line(f.where)}: {render.one_line(f.what)}"
        for f in found
    ]
    if any(finding.fixable for finding in found):
        lines.append("`memsync doctor --fix` fixes what is safe")
    return "\n".join(lines) or "all is well"


@cli.command()
@click.option("--keep", is_flag=True, help="Leave the repository for you to look at.")
def demo(keep: bool) -> None:
    """Show memsync at work in a temporary repository.

    \b
    Example:
      memsync demo
    """
    for line in tell(keep=keep):
        if line.startswith("# "):
            click.echo(f"\n{click.style(line[2:], bold=True)}")
        else:
            head, rest, more = line.partition("\n")
            click.echo(f"{click.style(head, fg='cyan')}{rest}{more}")
        if terminal.is_terminal():
            time.sleep(_PAUSE)


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of SHELL: commands, options, ids with their texts, tags, types, settings, revisions.

    \b
    Examples:
      memsync completion bash >> ~/.bashrc
      memsync completion zsh > ~/.zfunc/_memsync    # with fpath=(~/.zfunc $fpath) before compinit in ~/.zshrc
      memsync completion fish > ~/.config/fish/completions/memsync.fish
    """
    from memsync.cli.app import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "memsync", "_MEMSYNC_COMPLETE").source())
