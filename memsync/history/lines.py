"""Where the memory file is for git, and its lines at a moment: now, or as a commit has it, which is read a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from memsync.errors import NoHistory
from memsync.format import jsonl
from memsync.format.codec import Line
from memsync.git import history
from memsync.memories.project import Project
from memsync.store.places import SKILLS


@dataclass(frozen=True, slots=True)
class Files:
    """Where the memory file of a checkout is, for git: the top of the checkout, and the path from there."""

    root: Path
    path: str

    @property
    def folder(self) -> str:
        """The project from the top, with a slash behind it; "" if it is the top."""
        return f"{Path(self.path).parent.parent.as_posix()}/".removeprefix("./")

    @property
    def skills(self) -> str:
        """The folder of the project's skills, from the top."""
        return f"{self.folder}{SKILLS}"


def files_of(project: Project) -> Files:
    """Return where git keeps the project's memories.

    Raises:
        NoHistory: the project is not in a checkout.
    """
    git = project.layout.git
    if git is None or project.layout.project is None:
        raise NoHistory(f"{project.layout.start} is not in a git checkout, so there is no history to look into")
    root = git.root.resolve()
    return Files(root, project.store("project").path.relative_to(root).as_posix())


def live_lines(data: bytes | None) -> dict[str, Line]:
    """Return the lines of the live memories of a file, by id."""
    return {id_: line for id_, line in jsonl.current(jsonl.read_lines(data or b"")).items() if line.memory}


def read_live(
    root: Path, path: str, commit: str, known: Mapping[bytes, Line], pick: Callable[[bytes], bytes] | None = None
) -> dict[str, Line]:
    """Return what `live_lines` does of the file in *commit*, of the lines that *pick* leaves; it is never held as a whole."""
    found: dict[str, Line] = {}

    def take_in(block: bytes) -> bytes:
        lines = jsonl.read_lines(pick(block) if pick else block, known)
        found.update((line.id, line) for line in lines if line.id is not None)
        return b""

    history.read(root, [(commit, path)], take_in)
    for id_ in [id_ for id_, line in found.items() if not line.memory]:
        del found[id_]
    return found


def lines_known(project: Project) -> dict[bytes, Line]:
    """Return the lines of the work tree, by their bytes: other versions of the file have most of them too."""
    store = project.store("project")
    store.refresh()
    return store.lines()


def lines_now(project: Project) -> dict[str, Line]:
    """Return the lines of the memories in the work tree, without their bytes, by id."""
    store = project.store("project")
    store.refresh()
    return {id_: Line(b"", id_, memory) for id_, memory in store.memories().items()}
