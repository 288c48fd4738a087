"""Changes that wait for a commit: the lines of `local/pending.jsonl`, read as if they followed the memory file.

Each pending line is preceded by the version it was based on, as `{"base":…,"at":COMMIT}`. So
a change made on one branch is merged into the line of another, it goes on waiting on a
branch that never had the record, and coming back to the first undoes nothing. Works on lines; knows no files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from memsync.format import jsonl, merge
from memsync.format.codec import Line, bare

_BASE: Final = b'{"base":'
_AT: Final = rb'(\}),"at":"([0-9a-f]{40,64})"\}$'  # the commit that was checked out; older lines have none


def read(data: bytes) -> list[Line]:
    """Read a whole pending file; what an edit was made from is a line without an id."""
    return [Line(line.raw) if _is_base(line) else line for line in jsonl.read_lines(data)]


def _is_base(line: Line) -> bool:
    return line.id is None and line.raw.startswith(_BASE) and line.raw.endswith(b"}")


def add_bases(
    raws: Sequence[bytes],
    tracked: Sequence[Line],
    waiting: Sequence[Line],
    merged: Sequence[Line] = (),
    *,
    find_head: Callable[[], str] = str,
) -> list[bytes]:
    """Return *raws*, new lines, each after the line of the memory file that it replaces, if that is not known yet.

    With that stands the commit that *find_head* returns, which is asked only then.

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
            at = b',"at":"%s"' % commit.encode() if (commit := find_head()) else b""
            out.append(b"%s%s%s}" % (_BASE, known[id_], at))
        out.append(raw)
    return out


def leave_out(data: bytes, ids: Collection[str]) -> bytes:
    """Return *data* without the waiting records of *ids*; a removal stays where there is something to remove."""
    lines = read(data)
    bases = _bases(lines)
    return b"".join(
        line.raw + b"\n" for line in lines if line.id not in ids or (line.memory is None and line.id in bases)
    )


def join(own: bytes, other: bytes) -> bytes:
    """Return what waits in *own* and in *other*: a record that waits in both is merged, from what the other was made from."""
    ours, theirs = read(own), read(other)
    mine, others = jsonl.current(ours), jsonl.current(theirs)
    both = mine.keys() & others.keys()
    bases = _bases(ours) | _bases(theirs)
    made_from = [jsonl.read_line(bases[id_]) for id_ in both if id_ in bases]
    merged = merge.merge_lines(made_from, [mine[id_] for id_ in both], [others[id_] for id_ in both])
    gone = both - {line.id for line in merged}
    kept = [line for line in ours if line.id not in both or (line.id in gone and line.memory is None)]
    kept += [line for line in theirs if (line.id or _find_based(line)) not in both]
    return b"".join(line.raw + b"\n" for line in [*kept, *merged])


def is_due(tracked: Sequence[Line], waiting: Sequence[Line]) -> bool:
    """Tell whether a change waits that belongs into the file as it is, with the lines *tracked*."""
    if not waiting:
        return False
    bases, live = _bases(waiting), {line.id for line in tracked if line.memory}
    return any(line.id and (line.id in live or line.id not in bases) for line in waiting)


def split(lines: Sequence[Line], held: bytes, had: Callable[[str, str, bool], bool]) -> tuple[bytes, bytes]:
    """Return of a pending file what belongs into the memory file with these *lines*, and what goes on waiting.

    A change of a record that is not there waits for a branch that has it, unless this branch once did, and so removed it:
    *had* tells whether what is checked out had the record of an id, as of the commit on which the change was made, and
    is told whether that was an edit.
    """
    waiting = read(held)
    bases = _bases(waiting)
    tracked = _current(lines, bases.keys())
    absent = [id_ for id_ in bases if id_ not in tracked or tracked[id_].memory is None]
    commits = _find_commits(waiting)
    changes = jsonl.current(waiting)
    edited = {id_ for id_ in absent if id_ in changes and changes[id_].memory}
    away = {id_ for id_ in absent if not (commits.get(id_) and had(id_, commits[id_], id_ in edited))}
    if not away:
        return held, b""
    parts = dict.fromkeys((False, True), b"")
    for line in waiting:
        parts[(line.id or _find_based(line)) in away] += line.raw + b"\n"
    return parts[False], parts[True]


def _find_based(line: Line) -> str:
    return jsonl.read_line(_strip_base(line.raw)).id or "" if line.raw.startswith(_BASE) else ""


def _find_commits(waiting: Iterable[Line]) -> dict[str, str]:
    """Return by id the commit on which the last base of each was checked out, where it says so."""
    bases = [line for line in waiting if line.id is None and line.raw.startswith(_BASE)]
    return {_find_based(line): found[2].decode() for line in bases if (found := re.search(_AT, line.raw))}


def _strip_base(raw: bytes) -> bytes:
    return re.sub(_AT, rb"\1}", raw)[len(_BASE) : -1]


def _find_shown(merged: Sequence[Line], raws: Sequence[bytes]) -> list[bytes]:
    """Return the lines of *merged* for the records that *raws* change, with the copies of what lost against them."""
    changed = {jsonl.read_line(raw).id for raw in raws} if merged else set()
    records = {_find_record(line) for line in merged if line.id in changed}
    return [bare(line.raw) for line in merged if _find_record(line) in records and line.id]


def _find_record(line: Line) -> str | None:
    return (line.memory and line.memory.conflict_of) or line.id


def _bases(waiting: Iterable[Line]) -> dict[str, bytes]:
    """Return by id the last line that each waiting change was made from."""
    found = {}
    for line in waiting:
        if line.id is None and line.raw.startswith(_BASE):
            raw = _strip_base(line.raw)
            found[jsonl.read_line(raw).id or ""] = raw
    return found


def _current(lines: Sequence[Line], ids: AbstractSet[str]) -> dict[str, Line]:
    # As a whole: markers and what a formatter spread have no id, and a copy that a conflict makes has one that no line shows.
    whole = any(line.is_marker or line.problem for line in lines)
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
