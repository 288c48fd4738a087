"""What git remembers of a file: who changed which lines when, and the file as it once was.

However long the history is, a question takes a handful of git processes, not
one a commit: git names the versions of a file, GitPython's lasting `cat-file`
hands them over, and they are compared line by line (`rows`), which is faster than git's patches.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from memsync.errors import NoHistory
from memsync.store.checkout import NOT_RUN, Checkout, Pick, objects

# the lines of versions of a file: those that have a word, and those that came and went from one version to the next. Pure.


_STRIDE: Final = 1 << 16  # bytes that are compared at once
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9-]+")

Rows = tuple[bytes, ...]


def rows_with(words: Collection[str], data: bytes, *, exact: bool = False) -> bytes:
    """Return the lines of *data* that have one of *words*, in whatever case unless *exact*.

    All of them, if there is no word or JSON may spell one otherwise.
    """
    if not words or not all(map(_PLAIN_ID.fullmatch, words)):
        return data
    text, found = data if exact else data.lower(), set()
    for needle in ((word if exact else word.lower()).encode() for word in words):
        at = -1
        while (at := text.find(needle, at + 1)) >= 0:
            start, at = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
            found.add((start, at := len(data) if at < 0 else at))
    return b"\n".join(data[start:end] for start, end in sorted(found))


def compare_lines(new: bytes, *old: bytes) -> tuple[Rows, Rows, Rows]:
    """Return the lines that none of *old* has, those that all of *old* had and *new* has not, and those of any of them."""
    now, *before = ([row for row in text.split(b"\n") if row] for text in _without_common_ends(new, *old))
    came = [subtract(now, rows) for rows in before]
    went = [subtract(rows, now) for rows in before]
    others = [set(rows) for rows in came[1:]]
    added = tuple(row for row in came[0] if all(row in rows for rows in others))
    removed = tuple(row for row in went[0] if all(row in rows for rows in went))
    return added, removed, tuple(row for rows in went for row in rows)


def subtract(rows: list[bytes], other: list[bytes]) -> list[bytes]:
    """Return those of *rows*, in order, that *other* has not, or less often."""
    distinct = set(rows)
    if len(distinct) < len(rows):
        return list((Counter(rows) - Counter(other)).elements())
    fresh = distinct.difference(other)
    return [row for row in rows if row in fresh] if fresh else []


def _without_common_ends(*texts: bytes) -> list[bytes]:
    """Return *texts* without the lines at their beginning and end that are the same in all of them."""
    one, most = texts[0], min(map(len, texts))
    start = min(_count_common(most, partial(_is_same, one, text)) for text in texts[1:])
    start = one.rfind(b"\n", 0, start) + 1
    rest, most = [text[start:] for text in texts], most - start
    one = rest[0]
    size = min(_count_common(most, partial(_ends_same, one, text)) for text in rest)
    end = one.find(b"\n", len(one) - size) if size else -1
    return [text[: len(text) - (len(one) - end)] for text in rest] if end >= 0 else rest


def _is_same(one: bytes, other: bytes, start: int, end: int) -> bool:
    return one[start:end] == other[start:end]


def _ends_same(one: bytes, other: bytes, start: int, end: int) -> bool:
    return one[len(one) - end : len(one) - start] == other[len(other) - end : len(other) - start]


def _count_common(most: int, is_same: Callable[[int, int], bool]) -> int:
    """Return how many bytes, *most* at most, are the same, where *is_same* compares those from one place to another."""
    low = next((at for at in range(0, most, _STRIDE) if not is_same(at, min(at + _STRIDE, most))), most)
    high = min(low + _STRIDE, most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_same(low, middle) else (low, middle - 1)
    return low


# What the user's settings may not change about the output that we read.
PLAIN: Final = ("-c", "core.quotePath=false", "-c", "log.showSignature=false", "-c", "log.follow=false")
_RAW: Final = ("--full-history", "--topo-order", "--raw", "--no-abbrev", "-c", "--find-renames", "--no-color")
_HELD: Final = 1 << 25  # bytes of versions in memory at once, besides the two of a step
_KEPT: Final = 8  # versions of a file in memory at once; a step looks at two of them, a merge at more
_LENT: Final = 1 << 23  # bytes of versions that a caller holds: one memory has fewer in all versions of the file
_FORMAT: Final = "%H%x01%aN%x01%aI%x01%s"
# Every branch, tag and stash; not what git itself keeps as notes to speed up a diff.
EVERYWHERE: Final = ("--exclude=refs/notes/*", "--all")

_USUAL: Final = ("origin/HEAD", "origin/main", "origin/master", "main", "master", "trunk")
_Read = Callable[..., bytes | None]
_DATES: Final = ("log", "--full-history", "--topo-order", "--no-color", "--format=%H %at")
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


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


def _ask(root: Path, *words: str, feed: bytes = b"") -> bytes:
    """Return what git prints.

    Raises:
        NoHistory: there is no git, or it failed.
    """
    done = Checkout(root).run(*PLAIN, *words, stdin=feed, patience=None)
    if done.code == NOT_RUN:
        raise NoHistory(f"git {done.err.removeprefix('it ')}")
    if done.code:
        said = done.err.strip().splitlines()
        raise NoHistory(f"git says: {said[-1].removeprefix('fatal: ') if said else 'nothing, but it failed'}")
    return done.out


def _lines(root: Path, *words: str) -> list[str]:
    return _ask(root, *words).decode("utf-8", "surrogateescape").split("\n")[:-1]


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


def find_usual(root: Path) -> str:
    """Return the branch that others leave and come back to, by its usual names; HEAD where there is none of them."""
    for name in _USUAL:
        with suppress(NoHistory):
            resolve(root, name)
            return name
    return "HEAD"


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
    names = [path]
    while older := _find_older(root, names, revs):
        names.append(older)
    return names


def _find_older(root: Path, names: Sequence[str], revs: Sequence[str]) -> str:
    new = names[-1]
    born = _lines(
        root, "log", "--full-history", "--diff-filter=A", "--format=%H", "--no-renames", *revs,
        "--", f":(top,literal){new}",
    )  # fmt: skip
    return next((old for old, now in _sources(root, born) if now == new and old not in names), "")


def _sources(root: Path, commits: Iterable[str]) -> list[tuple[str, str]]:
    feed = "".join(f"{commit}\n" for commit in commits).encode()
    if not feed:
        return []
    words = ("diff-tree", "--stdin", "-r", "--find-renames", "--diff-filter=R", "--name-status", "--no-commit-id", "-z")
    fields = _ask(root, *words, feed=feed).decode("utf-8", "surrogateescape").split("\0")
    return [
        (fields[at + 1], fields[at + 2]) for at, field in enumerate(fields[:-2]) if re.fullmatch(r"R\d{1,3}", field)
    ]


def steps(
    root: Path,
    names: Sequence[str],
    *,
    revs: Sequence[str] = ("HEAD",),
    pick: Pick | None = None,
    born: datetime | None = None,
    known: Mapping[bytes, bytes] | None = None,
    held: dict[str, bytes] | None = None,
) -> Iterator[Step]:
    """Yield what each commit reachable from *revs* did to the lines of the file, newest first.

    *names* are all that the file had, as `names_of` says, or patterns of git for several files; *revs* are names of commits as `resolve` gives them, or
    EVERYWHERE. Of each version only the lines are looked at that *pick* leaves. Where it leaves none of a version that
    was committed before *born*, what came before that is not read. Lines of a file that is new are those of *known*
    where it has them: the first commit of a large one holds no second copy. What *pick* left of
    each version is taken from *held* where it has it, or put there, up to 8 MB.
    """
    paths = [name if name.startswith(":(") else f":(top,literal){name}" for name in names]
    earliest = born.timestamp() if born else -math.inf
    with objects(root) as read_object:
        versions = _Versions(read_object, pick, known or {}, held)
        commit: Commit | None = None
        committed = math.inf
        for line in _lines(root, "log", *_RAW, f"--format=%x00%ct%x01{_FORMAT}", *revs, "--", *paths):
            if line.startswith("\0"):
                seconds, _, rest = line[1:].partition("\x01")
                commit, committed = _commit(rest), float(seconds)
                continue
            if commit is None or not line:
                continue
            objects_, path = _versions(line)
            if committed < earliest and objects_[0] in versions.bare:
                versions.bare.update(objects_)
                continue
            where = max((name for name in names if path.endswith(name)), key=len, default=path)
            added, removed, replaced = versions.compare(objects_, where)
            if added or replaced:
                yield Step(commit, where, added, removed, replaced)


class _Versions:
    """The lines of the versions of a file: of those read last as many as a merge may need, of large ones two."""

    def __init__(
        self, read: _Read, pick: Pick | None, known: Mapping[bytes, bytes], held: dict[str, bytes] | None
    ) -> None:
        self._read_object = read
        self._pick = pick
        self._known = known
        self._keeps = held is not None  # all of them, for the next time
        self._held: dict[str, bytes] = {} if held is None else held
        self.bare: set[str] = set()  # versions without a line that is looked at, and what came before them

    def compare(self, names: Sequence[str], path: str) -> tuple[Rows, Rows, Rows]:
        """Return what the first version has, and has no more, against the others, as `compare_lines` does."""
        is_new = names[0].strip("0") and not any(name.strip("0") for name in names[1:])
        if not is_new or self._keeps or names[0] in self._held:
            texts = [self._get(name, path) for name in names]
            self.bare.update(name for name, text in zip(names, texts, strict=True) if not text)
            return compare_lines(*texts)
        rows: list[bytes] = []

        def collect(block: bytes) -> bytes:
            found = (self._pick(block) if self._pick else block).split(b"\n")
            rows.extend(self._known.get(row, row) for row in found if row)
            return b""

        self._read(names[0], path, collect)
        self.bare.update(names[1:] if rows else names)
        return tuple(subtract(rows, [])), (), ()

    def _get(self, name: str, path: str) -> bytes:
        text = self._held.get(name)
        if text is None:
            text = self._read(name, path, self._pick) if name.strip("0") else b""
            if self._keeps and len(text) + sum(map(len, self._held.values())) > _LENT:
                self._held, self._keeps = dict(self._held), False
            held = self._held
            held[name] = text
            while not self._keeps and len(held) > 2 and (len(held) > _KEPT or sum(map(len, held.values())) > _HELD):
                del held[next(iter(held))]
        return text

    def _read(self, name: str, path: str, pick: Pick | None) -> bytes:
        data: bytes | None = self._read_object(name, path, pick)
        if data is None:
            raise NoHistory(f"git does not have {name[:10]} any more; `git fsck` says more")
        return data


def versions(root: Path, path: str) -> Iterator[bytes]:
    """Yield each version of the file that a branch, tag or stash leads to, newest first."""
    revs = list_all(root)
    paths = [f":(top,literal){name}" for name in names_of(root, path, revs)]
    rows = (line for line in _lines(root, "log", *_RAW, "--format=", *revs, "--", *paths) if line)
    with objects(root) as read_object:
        for version in dict.fromkeys(_versions(row)[0][0] for row in rows):
            if data := read_object(version, path) if version.strip("0") else None:
                yield data


def list_all(root: Path) -> list[str]:
    """Return words for `git log` that name all that a branch, tag or stash leads to, the older stashes too."""
    stashes: list[str] = []
    with suppress(NoHistory):
        stashes = _lines(root, "rev-list", "--walk-reflogs", "refs/stash", "--")
    return [*stashes, *EVERYWHERE]


def list_commits(root: Path, path: str, tip: str, *, skip: int, most: int) -> tuple[list[str], list[str]]:
    """Return *most* commits that led to *tip* and touched the file, behind *skip* others, and the names that it had in them.

    Those of its present name come first, newest first. What it was called before is looked for where that has no more,
    so that no more of the history is read than is needed.
    """
    found: dict[str, None] = {}
    names = [path]
    while True:
        count = f"--max-count={skip + most}"
        words = ("log", "--full-history", "--format=%H", count, tip, "--", f":(top,literal){names[-1]}")
        found |= dict.fromkeys(_lines(root, *words))
        if len(found) >= skip + most or not (older := _find_older(root, names, [tip])):
            return list(found)[skip : skip + most], names
        names.append(older)


def list_branches(root: Path, most: int) -> list[str]:
    """Return the names of branches, here and of remotes, those with the latest commits first."""
    form = "--format=%(refname:short)"
    words = ("for-each-ref", form, f"--count={most}", "--sort=-committerdate", "refs/heads", "refs/remotes")
    return _lines(root, *words)


def _versions(line: str) -> tuple[list[str], str]:
    """Return the objects that a line of `git log --raw` names, the new one first, and the path; zeros for no file.

    It has a colon, a mode and an object for each parent, then those that came of them: `::100644 … MM<TAB>path`.
    """
    bare = line.lstrip(":")
    head, _, path = bare.partition("\t")
    words, count = head.split(" "), len(line) - len(bare) + 1
    found = [
        "0" if mode == "160000" else object_  # a submodule: its commit is elsewhere
        for mode, object_ in zip(words[:count], words[count : 2 * count], strict=True)
    ]
    return [found[-1], *found[:-1]], path


def read(root: Path, wanted: Sequence[tuple[str, str]], pick: Pick | None = None) -> list[bytes | None]:
    """Return each (commit, path from the top) as bytes, of which *pick* takes what it wants; None: no such file."""
    with objects(root) as read_object:
        return [read_object(f"{commit}:{path}", path, pick) for commit, path in wanted]


def listing(root: Path, rev: str, folder: str) -> list[str]:
    """Return the paths, from the top, of the files that *rev* has in *folder*."""
    words = ("ls-tree", "-r", "-z", "--full-tree", "--name-only", "--end-of-options", rev, f"{folder}/")
    return [name for name in _ask(root, *words).decode("utf-8", "surrogateescape").split("\0") if name]


def list_dates(root: Path, name: str, *revs: str) -> list[tuple[str, datetime]]:
    """Return each commit that led to *revs* and touched the file *name*, in the order of `history.steps`, with its author's date.

    A date that no calendar has is the latest of all.
    """
    rows = (row.split(" ") for row in _lines(root, *_DATES, *revs, "--", f":(top,literal){name}"))
    return [(commit, _read_date(seconds)) for commit, seconds in rows]


def _read_date(seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return _LATEST
