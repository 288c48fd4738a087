"""Whether git merges memories record by record: what is in force here, and what everybody gets who clones.

Git is asked, not the files: a later line, another `.gitattributes` or a moved folder may undo what ours says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from memsync.git import driver
from memsync.store.checkout import Checkout


@dataclass(frozen=True, slots=True)
class MergeRule:
    """How git merges the memory file *path*: the attribute in the work tree and in HEAD, and our driver in this clone.

    An attribute is a name, such as memsync, union or unspecified; `committed` is "" where HEAD has no such file.
    """

    path: str
    here: str
    committed: str
    has_driver: bool

    def find_problems(self) -> Iterator[str]:
        """Yield what keeps memories from being merged by us, and what to do about it."""
        if not self.has_driver:
            yield "this clone has no merge driver, so memories are merged as text; `memsync git install` sets it up"
        if self.here == "unspecified":
            yield f"no .gitattributes has a merge rule for {self.path}; `memsync init` adds it, then commit that file"
        elif self.here != driver.MERGE:
            yield f"another rule is in force for {self.path}, merge={self.here}; take it out, or move ours below it"
        elif self.committed not in ("", driver.MERGE):
            now = "no merge rule" if self.committed == "unspecified" else f"merge={self.committed}"
            yield f"the merge rule for {self.path} is not committed (HEAD has {now}), so other clones merge it as text; commit .gitattributes"


def read_rule(checkout: Checkout, path: str, *, has_driver: bool) -> MergeRule:
    """Ask git how it merges *path*, the memory file from the top."""
    return MergeRule(path, _ask_attribute(checkout, path), _ask_committed(checkout, path), has_driver)


def _ask_attribute(checkout: Checkout, path: str, *options: str, index: Path | None = None) -> str:
    env = {"GIT_INDEX_FILE": str(index)} if index else {}
    said = checkout.run("check-attr", *options, "-z", "merge", "--", path, env=env).paths
    return said[2] if len(said) > 2 else "unspecified"


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
        return _ask_attribute(checkout, path, "--cached", index=index)
