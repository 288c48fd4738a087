"""`memsync mcp`, `serve` and `ui`: the processes that stay."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from memsync.agents import serving
from memsync.agents.wire import IDLE
from memsync.cli import render
from memsync.cli.app import cli
from memsync.cli.options import all_scopes_option, choose_scopes
from memsync.errors import NotInstalled, UsageError
from memsync.memories.journal import SESSION_NAMES
from memsync.memories.project import Project
from memsync.store.places import locate
from memsync.system.texts import count


@cli.command()
@click.option(
    "--tools",
    default="core",
    help="Groups, with commas: core (default), memories, history, dedup, learning, tidy, skills; all.",
)
@click.option("--whole", is_flag=True, help="Answer with whole objects, for programs.")
def mcp(tools: str, whole: bool) -> None:
    """Serve memories to an MCP client on standard input and output.

    A client starts it by itself: `memsync init` says so in the settings of
    Claude Code, Codex and Gemini CLI. It ends when the client hangs up.

    Nine tools are offered, and answers are short, because a model pays for
    every word of both.

    \b
    Examples:
      claude mcp add memsync -- memsync mcp
      memsync mcp --tools core,history
    """
    if find_spec("mcp") is None:
        raise NotInstalled("the MCP server", "mcp")
    if sys.stdin is not None and sys.stdin.isatty():
        click.echo("memsync: waiting for an MCP client on standard input; Ctrl-C ends it", err=True)
    from memsync.mcp.early import choose
    from memsync.mcp.server import serve

    layout = locate(Path())
    named = os.environ.get("CLAUDE_PROJECT_DIR", "")  # what counts where this is not a project
    is_project = layout.git or (layout.project and layout.project.directory.is_dir())
    start = layout.start if is_project or not os.path.isdir(named) else Path(named)
    serve(start, choose(tools), whole=whole)


@cli.command()
@click.option(
    "--idle",
    type=click.FloatRange(0, min_open=True),
    default=IDLE,
    show_default=True,
    metavar="SECONDS",
    help="End after so long without a question.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def serve(idle: float, as_json: bool) -> None:
    """Hold the project open, so that hooks are answered sooner.

    Answers are the same, and nothing needs it. `memsync mcp` and `memsync ui`
    answer hooks too while they run. There is one for a project. Ctrl-C or
    SIGTERM ends it. With memory.resident in your own settings, a hook starts
    it.

    \b
    Examples:
      memsync serve
      memsync serve --idle 3600 --json
      memsync config --global memory.resident on
    """

    def say(path: Path) -> None:
        text = f"serving on {path}; Ctrl-C ends it, or {idle:g} seconds of rest"
        value = {"pid": os.getpid(), "path": str(path), "idle": idle}
        click.echo(render.to_json(value) if as_json else text)
        sys.stdout.flush()

    env = {name: value for name, value in os.environ.items() if name not in SESSION_NAMES}  # whoever started it
    serving.serve(Path(), idle=idle, say=say, env=env)


@cli.command()
@click.option("--port", type=click.IntRange(0, 65535), help="Listen there (0: anywhere). Default: this project's own.")
@click.option("--no-open", is_flag=True, help="Only print the address.")
@click.option(
    "--export",
    "report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write one file for people without memsync instead, with what the repository shows.",
)
@click.option("--force", is_flag=True, help="With --export: replace the file, whosever it is.")
@all_scopes_option
@click.option("--against", default="", metavar="BRANCH", help="With --export: what the branch is compared with.")
def ui(port: int | None, no_open: bool, report: Path | None, against: str, *, force: bool, all_scopes: bool) -> None:
    """Show memories, skills and health in a browser, to see and change them.

    Prints an address with a token that lets in this machine's browser, and
    nobody else; the token is new after each start. Ctrl-C ends it.

    \b
    Examples:
      memsync ui
      memsync ui --no-open --port 8010
      memsync ui --export report.html
    """
    if report is None and (against or force or all_scopes):
        raise UsageError("--against, --force and --all-scopes are for --export")
    if report is not None:
        from memsync.web.export import write_report

        with Project.open() as project:
            scopes = choose_scopes(None, all_scopes=all_scopes)
            number = write_report(project, report, against=against, scopes=scopes, force=force)
        click.echo(f"{report}: {count(number, 'memory')}")
        return
    from memsync.web.serve import open_port

    with open_port(Path(), port=port, opens=not no_open, say=click.echo) as (layout, keys, listener):
        from memsync.web.server import run  # a browser waits meanwhile, on a port that listens already

        run(Path(), layout, keys, listener)
