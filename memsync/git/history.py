"""What git remembers of a file: who changed which lines when, and the file as it once was.

However long the history is, a question takes a handful of git processes, not
one a commit. Answers are streamed, so that they may be larger than the memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from memsync.errors import NoHistory
from memsync.system import programs

# What the user's settings may not change about the output that we read.
_PLAIN: Final = (
    "-c", "core.quotePath=false", "-c", "log.showSignature=false", "-c", "log.follow=false",
    "-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false",
)  # fmt: skip
_PATCH: Final = (
    "--full-history", "--topo-order", "--patch", "--unified=0", "--cc", "--find-renames",
    "--text", "--no-ext-diff", "--no-textconv", "--no-color",
)  # fmt: skip
_FORMAT: Final = "%H%x01%aN%x01%aI%x01%s"
# Every branch, tag and stash; not what git itself keeps as notes to speed up a diff.
EVERYWHERE: Final = ("--exclude=refs/notes/*", "--all")
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9-]+")


class Commit(NamedTuple):
    """One commit: its full name, who wrote it, when (aware), and its subject."""

    id: str
    author: str
    when: datetime
    subject: str

    @property
    def short(self) -> str:
        """The first ten digits of its name."""
        return self.id[:10]


class Step(NamedTuple):
    """What one commit did to the lines of the file, without newlines.

    Of a merge: only what none of its parents has. `replaced` are the lines of
    any parent that it left out, `removed` those that every parent had.
    """

    commit: Commit
    path: str
    added: tuple[bytes, ...]
    removed: tuple[bytes, ...]
    replaced: tuple[bytes, ...]


def _stream(root: Path, *words: str, feed: bytes = b"") -> Iterator[bytes]:
    """Yield what git prints, line by line without the newlines.

    Raises:
        NoHistory: there is no git, or it failed.
    """
    import subprocess
    from tempfile import TemporaryFile

    env = {**programs.git_env(), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    with TemporaryFile() as said, TemporaryFile() as asked:
        asked.write(feed)
        asked.seek(0)
        try:
            git = subprocess.Popen(
                [programs.find("git"), *_PLAIN, *words],
                cwd=root,
                env=env,
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=said,
            )
        except OSError as error:
            raise NoHistory(f"git cannot be run ({error.strerror or error}); install git to see the history") from None
        with git:
            assert git.stdout is not None
            for line in git.stdout:
                yield line.removesuffix(b"\n")
        if git.returncode > 0:
            said.seek(0)
            raise NoHistory(_complaint(said.read()))


def _complaint(said: bytes) -> str:
    text = said.decode("utf-8", "replace").strip()
    return f"git says: {text.splitlines()[-1].removeprefix('fatal: ') if text else 'nothing, but it failed'}"


def _lines(root: Path, *words: str) -> list[str]:
    return [line.decode("utf-8", "surrogateescape") for line in _stream(root, *words)]


def resolve(root: Path, rev: str) -> Commit:
    """Return the commit that *rev* names.

    Raises:
        NoHistory: there is none, and what to do.
    """
    try:
        (line,) = _lines(root, "log", "-1", f"--format={_FORMAT}", "--end-of-options", f"{rev}^{{commit}}", "--")
    except (NoHistory, ValueError) as error:
        if "cannot be run" in str(error):
            raise
        if rev == "HEAD":
            raise NoHistory("nothing is committed yet; commit something first") from None
        raise NoHistory(f"unknown revision {rev!r}; `git log --oneline --all` lists the commits") from None
    return _commit(line)


def _commit(line: str) -> Commit:
    id_, author, when, subject = line.split("\x01", 3)
    try:
        moment = datetime.fromisoformat(when)
    except ValueError:  # a date that no calendar has
        moment = datetime.fromtimestamp(0, UTC)
    return Commit(id_, author.encode("utf-8", "replace").decode(), moment, subject.encode("utf-8", "replace").decode())


def head(root: Path) -> str:
    """Return the commit that is checked out; "" where nothing is committed yet."""
    try:
        return _lines(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")[0]
    except NoHistory as error:
        if "cannot be run" in str(error):
            raise
        return ""


def merge_base(root: Path, one: str, other: str) -> str:
    """Return where the two commits parted; *one* itself if they have nothing in common."""
    with suppress(NoHistory):
        return _lines(root, "merge-base", "--end-of-options", one, other)[0]
    return one


def is_shallow(root: Path) -> bool:
    """Tell whether the clone lacks older commits."""
    return _lines(root, "rev-parse", "--is-shallow-repository") == ["true"]


def names_of(root: Path, path: str, revs: Sequence[str] = ("HEAD",)) -> list[str]:
    """Return every name that the file had, from *path* (from the top, with slashes) to its oldest."""
    names, new = [path], path
    while True:
        born = _lines(
            root, "log", "--full-history", "--diff-filter=A", "--format=%H", "--no-renames", *revs,
            "--", f":(top,literal){new}",
        )  # fmt: skip
        sources = _sources(root, born)
        older = [old for old, now in sources if now == new and old not in names]
        if not older:
            return names
        new = older[0]
        names.append(new)


def _sources(root: Path, commits: Iterable[str]) -> list[tuple[str, str]]:
    """Return the old and new names of what *commits* renamed."""
    feed = "".join(f"{commit}\n" for commit in commits).encode()
    if not feed:
        return []
    words = ("diff-tree", "--stdin", "-r", "--find-renames", "--diff-filter=R", "--name-status", "--no-commit-id", "-z")
    fields = b"\n".join(_stream(root, *words, feed=feed)).decode("utf-8", "surrogateescape").split("\0")
    return [
        (fields[at + 1], fields[at + 2]) for at, field in enumerate(fields[:-2]) if re.fullmatch(r"R\d{1,3}", field)
    ]


def steps(
    root: Path, names: Sequence[str], *, revs: Sequence[str] = ("HEAD",), holding: str = "", limit: int | None = None
) -> Iterator[Step]:
    """Yield what each commit reachable from *revs* did to the lines of the file, newest first.

    *names* are all that the file had, as `names_of` says. With *holding* only
    commits that touch a line with that text are looked at.

    *revs* are names of commits as `resolve` gives them, or EVERYWHERE.

    Raises:
        NoHistory: git failed.
    """
    narrowed = ["--regexp-ignore-case", f"-G{holding}"] if holding and _PLAIN_ID.fullmatch(holding) else []
    capped = [f"--max-count={limit}"] if limit else []
    paths = [f":(top,literal){name}" for name in names]
    words = ("log", *_PATCH, *narrowed, *capped, f"--format=%x00{_FORMAT}", *revs, "--", *paths)
    reader = _Patches(names)
    for line in _stream(root, *words):
        if line.startswith(b"\0"):
            yield from reader.finish()
            reader.begin(_commit(line[1:].decode("utf-8", "surrogateescape")))
        else:
            reader.take(line)
    yield from reader.finish()


class _Patches:
    """Puts the patches of one commit together, line by line."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._commit: Commit | None = None
        self._path = ""
        self._columns = 0  # of the hunk that we are in: one for each parent
        self._found: dict[str, tuple[list[bytes], list[bytes], list[bytes]]] = {}

    def begin(self, commit: Commit) -> None:
        self._commit, self._found, self._columns = commit, {}, 0

    def finish(self) -> Iterator[Step]:
        for path, (added, removed, replaced) in self._found.items():
            assert self._commit
            yield Step(self._commit, path, tuple(added), tuple(removed), tuple(replaced))

    def take(self, line: bytes) -> None:
        if line.startswith(b"diff --"):
            self._columns = 0
            self._path = max((name for name in self._names if line.endswith(os.fsencode(name))), key=len, default="")
        elif line.startswith(b"@@"):
            self._columns = len(line) - len(line.lstrip(b"@")) - 1
        elif self._columns and line[:1] in b"+- ":
            self._take_row(line[: self._columns], line[self._columns :])

    def _take_row(self, marks: bytes, row: bytes) -> None:
        added, removed, replaced = self._found.setdefault(self._path, ([], [], []))
        if marks == b"+" * self._columns:
            added.append(row)
        elif b"-" in marks:
            replaced.append(row)
            if marks == b"-" * self._columns:
                removed.append(row)


def read(root: Path, wanted: Sequence[tuple[str, str]]) -> list[bytes | None]:
    """Return each (commit, path from the top) as bytes; None where the commit has no such file."""
    if not wanted:
        return []
    feed = "".join(f"{commit}:{path}\n" for commit, path in wanted).encode("utf-8", "surrogateescape")
    data = b"".join(line + b"\n" for line in _stream(root, "cat-file", "--batch", feed=feed))
    found: list[bytes | None] = []
    place = 0
    for _ in wanted:
        end = data.index(b"\n", place)
        words = data[place:end].split(b" ")
        is_blob = len(words) >= 3 and words[-2] == b"blob" and words[-1].isdigit()
        size = int(words[-1]) if words[-1].isdigit() and not data[place:end].endswith(b" missing") else -1
        found.append(data[end + 1 : end + 1 + size] if is_blob else None)
        place = end + 1 + (size + 1 if size >= 0 else 0)
    return found


def listing(root: Path, rev: str, folder: str) -> list[str]:
    """Return the paths, from the top, of the files that *rev* has in *folder*."""
    words = ("ls-tree", "-r", "-z", "--full-tree", "--name-only", "--end-of-options", rev, f"{folder}/")
    joined = b"\n".join(_stream(root, *words)).decode("utf-8", "surrogateescape")
    return [name for name in joined.split("\0") if name.strip("\n")]
