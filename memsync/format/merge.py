"""The merge of memory files: one function for git's driver, conflict markers, imports and sync.

Bytes in, bytes out. Symmetric to the byte, so that both clones end with the
same file; no text, unknown key or unreadable line is ever dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Final, NamedTuple

from memsync.format import codec, jsonl, versions
from memsync.format.codec import NEVER, Line, bare, is_canonical
from memsync.format.jsonl import MARKER_SIZE, read_marker, repeated_ids, spell_conflict
from memsync.format.versions import Outcome
from memsync.records import format_time, normal_form

_LABELS: Final = (b"one side: this line cannot be read", b"the other side")


class Merged(NamedTuple):
    """A merged file in canonical form.

    `unsettled` counts the places where both sides left different lines that
    cannot be read: these stand between markers. `copies` are the ids of the
    records that keep a text that lost.
    """

    data: bytes
    unsettled: int = 0
    copies: tuple[str, ...] = ()


def merge(base: bytes, ours: bytes, theirs: bytes, *, size: int = MARKER_SIZE) -> Merged:
    """Merge two files that came from *base*; empty: they have none in common. Markers are *size* letters long.

    `merge(b, x, y) == merge(b, y, x)`, and `merge(b, x, x)` is the canonical form of x.
    """
    known: dict[bytes, Line] = {}
    sides: list[list[Line]] = []
    for data in (base, ours, theirs):
        sides.append(settle(jsonl.read_lines(_as_utf8(data), known)))
        known |= {line.raw: line for line in sides[-1]}
    same = jsonl.export(sides[1])
    if same == jsonl.export(sides[2]):
        return Merged(same)
    lines = merge_lines(*sides, size=size)
    data = b"".join(bare(line.raw) + b"\n" for line in lines if not line.deleted_at)
    before = {line.id for line in chain(*sides)}
    copies = {line.id: None for line in lines if line.memory and line.memory.conflict_of and line.id not in before}
    return Merged(data, sum(line.is_marker for line in lines) // 3, tuple(id_ for id_ in copies if id_))


def _as_utf8(data: bytes) -> bytes:
    if not jsonl.is_utf16(data):
        return data
    try:
        return data.decode("utf-16").encode()
    except UnicodeError:
        return data


def current(lines: Sequence[Line]) -> dict[str, Line]:
    """Return the line that counts for each id, removals included; both sides of a conflict are merged."""
    return jsonl.current(settle(lines))


def settle(lines: Sequence[Line]) -> list[Line]:
    """Return *lines* with each record on one line and every conflict merged: by its base where the markers show one.

    What was appended behind the last conflict is the log's word and stays behind. Where somebody deleted a marker,
    the conflict begins with the file or the last conflict, ends with the file, or changes sides where an id comes again.
    """
    lines = jsonl.mend(lines)
    if not jsonl.in_conflict(lines):
        return _settle_text_merges(lines)
    whole = _Part(0)
    stack = [whole]
    for line in lines:
        if line.is_marker and (marker := read_marker(bare(line.raw))):
            _pass_marker(stack, *marker)
        else:
            stack[-1].add(line)
    while len(stack) > 1:
        _close(stack)
    return whole.settle()


def insert_base(lines: Sequence[Line], base: Sequence[Line]) -> list[Line]:
    """Return *lines* with the records of *base* in each conflict between markers that shows none, as in git's style diff3."""
    known = {line.id: line for line in base if line.memory}
    shown: list[Line] = []
    start = middle = 0  # behind the first marker of a conflict, and before the one between its sides
    for line in lines:
        kind, size = (line.is_marker and read_marker(bare(line.raw))) or ("", 0)
        if kind == ">" and middle:
            ids = dict.fromkeys(one.id for one in shown[start:] if one.id in known)
            shown[middle:middle] = [Line(b"|" * size + b" base", is_marker=True), *(known[id_] for id_ in ids)]
        shown.append(line)
        if kind == "=" and start:
            middle = len(shown) - 1
        elif kind:
            start, middle = len(shown) if kind == "<" else 0, 0
    return shown


def _settle_text_merges(lines: Sequence[Line], *, is_doubtful: bool = False) -> list[Line]:
    merged: list[Line] = []
    found = find(lines, is_doubtful=is_doubtful)
    for sides in found.values():
        # In log form the line that both sides came from.
        base = min((side[:1] for side in sides if len(side) > 1), key=lambda side: side[0].moment, default=())
        one, *others = (side[-1:] for side in sides)
        for other in others:
            one = merge_lines(base, one, other)
        merged += one
    return [line for line in lines if line.id not in found] + merged if found else list(lines)


_SIDES: Final = ("base", "ours", "theirs")


class _Part:
    """The versions of a stretch of lines: those of a whole file, or of a conflict with markers of `size` letters."""

    def __init__(self, size: int, side: str = "") -> None:
        self.size = size
        self.side = side  # "" outside of conflicts; such lines are on all sides
        self.is_split = False  # whether the other side has begun
        self.sides: dict[str, list[Line]] = {side: [] for side in ("", *_SIDES)}

    def add(self, line: Line) -> None:
        self.sides[self.side].append(line)

    def take(self, conflict: _Part) -> None:
        """Take in a conflict that has ended."""
        if self.side:
            self.sides[self.side] += conflict.settle()
            return
        for side in _SIDES:
            self.sides[side] += self.sides[""] + conflict.sides[side]
        self.sides[""] = []

    def give_up(self) -> list[Line]:
        """Return the lines of the present side, which belong to a conflict whose beginning is missing."""
        lines, self.sides[self.side] = self.sides[self.side], []
        return lines

    def split(self) -> None:
        """Tell the sides apart where the marker between them is missing: the other begins with the first id that repeats."""
        if self.is_split:
            return
        lines = self.sides[self.side]
        start = _find_repeat(lines)
        if self.side == "base" and start is None:
            start = 0  # whose lines these are nobody can tell, so that they stay
        if start is not None:
            self.sides["theirs"] += lines[start:]
            del lines[start:]

    def settle(self) -> list[Line]:
        return merge_lines(*(self.sides[side] for side in _SIDES)) + self.sides[""]


def _find_repeat(lines: Sequence[Line]) -> int | None:
    seen: set[str] = set()
    for number, line in enumerate(lines):
        if line.id in seen:
            return number
        seen |= {line.id} if line.id else set()
    return None


def _pass_marker(stack: list[_Part], kind: str, size: int) -> None:
    """Move on to the part that begins after a marker. Inside a base, unknown markers are part of it."""
    is_known = any(part.size == size for part in stack)
    if not is_known and stack[-1].side == "base":
        return
    while is_known and stack[-1].size != size:
        _close(stack)
    if kind == "<":
        if is_known:
            _close(stack)
        stack.append(_Part(size, "ours"))
        return
    if not is_known:
        begun = stack[-1].give_up()
        stack.append(_Part(size, "ours"))
        stack[-1].sides["ours"] = begun
    if kind == ">":
        _close(stack)
    else:
        stack[-1].side, stack[-1].is_split = ("base", False) if kind == "|" else ("theirs", True)


def _close(stack: list[_Part]) -> None:
    conflict = stack.pop()
    conflict.split()
    for side in _SIDES[1:]:  # which may have the base in it, too, where the marker before that is missing
        conflict.sides[side] = _settle_text_merges(conflict.sides[side], is_doubtful=True)
    stack[-1].take(conflict)


class _View:
    """What one version of a file holds: a record or removal for each id, lines that repeat an id, unreadable lines."""

    def __init__(self, records: dict[str, Line]) -> None:
        self.records = records
        self.repeats: dict[str, list[bytes]] = {}
        self.loose: dict[str, list[bytes]] = {}  # by the id that they follow

    @classmethod
    def of(cls, lines: Sequence[Line]) -> _View:
        view = cls({id_: line for id_, line in jsonl.current(lines).items() if not line.memory})
        for anchor, _, line in jsonl.arrange(lines):
            if line.id is None:
                view.loose.setdefault(anchor, []).append(bare(line.raw))
                continue
            if anchor in view.records:
                view.repeats.setdefault(anchor, []).append(bare(view.records[anchor].raw))
            view.records[anchor] = line
        return view

    def rename(self, id_: str, new: str) -> None:
        """Give the record *id_* another id, unless it has it already."""
        line = self.records.pop(id_)
        self.records.setdefault(new, _edit(line, id=new))
        if repeats := self.repeats.pop(id_, None):
            self.repeats[new] = [codec.edit(raw, {"id": new}) for raw in repeats]


def merge_lines(base: Sequence[Line], ours: Sequence[Line], theirs: Sequence[Line], *, size: int = 0) -> list[Line]:
    """Merge files as lines, none of them in conflict; the result is in canonical order, removals among it.

    Where both sides left other unreadable lines in one place, markers of *size*
    letters stand around these, or with 0 both simply stay.
    """
    views = b, o, t = _View.of(base), _View.of(ours), _View.of(theirs)
    _tell_apart(b, o, t)
    _follow_moves(views)
    records, copies = _merge_records(b, o, t)
    repeats = {id_: _merge_counts(*(view.repeats.get(id_, []) for view in views)) for id_ in {*o.repeats, *t.repeats}}
    for id_, raws in repeats.items():
        if (line := records.get(id_)) and raws:
            copies += _turn_into_copies(line, raws)
    for line in sorted(copies, key=lambda line: line.raw):
        _put(records, line)
    _archive_again(records, b.records.keys() | (o.records.keys() & t.records.keys()))
    anchors = sorted({*records, *repeats, *o.loose, *t.loose})
    return list(_order_lines(anchors, records, repeats, views, size))


def _archive_again(records: dict[str, Line], known: Collection[str]) -> None:
    """Archive the records, but for those of the ids *known*, that say what an archived and superseded one says.

    The other side wrote that text without knowing.
    """
    live = {id_: line.memory for id_, line in records.items() if line.memory}
    superseded = {old for memory in live.values() for old in memory.supersedes}
    gone = {
        normal_form(memory.content): memory.archived_at
        for id_ in sorted(superseded & live.keys())
        if (memory := live[id_]).archived_at
    }
    for id_, memory in live.items() if gone else ():
        if id_ in known or memory.archived_at or memory.conflict_of:
            continue
        if when := gone.get(normal_form(memory.content)):
            records[id_] = _edit(records[id_], archived_at=format_time(when))


def _follow_moves(views: Sequence[_View]) -> None:
    """Let an unreadable line whose record is gone, so that it follows another, follow the same one in every version."""
    found = [[(raw, anchor) for anchor, raws in view.loose.items() for raw in raws] for view in views]
    places = [dict(rows) for rows in found]
    for raw in sorted(set().union(*places)):
        base, *sides = (place.get(raw) for place in places)
        moved = sorted({anchor for anchor in sides if anchor not in (None, base)})
        if moved and all(sum(one == raw for one, _ in rows) <= 1 for rows in found):
            for view, place in zip(views, places, strict=True):
                if raw in place and place[raw] != moved[0]:
                    view.loose[place[raw]].remove(raw)
                    view.loose.setdefault(moved[0], []).append(raw)


def _order_lines(
    anchors: Iterable[str],
    records: dict[str, Line],
    repeats: dict[str, list[bytes]],
    views: tuple[_View, _View, _View],
    size: int,
) -> Iterator[Line]:
    for anchor in anchors:
        yield from map(jsonl.read_line, repeats.get(anchor, ()))
        if anchor in records:
            yield records[anchor]
        loose = tuple(view.loose.get(anchor, []) for view in views)
        if any(loose[1:]):
            yield from _merge_loose(*loose, size=size)


def _merge_records(b: _View, o: _View, t: _View) -> tuple[dict[str, Line], list[Line]]:
    """Return what stays under each id, and the versions that lost with a text of their own."""
    records: dict[str, Line] = {}
    copies: list[Line] = []
    stale: set[str] = set()
    for id_ in o.records.keys() | t.records.keys():
        outcome = _decide(b.records.get(id_), o.records.get(id_), t.records.get(id_))
        if outcome:
            records[id_] = outcome.line
            if outcome.other:
                copies.append(outcome.other)
                stale.add(outcome.stale)
    # What both sides have kept was edited by neither of them, and one that the base had is no news.
    kept = b.records.keys() | (o.records.keys() & t.records.keys())
    for id_ in (stale & records.keys()) - kept:
        memory = records[id_].memory
        if memory and versions.copy_id(memory.conflict_of or "", memory.content) == id_:
            del records[id_]  # that version was edited since: its new text is here
    return records, copies


def _decide(base: Line | None, ours: Line | None, theirs: Line | None) -> Outcome | None:
    """Decide on one id: a record, a removal (a line without memory), or nothing there."""
    if ours is theirs:
        return Outcome(ours) if ours else None
    if ours and theirs and ours.memory and theirs.memory:
        return versions.merge(base, ours, theirs)
    live, gone = (ours, theirs) if ours and ours.memory else (theirs, ours)
    if live is None or live.memory is None:
        gone = max(filter(None, (ours, theirs)), key=lambda line: (line.moment, line.raw), default=None)
        return Outcome(gone) if gone else None
    is_left = _outlives(live, base, gone)
    return Outcome(versions.date_edit(live, base)) if is_left else Outcome(gone) if gone else None


def _outlives(live: Line, base: Line | None, gone: Line | None) -> bool:
    """Tell whether a record that the other side has not, or has removed, stays: if it is new or was edited.

    Where both are new, as between markers without a base, a removal counts if it is the later.
    """
    if base and base.memory:
        return versions.is_edited(live, base)
    return not gone or bool(base) or live.moment >= gone.moment


def _put(records: dict[str, Line], line: Line) -> None:
    """Add a record that keeps a lost text, unless it is there already; what has its id by chance is left alone."""
    memory, length = line.memory, 10
    assert memory is not None
    while (held := records.get(line.id or "")) and held.memory and held.memory.content != memory.content:
        length += 1
        line = _edit(line, id=versions.copy_id(memory.conflict_of or "", memory.content, length=length))
    if not held or not held.memory:
        records[line.id or ""] = line


def _turn_into_copies(line: Line, raws: list[bytes]) -> list[Line]:
    """Turn lines that repeat the id of *line* into records, and empty *raws*, if the next export would drop them."""
    if not codec.is_canonical(line.raw):
        return []
    found = [versions.keep_loser(line, jsonl.read_line(raw)) for raw in raws]
    raws.clear()
    return [copy for copy in found if copy]


def _edit(line: Line, **fields: object) -> Line:
    return codec.decode(codec.edit(bare(line.raw), fields))


def _tell_apart(b: _View, o: _View, t: _View) -> None:
    """Give the younger of two records with one id another id, in every version."""
    for id_ in sorted(o.records.keys() & t.records.keys()):
        ours, theirs, base = o.records[id_], t.records[id_], b.records.get(id_)
        if ours is theirs or _are_one(base, ours, theirs):
            continue
        first, second = sorted((ours, theirs), key=lambda line: (versions.born_at(line), line.raw))
        new = versions.make_birth_id(second)
        for view, others in ((b, ()), (o, (b, t)), (t, (b, o))):
            line = view.records.get(id_)
            if line and line.memory and versions.are_one(line, second) and not versions.are_one(line, first):
                view.rename(id_, new)
                if others:
                    _follow(view, others, id_, new)


def _are_one(base: Line | None, ours: Line, theirs: Line) -> bool:
    """Tell whether the two are versions of one record, perhaps by way of *base*; or one of them is *base*."""
    if versions.are_one(ours, theirs):
        return True
    if base is None:
        return False
    alike = [versions.are_one(base, line) for line in (ours, theirs)]
    return all(alike) or bare(base.raw) in (bare(ours.raw), bare(theirs.raw))


def _follow(view: _View, others: tuple[_View, ...], old: str, new: str) -> None:
    """Make the records that only *view* has refer to *new* where they referred to *old*."""
    for id_, line in view.records.items():
        if not (fields := versions.rename_refs(line.memory, old, new)):
            continue
        if any((other := there.records.get(id_)) and bare(other.raw) == bare(line.raw) for there in others):
            continue
        view.records[id_] = _edit(line, **fields)


def _merge_counts(base: list[bytes], ours: list[bytes], theirs: list[bytes]) -> list[bytes]:
    if theirs in (ours, base):
        return list(ours)
    if base == ours:
        return list(theirs)
    counts = tuple(map(Counter, (base, ours, theirs)))
    return [raw for raw in sorted({*ours, *theirs}) for _ in range(_count(raw, *counts))]


def _count(raw: bytes, base: Counter[bytes], ours: Counter[bytes], theirs: Counter[bytes]) -> int:
    b, o, t = base[raw], ours[raw], theirs[raw]
    return o if b == t else t if b == o else max(o, t)


def _merge_loose(base: list[bytes], ours: list[bytes], theirs: list[bytes], *, size: int) -> Iterator[Line]:
    """Yield the unreadable lines of one place; those that each side alone has new stand between markers."""
    lines = _merge_counts(base, ours, theirs)
    sides = sorted([raw for raw in lines if raw not in base and raw not in other] for other in (theirs, ours))
    if not size or not all(sides):
        yield from map(jsonl.read_line, lines)
        return
    yield from (jsonl.read_line(raw) for raw in lines if raw not in sides[0] and raw not in sides[1])
    both = (b"".join(raw + b"\n" for raw in raws) for raws in sides)
    yield from jsonl.read_lines(spell_conflict(*both, size=size, labels=_LABELS))


# Telling that a merge of text, without our driver, put two versions of a record into one file without a word.
#
# memsync appends at the end, each new version behind the line that it replaces, and never goes back in time. So a line was
# not appended to the others of its record here
#
# - if it was written before one of them, unless it repeats one;
# - if the next line replaces it, but it repeats none: then another side has changed what it was;
# - if older records follow it in the order of the canonical form, unless it stands behind the line that it replaces.
#
# None of that says anything of lines that other tools wrote, so one of the versions must be in memsync's own spelling.


class _Record:
    """The lines of one id, by the side that wrote them; the side at the end is the one that goes on."""

    def __init__(self) -> None:
        self.sides: list[list[Line]] = [[]]
        self._seen: set[bytes] = set()
        self._latest: datetime | None = None  # when the last of the side that goes on was written
        self._replaced_at = -2  # where the last line was that may be there only as what the next one replaces

    def add(self, line: Line, number: int, after: Line | None, *, is_inside: bool) -> None:
        """Add the line at *number*, which the line *after* follows."""
        is_base = after is not None and after.id == line.id and line.moment < after.moment and self._is_new(after)
        is_new = self._is_new(line)
        goes_back = is_new and self._goes_back(line, is_base=is_base)
        if goes_back or (is_new and self._seen and is_inside and self._replaced_at != number - 1):
            self.sides.append([])
            self._latest = None
        elif resumed := [side for side in self.sides[:-1] if not is_new and bare(side[-1].raw) == bare(line.raw)]:
            self.sides.remove(resumed[0])
            self.sides.append(resumed[0])
            self._latest = max(one.moment for one in resumed[0])
        if not is_new or (goes_back and is_base):
            self._replaced_at = number
        self._seen.add(bare(line.raw))
        self.sides[-1].append(line)
        self._latest = max(line.moment, self._latest or NEVER)

    def _is_new(self, line: Line) -> bool:
        return bare(line.raw) not in self._seen

    def _goes_back(self, line: Line, *, is_base: bool) -> bool:
        latest = self._latest
        return latest is not None and (
            NEVER < line.moment < latest or (is_base and line.moment <= latest and bool(self.sides[-1][-1].memory))
        )


def may_add_sides(known: Sequence[Line], added: Sequence[Line], current: Mapping[str, Line]) -> bool:
    """Tell whether the lines *added* behind those *known*, which have no sides and of which *current* count, may make one; False is certain.

    Looks at no more of what is known than its end, in the order of the canonical form, but where older records stand there.
    """
    newest: dict[str, Line] = {}
    before, is_repeat = next((line for line in reversed(known) if line.id is not None), None), False
    for line in added:
        if line.id is None:
            continue
        old = newest.get(line.id) or current.get(line.id)
        if old and line.moment < old.moment:
            return True
        if before and before.id == line.id and before.moment < line.moment and not is_repeat:
            return True
        before, is_repeat = line, old is not None and bare(old.raw) == bare(line.raw)
        newest[line.id] = line
    lines = [*known, *added]
    inside = _find_inside(lines, ())
    ids = {lines[number].id for number in inside}
    return bool(inside) and any(line.id in ids for line in islice(lines, min(inside)))


def find(lines: Sequence[Line], *, is_doubtful: bool = False) -> dict[str, list[list[Line]]]:
    """Return, by id, the lines of each side where a merge of text put two versions of a record into one file; also of other tools' lines, if *is_doubtful*."""
    if not (repeated := repeated_ids(lines)):
        return {}
    named = [line for line in lines if line.id is not None]
    numbers = [number for number, line in enumerate(named) if line.id in repeated]
    found = {named[number].id or "": _Record() for number in numbers}
    inside = _find_inside(named, found)
    for number in numbers:
        line, after = named[number], named[number + 1] if number + 1 < len(named) else None
        found[line.id or ""].add(line, number, after, is_inside=number in inside)
    return {
        id_: record.sides
        for id_, record in found.items()
        if len(record.sides) > 1 and (is_doubtful or _is_ours(record.sides))
    }


def _is_ours(sides: Sequence[Sequence[Line]]) -> bool:
    return any(is_canonical(line.raw) for side in sides for line in side)


def _find_inside(lines: Sequence[Line], repeated: Collection[str]) -> set[int]:
    """Return which of the sorted last *lines* have a record behind them that was written earlier."""
    inside: set[int] = set()
    oldest, after = None, None
    for number in reversed(range(len(lines))):
        line = lines[number]
        if line.id is None:
            continue
        if after is not None and line.id >= after:
            break
        after = line.id
        if oldest and oldest < line.moment:
            inside.add(number)
        if after not in repeated and line.moment > NEVER:
            oldest = min(filter(None, (oldest, line.moment)))
    return inside
