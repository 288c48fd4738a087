"""Short reading commands that a `memsync serve` of the project may answer: the same bytes, or the command does it itself.

Whatever is not certainly the same is not asked, or not answered: a terminal, colours, another environment, directory,
version or installation, what looks further than the open stores, and all that fails. Imports next to nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Final

    from memsync.agents.injection import Reply
    from memsync.memories.project import Project

NAMES: Final = frozenset({"recall", "search", "show"})
SESSION: Final = ("MEMSYNC_SESSION_ID", "CLAUDE_CODE_SESSION_ID")  # the first that is set is told
_PATIENCE: Final = 0.5  # seconds for all servers
# What says in an environment what a reading command prints; of git's, which editor it has does not.
_COUNTS: Final = ("FORCE_", "GIT_", "HOME", "LANG", "LC_", "MEMSYNC_", "PYTHON", "SUDO_UID", "TZ", "XDG_")
_FREE: Final = frozenset({*SESSION, "GIT_EDITOR"})
_SHOWS: Final = ("FORCE_COLOR", "CLICOLOR_FORCE", "FORCE_HYPERLINK")
_FURTHER: Final = ("at", "here", "repos", "all_repos", "hub", "skills", "since")  # options that look elsewhere


def ask(words: Sequence[str]) -> bool:
    """Have a server answer the command line *words*, and print that; return whether one did."""
    out = sys.stdout
    if out is None or out.isatty() or out.encoding != "utf-8" or any(map(os.environ.get, _SHOWS)):
        return False
    if not words[1:] or not {"--help", "-h"}.isdisjoint(words):
        return False
    from memsync.agents import wire

    session = next(filter(None, map(os.environ.get, SESSION)), "")
    about = {"event": wire.COMMAND, "words": words, "session": session, "like": fingerprint(os.environ)}
    try:
        return wire.ask(about, os.getcwd(), os.environ, _PATIENCE, _print)
    except OSError:  # no working directory
        return False


def fingerprint(env: Mapping[str, str]) -> str:
    """Return a hash of what two processes must have in common to answer alike: the installation, and what counts in *env*."""
    from memsync.system.digests import sha256

    rows = [f"{name}={value}" for name, value in env.items() if name.startswith(_COUNTS) and name not in _FREE]
    return sha256(os.fsencode("\0".join([__file__, sys.version, *sorted(rows)]))).hexdigest()


def _print(reply: Mapping[str, str]) -> None:
    with contextlib.suppress(OSError):  # closed
        _write(2, reply["err"])
    with contextlib.suppress(BrokenPipeError):  # the reader (head, a pager) has seen enough
        _write(1, reply["out"])


def _write(number: int, text: str) -> None:
    data = text.encode()
    while data:
        data = data[os.write(number, data) :]


def answer(project: Project, request: Mapping[str, Any]) -> Reply | None:
    """Return what the command that *request* has the words of prints, after noting what it uses; None: it has to do that itself.

    Raises:
        ClickException, MemsyncError: as the command itself will say.
    """
    name, *words = request["words"]
    if request["like"] != fingerprint(project.env) or name not in NAMES or not _is_plain(project):
        return None
    import click

    from memsync.agents.injection import Reply
    from memsync.cli import finding
    from memsync.cli.render import to_json

    made: Any = getattr(finding, name)
    with made.make_context(name, words) as ctx:
        options = dict(ctx.params)
        as_json = options.pop("as_json")
        if any(map(options.get, _FURTHER)) or not (options.get("query") or options.get("words")):
            return None
        is_brief = project.is_brief
        try:
            with project.journal.in_session(request["session"]):
                found = made.callback.__wrapped__(project, **options)
        finally:
            project.is_brief = is_brief  # it ends soon, this process does not
            project.journal.write()
    text = to_json(found.value) if as_json else click.unstyle(found.text)
    return Reply(f"{text}\n", lambda: None) if _is_plain(project) else None


def _is_plain(project: Project) -> bool:
    """Tell whether a command would look at the open stores alone, and say nothing on standard error."""
    from memsync.store.settings import BUILT_IN
    from memsync.store.workflow import find_waiting

    return not (
        project.layout.notes
        or project.loaded.unreadable
        or project.above
        or project.settings.embedder not in BUILT_IN
        or find_waiting(project.layout, project.loaded)
        or any(True for _ in project.finder.find_problems())
    )
