"""Reading the files that others wrote: Gobby's, any JSONL or JSON with a mapping, and Markdown bullets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from memsync.errors import ImportFailed, Remedy, UsageError
from memsync.format import codec, jsonl, merge, scopes
from memsync.format.codec import bare
from memsync.memories.imports import Candidate
from memsync.records import Memory
from memsync.system import limits
from memsync.system.texts import read_utf8

Format = Literal["jsonl", "json", "markdown"]

BY_SUFFIX: Final[Mapping[str, Format]] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".md": "markdown", ".markdown": "markdown"
}  # fmt: skip
_BULLET: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*\S)$")
_RULE: Final = re.compile(r"^(?:[-*+]|-{3,}|\*{3,}|_{3,}|</?[\w-]+>)$")  # or a tag around what an agent was given
_HEADING: Final = re.compile(r"^#+\s+(.*?)\s*#*$")
_FENCE: Final = re.compile(r"^\s*(```|~~~)")
# The headings under which seed 002 shows memories, and their types.
_HEADING_TYPES: Final = {
    "facts": "fact", "preferences": "preference", "patterns": "pattern", "project context": "context", "context": "context"
}  # fmt: skip


def read_bytes(
    data: bytes, name: str, format_: Format | None = None, mapping: Mapping[str, str] | None = None
) -> Iterator[Candidate]:
    """Yield what *data* holds; *name* is where it came from, and by its ending what it is."""
    if jsonl.is_utf16(data):
        raise ImportFailed(f"{name}: is UTF-16; save it as UTF-8")
    reader = {"jsonl": _read_jsonl, "json": _read_json, "markdown": _read_markdown}[format_ or _guess(name, data)]
    return reader(data, name, check_mapping(mapping or {}))


def check_mapping(mapping: Mapping[str, str]) -> Mapping[str, str]:
    """Return *mapping*.

    Raises:
        UsageError: it names a field that a memory does not have.
    """
    fields = sorted({*Memory._fields} - {"extra"})
    for name in mapping:
        if name not in fields:
            has = f"a memory has no field {name!r}; it has {', '.join(fields)}"
            raise UsageError(Remedy("--map"), f" {name}=…: {has}")
    return mapping


def _guess(name: str, data: bytes) -> Format:
    if known := BY_SUFFIX.get(Path(name).suffix.lower()):
        return known
    start = data.lstrip()[:1]
    if start == b"[":
        return "json"
    return "jsonl" if start == b"{" else "markdown"


def _read_jsonl(data: bytes, name: str, mapping: Mapping[str, str]) -> Iterator[Candidate]:
    lines = jsonl.read_lines(data)
    winner = merge.current(lines)
    for number, line in enumerate(lines, 1):
        where = f"{name}:{number}"
        if mapping and not line.is_marker and line.raw.strip():
            yield _map_fields(where, _read_object(line.raw), mapping)
        elif line.memory and line is winner.get(line.id or ""):
            yield Candidate(where, _drop_derived_id(line))
        elif line.id:
            why = "another line of the file replaces it" if line.id in winner else "the merged conflict is without it"
            yield Candidate(where, None, why if line.memory else "is a removal")
        elif line.problem:
            yield Candidate(where, None, _add_hint(line.problem, _read_object(line.raw)))
    written = set(map(id, lines))
    for line in winner.values():
        if line.memory and id(line) not in written and not mapping:
            yield Candidate(f"{name} (merged from a git conflict)", line.memory)


def _drop_derived_id(line: codec.Line) -> Memory | None:
    """Return the memory of *line* with its own id: none, where that was derived."""
    return line.memory._replace(id="") if line.memory and line.nameless else line.memory


def _read_object(raw: bytes) -> Any:
    try:
        return limits.read_json(bare(raw))
    except ValueError:
        return None


def _add_hint(problem: str, value: Any) -> str:
    if problem == "no content" and isinstance(value, dict) and value:
        return f"no content; say which key holds it: --map content=KEY (here: {', '.join(list(value)[:8])})"
    return problem


def _read_json(data: bytes, name: str, mapping: Mapping[str, str]) -> Iterator[Candidate]:
    try:
        tree = limits.read_json(data, limits.LARGEST_IMPORT)
    except ValueError as error:
        raise ImportFailed(
            f"{name}: not JSON that can be read ({error}); text is read where its name ends in .md: memories are its bullets"
        ) from None
    if isinstance(tree, dict):
        lists = [value for value in tree.values() if isinstance(value, list)]
        is_record = _dig(tree, mapping.get("content", "content")) is not None
        tree = lists[0] if len(lists) == 1 and not is_record else [tree]
    if not isinstance(tree, list):
        raise ImportFailed(f"{name}: neither a list of objects nor an object")
    for number, item in enumerate(tree, 1):
        where = f"{name}[{number}]"
        if mapping or not isinstance(item, dict):
            yield _map_fields(where, item, mapping)
            continue
        line = codec.decode(json.dumps(item).encode())
        yield Candidate(
            where, _drop_derived_id(line), "" if line.memory else _add_hint(line.problem or "is a removal", item)
        )


def _map_fields(where: str, item: Any, mapping: Mapping[str, str]) -> Candidate:
    """Read a foreign object by *mapping*; a bare string is the content."""
    if isinstance(item, str):
        return Candidate(where, Memory(id="", content=item, source_type="import"))
    if not isinstance(item, dict):
        return Candidate(where, None, "not a JSON object")
    ours = {field: _dig(item, path) for field, path in mapping.items()}
    for field in ("id", "content", scopes.KEY):
        ours.setdefault(field, item.get(field))
    if isinstance(ours["id"], int):
        ours["id"] = str(ours["id"])
    line = codec.decode(json.dumps({key: value for key, value in ours.items() if value is not None}).encode())
    return Candidate(
        where, _drop_derived_id(line), "" if line.memory else _add_hint(line.problem or "not readable", item)
    )


def _dig(item: Any, path: str) -> Any:
    for key in path.split("."):
        item = item.get(key) if isinstance(item, dict) else None
    return item


def _read_markdown(data: bytes, name: str, mapping: Mapping[str, str]) -> Iterator[Candidate]:
    """Take each top-level bullet with all that belongs to it; the heading above may give its type."""
    if mapping:
        raise UsageError(Remedy("--map"), " is for JSON; Markdown bullets have no keys")
    lines = read_utf8(data, name, ImportFailed).split("\n")
    for number, parts, kind in _split_bullets(lines):
        memory = Memory(id="", content=" ".join(parts), memory_type=kind, source_type="import")
        yield Candidate(f"{name}:{number}", memory)


def _split_bullets(lines: list[str]) -> Iterator[tuple[int, list[str], str]]:
    """Yield each bullet: the number of its first line, its pieces of text, and its type."""
    kind, start, parts, after_gap = "fact", 0, list[str](), False
    for number, line in skip_fences(lines):
        heading, bullet = _HEADING.match(line), _BULLET.match(line)
        is_indented = line[:1].isspace()
        if line.strip() and (is_indented or not (after_gap or heading or bullet or _RULE.match(line))):
            if parts:
                parts.append(bullet[1] if bullet else line.strip())
        elif line.strip():
            if parts:
                yield start, parts, kind
            start, parts = number, [bullet[1]] if bullet else []
            kind = _HEADING_TYPES.get(heading[1].lower(), "fact") if heading else kind
        after_gap = not line.strip()
    if parts:
        yield start, parts, kind


def skip_fences(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that stand in no code block, with their numbers from 1."""
    fence = ""
    for number, line in enumerate(lines, 1):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1] == fence:
            fence = ""
        elif not fence:
            yield number, line.rstrip()
