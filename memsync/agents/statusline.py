"""`memsync statusline`: one short line, for the status line of Claude Code and for the prompt of a shell.

It is run all the time, so it loads little, waits for nobody, and says nothing where there are no memories.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from memsync.agents.notes import LEDGER, open_noted, scope_of
from memsync.errors import MemsyncError
from memsync.memories.index_file import open_index
from memsync.memories.listing import count_current
from memsync.store import config
from memsync.store.config import Loaded
from memsync.store.places import Layout, locate
from memsync.system import limits

_SECONDS: Final = 1.0  # after which the line stays empty
_LONGEST: Final = 1024 * 1024  # bytes of what the client says


def main() -> None:
    """Print the line for the session that standard input tells of, or for the project here, and end the process."""
    limits.start_clock(limits.seconds_of(os.environ, "MEMSYNC_HOOK_SECONDS", _SECONDS), lambda: 0)
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
    with suppress(OSError):
        return limits.read_object(os.read(0, _LONGEST))
    return {}


def describe(cwd: str, session: str) -> str:
    """Return the line for the *session* in the project around *cwd*: how many memories there are, and how many it was given."""
    try:
        layout = locate(Path(cwd), os.environ)
        loaded = config.load(layout)
        count = _count(cwd, layout, loaded)
        scope = scope_of(layout, loaded.settings)
        state = open_noted(layout.place(scope), session) if scope else None
        given = len(state.variables(session).get(LEDGER) or ()) if state else 0
    except (MemsyncError, OSError):
        return "memsync: memory is unavailable\n"
    return f"memsync {count}{f' · {given} given' if given else ''}\n" if count else ""


def _count(cwd: str, layout: Layout, loaded: Loaded) -> int:
    """Return how many memories are not archived: by the index, or else by the stores."""
    count = None if loaded.unreadable or layout.notes else open_index(layout, loaded.settings).ask(count_current)
    if count is not None:
        return count
    from memsync.memories.project import Project

    project = Project.open(cwd)
    project.stores.refresh()
    return sum(memory.archived_at is None for store in project.stores.values() for memory in store.memories().values())
