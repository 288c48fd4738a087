"""What the commit that is being made has instruction files say that is not so: by what it stages, or by what it takes away. Asks no history for the names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from memsync.check.facts import find_claims
from memsync.check.files import is_instruction
from memsync.check.past import Past
from memsync.check.survey import MEMORIES, find_mentions, read_file, verify
from memsync.check.verify import Finding
from memsync.store.checkout import Checkout
from memsync.store.tree import Tree

_COMMIT: Final = "this commit"


class _Staged(Past):
    """The one step from HEAD to what is staged, as a history."""

    def __init__(self, git: Checkout) -> None:
        super().__init__(git)
        self.changed: list[str] = []
        self.removed: dict[str, str] = {}  # each path that goes, and what it is called then
        parts = iter(git.run("diff", "--cached", "-M", "--name-status", "-z").paths)
        for kind in parts:
            path = next(parts, "")
            new = next(parts, "") if kind[0] in "RC" else path
            if kind[0] in "DR":
                self.removed[path] = new if kind[0] == "R" else ""
            self.changed += [new] if kind[0] != "D" else []

    @cached_property
    def deleted(self) -> dict[str, str]:
        return dict.fromkeys(self.removed, _COMMIT)

    def list_renames(self, _: str) -> dict[str, str]:
        return {old: new for old, new in self.removed.items() if new}


def check_staged(git: Checkout) -> Iterator[Finding]:
    """Yield what is surely wrong in the instruction files that the commit changes, and wherever what it removes is named."""
    past = _Staged(git)
    names = [name for name in past.changed if is_instruction(name) or name == MEMORIES]
    if not names and not past.removed:
        return
    tree = Tree(git.top, new=False)
    words = {part for path in past.removed for part in path.split("/")[-2:]}
    others = [name for name in find_mentions(tree, words) if name not in names]
    said = [one for name in names for one in read_file(tree, name)]
    said += [one for name in others for one in read_file(tree, name) if any(word in one.said for word in words)]
    said = [one for one in said if one.kind != "name" and (one.kind != "row" or any(find_claims(one.row)))]
    yield from (one for one in verify(tree, said, past) if one.sure)
