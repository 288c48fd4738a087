"""`memsync serve`."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import click

from memsync.agents.injection import Reply
from memsync.agents.resident import IDLE
from memsync.cli import render
from memsync.cli.app import LOG_FORMAT, cli
from memsync.memories.project import Project


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
    """Hold the project open, so that hooks and recalls are answered sooner.

    Answers are the same, and nothing needs it. `memsync mcp` and `memsync ui`
    answer hooks too while they run; this one also recall, search and show, where
    the output is no terminal. There is one for a project. Ctrl-C or SIGTERM ends
    it. With memory.resident in your own settings, a hook starts it.

    \b
    Examples:
      memsync serve
      memsync serve --idle 3600 --json
      memsync config --global memory.resident on
    """
    from memsync.agents import serving
    from memsync.cli import served

    ear = _Ear(logging.WARNING)
    logging.getLogger().addHandler(ear)
    logging.captureWarnings(True)

    def say(path: Path) -> None:
        told = {"pid": os.getpid(), "path": str(path), "idle": idle}
        click.echo(
            render.to_json(told) if as_json else f"serving on {path}; Ctrl-C ends it, or {idle:g} seconds of rest"
        )
        sys.stdout.flush()
        here.enter_context(redirect_stdout(nowhere))  # from now on commands of others are rendered, for no terminal
        here.enter_context(redirect_stderr(nowhere))

    def answer(project: Project, request: Mapping[str, Any]) -> Reply | None:
        reply = served.answer(project, request)
        return reply and ear.tell(reply)

    env = {name: value for name, value in os.environ.items() if name not in served.SESSION}
    with open(os.devnull, "w", encoding="utf-8") as nowhere, ExitStack() as here:
        serving.serve(Path(), idle=idle, say=say, commands=answer, env=env)


class _Ear(logging.Handler):
    """Keeps what was warned of, at most the last `MOST`, until a command that is answered has told it."""

    MOST = 20

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.setFormatter(logging.Formatter(LOG_FORMAT))
        self._heard: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it, unless it is of an open project: such a command is not answered, and says that itself."""
        if record.name == Project.__module__:
            return
        self._heard[self.format(record).rstrip("\n")] = None
        while len(self._heard) > self.MOST:
            del self._heard[next(iter(self._heard))]

    def tell(self, reply: Reply) -> Reply:
        """Return *reply* with what is to be told."""
        told = list(self._heard)

        def forget() -> None:
            reply.used()
            for text in told:
                self._heard.pop(text, None)

        return reply._replace(err="".join(f"{text}\n" for text in told), used=forget)
