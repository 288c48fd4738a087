"""All that `memsync check` asks, for whoever asks it: the command, the doctor, the hook of git, the desk."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from memsync.check.facts import find_claims
from memsync.check.files import is_instruction, list_instructions
from memsync.check.past import Past
from memsync.check.report import Finding
from memsync.check.statements import Statement, read
from memsync.check.verify import Verifier
from memsync.format import jsonl
from memsync.format.textdiff import diff_lines
from memsync.records import shown_id
from memsync.store import files
from memsync.store.checkout import Checkout
from memsync.store.places import find_git
from memsync.store.tree import Tree
from memsync.system.texts import count, printable

MEMORIES: Final = ".gobby/memories.jsonl"
_COMMIT: Final = "this commit"
# Where a folder or a pipe may be, which git does not list.
AT_ROOT: Final = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")


class Fix(NamedTuple):
    """A file with the sure new names in it: what it was, and what it becomes."""

    file: str
    was: bytes
    new: bytes

    @property
    def patch(self) -> str:
        """What changes, for a person to read."""
        old, new = (data.decode("utf-8", "replace").splitlines() for data in (self.was, self.new))
        rows = [f"--- a/{self.file}", f"+++ b/{self.file}", *diff_lines(old, new, context=1)]
        return "\n".join(map(printable, rows))


def check(root: Path, names: Sequence[str] = (), tree: Tree | None = None) -> list[Finding]:
    """Return what is not so in the files *names* of the *tree* at *root*; without any in all instruction files and memories. Only reads."""
    tree = tree or Tree(root)
    asked = list(names) or [*list_instructions(tree.files), MEMORIES]
    within = dict.fromkeys(filter(None, (resolve(tree, name) for name in asked)))
    return verify(tree, [one for name in within for one in read_file(tree, name)])


def list_unreadable(root: Path, names: Sequence[str] = (), tree: Tree | None = None) -> list[str]:
    """Return for each of the files that `check` would read and cannot: which it is, why, and what to do."""
    tree, found = tree or Tree(root), []
    asked = names or dict.fromkeys([*list_instructions(tree.files), *AT_ROOT])
    for name in filter(None, (resolve(tree, name) for name in asked)):
        file = root / name
        if file.exists() and not file.is_file():
            found.append(f"{name}: not a regular file, so no agent reads it; move it away")
            continue
        data = tree.read(name)
        try:
            data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            found.append(f"{name}:{data.count(10, 0, error.start) + 1}: not UTF-8; save it as UTF-8")
        if not data and file.exists() and file.stat().st_size:
            found.append(f"{name}: not read, because it is too large or not to be opened; split it or give rights")
    return found


def resolve(tree: Tree, name: str) -> str:
    """Return the file of *tree* to which the link *name* leads, or itself if it is none; "" where that is out of the tree."""
    if not os.path.islink(tree.root / name):
        return name
    inside = os.path.relpath(os.path.realpath(tree.root / name), os.path.realpath(tree.root)).replace(os.sep, "/")
    return inside if inside in tree.names else ""


def summarize(root: Path, tree: Tree | None = None) -> str:
    """Return in one line what is surely wrong in the *tree* at *root*; "" if nothing is."""
    sure = [one for one in check(root, tree=tree) if one.sure]
    if not sure:
        return ""
    first, more = sure[0], len({(one.file, one.line) for one in sure}) - 1
    also = f", and {count(more, 'more line')} like it" if more else ""
    return f"{first.file}:{first.line} says `{first.said}`: {first.is_}{also}; `memsync check` shows what to write"


def verify(tree: Tree, statements: Sequence[Statement], past: Past | None = None) -> list[Finding]:
    """Return which of *statements* are not so in *tree*, by the history of its checkout unless *past* is another."""
    return Verifier(tree, past or _find_past(tree.root)).verify(statements) if statements else []


def _find_past(root: Path) -> Past:
    git = find_git(root)
    if git is None:
        return Past(None)
    inside = root.resolve().relative_to(git.root.resolve()).as_posix()
    return Past(Checkout(git.root), "" if inside == "." else f"{inside}/")


def read_file(tree: Tree, name: str) -> list[Statement]:
    """Return what the file *name* of *tree* says; of one with memories what those say that are not archived."""
    if not name.endswith(".jsonl"):
        is_named = name not in tree.names  # by the user, who may look at what git ignores
        return read(name, tree.read(name).decode("utf-8-sig", "replace") if is_named else tree.text(name))
    return list(_read_memories(name, tree.read(name)))


def _read_memories(name: str, data: bytes) -> Iterator[Statement]:
    last = {line.id: (number, line.memory) for number, line in enumerate(jsonl.read_lines(data), 1) if line.memory}
    for number, memory in last.values():
        if memory.archived_at is None:
            for one in read(name, memory.content):
                yield one._replace(line=number, section=f"memory {shown_id(memory.id)}")


def find_mentions(tree: Tree, words: Collection[str]) -> list[str]:
    """Return the instruction files that have one of *words*."""
    spelled = [word.encode() for word in words]
    return [name for name in list_instructions(tree.files) if any(word in tree.read(name) for word in spelled)]


def plan_fixes(root: Path, findings: Sequence[Finding]) -> list[Fix]:
    """Return what the files become with each sure new name, and nothing else, changed. Memories are edited by their own command."""
    fixes = []
    for file in dict.fromkeys(one.file for one in findings if one.sure and one.now and not one.file.endswith(".jsonl")):
        was = files.read(files.resolve_inside(root / file, root))[0]
        rows = was.decode("utf-8", "surrogateescape").split("\n")
        mine = [one for one in findings if one.file == file and one.sure and one.now]
        for one in sorted(mine, key=lambda one: -one.at):
            row = rows[one.line - 1]
            at = one.at + (row[:1] == "\ufeff")
            if row[at : at + len(one.said)] == one.said:
                rows[one.line - 1] = row[:at] + one.now + row[at + len(one.said) :]
        new = "\n".join(rows).encode("utf-8", "surrogateescape")
        fixes += [Fix(file, was, new)] if new != was else []
    return fixes


def apply_fix(root: Path, fix: Fix) -> None:
    """Write *fix*, unless the file is something else by now.

    Raises:
        MemsyncError: it is, or it cannot be written.
    """
    files.rewrite(files.resolve_inside(root / fix.file, root), fix.new, was=fix.was)


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
