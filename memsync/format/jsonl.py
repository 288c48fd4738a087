"""The lines of a memories.jsonl: reading any mix of forms, writing the canonical one.

Canonical form: one object a line, sorted by id. Log form: what happened since,
appended. Works on bytes and lines; knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import islice
from typing import Any, Final

from memsync.format.codec import Line, bare, decode, is_canonical
from memsync.format.markers import read_marker
from memsync.system.late import import_light
from memsync.system.named import NamedTuple

_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
CONFLICT: Final = "a git conflict"


class Problem(NamedTuple):
    """Something about line `number` (from 1); `harmless`: nothing is unreadable or in doubt."""

    number: int
    why: str
    harmless: bool = False

    @property
    def is_conflict(self) -> bool:
        """Whether git left a conflict here."""
        return self.why.startswith(CONFLICT)


def is_utf16(data: bytes) -> bool:
    """Tell whether *data* looks like a UTF-16 file, which no append may touch."""
    return data.startswith(_UTF16) and b"\0" in data[:64]


def read_line(raw: bytes, loads: Callable[[bytes], Any] | None = None) -> Line:
    """Read one line; never raises."""
    if raw[:1] != b"{" and not bare(raw).strip():
        return Line(raw)
    return decode(raw, loads) if loads else decode(raw)


def read_lines(data: bytes, known: Mapping[bytes, Line] | None = None) -> list[Line]:
    """Read a whole file. Lines found in *known* (raw bytes to Line) are not parsed again."""
    return list(_lines(data, known or {}))


def _lines(data: bytes, known: Mapping[bytes, Line]) -> Iterator[Line]:
    import_light("orjson", inspect={})  # of which it wants nothing, but that of `dataclasses`
    from orjson import loads  # here, because a one-shot query reads no whole file

    torn = data[data.rfind(b"\n") + 1 :]
    for whole in islice(BytesIO(data), data.count(b"\n")):  # not all at once, which would hold a second file
        raw = whole[:-1]
        if raw[:1] != b"{" and read_marker(bare(raw)):
            yield Line(raw, is_marker=True)
            continue
        line = known.get(raw) if known else None
        yield line if line and not line.problem else read_line(raw, loads)
    if torn:
        line = Line(torn, is_marker=True) if read_marker(bare(torn)) else read_line(torn)
        is_cut = line.id is None and line.problem
        yield line._replace(problem=f"the last line was cut off ({line.problem})") if is_cut else line


def current(lines: Sequence[Line]) -> dict[str, Line]:
    """Return the last line of each id, removals included. Conflicts are for `merge.current`."""
    return {id_: lines[number] for id_, number in _winners(lines).items()}


def _winners(lines: Sequence[Line]) -> dict[str, int]:
    """Return the position of the line that counts for each id. Equal lines may be one object, so identity does not tell."""
    return {line.id: number for number, line in enumerate(lines) if line.id is not None}


def problems(lines: Sequence[Line]) -> list[Problem]:
    """Return what a person should look at, in line order."""
    found = [Problem(n, line.problem, line.nameless) for n, line in enumerate(lines, 1) if line.problem]
    if markers := [n for n, line in enumerate(lines, 1) if line.is_marker]:
        found.append(Problem(markers[0], f"{CONFLICT} ({len(markers)} marker lines); both sides are merged"))
    return sorted(found + list(_duplicates(lines)))


def _duplicates(lines: Sequence[Line]) -> Iterator[Problem]:
    """Find records that another line replaces and that no export will take out; a conflict is merged as a whole."""
    if in_conflict(lines):
        return
    winners = _winners(lines)
    for number, line in enumerate(lines):
        if line.memory is None or line.id is None:
            continue
        best = winners[line.id]
        if number != best and not _is_replaced(line, lines[best]):
            yield Problem(number + 1, f"duplicate id {line.id}; a later line wins", harmless=True)


def in_conflict(lines: Iterable[Line]) -> bool:
    """Tell whether git left conflict markers."""
    return any(line.is_marker for line in lines)


def _is_replaced(line: Line, winner: Line) -> bool:
    """Tell whether *winner* replaces the record *line* in the log.

    A line that memsync spelled replaces all earlier ones. Two lines with one
    id that somebody else wrote are left alone and reported.
    """
    if winner.memory is None or line.memory is None:
        return True
    return bare(line.raw) == bare(winner.raw) or is_canonical(winner.raw)


def export(lines: Sequence[Line], *, collapse: bool = False) -> bytes:
    """Return the canonical form of *lines*: one line an id, sorted by id, LF, final newline.

    Kept lines keep their bytes. Taken out: blank lines, removals and records
    that the log replaced; with *collapse* also duplicates that memsync did not
    write. An unreadable line stays behind the record that it followed.
    """
    return b"".join(bare(line.raw) + b"\n" for _, _, line in arrange(lines, collapse=collapse))


def is_in_order(lines: Sequence[Line], size: int) -> bool:
    """Tell whether an export of *lines*, a file of *size* bytes, is what they are, without making one."""
    if sum(len(line.raw) + 1 for line in lines) != size:
        return False  # without its last newline
    return all(bare(line.raw) == line.raw for line in lines) and (
        _is_ascending(lines) or [number for _, number, _ in arrange(lines)] == list(range(len(lines)))
    )


def _is_ascending(lines: Iterable[Line]) -> bool:
    """Tell whether each line is a record with a larger id than the one before, as in most files."""
    last = ""
    for line in lines:
        if not line.memory or line.id is None or line.id <= last:
            return False
        last = line.id
    return True


def arrange(lines: Sequence[Line], *, collapse: bool = False) -> list[tuple[str, int, Line]]:
    """Return the lines that an export keeps, in its order: each with the id that it has or follows, and its position."""
    winners = _winners(lines)
    place: dict[str, int] = {}
    kept: list[tuple[str, int, Line]] = []
    anchor = ""
    for number, line in enumerate(lines):
        if line.id is None:
            if line.problem:
                kept.append((anchor, number, line))
            continue
        anchor = line.id
        best = winners.get(line.id, -1)
        if number == best:
            if line.memory:
                # Only a winner that leaves no duplicate behind may take an earlier place: the last line wins.
                takes_it = anchor in place and (collapse or is_canonical(line.raw))
                kept.append((anchor, place[anchor] if takes_it else number, line))
        elif best >= 0 and (collapse or _is_replaced(line, lines[best])):
            place.setdefault(anchor, number)
        else:
            kept.append((anchor, number, line))
    kept.sort(key=lambda found: found[:2])
    return kept
