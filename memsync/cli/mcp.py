"""`memsync mcp`."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from memsync.cli.app import cli
from memsync.errors import NotInstalled
from memsync.store.places import locate


@cli.command()
@click.option(
    "--tools",
    default="core",
    help="Groups, with commas: core (default), memories, history, dedup, learning, tidy, skills; all.",
)
@click.option("--whole", is_flag=True, help="Answer with whole objects and their schemas, for programs.")
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

    serve(_choose_start(), choose(tools), whole=whole)


def _choose_start() -> Path:
    """Return where the project is: here, unless this is not a project and the client names one."""
    layout = locate(Path())
    named = os.environ.get("CLAUDE_PROJECT_DIR", "")
    is_project = layout.git or (layout.project and layout.project.directory.is_dir())
    return layout.start if is_project or not os.path.isdir(named) else Path(named)
