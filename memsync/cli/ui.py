"""`memsync ui`."""

from __future__ import annotations

from pathlib import Path

import click

from memsync.cli.app import cli
from memsync.cli.options import all_scopes_option, choose_scopes
from memsync.errors import UsageError
from memsync.memories.project import Project
from memsync.system.texts import count


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

    Prints an address with a token that lets this machine's browser in, and
    nobody else; it is another one after each start. Ctrl-C ends it.

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
    from memsync.web.serve import serve

    serve(Path(), port=port, opens=not no_open, say=click.echo)
