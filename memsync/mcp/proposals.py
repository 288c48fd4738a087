"""The tools that propose memories. What they find waits until the user approves it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from memsync.format.as_json import as_json
from memsync.mcp import shapes
from memsync.mcp.parameters import resolve_inside
from memsync.mcp.tool import ASK, Offer, Progress
from memsync.memories.project import Project

DryRun = Annotated[bool, Field(description="Only say what would be proposed.")]
NoModel = Annotated[bool, Field(description="By rules, even where a model is configured.")]


def init_memory(
    project: Project,
    *,
    scan_codebase: Annotated[bool, Field(description="Read build files, CI, layout, README.")] = True,
    import_claude_md: Annotated[bool, Field(description="Read CLAUDE.md, AGENTS.md, GEMINI.md.")] = True,
    dry_run: DryRun = False,
    no_llm: NoModel = False,
) -> Mapping[str, Any]:
    """Propose the memories that a newcomer to this project would want, each with the file and line it comes from.

    They wait: show them to the user, who runs `memsync review`.
    """
    from memsync.learn.first_memories import start

    done = start(project, scan=scan_codebase, instructions=import_claude_md, dry_run=dry_run, use_model=not no_llm)
    found: Mapping[str, Any] = as_json(done)
    return found


def extract_memories(
    project: Project,
    paths: Annotated[list[str] | None, Field(description="Files of this project; the session if left out.")] = None,
    session: Annotated[str | None, Field(description="The id of another session than this one.")] = None,
    *,
    dry_run: DryRun = False,
    no_llm: NoModel = False,
    progress: Progress,
) -> Mapping[str, Any]:
    """Propose memories from summaries and notes, or from what was said in a session. They wait for the user."""
    from memsync.learn.extract import extract
    from memsync.learn.lessons import transcript_of

    sources = [(path, resolve_inside(project, path)) for path in paths or ()]
    if not sources:
        transcript = transcript_of(project, session or project.journal.session_id)
        sources = [(str(transcript), transcript)]
    found = []
    for number, (name, source) in enumerate(sources):
        progress(number, len(sources))
        done = extract(project, source, use_model=not no_llm, dry_run=dry_run)
        found.append({"source": name, **as_json(done)})
    progress(len(sources), len(sources))
    return {"sources": found}


OFFERS: Final = (
    Offer("memory init", init_memory, "Propose first memories", shapes.Started, ASK, slow=True),
    Offer(
        "memory extract",
        extract_memories,
        "Propose memories from texts",
        shapes.Sources,
        ASK,
        {"--from-session": "session"},
        slow=True,
    ),
)
