"""Mirrors over the notes that teams have published: `MEMSYNC_PUBLIC` names a folder with clones of their repositories.

Nothing of them is in this project, and only counts are printed. A repository is read by git at HEAD; nothing of it is run.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from memsync import Memsync
from memsync.learn.worth import why_dropped
from memsync.transfer.mirrors import Mirrored, add_mirror, load_mirrors, sync_mirrors
from memsync.transfer.readers import Unit, split
from memsync.transfer.sources import is_on_user

FOLDERS = {
    "serena": re.compile(r"(?:.*/)?\.serena/memories/"),
    "cline": re.compile(r"(?:.*/)?memory-bank/"),
    "claude-memory": re.compile(r"(?:.*/)?\.claude/(?:memory|agent-memory/[^/]+)/"),
}
VAULT = re.compile(r"((?:.*/)?)\.obsidian/")
TURNS = 10


class Published(NamedTuple):
    """A folder of notes in somebody's repository: the git directory, the kind, the folder, and the files below it."""

    git_dir: Path
    kind: str
    folder: str
    names: tuple[str, ...]


def git(git_dir: Path, *words: str) -> bytes:
    return subprocess.run(["git", f"--git-dir={git_dir}", *words], capture_output=True, check=True).stdout


def list_folders(git_dir: Path) -> Iterator[tuple[str, str]]:
    """Yield the kind and the folder of each file of notes, as often as it has some."""
    paths = git(git_dir, "ls-tree", "-rz", "--name-only", "HEAD").decode("utf-8", "replace").split("\0")
    for path in paths:
        yield from ((kind, match[0]) for kind, pattern in FOLDERS.items() if (match := pattern.match(path)))
        if match := VAULT.match(path):
            yield "obsidian", match[1]
    named = subprocess.run(
        ["git", f"--git-dir={git_dir}", "grep", "-lzE", "^permalink: ", "HEAD", "--", "*.md"],
        check=False,
        capture_output=True,
    )
    for path in named.stdout.decode("utf-8", "replace").split("\0"):
        yield from [("basic-memory", f"{os.path.dirname(path).removeprefix('HEAD:')}/")] if "/" in path else []


def list_published() -> Iterator[Published]:
    root = os.environ.get("MEMSYNC_PUBLIC", "")
    heads = [head for depth in ("*", "*/*") for head in Path(root).glob(f"{depth}/HEAD")] if root else []
    for git_dir in sorted(head.parent for head in heads):
        for kind, folder in sorted(set(list_folders(git_dir))):
            below = git(git_dir, "ls-tree", "-rz", "--name-only", f"HEAD:{folder}").decode("utf-8", "replace")
            if names := tuple(name for name in below.split("\0") if name.endswith(".md")):
                yield Published(git_dir, kind, folder, names)


PUBLISHED = list(list_published())
NAMES = [f"{one.kind}-{number}" for number, one in enumerate(PUBLISHED)]


class Sides:
    """A mirrored folder and the memories, both of which somebody edits."""

    def __init__(self, project: Memsync, published: Published, folder: Path) -> None:
        self.project, self.folder, self.rng = project, folder, random.Random(published.folder)
        self.split = partial(split, observations=published.kind == "basic-memory")
        for name in published.names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(git(published.git_dir, "cat-file", "blob", f"HEAD:{published.folder}{name}"))
        self.numbers = iter(range(1, 10_000))
        add_mirror(project, published.kind, folder)

    def read(self) -> dict[Path, str]:
        return {path: path.read_bytes().decode("utf-8", "replace") for path in sorted(self.folder.rglob("*.md"))}

    def list_units(self) -> list[tuple[Path, Unit]]:
        return [(path, unit) for path, text in self.read().items() for unit in self.split(text)]

    def contents(self) -> list[str]:
        return [" ".join(entry.content.split()) for entry in self.project.memories()]

    def sync(self) -> Mirrored:
        """Bring both together; a second time there is nothing to do, and no text is there twice."""
        (done,), (again,) = sync_mirrors(self.project), sync_mirrors(self.project)
        assert (again.memories, again.statements) == (0, 0)
        contents = self.contents()
        assert len(contents) == len(set(contents))
        return done

    def skeleton(self, text: str) -> str:
        """Return what stands in *text* outside of statements."""
        for unit in reversed(list(self.split(text))):
            text = text[: unit.start] + text[unit.end :]
        return text

    def draw(self, text: str) -> str:
        return f"{text}, and that is edition {next(self.numbers)} of it"

    def edit_file(self) -> str:
        """Edit a statement where it stands, and return what it says now; "" where none can be edited."""
        held = set(self.contents())
        found = [(path, unit) for path, unit in self.list_units() if unit.text in held]
        if not found:
            return ""
        path, unit = self.rng.choice(found)
        new, text = self.draw(unit.text), path.read_bytes().decode()
        path.write_bytes((text[: unit.start] + unit.spell(new) + text[unit.end :]).encode())
        return new

    def edit_memory(self, taken: str) -> str:
        entries = [entry for entry in self.project.memories() if entry.content.split()[:4] != taken.split()[:4]]
        if not entries:
            return ""
        entry = self.rng.choice(entries)
        new = self.draw(" ".join(entry.content.split()))
        self.project.update(entry.id, content=new)
        return new


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not PUBLISHED, reason="MEMSYNC_PUBLIC names no folder with repositories that have notes of a tool")
@pytest.mark.parametrize("published", PUBLISHED, ids=NAMES)
def test_no_statement_of_published_notes_is_lost_or_doubled_and_no_other_byte_changes(published, repo):
    with Memsync.open(repo.root) as project:
        sides = Sides(project, published, repo.root / "theirs")
        begun = sides.read()
        done = sides.sync()
        assert {path: text for path, text in sides.read().items() if path in begun} == begun
        shown = {
            path for path in begun if not any(part.startswith(".") for part in path.relative_to(sides.folder).parts)
        }
        if published.kind == "claude-memory":  # what a note says of its user is not for git
            shown -= {path for path, text in begun.items() if is_on_user(text)}
        wanted = {unit.text for path, unit in sides.list_units() if path in shown and not why_dropped(unit.text)}
        said = {row.said for mirror in load_mirrors(project) for row in mirror.rows}
        assert len(wanted - said) <= len(done.notes)  # of what is not taken it says why
        outside = {path: sides.skeleton(text) for path, text in begun.items()}
        for _ in range(TURNS):
            in_file = sides.edit_file()
            in_memory = sides.edit_memory(in_file)
            done = sides.sync()
            edits = {text for text in (in_file, in_memory) if text and not why_dropped(text)}
            assert edits <= set(sides.contents()) or done.notes
            assert {path: sides.skeleton(text) for path, text in sides.read().items() if path in outside} == outside
        print(f"{len(wanted)} statements")
