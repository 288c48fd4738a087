"""Finding recorded sessions in files, folders and git refs, and reading each by its own format."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from memsync.clients import transcript_formats
from memsync.clients.transcript_events import Recorder, Session
from memsync.clients.transcript_formats import FORMATS
from memsync.errors import ImportFailed
from memsync.store.checkout import Checkout
from memsync.system.limits import read_object

_SNIFFED: Final = 50  # rows that may tell the format
_LONGEST: Final = 32 * 1024 * 1024  # bytes of one line; one that is longer is counted as odd
_SUFFIXES: Final = (".jsonl", ".json", ".md")
_LATE: Final = dt.datetime.max.replace(tzinfo=dt.UTC)

Row = tuple[int, Mapping[str, Any] | None]


class Source(NamedTuple):
    """One transcript: its lines, the name of its file ("" in git), and as git has it its session and whose it is."""

    lines: Callable[[], Iterator[bytes]]
    name: str = ""
    session: str = ""
    person: str = ""


class Found(NamedTuple):
    """Recorded sessions in the order of time, how many files were none, and how many transcripts a repository lacks."""

    sessions: list[Session]
    others: int = 0
    absent: int = 0


def read_all(paths: Iterable[Path], track: Callable[[Iterable[Any]], Iterable[Any]] = iter) -> Found:
    """Return the sessions of *paths*: transcripts, folders of them, or git repositories with Entire's checkpoints.

    What cannot be read of a file is counted. What comes twice, as one file resumes another, counts once.
    """
    sources: list[Source] = []
    absent = 0
    for path in paths:
        archive = Archive(path) if path.is_dir() else None
        if archive and archive.ref:
            checkpoints, lacking = archive.list_checkpoints()
            sources += [Source(partial(archive.read, one), "", one.session, one.person) for one in checkpoints]
            absent += lacking
        else:
            sources += [Source(partial(read_lines, file), str(file)) for file in _list_files(path)]
    seen: set[str] = set()
    found: dict[tuple[str, str], Session] = {}
    others = 0
    for number, source in enumerate(track(sources)):
        session = read_session(source, seen)
        if session is None or not session.events:
            others += 1
            continue
        session.person, session.id = source.person, source.session or session.id
        known = found.setdefault((session.client, session.id or f"#{number}"), session)
        if known is not session:  # a subagent's file, or a second part
            known.events = sorted([*known.events, *session.events], key=lambda event: event.when or _LATE)
            known.odd += session.odd
    return Found(sorted(found.values(), key=lambda one: (one.start or _LATE, one.id)), others, absent)


def _list_files(path: Path) -> list[Path]:
    """Return the files below *path* that may be transcripts, in the order of their names; links are not followed."""
    if path.is_dir():
        return sorted(
            one for one in path.rglob("*") if one.suffix in _SUFFIXES and one.is_file() and not one.is_symlink()
        )
    if not path.exists():
        raise ImportFailed(
            f"{path} is not there; give transcripts, a folder of them, or a git repository with checkpoints"
        )
    return [path]


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of *path*; one that is too long comes as b""."""
    try:
        with path.open("rb") as file:
            while line := file.readline(_LONGEST):
                is_whole = line.endswith(b"\n") or len(line) < _LONGEST
                while not line.endswith(b"\n") and (rest := file.readline(_LONGEST)):
                    line = rest
                yield line if is_whole else b""
    except OSError as error:
        raise ImportFailed(f"{path}: {error.strerror or error}") from error


def read_file(path: Path) -> Session | None:
    """Return the session in *path*; None if it is not a transcript that we know."""
    return read_session(Source(partial(read_lines, path), str(path)), set())


def read_session(source: Source, seen: set[str]) -> Session | None:
    """Return what *source* says, without what *seen* has already; None if it is not a transcript that we know."""
    if source.name.endswith(".md"):
        to = Recorder(transcript_formats.MARKDOWN, seen)
        lines = (line.decode("utf-8", "replace") for line in source.lines())
        first = list(islice(lines, _SNIFFED))
        if not transcript_formats.is_markdown("".join(first)):
            return None
        transcript_formats.read_markdown(to, chain(first, lines))
        return to.session
    is_whole = (
        source.name.endswith(".json") or next(source.lines(), b"").strip() == b"{"
    )  # of opencode, as Entire keeps it
    rows = _read_whole(source) if is_whole else _read_rows(source.lines())
    first_rows = list(islice(rows, _SNIFFED))
    known = next((form for _, row in first_rows if row for form in FORMATS if form.is_mine(row)), None)
    if known is None:
        return None
    to = Recorder(known.client, seen)
    for number, row in chain(first_rows, rows):
        if row is None:
            to.session.odd += 1
            continue
        known.read_row(to, row, number)
    return to.session


def _read_rows(lines: Iterable[bytes]) -> Iterator[Row]:
    """Yield each line with its number as an object; None for one that is none. Empty lines are passed over."""
    import orjson

    for number, line in enumerate(lines, start=1):
        row = None
        with suppress(orjson.JSONDecodeError):
            row = orjson.loads(line)
        if isinstance(row, dict):
            yield number, row
        elif line != b"\n":
            yield number, None


def _read_whole(source: Source) -> Iterator[Row]:
    import orjson

    with suppress(orjson.JSONDecodeError):
        row = orjson.loads(b"".join(source.lines()))
        if isinstance(row, dict):
            yield 1, row


# sessions that Entire keeps on a git ref: `XX/HASH/N/{full.jsonl,metadata.json}`, of each session the longest checkpoint
REF: Final = "entire/checkpoints/v1"
_SPELLINGS: Final = (f"refs/heads/{REF}", f"refs/remotes/origin/{REF}", f"refs/{REF}")


class Checkpoint(NamedTuple):
    """One session's longest transcript: its object, and an opaque mark of who ran it."""

    session: str
    blob: str
    person: str


class Archive:
    """The checkpoints of *repository*, which may be bare; `ref` is "" where it has none, or is not a repository."""

    def __init__(self, repository: Path) -> None:
        self._git = Checkout(repository)
        # Git refuses a bare repository that nobody names, because a work tree may hold one with hooks of its own.
        self._bare = ("--git-dir", ".") if (repository / "objects").is_dir() and (repository / "HEAD").is_file() else ()
        refs = self._git.ask(*self._bare, "for-each-ref", "--format=%(refname)", *_SPELLINGS)
        self.ref = refs.split()[0] if refs else ""

    def read(self, checkpoint: Checkpoint) -> Iterator[bytes]:
        """Yield the lines of a transcript."""
        return self._git.stream(*self._bare, "cat-file", "blob", checkpoint.blob)

    def list_checkpoints(self) -> tuple[list[Checkpoint], int]:
        """Return one checkpoint of each session, the oldest first, and how many sessions have no transcript here."""
        blobs: dict[str, tuple[str, int]] = {}
        for row in self._git.do(*self._bare, "ls-tree", "-r", "-l", self.ref).splitlines():
            about, _, path = row.partition("\t")
            _, _, name, digits = about.split()
            blobs[path] = (name, int(digits) if digits.isdigit() else -1)  # of an absent object git says BAD
        people = self._list_people()
        best: dict[str, tuple[int, str, Checkpoint]] = {}
        absent: set[str] = set()
        notes = [path for path in blobs if path.endswith("/metadata.json") and path.count("/") == 3]
        for path, note in zip(notes, self._read_notes([blobs[one][0] for one in notes]), strict=True):
            transcript = path.replace("metadata.json", "full.jsonl")
            name, size = blobs.get(transcript, ("", -1))
            session = str(note.get("session_id") or path)
            if size < 0:
                absent.add(session)
            elif session not in best or size > best[session][0]:
                found = Checkpoint(session, name, people.get(transcript, ""))
                best[session] = size, str(note.get("created_at") or ""), found
        return [one for _, _, one in sorted(best.values(), key=lambda row: row[1])], len(absent - best.keys())

    def _read_notes(self, names: list[str]) -> Iterator[Mapping[str, object]]:
        """Yield what each of the small JSON files *names* says; {} where it says nothing that can be read."""
        asked = "".join(f"{name}\n" for name in names).encode()
        out = self._git.run(*self._bare, "cat-file", "--batch", stdin=asked).out
        at = 0
        for _ in names:
            head, _, _ = out[at : at + 200].partition(b"\n")
            words = head.split()
            at += len(head) + 1
            size = int(words[2]) if len(words) == 3 else -1
            yield read_object(out[at : at + max(size, 0)])
            at += size + 1

    def _list_people(self) -> dict[str, str]:
        """Return by path who added it, as the first digits of a hash: nobody needs the name."""
        people: dict[str, str] = {}
        who = ""
        asked = ("log", "--format=%x00%ae", "--name-only", "--diff-filter=A", self.ref)
        for row in self._git.do(*self._bare, *asked).splitlines():
            if row.startswith("\0"):
                who = sha256(row[1:].encode()).hexdigest()[:8]
            elif row.endswith("/full.jsonl"):
                people[row] = who
        return people
