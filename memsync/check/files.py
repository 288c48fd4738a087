"""Which files of a repository tell agents how to work, and what files and folders it has."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import Final

from memsync.store.tree import Tree

_NAMED: Final = re.compile(
    r"(?:.*/)?(?:CLAUDE|AGENTS?|GEMINI|QWEN|SKILL)\.md$|(?:.*/)?\.(?:cursor|windsurf)rules$|(?:.*/)?\.clinerules(?:/.*\.md)?$"
    r"|(?:.*/)?copilot-instructions\.md$|(?:.*/)?\.github/(?:instructions|agents|prompts)/.*\.md$"
    r"|(?:.*/)?\.(?:cursor|windsurf|claude)/rules/.*\.mdc?$|(?:.*/)?\.(?:claude|gemini|codex|opencode)/(?:agents|commands|agent|command)/.*\.md$"
)
# The same for git, about: what a hook of git asks before it starts us.
_ABOUT: Final = "CLAUDE.md AGENTS.md GEMINI.md .github/**/*instructions.md .cursor/rules/** .claude/**/*.md"
PATTERNS: Final = tuple(f":(top,glob)**/{name}" for name in _ABOUT.split())
# What is for another project, or is looked at by tests.
_ELSEWHERE: Final = re.compile(
    r"(?:^|/)(?:node_modules|vendor|third_party|templates?|fixtures?|testdata|__tests__|tests?|evals?|examples?|samples?|assets|scaffold\w*|boilerplates?|_?archived?|[^/]*-templates?|(?:[^/]*-)?snapshots?|[0-9a-f]{40})/",
    re.IGNORECASE,
)

_FOR_PEOPLE: Final = frozenset("md mdx mdc rst txt lock svg png jpg jpeg gif ico woff woff2 pdf zip gz map".split())


def is_instruction(path: str) -> bool:
    """Tell whether *path* is a file that an agent is given to work here."""
    return bool(_NAMED.match(path)) and not _ELSEWHERE.search(path)


def list_instructions(paths: Iterable[str]) -> list[str]:
    """Return those of *paths* that tell agents how to work here."""
    return [path for path in paths if path.endswith((".md", ".mdc", "rules")) and is_instruction(path)]


def is_elsewhere(path: str) -> bool:
    """Tell whether *path* is for another project, or is looked at by tests."""
    return bool(_ELSEWHERE.search(path))


def is_task(path: str) -> bool:
    """Tell whether the instruction file *path* says how to do a task, and not how the repository is."""
    return bool(re.search(r"(?:^|/)(?:skills|agents|commands?|prompts)/|(?:^|/)SKILL\.md$", path))


class Ground:
    """The files and folders of a tree, to ask whether something is there, under its whole path or the end of it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.names = tree.names

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder that has a file of git's somewhere in it."""
        found: set[str] = set()
        for path in self.names:
            folder = path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """The files and folders of each name, in small letters."""
        found = defaultdict(list)
        for path in (*self.names, *self.folders):
            found[path.rpartition("/")[2].lower()].append(path)
        return dict(found)

    def list_named(self, name: str) -> list[str]:
        """Return the files and folders that are called *name*, but for capitals."""
        return self._by_name.get(name.lower(), [])

    def has(self, path: str) -> bool:
        """Tell whether *path*, from the root, is a file or folder of git's, or stands in the work tree all the same."""
        if path in self.names or path in self.folders or path in ("", "."):
            return True
        return "\0" not in path and len(path) < 1_000 and os.path.lexists(self.tree.root / path)

    def ends(self, path: str) -> list[str]:
        """Return the files and folders whose paths end with *path*."""
        named = self.list_named(path.rpartition("/")[2])
        return [one for one in named if one == path or one.endswith(f"/{path}")]

    def read_code(self) -> Iterator[tuple[str, bytes]]:
        """Yield each file of git's that is not written for people, and what it has."""
        for path in self.tree.files:
            if path.rpartition(".")[2].lower() not in _FOR_PEOPLE and (data := self.tree.read(path)):
                yield path, data

    def find_words(self, words: Collection[str], *, is_whole: bool = False) -> set[str]:
        """Return those of *words* that stand somewhere in the code, with *is_whole* not only in longer words."""
        left = {word: word.encode() for word in words}
        for _, data in self.read_code() if left else ():
            for word in [word for word, spelled in left.items() if spelled in data]:
                if not is_whole or re.search(rb"(?<!\w)%s(?!\w)" % re.escape(left[word]), data):
                    del left[word]
            if not left:
                break
        return set(words) - left.keys()
