"""What only a person may do: in the shell of an agent it is refused, and that is noted in the log of the hooks."""

from __future__ import annotations

from memsync.agents import hooklog
from memsync.agents.notes import scope_of
from memsync.clients.known import find_shell
from memsync.errors import MemsyncError, Remedy
from memsync.memories.project import Project


def require_person(project: Project, what: str) -> None:
    """Note that *what* is done in the shell of an agent, and refuse it unless the user's own settings let agents do it.

    Raises:
        MemsyncError
    """
    if (found := find_shell(project.env)) is None:
        return
    title, variable = found
    is_allowed = project.settings.agent_approvals
    note = {
        "at": project.clock().isoformat(),
        "event": "approval",
        "client": title,
        "what": what,
        "allowed": is_allowed,
    }
    hooklog.write(project.layout, scope_of(project.layout, project.settings), note)
    if not is_allowed:
        why = f"an agent may not {what}, and this is a shell of {title} ({variable} is set): run it in a terminal of your own; there "
        raise MemsyncError(why, Remedy("config --global memory.agent_approvals on"), " lets agents do so")
