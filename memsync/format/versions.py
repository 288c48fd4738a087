"""Two or three versions of one record, made into one.

Field by field and on the text of the values, so that what nobody changed keeps
its bytes. Every rule is symmetric: both clones of a conflict get the same line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from memsync.format import codec
from memsync.format.codec import Line, Pair, bare
from memsync.records import DEFAULT_IMPORTANCE, FIELDS, Memory, format_time, hash_id, names_of, parse_time

_FIELD_OF: Final = {key: field for field, keys in codec.ALIASES.items() for key in keys}
_SETS: Final = names_of("list", "ids")

Pairs = tuple[Pair, ...]
Fields = Mapping[str, Pairs]


class Outcome(NamedTuple):
    """One record out of several versions.

    `other` is the version whose text lost, as a record of its own; `stale` is
    the id of an earlier such record that has become superfluous.
    """

    line: Line
    other: Line | None = None
    stale: str = ""


class _Found(NamedTuple):
    """The pairs that a field has in the end, and whether the text of one version is in none of them."""

    pairs: Pairs
    lost: bool = False


Rule = Callable[[Pairs, Pairs, Pairs], _Found]  # of base, of the version written later, of the other


def is_edited(line: Line, since: Line) -> bool:
    """Tell whether *line* says something else than *since*; another spelling of the same is not an edit."""
    if bare(line.raw) == bare(since.raw):
        return False
    new, old = _fields(line), _fields(since)
    return new.keys() != old.keys() or any(_read_meaning(new[name]) != _read_meaning(old[name]) for name in new)


def is_earlier(line: Line, of: Line) -> bool:
    """Tell whether *line* is *of* as it was born: created in the same moment and never edited."""
    old, new = line.memory, of.memory
    if old is None or new is None or old.created_at is None or old.created_at != new.created_at:
        return False
    return old.updated_at in (None, old.created_at) and bool(new.updated_at and new.updated_at > old.created_at)


def date_edit(line: Line, base: Line | None) -> Line:
    """Return *line*, which outlives a removal, with a later time if its text was edited since *base* without one, as by hand.

    There is no base to be found any more when it meets the next side; without a time it would pass for its own birth.
    """
    new, old = line.memory, base.memory if base else None
    if new is None or old is None or new.content == old.content or not new.created_at:
        return line
    if new.updated_at not in (None, new.created_at):
        return line
    later = format_time(new.created_at + timedelta(milliseconds=1))
    return codec.decode(codec.edit(bare(line.raw), {"updated_at": later}))


def are_one(one: Line, other: Line) -> bool:
    """Tell whether two lines with one id are versions of one record, and not two that share an id by chance."""
    a, b = one.memory, other.memory
    if a is None or b is None or a.created_at is None or b.created_at is None:
        return True
    return a.created_at == b.created_at or a.content == b.content


def rename_refs(memory: Memory | None, old: str, new: str) -> dict[str, object]:
    """Return the fields of *memory* that name *old*, as they name *new*."""
    if memory is None:
        return {}
    fields: dict[str, object] = {"conflict_of": new} if memory.conflict_of == old else {}
    for name in ("supersedes", "links"):
        words: tuple[str, ...] = getattr(memory, name)
        renamed = [f"{word.removesuffix(old)}{new}" if f":{word}".endswith(f":{old}") else word for word in words]
        if renamed != list(words):
            fields[name] = renamed
    return fields


def born_at(line: Line) -> str:
    """Return when a record was created, as text that sorts; empty if it does not say."""
    return format_time(line.memory.created_at) if line.memory and line.memory.created_at else ""


def make_birth_id(line: Line) -> str:
    """Return a new id for a record whose own id another one has: the same in every clone."""
    return hash_id("birth", _id(line), born_at(line))


def copy_id(id_: str, *texts: str, length: int = 10) -> str:
    """Return the id of the record that keeps *texts*, which lost against others in *id_*."""
    return hash_id("conflict", id_, *texts, length=length)


def merge(base: Line | None, ours: Line, theirs: Line) -> Outcome:
    """Make one record of two live versions and what they came from.

    One side changed a field: that side. Both did: tags as a set, importance
    the larger, times the later, other values of the version that was written
    later. A text that loses stays, in `other`. Without a *base*, a version
    that was never edited since its birth is the base of the other.
    """
    if base is None or base.memory is None:
        base = next((a for a, b in ((ours, theirs), (theirs, ours)) if is_earlier(a, b)), None)
    for same, result in ((base, theirs), (theirs, ours)):
        if same and bare(same.raw) == bare(ours.raw):
            return Outcome(result)
    if base and bare(base.raw) == bare(theirs.raw):
        return Outcome(ours)
    return _merge_edited(base, ours, theirs)


def unite(stored: Memory, other: Memory) -> Memory:
    """Return *stored* with what *other*, another version of it, knows: the text written later, the tags of both."""
    line = merge(None, *(codec.decode(codec.encode(memory)) for memory in (stored, other))).line
    return line.memory or stored


def _merge_edited(base: Line | None, ours: Line, theirs: Line) -> Outcome:
    first, second = sorted((ours, theirs), key=_order, reverse=True)  # the later one first
    found = _merge_fields(_fields(base) if base else None, _fields(first), _fields(second), rules=_RULES)
    fields = {name: field.pairs for name, field in found.items() if field.pairs}
    line = _spell(fields, first, second)
    lost = [name for name, field in found.items() if field.lost]
    if not lost:
        return Outcome(line)
    stale = copy_id(_id(line), base.memory.content) if base and base.memory and "content" in lost else ""
    return Outcome(line, _keep_copy(line, second, lost), stale)  # what is lost lost against the later one


def keep_loser(winner: Line, loser: Line) -> Line | None:
    """Return *loser* as a record of its own that names *winner*; None if their text is the same."""
    if not loser.memory or (winner.memory and loser.memory.content == winner.memory.content):
        return None
    return _keep_copy(winner, loser, ["content"])


def _order(line: Line) -> tuple[Any, ...]:
    memory = line.memory
    return line.moment, memory.content if memory else "", bare(line.raw)


def _id(line: Line) -> str:
    return line.id or ""


def _keep_copy(winner: Line, loser: Line, lost: Sequence[str]) -> Line:
    fields, content = _fields(loser), loser.memory.content if loser.memory else ""
    others = [pair.text for name in sorted(lost) if name != "content" for pair in fields.get(name, ())]
    id_ = copy_id(_id(winner), content, *others)
    return codec.decode(codec.edit(bare(loser.raw), {"id": id_, "conflict_of": _id(winner)}))


def _fields(line: Line) -> Fields:
    """Return the pairs of each field: more than one where a key comes twice or has two spellings."""
    return _group(bare(line.raw), _FIELD_OF)


def _group(raw: bytes, names: Mapping[str, str]) -> Fields:
    fields: dict[str, Pairs] = {}
    for pair in codec.split_object(raw):
        name = names.get(pair.key, pair.key)
        fields[name] = (*fields.get(name, ()), pair)
    return fields


def _spell(fields: Fields, *lines: Line) -> Line:
    """Return one of *lines* if it has just those fields, else a new line in canonical spelling."""
    same = [line for line in lines if _fields(line) == fields]
    if same:
        return min(same, key=lambda line: bare(line.raw))
    return codec.decode(codec.join([pair for pairs in fields.values() for pair in pairs]))


def _merge_fields(
    base: Fields | None, first: Fields, second: Fields, *, rules: Mapping[str, Rule]
) -> dict[str, _Found]:
    """Decide on every field; *first* is the version written later, *base* None where none is known."""
    return {
        name: _merge_field(
            None if base is None else base.get(name, ()),
            first.get(name, ()),
            second.get(name, ()),
            rules.get(name, _merge_by_shape),
        )
        for name in dict.fromkeys((*first, *second))
    }


def _merge_field(base: Pairs | None, first: Pairs, second: Pairs, rule: Rule) -> _Found:
    if second in (first, base):
        return _Found(first)
    if base == first:
        return _Found(second)
    said = [_read_meaning(pairs) for pairs in (first, second)]
    if said[0] == said[1]:
        return _Found(min(first, second))
    if base is not None and (before := _read_meaning(base)) in said:
        return _Found(second if before == said[0] else first)
    if rule is not _take_larger and not (first and second):
        return _Found(first or second)
    return rule(base or (), first, second)


def _read_meaning(pairs: Pairs) -> str:
    said = {pair.key: pair.text for pair in pairs}  # of equal keys the last counts
    keys = codec.ALIASES.get(_FIELD_OF.get(pairs[0].key, ""), tuple(said)) if pairs else ()
    values = [_canonical_text(said[key]) for key in keys if key in said]
    return next((value for value in values if value not in ('""', "null")), "")


def _canonical_text(text: str) -> str:
    value = _parse(text)
    return text if value is _UNREADABLE else json.dumps(value, sort_keys=True)


_UNREADABLE: Final = object()


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # more digits than Python reads, or deeper than it goes
        return _UNREADABLE


def _parse_last(pairs: Pairs) -> Any:
    return _parse(pairs[-1].text) if pairs else None


def _rank_number(pairs: Pairs) -> tuple[Any, ...]:
    value = _parse_last(pairs) if pairs else DEFAULT_IMPORTANCE
    is_number = type(value) in (int, float) and value == value  # noqa: PLR0124 - not NaN
    return is_number, value if is_number else 0, pairs


def _rank_moment(pairs: Pairs) -> tuple[Any, ...]:
    moment = parse_time(_parse_last(pairs))
    return moment is not None, moment.timestamp() if moment else 0.0, pairs


def _take_written_later(_base: Pairs, first: Pairs, _second: Pairs) -> _Found:
    return _Found(first)


def _take_larger(_base: Pairs, first: Pairs, second: Pairs) -> _Found:
    """Take the larger number; a version that says nothing says the default."""
    return _Found(max(first, second, key=_rank_number))


def _take_later(_base: Pairs, first: Pairs, second: Pairs) -> _Found:
    return _Found(max(first, second, key=_rank_moment))


def _merge_sets(base: Pairs, first: Pairs, second: Pairs) -> _Found:
    """Unite two lists; what one side took out of *base* stays out. In the order of base, then sorted."""
    b, one, two = (_list_items(pairs) for pairs in (base, first, second))
    if one is None or two is None:
        return _Found(first, lost=True)
    b = b or {}
    kept = [item for item in b if item in one and item in two]
    kept += sorted(item for item in {**one, **two} if item not in b)
    for pairs, items in sorted(((first, one), (second, two))):
        if items.keys() == set(kept):
            return _Found(pairs)
    spelled = ",".join({**two, **one, **b}[item] for item in kept)
    return _Found((first[-1]._replace(text=f"[{spelled}]"),))


def _list_items(pairs: Pairs) -> dict[str, str] | None:
    """Return the entries of a list: what they say, and their text; None if it is not a list, or repeats itself."""
    value = _parse_last(pairs)
    if value is None:
        return {}
    if type(value) is str and pairs[-1].key in _SETS:
        value = [part.strip() for part in value.split(",") if part.strip()]
        return {json.dumps(part): codec.spell(part) for part in value}
    if type(value) is not list or len(pairs) > 1:
        return None
    items = {_canonical_text(text): text for text in codec.split_array(pairs[-1].text)}
    return items if len(items) == len(value) else None


def _merge_by_shape(base: Pairs, first: Pairs, second: Pairs) -> _Found:
    """Decide on a key that memsync does not know by what its values look like."""
    one, two = _parse_last(first), _parse_last(second)
    if len(first) > 1 or len(second) > 1:
        return _Found(first, lost=True)
    if None in (one, two):
        return _Found(first if two is None else second)
    if type(one) is list and type(two) is list:
        return _merge_sets(base, first, second)
    if type(one) is dict and type(two) is dict:
        return _merge_objects(base, first, second)
    for rank in (_rank_number, _rank_moment):
        if rank(first)[0] and rank(second)[0]:
            return _Found(max(first, second, key=rank))
    return _Found(first, lost=not (type(one) is type(two) is bool))


def _merge_objects(base: Pairs, first: Pairs, second: Pairs) -> _Found:
    b = _group(base[-1].text.encode(), {}) if base and type(_parse_last(base)) is dict else None
    one, two = (_group(pairs[-1].text.encode(), {}) for pairs in (first, second))
    found = _merge_fields(b, one, two, rules={})
    pairs = [pair for field in found.values() for pair in field.pairs]
    spelled = first[-1]._replace(text=codec.join(pairs).decode())
    return _Found((spelled,), lost=any(field.lost for field in found.values()))


_RULE_OF: Final[Mapping[str, Rule]] = {
    "text": lambda _base, first, _second: _Found(first, lost=True),
    "number": _take_larger,
    **dict.fromkeys(("list", "ids"), _merge_sets),
    "time": _take_later,
    **dict.fromkeys(("label", "id"), _take_written_later),
}
_RULES: Final[Mapping[str, Rule]] = {
    **{field.name: _RULE_OF[field.kind] for field in FIELDS},
    **dict.fromkeys(("deleted_at", "_deleted"), _take_written_later),
}
