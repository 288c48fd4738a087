"""Changes that wait for a commit: the lines of `local/pending.jsonl`, read as if they followed the memory file.

Each pending line is preceded by the version it was based on, as `{"base":…}`. So
a change made on one branch is merged into the line of another, and coming back
to the first undoes nothing. Works on lines; knows no files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from memsync.format import jsonl, merge
from memsync.format.codec import Line, bare

_BASE: Final = b'{"base":'


def read(data: bytes) -> list[Line]:
    """Read a whole pending file; what an edit was made from is a line without an id."""
    return [Line(line.raw) if _is_base(line) else line for line in jsonl.read_lines(data)]


def _is_base(line: Line) -> bool:
    return line.id is None and line.raw.startswith(_BASE) and line.raw.endswith(b"}")


def add_bases(
    raws: Sequence[bytes], tracked: Sequence[Line], waiting: Sequence[Line], merged: Sequence[Line] = ()
) -> list[bytes]:
    """Return *raws*, new lines, each after the line of the memory file that it replaces, if that is not known yet.

    What stands in *merged* for their records comes first: no later merge would find the copies that a reader was shown.
    """
    raws = [*_find_shown(merged, raws), *raws]
    known = _bases(waiting)
    ids = [jsonl.read_line(raw).id or "" for raw in raws]
    now = _current(tracked, set(ids))
    out = []
    for id_, raw in zip(ids, raws, strict=True):
        old = now.get(id_)
        if old is not None and old.memory and known.get(id_) != bare(old.raw):
            known[id_] = bare(old.raw)
            out.append(_BASE + known[id_] + b"}")
        out.append(raw)
    return out


def leave_out(data: bytes, ids: Collection[str]) -> bytes:
    """Return *data* without the waiting records of *ids*; a removal stays where there is something to remove."""
    lines = read(data)
    bases = _bases(lines)
    return b"".join(
        line.raw + b"\n" for line in lines if line.id not in ids or (line.memory is None and line.id in bases)
    )


def _find_shown(merged: Sequence[Line], raws: Sequence[bytes]) -> list[bytes]:
    """Return the lines of *merged* for the records that *raws* change, with the copies of what lost against them."""
    changed = {jsonl.read_line(raw).id for raw in raws} if merged else set()
    records = {_find_record(line) for line in merged if line.id in changed}
    return [bare(line.raw) for line in merged if _find_record(line) in records and line.id]


def _find_record(line: Line) -> str | None:
    """Return the id of the record that *line* is a version or a copy of."""
    return (line.memory and line.memory.conflict_of) or line.id


def _bases(waiting: Iterable[Line]) -> dict[str, bytes]:
    """Return by id the last line that each waiting change was made from."""
    found = {}
    for line in waiting:
        if line.id is None and line.raw.startswith(_BASE):
            raw = line.raw[len(_BASE) : -1]
            found[jsonl.read_line(raw).id or ""] = raw
    return found


def _current(lines: Sequence[Line], ids: AbstractSet[str]) -> dict[str, Line]:
    # A conflict is merged as a whole: its markers have no id, and a copy that it makes has one that no line shows.
    whole = jsonl.in_conflict(lines)
    return merge.current(lines if whole else [line for line in lines if line.id in ids])


def lay_over(lines: list[Line], held: bytes) -> tuple[list[Line], tuple[int, int]]:
    """Return *lines* of the memory file with those of the pending one behind them, and where each of the two ends.

    Behind both stand merged lines for the waiting changes whose record has
    changed in the memory file too; mostly none.
    """
    if not held:
        return lines, (len(lines), len(lines))
    waiting = read(held)
    merged = _settle(lines, waiting)
    settled = {line.id for line in merged if line.id}
    shown = [Line(line.raw) if line.id in settled else line for line in waiting]
    return [*lines, *shown, *merged], (len(lines), len(lines) + len(waiting))


def _settle(lines: Sequence[Line], waiting: Sequence[Line]) -> list[Line]:
    bases, changed = _bases(waiting), jsonl.current(waiting)
    tracked = _current(lines, changed.keys())
    sides: tuple[list[Line], ...] = ([], [], [])
    for id_, line in changed.items():
        now, base = tracked.get(id_), bases.get(id_)
        if now is None or now.memory is None or bare(now.raw) in (base, bare(line.raw)):
            continue
        # What was added and removed while it waited says nothing about a record of that id elsewhere.
        theirs = line if base or line.memory else None
        for side, version in zip(sides, (base and jsonl.read_line(base), now, theirs), strict=True):
            side.extend([version] if version else [])
    return merge.merge_lines(*sides) if sides[1] else []
