"""Finding recorded sessions in files, folders and git refs, and reading each by its own format."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from memsync.errors import ImportFailed
from memsync.transcripts import specstory
from memsync.transcripts.entire import Archive
from memsync.transcripts.events import Recorder, Session
from memsync.transcripts.formats import FORMATS

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

    Raises:
        ImportFailed: a path is not there, or cannot be read.
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
    """Return the session in *path*; None if it is not a transcript that we know.

    Raises:
        ImportFailed: it cannot be read.
    """
    return read_session(Source(partial(read_lines, path), str(path)), set())


def read_session(source: Source, seen: set[str]) -> Session | None:
    """Return what *source* says, without what *seen* has already; None if it is not a transcript that we know."""
    if source.name.endswith(".md"):
        to = Recorder(specstory.NAME, seen)
        lines = (line.decode("utf-8", "replace") for line in source.lines())
        first = list(islice(lines, _SNIFFED))
        if not specstory.is_mine("".join(first)):
            return None
        specstory.read_lines(to, chain(first, lines))
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
    """Yield the object that a JSON file is."""
    import orjson

    with suppress(orjson.JSONDecodeError):
        row = orjson.loads(b"".join(source.lines()))
        if isinstance(row, dict):
            yield 1, row
