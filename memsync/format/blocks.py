"""Memories as people read them, a block each: for `git memories log -p` and the like. And back from there.

A patch of this view, applied to the file itself, leaves blocks between the records
(docs/adr/0054); all that a record says is in its block, so `mend` makes it one again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from memsync.format import codec, jsonl, merge
from memsync.format.codec import Line, bare
from memsync.records import names_of

_HEAD: Final = re.compile(rb"(\S+) \((.+)\)")
_REMOVED: Final = re.compile(rb"(\S+) removed (\S+)")
_FIELD: Final = re.compile(r"    ([^\s:]+): (.*)", re.DOTALL)
_LISTS: Final = frozenset(names_of("list", "ids"))
_BETWEEN: Final = ", "  # the entries of a list; one that has it in an entry is spelled as JSON
_TEXTS: Final = codec.KNOWN_KEYS - _LISTS - {"importance"}


class Block(NamedTuple):
    """A record or removal in the reading view: `line` as it would be in the file, its first line there and the one after its last, from 0."""

    line: Line
    start: int
    end: int


def readable(data: bytes) -> bytes:
    """Return a memory file as text: the same for the same bytes, whatever the clock and the settings."""
    blocks = filter(None, map(_spell, jsonl.read_lines(data)))
    return "".join(f"{block}\n\n" for block in blocks).encode("utf-8", "backslashreplace")


def _spell(line: Line) -> str:
    if line.memory:
        fields = codec.fields_of(line.memory)
        del fields["id"], fields["content"]
        kind = fields.pop("memory_type", line.memory.memory_type)
        said = [f"{key}: {_value(value)}" for key, value in sorted(fields.items())]
        text = [f"  {row}" for row in line.memory.content.splitlines()]
        return "\n".join([f"{line.id} ({kind})", *text, *(f"    {row}" for row in said)])
    if line.id and line.deleted_at:
        return f"{line.id} removed {line.deleted_at.isoformat()}"
    return line.raw.decode("utf-8", "backslashreplace") if line.raw.strip() else ""


def _value(value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str) and _BETWEEN not in item for item in value):
        return _BETWEEN.join(value)
    return value if isinstance(value, str) else codec.spell(value)


def mend(lines: Sequence[Line]) -> list[Line]:
    """Return *lines* with their blocks as records again, merged into those of the same id."""
    found = list(find(lines))
    if not found:
        return list(lines)
    taken = {number for block in found for number in range(block.start, block.end)}
    rest = [line for number, line in enumerate(lines) if number not in taken]
    return merge.merge_lines((), rest, [block.line for block in found])


def find(lines: Sequence[Line]) -> Iterator[Block]:
    """Yield the blocks that stand among *lines*, in their order."""
    for start, line in enumerate(lines):
        if line.problem is None or line.id is not None or line.raw[:1] in b" {":
            continue
        end = start + 1
        while end < len(lines) and lines[end].id is None and lines[end].raw.startswith(b"  "):
            end += 1
        if read := _read([bare(row.raw) for row in lines[start:end]]):
            yield Block(read, start, end)


def _read(rows: Sequence[bytes]) -> Line | None:
    if (gone := _REMOVED.fullmatch(rows[0])) and len(rows) == 1:
        raw = json.dumps({"deleted_at": gone[2].decode("utf-8", "replace"), "id": gone[1].decode("utf-8", "replace")})
        return codec.decode(raw.encode())
    head = _HEAD.fullmatch(rows[0])
    try:
        text = [row.decode() for row in rows[1:]]
    except UnicodeDecodeError:
        return None
    first = _find_fields(text)
    if head is None or not first:
        return None
    found = [match.groups() for row in text[first:] if (match := _FIELD.fullmatch(row))]
    fields = {key: _read_value(key, value) for key, value in found}
    content = "\n".join(row[2:] for row in text[:first])
    record = {**fields, "id": head[1].decode(), "content": content, "memory_type": head[2].decode()}
    return codec.decode(codec.encode(memory)) if (memory := _decode(record)) else None


def _decode(record: dict[str, Any]) -> Any:
    return codec.decode(codec.spell(record).encode()).memory


def _find_fields(rows: Sequence[str]) -> int:
    """Return where the fields begin: they are the last rows, sorted; all before them is the text."""
    first, after = len(rows), "\U0010ffff"
    while first and (match := _FIELD.fullmatch(rows[first - 1])) and match[1] < after:
        first, after = first - 1, match[1]
    return first


def _read_value(key: str, text: str) -> object:
    if key in _LISTS and not text.startswith('["'):
        return text.split(_BETWEEN)
    if key in _TEXTS:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
