"""The merge of SKILL.md files: as text, and where only the front matter is in conflict, field by field.

Knows neither git nor YAML: fields are blocks of lines, which keep their bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from memsync.format.jsonl import MARKER_SIZE, read_marker, spell_conflict
from memsync.records import parse_time

# Merges base, ours and theirs as text: how many conflicts, and the text with markers.
MergeText = Callable[[bytes, bytes, bytes], tuple[int, bytes]]

_FRONT: Final = re.compile(rb"\A((?:\xef\xbb\xbf)?---[ \t]*\r?\n)(.*?\n|)(---[ \t]*\r?\n?(?:\Z|(?<=\n)))", re.DOTALL)
_KEY: Final = re.compile(rb"([A-Za-z_][\w-]*)[ \t]*:(?=[ \t\r\n]|\Z)")
_BARE: Final = re.compile(rb"[ \t]*(?:#.*)?\r?\n?\Z")
_FIRST: Final = (b"name", b"description")  # in a file that both sides made

Blocks = Mapping[bytes, bytes]


class _Parts(NamedTuple):
    opening: bytes
    front: bytes
    closing: bytes
    body: bytes


def merge(
    base: bytes, ours: bytes, theirs: bytes, *, merge_text: MergeText, size: int = MARKER_SIZE
) -> tuple[int, bytes]:
    """Return how many conflicts are left, and the merged file; markers are *size* letters long."""
    count, data = merge_text(base, ours, theirs)
    b, o, t = _split(base), _split(ours), _split(theirs)
    if not count or o is None or t is None:
        return count, data
    front = _merge_fields(_cut_blocks(b.front) if b else {}, _cut_blocks(o.front), _cut_blocks(t.front), size)
    if front is None:
        return count, data
    left, body = merge_text(b.body if b else b"", o.body, t.body)
    return front[0] + left, o.opening + front[1] + o.closing + body


def _split(data: bytes) -> _Parts | None:
    found = _FRONT.match(data)
    return _Parts(found[1], found[2], found[3], data[found.end() :]) if found else None


def _cut_blocks(front: bytes) -> Blocks | None:
    """Return the lines of each key, with the comments above it; None if a line belongs to none, or a key comes twice."""
    blocks: dict[bytes, bytes] = {}
    above, key = b"", b""
    for line in front.splitlines(keepends=True):
        found = _KEY.match(line)
        if found and found[1] in blocks:
            return None
        if found:
            key = found[1]
            blocks[key], above = above + line, b""
        elif not line[:1].isspace() and _BARE.match(line):
            above += line
        elif not key:
            return None
        else:
            blocks[key] += above + line
            above = b""
    if above:
        blocks[b""] = above
    return blocks


def _merge_fields(
    base: Blocks | None, ours: Blocks | None, theirs: Blocks | None, size: int
) -> tuple[int, bytes] | None:
    if ours is None or theirs is None:
        return None
    base = base or {}
    count, merged = 0, b""
    for key in _order(base, ours, theirs):
        found, text = _merge_field(key, base.get(key, b""), ours.get(key, b""), theirs.get(key, b""), size)
        count += found
        merged += text
    return count, merged


def _order(base: Blocks, ours: Blocks, theirs: Blocks) -> list[bytes]:
    """Return the keys as *base* has them, then new ones; what stands behind the last key stays last."""
    new = sorted(
        {*ours, *theirs} - base.keys(),
        key=lambda key: (key not in _FIRST, _FIRST.index(key) if key in _FIRST else 0, key),
    )
    keys = [*base, *new]
    return [key for key in keys if key] + [key for key in keys if not key]


def _merge_field(key: bytes, base: bytes, ours: bytes, theirs: bytes, size: int) -> tuple[int, bytes]:
    if theirs in (ours, base):
        return 0, ours
    if base == ours:
        return 0, theirs
    if not ours or not theirs:
        return 0, ours or theirs  # one side took out what the other changed
    for rule in (_merge_tags, _merge_map, _take_later):
        if (found := rule(key, (base, ours, theirs), size)) is not None:
            return found
    return 1, spell_conflict(ours, theirs, size=size)


def _merge_tags(key: bytes, texts: Sequence[bytes], _size: int) -> tuple[int, bytes] | None:
    """Unite tags on one line; what one side took out stays out."""
    if key != b"tags":
        return None
    found = [
        re.fullmatch(rb"([ \t]*tags[ \t]*:[ \t]*)([\[\"']?)([^\[\]\"'{}#\r\n]*)([\]\"']?)(\r?\n?)", text)
        for text in texts
    ]
    if not found[1] or not found[2] or found[1][2] != found[2][2]:
        return None
    base, ours, theirs = (
        [tag.strip() for tag in match[3].split(b",") if tag.strip()] if match else [] for match in found
    )
    kept = [tag for tag in base if tag in ours and tag in theirs]
    kept += sorted({*ours, *theirs}.difference(base))
    first = found[1]
    return 0, first[1] + first[2] + b", ".join(kept) + first[4] + first[5]


def _merge_map(key: bytes, texts: Sequence[bytes], size: int) -> tuple[int, bytes] | None:
    """Merge the keys below `metadata` one by one, if they stand there in a block."""
    if key != b"metadata":
        return None
    heads, inner = [], []
    for text in texts:
        head, _, rest = text.partition(b"\n")
        rows = rest.splitlines(keepends=True)
        indent = rows[0][: len(rows[0]) - len(rows[0].lstrip())] if rows else b"  "
        if head.split(b":", 1)[-1].strip() or not indent or any(not row.startswith(indent) for row in rows):
            return None
        heads.append((head + b"\n", indent))
        inner.append(_cut_blocks(b"".join(row.removeprefix(indent) for row in rows)))
    merged = _merge_fields(inner[0], inner[1], inner[2], size)
    if merged is None or len({indent for _, indent in heads[1:]}) > 1:
        return None
    head, indent = heads[1]
    rows = merged[1].splitlines(keepends=True)
    return merged[0], head + b"".join(row if read_marker(row) else indent + row for row in rows)


def _take_later(key: bytes, texts: Sequence[bytes], _size: int) -> tuple[int, bytes] | None:
    moments = [
        parse_time(text.partition(b":")[2].strip().strip(b"\"'").decode("utf-8", "replace")) for text in texts[1:]
    ]
    if None in moments or not key.endswith(b"at"):
        return None
    return 0, max(zip(moments, texts[1:], strict=True), key=lambda pair: (pair[0], pair[1]))[1]
