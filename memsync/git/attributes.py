"""Our lines in a .gitattributes, what git makes of them, and the merge drivers in the configuration of a clone that they name.

Git is asked for the rule in force, not the files: a later line, another `.gitattributes` or a moved folder may undo what ours says.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

from memsync.store import checkout
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
        elif self.here != MERGE:
            yield f"another rule is in force for {self.path}, merge={self.here}; take it out, or move ours below it"
        elif self.committed not in ("", MERGE):
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


MERGE: Final = "memsync"
SKILL: Final = "memsync-skill"
ALIAS: Final = "alias.memories"
CONFIGURED: Final = "configured git to merge memories record by record in this clone"


def settings(program: str) -> dict[str, str]:
    """Return the configuration that a clone needs; *program* is how to start memsync where it is not on the path.

    Without memsync git merges as text, which the reader of conflicts then
    settles. Only the exit codes 0, 1 with markers in the file, and 65 for a conflict
    that nobody can merge here mean that memsync did its work: with any other git would take ours for the result.
    """
    # A PATH with an empty entry finds what the repository has at its top.
    find = f"m=$(command -v memsync); case $m in /*) ;; *) m={shlex.quote(program)};; esac"
    plain = "git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B"

    def driver(name: str) -> str:
        ran = f'{find}; "$m" git {name} %O %A %B %P %L; r=$?'
        done = "[ $r = 0 ] || [ $r = 65 ] || [ $r -gt 128 ] || { [ $r = 1 ] && grep -q '^<<<<<<<' %A; }"
        return f"{ran}; if {done}; then exit $r; fi; {plain}"

    show = f'f() {{ {find}; "$m" git textconv "$1" 2>/dev/null || cat "$1"; }}; f'
    # The attribute diff=memsync is committed, so the setting that it names must hold for one command alone.
    alias = f'!git -C "${{GIT_PREFIX:-.}}" -c diff.{MERGE}.textconv={shlex.quote(show)}'
    return {
        f"merge.{MERGE}.name": "memsync: memories, record by record",
        f"merge.{MERGE}.driver": driver("merge-driver"),
        f"merge.{SKILL}.name": "memsync: skills, the front matter field by field",
        f"merge.{SKILL}.driver": driver("merge-skill"),
        ALIAS: alias,
    }


def install(top: Path) -> list[str]:
    """Make the drivers known to the clone of *top*, for all its worktrees, and say what was done."""
    found = list_missing(top)
    for name, value in found.items():
        _set(top, "--replace-all", name, value)
    return [CONFIGURED] if found else []


def list_missing(top: Path) -> dict[str, str]:
    """Return the settings that the clone of *top* lacks, or has in another form; an alias of the user's stays."""
    now = _read_section(top)
    wanted = settings(str(own_program() or "memsync"))
    if ALIAS in now and not _is_ours(now[ALIAS]):
        del wanted[ALIAS]
    return {name: value for name, value in wanted.items() if now.get(name) != value}


def _is_ours(alias: str) -> bool:
    return f"diff.{MERGE}.textconv=" in alias


def uninstall(top: Path) -> list[str]:
    """Take out what `install` wrote, and say so."""
    now = _read_section(top)
    if ALIAS in now and _is_ours(now[ALIAS]):
        _set(top, "--unset-all", ALIAS)
    sections = sorted({name.rpartition(".")[0] for name in now if name != ALIAS})
    for section in sections:
        _set(top, "--remove-section", section)
    return [f"removed {section} from git's configuration" for section in sections]


def find_command(checkout: Checkout) -> str | None:
    """Return the command of the merge driver that git in *checkout* would run, whoever set it; None if there is none."""
    return checkout.ask("config", "--get", f"merge.{MERGE}.driver")


def _read_section(top: Path) -> dict[str, str]:
    rows = (
        checkout.ask(top, "config", "--local", "-z", "--get-regexp", rf"^((merge|diff)\.({MERGE}|{SKILL})\.|{ALIAS}$)")
        or ""
    )
    return dict(row.split("\n", 1) for row in rows.split("\0") if "\n" in row)


def own_program() -> Path | None:
    """Return the command that starts this memsync, which is beside its Python; None if it has none."""
    command = Path(sys.executable).with_name("memsync.exe" if os.name == "nt" else "memsync")
    return command if command.exists() else None


def _set(top: Path, *words: str) -> None:
    Checkout(top).do("config", "--local", *words)
