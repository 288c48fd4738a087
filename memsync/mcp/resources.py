"""What a client can read, and offer to its user to mention: memories and skills by their addresses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.types import Completion, CompletionArgument, CompletionContext, PromptReference, ResourceTemplateReference

from memsync.errors import MemoryNotFound, MemsyncError, SkillNotFound
from memsync.format.as_json import as_json
from memsync.mcp.tool import Desk, shown
from memsync.memories.project import Project
from memsync.memories.results import list_entries
from memsync.records import shown_id

if TYPE_CHECKING:
    from mcp.server import MCPServer

_MEMORY: Final = "memsync://memories/{id}"
_SKILL: Final = "memsync://skills/{name}"
_LISTED: Final = 100  # how many ids a completion has at most, by the protocol, and a list


def add(server: MCPServer[Any], desk: Desk) -> None:
    """Add them to *server*."""

    async def read(work: Callable[[Project], Any]) -> str:
        try:
            told = await desk.ask(lambda project: shown(work(project), project.vetting.allowed))
        except (MemoryNotFound, SkillNotFound) as error:
            raise ResourceNotFoundError(desk.explain(error)) from error
        except (MemsyncError, OSError) as error:
            raise ResourceError(desk.explain(error)) from error
        text = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False, indent=2)
        return text.encode("utf-8", "replace").decode()

    @server.resource(_MEMORY, name="memory", title="A memory", mime_type="application/json")
    async def memory(id: str) -> str:  # noqa: A002 - the name in the address
        """One memory with everything about it; the id may be an unambiguous beginning of one."""
        return await read(lambda project: as_json(project.get(id)))

    @server.resource("memsync://memories", name="memories", title="Memories", mime_type="application/json")
    async def memories() -> str:
        """The most important memories of this project."""
        return await read(_list_important)

    @server.resource(_SKILL, name="skill", title="A skill", mime_type="text/markdown")
    async def skill(name: str) -> str:
        """The SKILL.md of one skill."""
        return await read(lambda project: project.skills.get(name).path.read_text(encoding="utf-8", errors="replace"))

    _add_completions(server, desk, {_MEMORY: _find_ids, _SKILL: _find_names})


def _add_completions(
    server: MCPServer[Any], desk: Desk, completions: Mapping[str, Callable[[Project, str], list[str]]]
) -> None:
    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(
        ref: PromptReference | ResourceTemplateReference, argument: CompletionArgument, _: CompletionContext | None
    ) -> Completion | None:
        find = completions.get(ref.uri) if isinstance(ref, ResourceTemplateReference) else None
        if find is None:
            return None
        found = await desk.ask(lambda project: find(project, argument.value))
        return Completion(values=found[:_LISTED], total=len(found), has_more=len(found) > _LISTED)


def _list_important(project: Project) -> dict[str, Any]:
    return list_entries([entry for entry in project.memories() if not entry.flagged][:_LISTED])


def _find_ids(project: Project, beginning: str) -> list[str]:
    ids = (shown_id(entry.id) for entry in project.memories())
    return [id_ for id_ in ids if id_.startswith(beginning)]


def _find_names(project: Project, beginning: str) -> list[str]:
    return [entry.name for entry in project.skills.list() if entry.name.startswith(beginning)]
