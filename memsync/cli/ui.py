"""`memsync ui`."""

from __future__ import annotations

from pathlib import Path

import click

from memsync.cli.app import cli


@cli.command()
@click.option("--port", type=click.IntRange(0, 65535), help="Listen there (0: anywhere). Default: this project's own.")
@click.option("--no-open", is_flag=True, help="Only print the address.")
def ui(port: int | None, no_open: bool) -> None:
    """Show memories, skills and health in a browser, to see and change them.

    Prints an address with a token that lets this machine's browser in, and
    nobody else; it is another one after each start. Ctrl-C ends it.

    \b
    Examples:
      memsync ui
      memsync ui --no-open --port 8010
    """
    from memsync.web.serve import serve

    serve(Path(), port=port, opens=not no_open, say=click.echo)
