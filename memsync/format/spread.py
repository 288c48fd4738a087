"""JSON that a formatter has put over several lines or into an array, read as the records that it says.

Only the blanks between keys and values go, so that big numbers and repeated keys stay as they are spelled.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from memsync.format import codec
from memsync.format.codec import Line, bare

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
