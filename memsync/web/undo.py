"""Taking back what a form did to many memories, or to more than one: as `memsync undo` does, as long as nothing came after it."""

from __future__ import annotations

from memsync.errors import MemsyncError, Remedy
from memsync.janitor import deciding
from memsync.memories import undoing
from memsync.memories.project import Project
from memsync.system.texts import count
from memsync.web import pages
from memsync.web.desk import Done, Given, Routes, Undo

routes = Routes()


def offer(project: Project) -> Undo:
    """Return the form that takes back what is being written: the command after that which is the last one now."""
    return Undo("/undo", {"after": _name_last(project, 0)})


def _name_last(project: Project, number: int) -> str:
    return next((one.at for one in undoing.list_commands(project)[number:]), "")


@routes.writes("/undo")
def take_back(project: Project, given: Given) -> Done:
    """Undo the last command, if it is the one that the form was made for."""
    if not undoing.list_commands(project) or _name_last(project, 1) != given.get("after"):
        raise MemsyncError(
            "something else was written since, so nothing was taken back; ", Remedy("undo", "--list"), " shows what"
        )
    done = deciding.undo_command(project)
    changed = len(done.brought) + len(done.removed)
    return Done(f"took it back: {count(changed, 'memory')} as before", "/", [pages.command("undo")])
