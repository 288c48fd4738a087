"""Our lines in a .gitattributes: how git merges, shows and checks out what is ours, as bytes; and what git makes of them.

Git is asked for the rule in force, not the files: a later line, another `.gitattributes` or a moved folder may undo what ours says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

from memsync.git import driver
from memsync.store.checkout import Checkout
from memsync.store.filters import NO_NAME, explain_encoding, gives_bytes, lacks_filter, name_remedy
from memsync.store.places import MEMORIES, SKILLS, STORE_DIR

# LF on every platform, so that a clone on Windows has the same bytes; and never folded away in a review.
_MEMORIES: Final = f"{STORE_DIR}/{MEMORIES} merge=memsync diff=memsync text eol=lf -linguist-generated".encode()
# Git converts the ends of lines in what a filter gave it, and so would take bytes out of what is encrypted.
_FILTERED: Final = _MEMORIES.replace(b"text eol=lf", b"-text")
_SKILLS: Final = f"{SKILLS}/*/SKILL.md merge=memsync-skill".encode()
LINES: Final = (_MEMORIES, _FILTERED, _SKILLS)
_UNSPECIFIED: Final = "unspecified"


def add_lines(data: bytes, newline: bytes = b"\n", *, is_filtered: bool = False) -> bytes:
    """Return *data* with our lines, ended by *newline*, without what a user's own lines about the same files say of themselves.

    A rule for merging of the user's stays, and ours is left out. With *is_filtered* git is to take what a filter makes
    of the memories as bytes.
    """
    rows = (take_as_bytes(data) if is_filtered else data).splitlines(keepends=True)
    said: dict[bytes, set[bytes]] = {}
    for name, *words in filter(None, map(bytes.split, rows)):
        said.setdefault(name, set()).update(map(_name_of, words))
    wanted = (_FILTERED if is_filtered else _MEMORIES, _SKILLS)
    missing = []
    for path, *words in map(bytes.split, wanted):
        line = b" ".join([path, *(word for word in words if _name_of(word) not in said.get(path, ()))])
        if b" merge=" in line:
            missing.append(line + newline)
    gap = newline if missing and rows and not rows[-1].endswith(b"\n") else b""
    return b"".join([*rows, gap, *missing])


def _name_of(word: bytes) -> bytes:
    return word.lstrip(b"-!").partition(b"=")[0]


def is_ours(row: bytes) -> bool:
    """Tell whether *row* is a line of ours, whole or without what a user's own says."""
    return b" merge=" in row and any({*row.split()} <= {*line.split()} for line in LINES)


def take_as_bytes(data: bytes) -> bytes:
    """Return *data* with git told to take what a filter makes of memories as bytes, where our line about them is there."""
    rows = data.splitlines(keepends=True)
    return b"".join(row.replace(_MEMORIES, _FILTERED) if row.rstrip(b"\r\n") == _MEMORIES else row for row in rows)


def remove_lines(data: bytes, committed: bytes) -> bytes:
    """Return *data* without our lines, but for those that are *committed*: these belong to everybody."""
    theirs = {*committed.splitlines()}
    rows = ((row, row.rstrip(b"\r\n")) for row in data.splitlines(keepends=True))
    return b"".join(row for row, bare in rows if bare in theirs or not is_ours(bare))


@dataclass(frozen=True, slots=True)
class MergeRule:
    """How git merges the memory file *path*: the attribute in the work tree and in HEAD, and our driver in this clone.

    An attribute is a name, such as memsync, union or unspecified; `committed` is "" where HEAD has no such file.
    `filter` and `encoding` are names too, of what git does to the file, "" for nothing; `lacks_filter` where this
    clone does not have it, or it does not work; `is_text` where git converts its lines.
    """

    path: str
    here: str
    committed: str
    has_driver: bool
    filter: str = ""
    encoding: str = ""
    lacks_filter: bool = False
    is_text: bool = False

    @property
    def damages(self) -> bool:
        """Whether git takes bytes out of what the filter gave it."""
        return self.is_text and gives_bytes(self.filter)

    def describe_filter(self) -> Iterator[str]:
        """Yield what to know of the filter, if there is one."""
        if self.filter:
            yield f"git's filter {self.filter} is on {self.path}: each clone needs it to read the memories"

    def find_problems(self) -> Iterator[str]:
        """Yield what keeps memories from being merged by us, and what to do about it."""
        if self.damages:
            yield (
                f"git converts line ends in what its filter {self.filter} makes of {self.path}, which cannot be read any more then; "
                f"`memsync init` and `memsync doctor --fix` write -text into our line of .gitattributes, then `git add --renormalize {self.path}` and commit both"
            )
        if self.lacks_filter:
            yield f"this clone has no filter {self.filter} that works, which {self.path} goes through; {name_remedy(self.filter)}"
        if self.encoding:
            yield explain_encoding(self.path, self.encoding)
        if not self.has_driver:
            yield "this clone has no merge driver, so memories are merged as text; `memsync git install` sets it up"
        if self.here == _UNSPECIFIED:
            yield f"no .gitattributes has a merge rule for {self.path}; `memsync init` adds it, then commit that file"
        elif self.here != driver.MERGE:
            yield f"another rule is in force for {self.path}, merge={self.here}; take it out, or move ours below it"
        elif self.committed not in ("", driver.MERGE):
            now = "no merge rule" if self.committed == _UNSPECIFIED else f"merge={self.committed}"
            yield f"the merge rule for {self.path} is not committed (HEAD has {now}), so other clones merge it as text; commit .gitattributes"


def read_rule(checkout: Checkout, path: str, *, has_driver: bool) -> MergeRule:
    """Ask git how it merges *path*, the memory file from the top."""
    here = checkout.run("check-attr", "-z", "merge", "text", "filter", "working-tree-encoding", "--", path).paths[2::3]
    merge, text, *names = here or [_UNSPECIFIED] * 4
    filter_, encoding = ("" if name in NO_NAME else name for name in names)
    lacks = bool(filter_) and lacks_filter(checkout, path, filter_)
    committed = _ask_committed(checkout, path)
    return MergeRule(path, merge, committed, has_driver, filter_, encoding, lacks_filter=lacks, is_text=text == "set")


def _ask_committed(checkout: Checkout, path: str) -> str:
    """Ask by an index that has nothing but HEAD's files of attributes, because `--source` came with git 2.40; "" if HEAD lacks *path*."""
    names = [path, *(str(parent / ".gitattributes") for parent in PurePosixPath(path).parents)]
    rows = checkout.run("ls-tree", "--full-tree", "-z", "HEAD", "--", *names).out.split(b"\0")[:-1]
    others = [row for row in rows if row.partition(b"\t")[2] != os.fsencode(path)]
    if others == rows:
        return ""
    with TemporaryDirectory(prefix="memsync-") as directory:
        index = Path(directory) / "index"  # where there is none, git takes it for empty
        if others:
            stdin = b"".join(row + b"\0" for row in others)
            checkout.run("update-index", "-z", "--index-info", stdin=stdin, env={"GIT_INDEX_FILE": str(index)})
        env = {"GIT_INDEX_FILE": str(index)}
        return (checkout.run("check-attr", "--cached", "-z", "merge", "--", path, env=env).paths[2:] or [_UNSPECIFIED])[
            0
        ]
