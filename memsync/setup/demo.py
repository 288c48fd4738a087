"""What memsync does, shown by doing it in a temporary git repository."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from memsync.agents.session import RecallSession
from memsync.errors import MemsyncError
from memsync.memories.project import Project
from memsync.setup import repository
from memsync.store import checkout
from memsync.transfer import sources

_SET: Final = Path(__file__).with_name("demo.jsonl")
_WIDTH: Final = 92


def tell(*, keep: bool = False) -> Iterator[str]:
    """Yield the lines of the story; each is the result of the real thing."""
    directory = Path(tempfile.mkdtemp(prefix="memsync-demo-"))
    try:
        yield from _chapters(directory)
        if keep:
            yield f"the repository is {directory}"
    finally:
        if not keep:
            with suppress(OSError):
                shutil.rmtree(directory)


def _chapters(directory: Path) -> Iterator[str]:
    project = directory / "shop"
    project.mkdir()
    checkout.create(project, name="Demo", email="demo@example.org")
    with Project.open(project, env={"MEMSYNC_HOME": str(directory / "home")}) as memsync:
        yield "# Memories are lines of a file in your repository"
        repository.init(memsync)
        yield _print_line("memsync init", "created .gobby/memories.jsonl, the only place where memories live")
        report = memsync.import_(sources.read(_SET))
        yield _print_line("memsync import team.jsonl", f"{report.count('created')} created, 0 lost, one line each")
        yield "# They are found by words, parts of names and meaning, typos or not"
        yield from _ask_questions(memsync)
        yield "# A copy is not stored twice, and an edit by hand counts at once"
        yield _remember_copy(memsync)
        path = project / ".gobby" / "memories.jsonl"
        path.write_text(path.read_text(encoding="utf-8").replace("port 5432", "port 5433"), encoding="utf-8")
        found = _recall(memsync, "postgres port", "5433")
        yield _print_line("an editor changes 5432 to 5433 in the file", found)
        repo_line = checkout.commit_all(project, "Remember how the shop works")
        yield _print_line("git commit", f"{repo_line}: memories travel with the code")
        yield "# The next session of an agent is given what fits, before it answers"
        yield _brief_agent(memsync, "update the CI workflow to the newest node", "Node 20")


def _ask_questions(memsync: Project) -> Iterator[str]:
    for query, note, expected in (
        ("which node version does CI need?", "", "Node 20"),
        ("intergation tets with dokcer", "   (typos)", "make itest"),
        ("payment gateway", "   (parts of PaymentGateway)", "idempotent"),
    ):
        yield _print_line(f'memsync recall "{query}"{note}', _recall(memsync, query, expected))


def _remember_copy(memsync: Project) -> str:
    again = memsync.remember("prices are integers in  CENTS everywhere; only the views format them.")
    if again.status != "exists":
        raise MemsyncError(f"the demo stored a copy as {again.entry.id}; please report this")
    answer = f"{again.status}: {again.entry.id}, {again.reason}"
    return _print_line("memsync remember (the same text again)", answer)


def _brief_agent(memsync: Project, prompt: str, expected: str) -> str:
    """Return what an agent's hook adds to *prompt*.

    Raises:
        MemsyncError: it does not say what the story expects.
    """
    given = RecallSession(memsync, "demo").at_prompt(prompt).text
    if expected not in given:
        raise MemsyncError(f"the demo did not give {expected!r} at {prompt!r}; please report this")
    return f"> {prompt}\n" + "\n".join(f"    {line}" for line in given.splitlines())


def _recall(memsync: Project, query: str, expected: str) -> str:
    """Return the best answer on one line.

    Raises:
        MemsyncError: it does not say what the story expects.
    """
    hits = memsync.recall(query, limit=1)
    if not hits or expected not in hits[0].content:
        raise MemsyncError(f"the demo did not find {expected!r} for {query!r}; please report this")
    text = f"{hits[0].id} ({hits[0].memory.memory_type}) {hits[0].content}"
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _print_line(command: str, result: str) -> str:
    return f"$ {command}\n    {result}"
