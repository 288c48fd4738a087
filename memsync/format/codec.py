"""One line of a memories.jsonl: bytes to Memory and back.

Reading is lenient, and reports what it tolerated. Editing changes the bytes of
the fields that change: every other value keeps its spelling, known or not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache, cached_property, lru_cache, partial
from itertools import repeat
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from memsync.records import FIELDS, NO_EXTRA, Field, Memory, derive_id, format_time, is_whole, names_of, parse_time
from memsync.system.limits import DEEPEST, TOO_DEEP, is_deep

# Gobby's own spelling, read and kept: field -> the keys that mean it, ours first.
ALIASES: Final = {field.name: field.keys for field in FIELDS if field.other_key}
KNOWN_KEYS: Final = frozenset(key for field in FIELDS for key in field.keys) | {"deleted_at"}
_FOREIGN: Final = tuple(field.name for field in FIELDS if field.is_foreign)
_TIMES: Final = names_of("time")
NEVER: Final = datetime.min.replace(tzinfo=UTC)
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_BOM: Final = b"\xef\xbb\xbf"
_GAP: Final = re.compile(r"[ \t\r\n,:]*")  # between two values
_SHARED: Final = 4_096  # values that many lines have
_DIGITS: Final = 20  # of the longest number of 64 bits, with its sign
# JSON allows these bare, but line-splitting tools and editors take them for line ends.
LINE_ENDS: Final = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}

_SPELLED: Final = tuple(
    (place, field.name, field.default) for place, field in enumerate(FIELDS) if place > 1 and field.kind != "time"
)
T = TypeVar("T", tuple[str, ...], str, float)


class Line(NamedTuple):
    """One line: its bytes without the newline, and what they say.

    A record has `memory`, a removal has `deleted_at`; a blank, unreadable or
    marker line has no `id`. A `nameless` record was written by hand without
    an id and has a derived one.
    """

    raw: bytes
    id: str | None = None
    memory: Memory | None = None
    deleted_at: datetime | None = None
    problem: str | None = None
    nameless: bool = False
    is_marker: bool = False

    @property
    def moment(self) -> datetime:
        """When the line was written, as far as it says."""
        written = self.memory.written_at if self.memory else self.deleted_at
        return written or NEVER

    @property
    def is_record(self) -> bool:
        """Whether it has a memory, which is not read for that."""
        return self.memory is not None


_UNSAID: Final = tuple(map(repeat, (None, None, None, False, False)))


class LateLine(Line):
    """The line of a record that is read when somebody asks.

    From an earlier look at these bytes its id is known, which `form` its text has (`index.heads`), and whether it replaces others.
    """

    is_record = True

    @cached_property
    def memory(self) -> Memory | None:
        """What the line says."""
        return decode(self.raw).memory

    form: int = property(itemgetter(7))  # type: ignore[assignment]
    replaces: int = property(itemgetter(8))  # type: ignore[assignment]


def make_late(
    raws: Iterable[bytes], ids: Iterable[str], forms: Iterable[int], replaces: Iterable[int]
) -> Iterator[LateLine]:
    """Yield the lines *raws* of records, to be read later, by what is known of each: its id, its form and whether it replaces others."""
    return map(partial(tuple.__new__, LateLine), zip(raws, ids, *_UNSAID, forms, replaces, strict=False))


def _number(text: str) -> int | float:
    """Read a whole number as orjson does: as a float beyond 64 bits. The line keeps its digits anyway."""
    if len(text) > _DIGITS:
        return float(text)
    number = int(text)
    return number if -(2**63) <= number < 2**64 else float(text)


_loads = partial(json.loads, parse_int=_number)
# Made when they are needed: who reads a few lines needs neither.
_scan = cache(lambda: json.JSONDecoder(parse_int=_number).raw_decode)
_spell = cache(lambda: json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode)


def _parse(raw: bytes) -> Any:
    """Do what orjson does: UTF-8 only, where `json` would guess."""
    return _loads(raw.decode("utf-8"))


def decode(raw: bytes, loads: Callable[[bytes], Any] = _parse) -> Line:
    """Read the line *raw* (without its newline); never raises.

    *loads* is a quicker parser for whole files; for a few lines its import costs more than it saves.
    """
    try:
        value = loads(raw)
    except (ValueError, RecursionError):
        try:
            value = _loads_leniently(raw)
        except ValueError as error:
            return Line(raw, problem=str(error))
    if type(value) is not dict:
        return Line(raw, problem="not a JSON object")
    if raw.count(b"[") + raw.count(b"{") > DEEPEST and is_deep(value):
        return Line(raw, problem=TOO_DEEP)
    return _read_object(raw, value)


def _loads_leniently(raw: bytes) -> Any:
    """Read what orjson refuses but a person would still understand: a BOM, NaN, lone surrogates."""
    try:
        text = bare(raw).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: byte 0x{error.object[error.start]:02x} at byte {error.start + 1}") from None
    try:
        return _loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except ValueError as error:
        raise ValueError(f"not JSON that can be read: {error}") from None


def bare(raw: bytes) -> bytes:
    """Return *raw* without what other platforms put around a line: byte order marks and carriage returns."""
    while raw.startswith(_BOM):
        raw = raw.removeprefix(_BOM)
    return raw.rstrip(b"\r")


def _read_object(raw: bytes, value: dict[str, Any]) -> Line:
    id_, content = value.get("id"), value.get("content")
    if id_ is not None and (type(id_) is not str or not id_ or not is_whole(id_)):
        return Line(raw, problem="the id is not text")
    deleted = value.get("deleted_at") or value.get("_deleted") is True
    if id_ and deleted and not content:
        moment = parse_time(deleted) or parse_time(value.get("updated_at"))
        return Line(raw, id_, None, moment or _EPOCH)
    if type(content) is not str:
        return Line(raw, problem="no content" if content is None else "the content is not text")
    notes: list[str] = []
    if deleted:
        notes.append("says that it was removed, but has a text; read as a memory")
    nameless = not id_
    if nameless:
        id_ = derive_id(content)
        notes.append(f"no id; known as {id_}")
    memory = _memory(id_ or "", content, value, notes)
    return Line(raw, memory.id, memory, None, "; ".join(notes) if notes else None, nameless)


def _memory(id_: str, content: str, value: dict[str, Any], notes: list[str]) -> Memory:
    """Return what the object *value* says; of what it lacks, as most do of most, nobody is asked: files have many lines."""
    get, known = value.get, KNOWN_KEYS
    for name in _FOREIGN:
        if get(name) is not None and not _are_texts(value[name]):
            known -= {name}  # another program's, with a meaning of its own
    row: list[Any] = [id_, content]
    for name, other_key, default, read, field in _READERS:
        found = get(name)
        if other_key and not found:
            found = get(other_key)
        row.append(default if found is None else read(found, field, notes))
    row.append(
        NO_EXTRA
        if value.keys() <= known
        else _share_extra({key: item for key, item in value.items() if key not in known})
    )
    return Memory._make(row)


@lru_cache(_SHARED)
def _share(value: T) -> T:
    """Return the *value* that an earlier line had, if it is the same: of 100,000 records it is held once."""
    return value


def _share_extra(extra: dict[str, Any]) -> Mapping[str, Any]:
    """Return *extra* as an earlier line had it; of texts alone, for 1 would pass for True."""
    if all(type(item) is str for item in extra.values()):
        return _hold_extra(tuple(extra.items()))
    return extra


@lru_cache(_SHARED)
def _hold_extra(items: tuple[tuple[str, str], ...]) -> Mapping[str, Any]:
    return dict(items)


def _read_label(value: object, field: Field, notes: list[str]) -> Any:
    if type(value) is str and value:
        return _share(value)
    if value != "" and field.default:
        notes.append(f"the {field.one} is not text")
    return field.default


def _read_time(value: object, field: Field, notes: list[str]) -> datetime | None:
    moment = _parse_time(value) if type(value) is str else None
    if moment is None:
        notes.append(f"{field.name} is not an ISO 8601 time")
    return moment


_parse_time = lru_cache(2)(parse_time)  # most were updated when they were created


def _read_number(value: object, field: Field, notes: list[str]) -> float:
    if type(value) is float or type(value) is int:
        if 0 <= value <= 1:
            shared: float = _share(value + 0.0)  # and -0.0, which is equal, is 0.0
            return shared
        if value < 0 or value > 1:  # and not NaN
            notes.append(f"{field.name} is not between 0 and 1")
            return 1.0 if value > 1 else 0.0
    notes.append(f"{field.name} is not a number")
    return float(field.default)


def _read_list(value: object, field: Field, notes: list[str]) -> tuple[str, ...]:
    if not value or (field.is_foreign and not _are_texts(value)):
        return ()
    if type(value) is list:
        kept = tuple([item for item in value if type(item) is str and item])
        if len(kept) != len(value):
            notes.append(f"{field.name} has entries that are not text")
        shared: tuple[str, ...] = _share(kept)
        return shared
    if type(value) is str:
        return tuple(part for part in (piece.strip() for piece in value.split(",")) if part)
    notes.append(f"{field.name} is not a list")
    return ()


def _are_texts(value: object) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


_READ: Final[Mapping[str, Callable[[object, Field, list[str]], Any]]] = {
    "label": _read_label,
    "id": _read_label,
    "list": _read_list,
    "ids": _read_list,
    "number": _read_number,
    "time": _read_time,
}
# All but id and content, which make a line a record; in their order in `Memory`.
_READERS: Final = tuple((field.name, field.other_key, field.default, _READ[field.kind], field) for field in FIELDS[2:])


def fields_of(memory: Memory) -> dict[str, Any]:
    """Return *memory* as JSON values under our names, defaults left out."""
    out: dict[str, Any] = {**memory.extra, "id": memory.id, "content": memory.content}
    for place, name, default in _SPELLED:
        if (value := memory[place]) != default:
            out[name] = list(value) if isinstance(value, tuple) else value
    for name in _TIMES:
        if moment := getattr(memory, name):
            out[name] = format_time(moment)
    return out


def encode(memory: Memory) -> bytes:
    """Spell *memory* canonically: sorted keys, no spaces, defaults left out, no newline."""
    fields = fields_of(memory)
    try:
        return _escape(_spell()(fields)).encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate: its value alone is spelled with escapes
        return join(_pair(key, item) for key, item in fields.items())


def list_texts(raw: bytes) -> Iterator[tuple[str, str]]:
    """Yield every text in the bytes of a readable line, behind the names of all that encloses it: of repeated keys each value."""
    yield from _name_texts("", _loads(bare(raw), object_pairs_hook=_Pairs))


class _Pairs(tuple[tuple[str, Any], ...]):
    __slots__ = ()


def _name_texts(names: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, _Pairs):
        for key, item in value:
            yield from _name_texts(f"{names} {key}".strip(), item)
    elif isinstance(value, list):
        for item in value:
            yield from _name_texts(names, item)
    else:
        yield names, str(value)


def encode_tombstone(id_: str, deleted_at: datetime) -> bytes:
    """Spell the removal of *id_*."""
    return join([_pair("id", id_), _pair("deleted_at", format_time(deleted_at))])


def edit(raw: bytes, changes: Mapping[str, Any]) -> bytes:
    """Return the readable line *raw* with the fields of *changes* set.

    A field keeps the key it was spelled with (`type` stays `type`), every
    other value keeps its bytes, and the keys come out sorted. Of repeated keys,
    at any depth, only the last stays, which counts. Field values are
    JSON values; None takes the field out.
    """
    pairs = split_object(drop_repeats(raw.decode("utf-8")).encode())
    present = {pair.key for pair in pairs}
    new: dict[str, Any] = {}
    for name, item in changes.items():
        spelled = [key for key in ALIASES.get(name, (name,)) if key in present]
        new |= dict.fromkeys(spelled or [name], item)
    kept = [pair for pair in pairs if pair.key not in new]
    return join(kept + [_pair(key, item) for key, item in new.items() if item is not None])


def drop_repeats(text: str) -> str:
    """Return the *text* of a value with the last of repeated keys alone, at any depth; every other byte stays where none is repeated."""
    repeats: list[bool] = []
    _loads(bare(text.encode()), object_pairs_hook=lambda pairs: repeats.append(len(dict(pairs)) < len(pairs)))
    if not any(repeats):
        return text
    if text.lstrip().startswith("["):
        return f"[{','.join(map(drop_repeats, split_array(text)))}]"
    last = {pair.key: pair for pair in split_object(text.encode())}
    return f"{{{','.join(f'{pair.key_text}:{drop_repeats(pair.text)}' for pair in last.values())}}}"


def is_canonical(raw: bytes) -> bool:
    """Tell whether memsync could have spelled this readable line: keys sorted, no spaces between them."""
    return join(split_object(raw)) == bare(raw)


class Pair(NamedTuple):
    """A key, and the text of it and of its value."""

    key: str
    key_text: str
    text: str


def split_object(raw: bytes) -> list[Pair]:
    """Split a readable line into its keys and the text of their values, repeats included."""
    text = raw.decode("utf-8")
    values = _scan_values(text, text.index("{") + 1)
    return [Pair(key, key_text, value_text) for (key, key_text), (_, value_text) in zip(values, values, strict=True)]


def split_array(text: str) -> list[str]:
    """Split the text of a JSON array into the texts of its entries."""
    return [value_text for _, value_text in _scan_values(text, text.index("[") + 1)]


def _scan_values(text: str, at: int) -> Iterator[tuple[Any, str]]:
    """Yield the values from *at* to the end of their array or object, each with its text; an object's keys are among them."""
    scan = _scan()
    while (start := _GAP.match(text, at).end()) < len(text) and text[start] not in "]}":  # type: ignore[union-attr]
        value, at = scan(text, start)
        yield value, text[start:at]


def _pair(key: str, item: object) -> Pair:
    return Pair(key, spell(key), spell(item))


def join(pairs: Iterable[Pair]) -> bytes:
    """Join keys and values into one line; equal keys keep their order."""
    ordered = sorted(pairs, key=lambda pair: pair.key)
    return f"{{{','.join(f'{pair.key_text}:{pair.text}' for pair in ordered)}}}".encode()


def spell(item: object) -> str:
    """Spell one JSON value: UTF-8, no spaces, line-end look-alikes and lone surrogates escaped."""
    text = _spell()(item)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(item, sort_keys=True, separators=(",", ":"))
    return _escape(text)


def _escape(text: str) -> str:
    for bare, escaped in () if text.isascii() else LINE_ENDS.items():
        text = text.replace(bare, escaped)
    return text
