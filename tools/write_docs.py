"""Write what is generated: `memsync --help`, docs/cli.md, the packaged workflows as JSON. A test holds them equal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from memsync.cli.app import cli
from memsync.store import workflow

ROOT = Path(__file__).parents[1]
HELP = ROOT / "memsync" / "cli" / "help.txt"
REFERENCE = ROOT / "docs" / "cli.md"

_HEAD = """# Command line

Written by `make docs` from `--help`; a test fails when it is not up to date.
"""


def help_text() -> str:
    """Return `memsync --help` as click prints it on 80 columns."""
    return cli.get_help(_context("memsync", cli)) + "\n"


def reference() -> str:
    """Return docs/cli.md: the help of every command."""
    blocks = [f"## {path}\n\n```text\n{text}\n```" for path, text in _walk("memsync", cli)]
    return "\n\n".join([_HEAD.rstrip(), *blocks]) + "\n"


def _walk(path: str, command: click.Command, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    ctx = _context(path.rpartition(" ")[2], command, parent)
    yield path, command.get_help(ctx)
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            child = command.get_command(ctx, name)
            assert child is not None
            yield from _walk(f"{path} {name}", child, ctx)


def _context(name: str, command: click.Command, parent: click.Context | None = None) -> click.Context:
    return click.Context(command, parent, info_name=name, terminal_width=80, **command.context_settings)


if __name__ == "__main__":
    HELP.write_text(help_text(), encoding="utf-8")
    REFERENCE.write_text(reference(), encoding="utf-8")
    workflow.COMPILED.write_text(workflow.compile_packaged(), encoding="utf-8")
