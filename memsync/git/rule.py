"""Whether git merges memories record by record: what is in force here, and what everybody gets who clones.

Git is asked, not the files: a later line, another `.gitattributes` or a moved folder may undo what ours says.
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

_NONE: Final = "unspecified"


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
        if self.here == _NONE:
            yield f"no .gitattributes has a merge rule for {self.path}; `memsync init` adds it, then commit that file"
        elif self.here != driver.MERGE:
            yield f"another rule is in force for {self.path}, merge={self.here}; take it out, or move ours below it"
        elif self.committed not in ("", driver.MERGE):
            now = "no merge rule" if self.committed == _NONE else f"merge={self.committed}"
            yield f"the merge rule for {self.path} is not committed (HEAD has {now}), so other clones merge it as text; commit .gitattributes"


def read_rule(checkout: Checkout, path: str, *, has_driver: bool) -> MergeRule:
    """Ask git how it merges *path*, the memory file from the top."""
    here = checkout.run("check-attr", "-z", "merge", "text", "filter", "working-tree-encoding", "--", path).paths[2::3]
    merge, text, *names = here or [_NONE] * 4
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
        return (checkout.run("check-attr", "--cached", "-z", "merge", "--", path, env=env).paths[2:] or [_NONE])[0]
