"""`memsync statusline`: one short line, for the status line of Claude Code and for the prompt of a shell.

It is run all the time, so it loads little, waits for nobody, and says nothing where there are no memories.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, Final

from memsync.system import deadline
from memsync.system.late import import_pathlib

_SECONDS: Final = 1.0  # after which the line stays empty
_LONGEST: Final = 1024 * 1024  # bytes of what the client says


def main() -> None:
    """Print the line for the session that standard input tells of, or for the project here, and end the process."""
    deadline.start(deadline.seconds_of(os.environ, "MEMSYNC_HOOK_SECONDS", _SECONDS), lambda: 0)
    said = _read_input()
    workspace = said.get("workspace")
    named = workspace.get("current_dir") if isinstance(workspace, dict) else said.get("cwd")
    cwd = named if isinstance(named, str) and os.path.isdir(named) else os.getcwd()
    with suppress(OSError):
        os.write(1, describe(cwd, str(said.get("session_id") or "")).encode())
    os._exit(0)


def _read_input() -> dict[str, Any]:
    """Return what the client says; a shell at a terminal says nothing."""
    if sys.stdin is None or os.isatty(0):
        return {}
    from memsync.system.limits import read_json

    with suppress(OSError, ValueError):
        found = read_json(os.read(0, _LONGEST))
        return found if isinstance(found, dict) else {}
    return {}


def describe(cwd: str, session: str) -> str:
    """Return the line for the *session* in the project around *cwd*: how many memories there are, and how many it was given."""
    import_pathlib()
    from memsync.agents.ledger import LEDGER, Ledger
    from memsync.errors import MemsyncError
    from memsync.memories.project import Project

    try:
        project = Project.open(cwd)
        project.stores.refresh()
        count = sum(
            memory.archived_at is None for store in project.stores.values() for memory in store.memories().values()
        )
        given = len(Ledger(project, session).variables().get(LEDGER) or ()) if session else 0
    except (MemsyncError, OSError):
        return "memsync: memory is unavailable\n"
    return f"memsync {count}{f' · {given} given' if given else ''}\n" if count else ""
