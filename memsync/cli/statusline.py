"""`memsync statusline`."""

from __future__ import annotations

from memsync.cli.app import cli


@cli.command()
def statusline() -> None:
    """Print one short line on this project: how many memories, and how many the session was given.

    Claude Code passes its session on standard input. In the prompt of a shell
    the line has the number of memories alone. Nothing where there are none.

    \b
    Examples:
      memsync statusline
      echo '{"session_id":"1"}' | memsync statusline
    """
    # Not reached from the command line, which takes a shorter way: the help is here.
    from memsync.agents.statusline import main

    main()
