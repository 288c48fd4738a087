"""The files of a repository as git has them, and what they say, each read once and within limits."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from memsync.store import yamltext
from memsync.store.checkout import list_files
from memsync.system import limits

_SKIPPED: Final = frozenset(
    ".git .hg .svn .venv venv env node_modules vendor target build dist out .tox .nox .mypy_cache .pytest_cache"
    " __pycache__ .gradle .idea .vscode .next .cache site-packages Pods .terraform .gobby".split()
)
# Bytes of one file that are read, and files that are listed: a scan takes seconds, whatever the tree.
_LARGEST: Final = 400_000
_MOST: Final = 200_000


class Tree:
    """The files under *root*, with *new* also those that git does not track yet; paths are relative, with forward slashes. Links are not followed."""

    def __init__(self, root: Path, *, new: bool = True) -> None:
        self.root = root
        self._new = new
        self._texts: dict[str, str | None] = {}
        self._data: dict[str, dict[str, Any]] = {}

    @cached_property
    def files(self) -> list[str]:
        """The paths of all files that git would take, sorted; outside git, without what is usually ignored."""
        known = list_files(self.root, new=self._new)
        return sorted(self._walk() if known is None else known)[:_MOST]

    def _walk(self) -> Iterator[str]:
        for directory, inside, names in os.walk(self.root):
            inside[:] = sorted(name for name in inside if name not in _SKIPPED)
            for name in names:
                yield os.path.relpath(os.path.join(directory, name), self.root).replace(os.sep, "/")

    @cached_property
    def names(self) -> frozenset[str]:
        """The same, to ask whether there is one."""
        return frozenset(self.files)

    def text(self, path: str) -> str:
        """Return the text of a file; empty if there is no such file, it is not text, or it is too large."""
        if path not in self._texts:
            self._texts[path] = self._read(path) if path in self.names else None
        return self._texts[path] or ""

    def _read(self, path: str) -> str | None:
        try:
            return self.read(path).decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            return None

    def read(self, path: str) -> bytes:
        """Return the bytes of a file; none if there is no such file, it is a link, or it is too large."""
        file = f"{self.root}/{path}"
        try:
            found = os.lstat(file)
            if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
                return b""
            with open(file, "rb") as opened:
                return opened.read()
        except OSError:
            return b""

    def data(self, path: str) -> dict[str, Any]:
        """Return the mapping of a TOML, YAML or JSON file, whole-line comments allowed; empty if it cannot be read."""
        if path not in self._data:
            try:
                found = _parse(path, self.text(path))
            except (ValueError, yamltext.NotYaml):
                found = {}
            self._data[path] = found if isinstance(found, dict) else {}
        return self._data[path]

    def matching(self, *suffixes: str, depth: int = 1) -> list[str]:
        """Return the paths that end so, at most *depth* folders deep."""
        return [path for path in self.files if path.endswith(suffixes) and path.count("/") < depth]


def _parse(path: str, text: str) -> Any:
    if path.endswith(".toml"):
        return limits.read_toml(text)
    if path.endswith((".yml", ".yaml")):
        return yamltext.read(text)
    return limits.read_json(re.sub(r"^[ \t]*//.*$", "", text, flags=re.MULTILINE), limits.LARGEST_SETTINGS)
