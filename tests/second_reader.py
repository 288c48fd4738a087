"""A second implementation of the memory format, which needs no more than docs/format.md: `read`, `export` and `merge`, without memsync."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import chain
from math import isnan

LISTS = ("tags", "supersedes", "anchors", "cues", "links", "triggers")
LABELS = {"memory_type": "fact", "source_type": "user", "source_session_id": None, "author": None, "conflict_of": None}
TIMES = ("created_at", "updated_at", "archived_at")
OTHER = {"type": "memory_type", "source": "source_type", "source_id": "source_session_id"}
KNOWN = {"id", "content", "importance", "deleted_at", *LISTS, *LABELS, *TIMES, *OTHER}
MARKER = re.compile(rb"(<{7,}|\|{7,}|={7,}|>{7,})(?: |$)")


class Line:
    """One line: a record, a removal, or something that cannot be read (`id` is None)."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.id, self.problem, self.record, self.moment = (
            raw,
            None,
            True,
            None,
            datetime.min.replace(tzinfo=UTC),
        )
        try:
            self.value = json.loads(raw.decode())
        except ValueError:
            return
        if isinstance(self.value, dict) and depth(self.value) <= 64:
            self._read(self.value.get("id"), self.value.get("content"))

    def _read(self, id_: object, content: object) -> None:
        if id_ is not None and (not isinstance(id_, str) or not id_ or "\ud800" <= max(id_) <= "\udfff"):
            return
        deleted = self.value.get("deleted_at") or self.value.get("_deleted") is True
        if id_ and deleted and not content:
            self.id, self.problem = id_, False
            self.moment = when(deleted) or self.time("updated_at") or datetime.fromtimestamp(0, UTC)
        elif isinstance(content, str):
            self.id = id_ or hash_id(" ".join(content.lower().split()))
            self.problem = not id_ or bool(deleted)
            self.record = self._fields(content)
            self.moment = self.time("updated_at") or self.time("created_at") or self.moment

    def _fields(self, content: str) -> dict:
        found, defaults = {"id": self.id, "content": content}, {**LABELS, "importance": 0.5}
        for key, default in LABELS.items():
            said = self.get(key) or default
            found[key] = said if isinstance(said, str) else default
            self.problem |= bool(default) and not isinstance(said, str)
        said = 0.5 if self.get("importance") is None else self.get("importance")
        is_number = type(said) in (int, float) and not isnan(said)
        found["importance"] = min(1.0, max(0.0, said)) if is_number else 0.5
        self.problem |= not is_number or not 0 <= said <= 1
        texts = {key: type(self.get(key)) is list and {str} >= {*map(type, self.get(key))} for key in LISTS[-2:]}
        foreign = [key for key in texts if self.get(key) is not None and not texts[key]]
        found |= {key: self._list(self.get(key)) for key in LISTS if key not in foreign}
        for key in TIMES:
            moment = found[key] = self.time(key) and spell_time(self.time(key))
            self.problem |= self.get(key) is not None and not moment
        extra = {key: item for key, item in self.value.items() if key not in KNOWN or key in foreign}
        kept = {key: item for key, item in found.items() if item not in (None, []) and item != defaults.get(key)}
        return {**kept, "extra": extra} if extra else kept

    def _list(self, said: object) -> list:
        if isinstance(said, str):
            return [part.strip() for part in said.split(",") if part.strip()]
        kept = [one for one in said if isinstance(one, str) and one] if isinstance(said, list) else []
        self.problem |= bool(said) and (not isinstance(said, list) or len(kept) != len(said))
        return kept

    def get(self, key: str) -> object:
        other = next((theirs for theirs, ours in OTHER.items() if ours == key), key)
        return self.value.get(key) or self.value.get(other)

    def time(self, key: str) -> datetime | None:
        return when(self.value.get(key))

    @property
    def fields(self) -> dict[str, list]:  # the key, its text and the text of the value, for each field
        found: dict[str, list] = {}
        for pair in split(self.raw.decode()):
            found.setdefault(OTHER.get(pair[0], pair[0]), []).append(pair)
        return found

    def edited(self, **changes: object) -> Line:
        pairs = {pair[0]: pair for pair in split(self.raw.decode())}
        return Line(
            join([[*(pairs | {key: (key, f'"{key}"', json.dumps(one)) for key, one in changes.items()}).values()]])
        )


def depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def when(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def spell_time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def hash_id(*parts: str) -> str:
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return "mm-" + "".join("abcdefghijklmnopqrstuvwxyz234567"[byte & 31] for byte in digest[:10])


def join(pairs) -> bytes:
    ordered = sorted(chain(*pairs), key=lambda pair: pair[0])
    return f"{{{','.join(f'{key}:{text}' for _, key, text in ordered)}}}".encode()


def values(text: str, at: int = 1):
    while (at := re.compile(r"[\s,:]*").match(text, at).end()) < len(text) and text[at] not in "]}":
        start, (value, at) = at, json.JSONDecoder().raw_decode(text, at)
        yield value, text[start:at]


def split(text: str) -> list[tuple[str, str, str]]:
    found = values(text, text.index("{") + 1)
    return [(key, key_text, value) for (key, key_text), (_, value) in zip(found, found, strict=True)]


def lines_of(data: bytes) -> list[tuple[int, bytes]]:
    rows = enumerate((row.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r") for row in data.split(b"\n")), 1)
    return [(number, row) for number, row in rows if row.strip()]


def read(data: bytes) -> dict:
    """Return the records of a file by id, and the numbers of the lines that are to be reported."""
    sides, at, problems = ([], [], []), (0, 1, 2), []  # base, ours and theirs; what is in no conflict is on each
    for number, raw in lines_of(data):
        if found := MARKER.match(raw):
            at = {b"<": (1,), b"|": (0,), b"=": (2,), b">": (0, 1, 2)}[found[1][:1]]
            continue
        line = Line(raw)
        problems += [number] if line.problem else []
        for side in at:
            sides[side].append(line)
    found = merge_lines(*sides)
    return {"records": [found[id_].record for id_ in sorted(found) if found[id_].record], "problems": problems}


def export(data: bytes) -> bytes:
    """Return the canonical form of a file without conflicts."""
    lines = [Line(raw) for _, raw in lines_of(data)]
    last, first, kept, anchor = {line.id: line for line in lines if line.id}, {}, [], ""
    for number, line in enumerate(lines):
        anchor, winner = line.id or anchor, last.get(line.id)
        is_ours = bool(winner) and join([split(winner.raw.decode())]) == winner.raw
        if line is winner or line.id is None:
            at = first.get(line.id, number) if is_ours else number
            kept += [(anchor, at, line.raw)] if line.record or line.id is None else []
        elif line.record and winner.record and line.raw != winner.raw and not is_ours:
            kept.append((anchor, number, line.raw))
        else:
            first.setdefault(line.id, number)
    return b"".join(raw + b"\n" for _, _, raw in sorted(kept))


def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Return the canonical form of two files that came from *base*."""
    views = [[Line(raw) for _, raw in lines_of(data)] for data in (base, ours, theirs)]
    records = merge_lines(*views)
    b, o, t = (Counter(line.raw for line in view if line.id is None) for view in views)
    rows = [row for row in sorted(o | t) if row not in b or row in o & t]
    rows += [records[id_].raw for id_ in sorted(records) if records[id_].record]
    return b"".join(row + b"\n" for row in rows)


def merge_lines(base: list[Line], ours: list[Line], theirs: list[Line]) -> dict[str, Line]:
    b, o, t = ({line.id: line for line in side if line.id} for side in (base, ours, theirs))
    for id_ in sorted(o.keys() & t.keys()):
        if o[id_].record and t[id_].record and not are_one(o[id_], t[id_], b.get(id_)):
            rename_younger(id_, o, t)
    found, copies = {}, []
    for id_ in o.keys() | t.keys():
        line, copy = decide(b.get(id_), o.get(id_), t.get(id_))
        found |= {id_: line} if line else {}
        copies += [copy] if copy else []
    return {copy.id: copy for copy in copies} | found


def are_one(one: Line, other: Line, base: Line | None = None) -> bool:
    births = [line.time("created_at") for line in (one, other)]
    if None in births or births[0] == births[1] or one.record["content"] == other.record["content"]:
        return True
    return bool(base) and (base.raw in (one.raw, other.raw) or (are_one(base, one) and are_one(base, other)))


def rename_younger(id_: str, o: dict, t: dict) -> None:
    other, view = sorted((o, t), key=lambda side: (side[id_].time("created_at"), side[id_].raw))
    new = hash_id("birth", id_, spell_time(view[id_].time("created_at")))
    view[new] = view.pop(id_).edited(id=new)
    for key, line in view.items():
        old = line.record.get("supersedes", []) if line.record else []
        if id_ in old and (key not in other or other[key].raw != line.raw):
            view[key] = line.edited(supersedes=[new if one == id_ else one for one in old])


def decide(base: Line | None, ours: Line | None, theirs: Line | None) -> tuple[Line | None, Line | None]:
    live = [line for line in (ours, theirs) if line and line.record]
    if len(live) == 2:
        return merge_records(base, ours, theirs)
    gone = max((line for line in (ours, theirs) if line and not line.record), key=lambda one: one.moment, default=None)
    if not live or not (base and base.record):
        stays = live and (not gone or base or live[0].moment >= gone.moment)
        return (live[0] if stays else gone), None
    line, old, new = live[0], base.fields, live[0].fields
    if old.keys() == new.keys() and all(meaning(old[key]) == meaning(new[key]) for key in new):
        return gone, None
    born = line.time("created_at")
    if born and line.record["content"] != base.record["content"] and line.time("updated_at") in (None, born):
        line = line.edited(updated_at=spell_time(born + timedelta(milliseconds=1)))
    return line, None


def merge_records(base: Line | None, ours: Line, theirs: Line) -> tuple[Line, Line | None]:
    if not (base and base.record):
        births = (ours.time("created_at"), theirs.time("created_at"))
        never = [line for line in (ours, theirs) if line.time("updated_at") in (None, births[0])]
        base = never[0] if births[0] and births[0] == births[1] and len(never) == 1 else None
    if base and base.raw in (ours.raw, theirs.raw):
        return (theirs if base.raw == ours.raw else ours), None
    earlier, later = sorted((ours, theirs), key=lambda line: (line.moment, line.record["content"], line.raw))
    first, second, lost = later.fields, earlier.fields, []
    result = merge_fields(base.fields if base else None, first, second, lost)
    whole = [line for line in (later, earlier) if line.fields == result]
    line = min(whole, key=lambda one: one.raw) if whole else Line(join(result.values()))
    texts = [pair[2] for key in sorted(lost) if key != "content" for pair in second.get(key, [])]
    copy_id = hash_id("conflict", ours.id, earlier.record["content"], *texts)
    return line, earlier.edited(id=copy_id, conflict_of=ours.id) if lost else None


def merge_fields(base: dict | None, first: dict, second: dict, lost: list, *, inside: bool = False) -> dict:
    """Merge field by field; `lost` gets the names of those of which a value is in no result."""
    found = {}
    for key in dict.fromkeys((*first, *second)):
        old = None if base is None else base.get(key, [])
        found[key] = merge_field(old, first.get(key, []), second.get(key, []), "" if inside else key, lost)
    return {key: pairs for key, pairs in found.items() if pairs}


def merge_field(base: list | None, first: list, second: list, key: str, lost: list) -> list:
    if second in (first, base) or base == first:
        return second if base == first else first
    one, two = meaning(first), meaning(second)
    if one == two or (base is not None and meaning(base) in (one, two)):
        return min(first, second) if one == two else second if meaning(base) == one else first
    if key != "importance" and not (first and second):
        return first or second
    lost += [key] if key == "content" else []
    return first if key in ("content", *LABELS) else merge_by_shape(base, first, second, key, lost)


def merge_by_shape(base: list | None, first: list, second: list, key: str, lost: list) -> list:
    one, two = (json.loads(pairs[-1][2]) if pairs else 0.5 for pairs in (first, second))
    kinds = {type(one), type(two)}
    if kinds <= {int, float} or (when(one) and when(two)):
        ranks = (one, two) if kinds <= {int, float} else (when(one), when(two))
        return first if ranks[0] >= ranks[1] else second
    if kinds == {list}:
        return merge_lists(base or [], first, second)
    if kinds == {dict}:
        parts = ({one[0]: [one] for one in split(of[-1][2])} if of else None for of in (base, first, second))
        return [(*first[-1][:2], join(merge_fields(*parts, lost, inside=True).values()).decode())]
    lost += [] if kinds == {bool} or None in (one, two) else [key]
    return second if one is None else first


def merge_lists(base: list, first: list, second: list) -> list:
    found = ([*values(of[-1][2])] if of else [] for of in (base, first, second))
    b, one, two = ({json.dumps(item, sort_keys=True): text for item, text in items} for items in found)
    kept = [item for item in b if item in one and item in two]
    kept += sorted(item for item in {**one, **two} if item not in b)
    same = [pairs for pairs, items in sorted(((first, one), (second, two))) if items.keys() == set(kept)]
    return same[0] if same else [(*first[-1][:2], f"[{','.join({**two, **one, **b}[item] for item in kept)}]")]


def meaning(pairs: list) -> str:
    """Return what the pairs of a field say: of two spellings ours, unless it says nothing."""
    said = {
        key: json.dumps(json.loads(text), sort_keys=True)
        for key, _, text in sorted(pairs, key=lambda pair: pair[0] in OTHER)
    }
    return next((text for text in said.values() if text not in ('""', "null")), "")
