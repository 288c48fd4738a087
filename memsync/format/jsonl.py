"""The lines of a memories.jsonl: reading any mix of forms, writing the canonical one.

Canonical form: one object a line, sorted by id. Log form: what happened since,
appended. Works on bytes and lines; knows nothing of files.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import accumulate, compress, islice
from operator import eq, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.format import codec
from memsync.format.codec import LINE_ENDS, Line, bare, decode, encode, fields_of, is_canonical
from memsync.system.texts import count

if TYPE_CHECKING:
    from memsync.records import Memory

# JSON that a formatter has put over several lines or into an array, read as the records that it says.
#
# Only the blanks between keys and values go, so that big numbers and repeated keys stay as they are spelled.


_PART: Final = r'"(?:[^"\\]|\\.)*+"|[^\s"]+'
_DECODER: Final = json.JSONDecoder(parse_int=str)  # only where a value ends is asked
_DAMAGED: Final = 1_000  # stretches that say something else, after which the rest of a file stays


class Stretch(NamedTuple):
    """The lines from `start` to `end`, counted from 0, and the records that they say."""

    start: int
    end: int
    records: list[Line]


def mend(lines: Sequence[Line]) -> list[Line]:
    """Return *lines* with each record on one line; every other line is as it was."""
    return [line for _, line in number_mended(lines)]


def number_mended(lines: Sequence[Line]) -> Iterator[tuple[int, Line]]:
    """Yield what `mend` returns, each line with the number, from 1, of the one where it begins among *lines*."""
    last = 0
    for stretch in find(lines):
        yield from enumerate(lines[last : stretch.start], last + 1)
        yield from ((stretch.start + 1, record) for record in stretch.records)
        last = stretch.end
    yield from enumerate(lines[last:], last + 1)


def find(lines: Sequence[Line]) -> list[Stretch]:
    """Return the stretches of *lines* that are JSON and say nothing but records, in their order; they begin without an indent."""
    found: list[Stretch] = []
    numbers = [n for n, line in enumerate(lines) if line.problem and line.id is None and line.raw[:1] in (b"{", b"[")]
    rows = [bare(line.raw).decode("utf-8", "surrogateescape") for line in lines] if numbers else []
    text, begins = "\n".join(rows), list(accumulate((len(row) + 1 for row in rows), initial=0))
    end = damaged = 0
    for start in numbers:
        if start >= end and damaged < _DAMAGED:
            records, stopped = _read_records(text, begins[start])
            end = bisect_left(begins, stopped)  # what is damaged is not looked at again from each of its lines
            if records and not text[stopped : begins[end]].strip():
                found.append(Stretch(start, end, records))
            else:
                damaged += 1
    return found


def _read_records(text: str, at: int) -> tuple[list[Line], int]:
    """Return the records of the JSON value at *at*, and where it ends or is damaged; none if it says anything else."""
    try:
        _, end = _DECODER.raw_decode(text, at)
        value = text[at:end]
        records = [_read_record(part) for part in (codec.split_array(value) if value[0] == "[" else [value])]
    except (ValueError, RecursionError) as error:
        return [], getattr(error, "pos", at)
    return (records if all(record.id for record in records) else []), end


def _read_record(text: str) -> Line:
    row = "".join(re.findall(_PART, text)) if "\n" in text else text
    return codec.decode(row.encode("utf-8", "surrogateescape"))


_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
HEAD: Final = 64  # bytes that tell the encoding of a file
CONFLICT: Final = "a git conflict"
_get_raw, _get_id = itemgetter(0), itemgetter(1)  # of a line; as attributes they take twice as long
_get_ends: Final = itemgetter(0), itemgetter(-1)  # of bytes
_BRACES: Final = set(b"{"), set(b"}")
_NEWLINE: Final = 10
AT_ONCE: Final = 256  # lines that are joined: some 100 KB
_FEW: Final = 64  # lines that are parsed before it pays to import a quicker parser
_LEAST: Final = 0.0001  # a smaller number is written with an exponent, by each speller in its own way
_ESCAPED: Final = [(bare.encode(), escaped.encode()) for bare, escaped in LINE_ENDS.items()]
MARKER_SIZE: Final = 7  # letters of git's default marker; nested merges write longer ones
_MARKER: Final = re.compile(rb"(<{7,}|\|{7,}|={7,}|>{7,})(?: |\r*$)")


class Problem(NamedTuple):
    """Something about line `number` (from 1); `harmless`: nothing is unreadable or in doubt."""

    number: int
    why: str
    harmless: bool = False

    @property
    def is_conflict(self) -> bool:
        """Whether git left a conflict here."""
        return self.why.startswith(CONFLICT)


def read_marker(raw: bytes) -> tuple[str, int] | None:
    """Return the kind of the conflict marker *raw*, a line, one of `<|=>`, and its size; None if it is not one."""
    found = _MARKER.match(raw)
    return (found[1][:1].decode(), len(found[1])) if found else None


def spell_conflict(
    ours: bytes, theirs: bytes, *, size: int = MARKER_SIZE, labels: tuple[bytes, bytes] = (b"ours", b"theirs")
) -> bytes:
    """Return *ours* and *theirs*, whole lines, between markers of *size* letters."""
    begin, middle, end = (letter * size for letter in (b"<", b"=", b">"))
    return b"%s %s\n%s%s\n%s%s %s\n" % (begin, labels[0], ours, middle, theirs, end, labels[1])


def is_utf16(data: bytes) -> bool:
    """Tell whether *data* looks like a UTF-16 file, which no append may touch."""
    return data.startswith(_UTF16) and b"\0" in data[:HEAD]


def read_line(raw: bytes, loads: Callable[[bytes], Any] | None = None) -> Line:
    """Read one line; never raises."""
    if raw[:1] != b"{" and not bare(raw).strip():
        return Line(raw)
    return decode(raw, loads) if loads else decode(raw)


def may_be_of(raw: bytes, id_: str) -> bool:
    """Tell whether the line *raw* may be of the record *id_*; quicker than reading it, and never wrong about a line that is.

    A record without an id has a derived one, and JSON may spell any letter as an escape.
    """
    is_plain = id_.isascii() and id_.replace("-", "").isalnum()
    return not is_plain or id_.encode() in raw or raw.count(b"{") != 1 or b"\\u" in raw or b'"id"' not in raw


def read_lines(data: bytes, known: Mapping[bytes, Line] | None = None) -> list[Line]:
    """Read a whole file. Lines found in *known* (raw bytes to Line) are not parsed again."""
    return list(_lines(BytesIO(data), known or {}))


def read_open(source: Iterable[bytes], known: Mapping[bytes, Line]) -> list[Line]:
    """Do what `read_lines` does with an open file, which is never held as a whole."""
    return list(_lines(source, known))


def _lines(source: Iterable[bytes], known: Mapping[bytes, Line]) -> Iterator[Line]:
    torn, parsed = b"", 0
    loads: Callable[[bytes], Any] | None = None
    for whole in source:  # not all at once, which would hold a second file
        if whole[-1] != _NEWLINE:
            torn = whole
            break
        raw = whole[:-1]
        if raw[:1] != b"{" and read_marker(bare(raw)):
            yield Line(raw, is_marker=True)
            continue
        line = known.get(raw) if known else None
        if line and not line.problem:
            yield line
            continue
        if (parsed := parsed + 1) == _FEW:
            from orjson import loads  # whose import costs more than it saves for a few lines
        yield read_line(raw, loads)
    if torn:
        line = Line(torn, is_marker=True) if read_marker(bare(torn)) else read_line(torn)
        is_cut = line.id is None and line.problem
        yield line._replace(problem=f"the last line was cut off ({line.problem})") if is_cut else line


def encode_all(memories: Sequence[Memory]) -> list[bytes]:
    """Spell each of *memories* canonically; many by a quicker speller."""
    if len(memories) < _FEW:
        return [encode(memory) for memory in memories]
    from orjson import OPT_SORT_KEYS, dumps

    lines = []
    for memory in memories:
        try:
            raw = dumps(fields_of(memory), option=OPT_SORT_KEYS) if _is_spelled_alike(memory) else encode(memory)
        except TypeError:  # a lone surrogate
            raw = encode(memory)
        for plain, escaped in () if raw.isascii() else _ESCAPED:
            raw = raw.replace(plain, escaped)
        lines.append(memoryview(raw).tobytes())  # orjson's own keep the room in which they were made, kilobytes each
    return lines


def _is_spelled_alike(memory: Memory) -> bool:
    """Tell whether every speller of JSON writes *memory* alike: texts, and a number without an exponent."""
    is_plain = memory.importance == 0 or memory.importance >= _LEAST
    return is_plain and all(type(item) is str for item in memory.extra.values())


def current(lines: Sequence[Line]) -> dict[str, Line]:
    """Return the last line of each id, removals included. Conflicts are for `merge.current`."""
    found = dict(zip(map(_get_id, lines), lines, strict=True))
    found.pop(None, None)
    return found


def _winners(lines: Sequence[Line]) -> dict[str, int]:
    """Return the position of the line that counts for each id. Equal lines may be one object, so identity does not tell."""
    return {line.id: number for number, line in enumerate(lines) if line.id is not None}


def problems(lines: Sequence[Line]) -> list[Problem]:
    """Return what a person should look at, in line order."""
    found = [Problem(n, line.problem, line.nameless) for n, line in enumerate(lines, 1) if line.problem]

    if stretches := find(lines) if found else []:
        inside = {number for one in stretches for number in range(one.start + 1, one.end + 1)}
        said = count(sum(len(one.records) for one in stretches), "memory")
        why = f"{said} over several lines or in an array, as a formatter leaves them; the next write or `memsync doctor --fix` puts each on a line"
        found = [problem for problem in found if problem.number not in inside]
        found.append(Problem(stretches[0].start + 1, why, harmless=True))
    if markers := [n for n, line in enumerate(lines, 1) if line.is_marker]:
        found.append(Problem(markers[0], f"{CONFLICT} ({len(markers)} marker lines); both sides are merged"))
    return sorted(found + list(_duplicates(lines)))


def _duplicates(lines: Sequence[Line]) -> Iterator[Problem]:
    """Find records that another line replaces and that no export will take out; a conflict is merged as a whole."""
    if in_conflict(lines):
        return
    winners = _winners(lines)
    for number, line in enumerate(lines):
        if line.id is None or not line.is_record:
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
    if not winner.is_record or not line.is_record:
        return True
    return bare(line.raw) == bare(winner.raw) or is_canonical(winner.raw)


def export(lines: Sequence[Line], *, collapse: bool = False) -> bytes:
    """Return the canonical form of *lines*: one line an id, sorted by id, LF, final newline.

    Kept lines keep their bytes. Taken out: blank lines, removals and records
    that the log replaced; with *collapse* also duplicates that memsync did not
    write. An unreadable line stays behind the record that it followed.
    """
    return spell(keep(lines, collapse=collapse))


def keep(lines: Sequence[Line], *, collapse: bool = False) -> list[Line]:
    """Return the lines that an export keeps, in its order."""
    ids = set(map(_get_id, lines))
    if None in ids:
        return [line for _, _, line in arrange(lines, collapse=collapse)]
    # Of most records there is one line, and nothing to choose.
    repeated = repeated_ids(lines) if len(ids) < len(lines) else ()
    del ids
    several = [line for line in lines if line.id in repeated or not line.is_record]
    kept = [line for _, _, line in arrange(several, collapse=collapse)]
    kept += (line for line in lines if line.id not in repeated and line.is_record)
    return sorted(kept, key=_get_id)


def spell(lines: Iterable[Line]) -> bytes:
    """Return the bytes of *lines*, each without what other platforms put around it."""
    return b"".join(spell_blocks(lines))


def spell_blocks(lines: Iterable[Line]) -> Iterator[bytes]:
    """Yield what `spell` returns, so many lines at once that the memory for them is soon had."""
    for raws in _batches(lines):
        if not all(raws) or any(set(map(get, raws)) != brace for get, brace in zip(_get_ends, _BRACES, strict=True)):
            raws[:] = map(bare, raws)
        raws.append(b"")
        yield b"\n".join(raws)


def join_blocks(lines: Iterable[Line]) -> Iterator[bytes]:
    """Yield *lines* as they are, each with a newline, many at once."""
    return (b"\n".join([*raws, b""]) for raws in _batches(lines))


class Blocks:
    """What `join_blocks` yields of *lines*, as often as it is asked for."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    def __iter__(self) -> Iterator[bytes]:
        return join_blocks(self._lines)


def _batches(lines: Iterable[Line]) -> Iterator[list[bytes]]:
    left = map(_get_raw, lines)
    while raws := list(islice(left, AT_ONCE)):
        yield raws


def have_own_ids(lines: Sequence[Line]) -> bool:
    """Tell whether each line has an id that no other has: then there is nothing to merge, be it by markers or by what lines say."""
    ids = set(map(_get_id, lines))
    return len(ids) == len(lines) and None not in ids


def repeated_ids(lines: Iterable[Line]) -> set[str]:
    """Return the ids that several of *lines* have."""
    ids = sorted(filter(None, map(_get_id, lines)))  # most are in order, so that this is quicker than a set
    return set(compress(ids, map(eq, ids, islice(ids, 1, None))))


def count_bytes(lines: Sequence[Line]) -> int:
    """Return how many bytes *lines* have, each with its newline."""
    return sum(map(len, map(_get_raw, lines))) + len(lines)


def ids_of(lines: Iterable[Line]) -> Iterable[str | None]:
    """Return the id of each of *lines*."""
    return map(_get_id, lines)


def is_in_order(lines: Sequence[Line], size: int) -> bool:
    """Tell whether an export of *lines*, a file of *size* bytes, is what they are, without making one."""
    if count_bytes(lines) != size:
        return False  # without its last newline
    return all(bare(line.raw) == line.raw for line in lines) and (
        _is_ascending(lines) or [number for _, number, _ in arrange(lines)] == list(range(len(lines)))
    )


def _is_ascending(lines: Iterable[Line]) -> bool:
    """Tell whether each line is a record with a larger id than the one before, as in most files."""
    last = ""
    for line in lines:
        if line.id is None or line.id <= last or not line.is_record:
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
            if line.is_record:
                # Only a winner that leaves no duplicate behind may take an earlier place: the last line wins.
                takes_it = anchor in place and (collapse or is_canonical(line.raw))
                kept.append((anchor, place[anchor] if takes_it else number, line))
        elif best >= 0 and (collapse or _is_replaced(line, lines[best])):
            place.setdefault(anchor, number)
        else:
            kept.append((anchor, number, line))
    kept.sort(key=lambda found: found[:2])
    return kept
