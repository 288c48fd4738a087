"""`memsync hook`: what agents call and people hardly ever do."""

from __future__ import annotations

import click

from memsync.agents.client import EVENTS


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("event", metavar="|".join(EVENTS))
@click.option("--client", metavar="claude|codex|gemini", default="claude", help="Whose hook it is.")
def hook(event: str, client: str) -> None:
    """Answer a hook of Claude Code, Codex or Gemini CLI.

    Reads the client's JSON from standard input and prints what it shall add to
    the context, or nothing. Ends within two seconds with code 0, whatever
    happens; .gobby/local/hooks.log says what did.

    \b
    Example:
      echo '{"session_id":"1","prompt":"which port?"}' | memsync hook prompt --client claude
    """
    # Not reached from the command line, which takes a shorter way: the help is here.
    from memsync.agent_hooks import main

    main([event, "--client", client])
