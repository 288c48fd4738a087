"""Reading the files that others wrote: Gobby's, any JSONL or JSON with a mapping, and Markdown, whose statements keep their places."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from memsync.errors import ImportFailed, InvalidMemory, Remedy, UsageError
from memsync.format import codec, jsonl, merge, scopes
from memsync.format.codec import bare
from memsync.memories.imports import Candidate
from memsync.records import Memory, clean_tags
from memsync.system import limits
from memsync.system.texts import read_utf8

if TYPE_CHECKING:
    from memsync.learn.statements import Statement

# what the readers of other tools' memories share: candidates, JSON that is held to limits, statements that are worth it


ORIGIN: Final = "imported_from"  # the key of a record for the tool and the place that it came from
TAG: Final = re.compile(r"(?<!\S)#([\w/-]+)")


def make_candidate(where: str, content: object, kind: str = "fact", tags: object = (), **fields: Any) -> Candidate:
    """Return a candidate that says *content*, with *fields* of a memory beside it; why there is none if that is no text."""
    if not isinstance(content, str) or not content.strip():
        return Candidate(where, None, "no text")
    words = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list | tuple) else ()
    memory = Memory("", content.strip(), kind, tags=clean_words(words), source_type="import", **fields)
    return Candidate(where, memory)


def clean_words(words: Iterable[object]) -> tuple[str, ...]:
    """Return *words* as tags; none if one of them cannot be stored."""
    try:
        return clean_tags([str(word).strip().lower() for word in words])
    except InvalidMemory:
        return ()


def read_statements(
    text: str,
    name: str,
    anchors: Sequence[str] = (),
    tags: Sequence[str] = (),
    shape: Callable[[Statement], Iterable[Statement]] = lambda one: (one,),
) -> Iterator[Candidate]:
    """Yield each statement of Markdown that is worth it, as *shape* makes it, with *anchors* and *tags*, and say why the others are not."""
    from memsync.learn.statements import statements
    from memsync.learn.worth import as_memory, why_dropped

    for one in (part for whole in statements(text) for part in shape(whole)):
        where = f"{name}:{one.line}"
        if why := why_dropped(one.text):
            yield Candidate(where, None, why)
            continue
        memory = as_memory(one.text, one.heading)
        words = tuple(dict.fromkeys((*memory.tags, *tags)))
        yield Candidate(where, memory._replace(source_type="import", anchors=tuple(anchors), tags=words))


def read_json(text: str, name: str) -> Any:
    """Return the value of a whole file of JSON.

    Raises:
        ImportFailed
    """
    try:
        return limits.read_json(text, limits.LARGEST_IMPORT)
    except ValueError as error:
        raise ImportFailed(f"{name}: not JSON that can be read ({error})") from None


def get_list(value: Mapping[str, Any], key: str) -> list[Any]:
    """Return the list under *key*; empty if there is none."""
    found = value.get(key)
    return found if isinstance(found, list) else []


def parse_time(value: object) -> datetime | None:
    """Return the time that a text in ISO 8601, or a number of seconds since 1970, says; None if it says none."""
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        found = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        return None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def add_subject(name: str, said: str) -> str:
    """Return *said* so that it makes sense without what it stood under."""
    return said if name.lower() in said.lower() else f"{name}: {said}"


Format = Literal["jsonl", "json", "markdown"]

BY_SUFFIX: Final[Mapping[str, Format]] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".md": "markdown", ".markdown": "markdown"
}  # fmt: skip
_BULLET: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*\S)$")
_RULE: Final = re.compile(r"^(?:[-*+]|-{3,}|\*{3,}|_{3,}|</?[\w-]+>)$")  # or a tag around what an agent was given
_HEADING: Final = re.compile(r"^#+\s+(.*?)\s*#*$")
_FENCE: Final = re.compile(r"^\s*(```|~~~)")
# The headings under which Gobby shows memories, and their types.
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


_FRONT: Final = re.compile(r"\A---\r?\n.*?\n---\r?\n", re.DOTALL)
_ROW_BULLET: Final = re.compile(r"(?P<mark>[ \t]*(?:[-*+]|\d+[.)])[ \t]+)(?P<text>\S.*)")
_NO_TEXT: Final = re.compile(
    r"\s*(?:#|\||>|<|!\[|\[[^\]]*\]:|[-*_=]{3,}\s*$)|\s*(?:[-*+]\s+)?\[[ xX]\]\s|.*\]\([^)]*\.md\)"
)
_OBSERVATION: Final = re.compile(r"(\[[^\[\]()]{2,60}\]\s+)(\S.*)")


class Unit(NamedTuple):
    """A statement: the characters of its file from `start` to `end`, what stands before its text, and the text on one line."""

    start: int
    end: int
    mark: str
    text: str

    def spell(self, text: str) -> str:
        """Return *text* as this statement would say it; a bullet stays one."""
        indent = " " * len(self.mark) if self.mark.strip() else ""
        return self.mark + re.sub(r"\n+", f"\n{indent}", text.strip())


def split(text: str, *, observations: bool = False) -> Iterator[Unit]:
    """Yield the statements of *text*, a file, in order; with *observations* only bullets that name their category, as Basic Memory's.

    Not front matter, headings, tables, code, quotations, tasks, lists of other files, and what only introduces the next lines.
    """
    at = int(text.startswith("\ufeff"))  # a mark of the file, and of no statement
    text = text[at:]
    front = _FRONT.match(text)
    first = text.count("\n", 0, front.end()) if front else 0
    rows = text.split("\n")
    shown = {number for number, _ in skip_fences(rows) if number > first}
    block: list[tuple[int, str]] = []
    for number, row in enumerate(rows, 1):
        is_text = number in shown and bool(row.strip()) and not _NO_TEXT.match(row)
        begins = not block or (bool(_ROW_BULLET.match(row)) and not row.startswith((" ", "\t")))
        if block and (not is_text or begins):
            yield from _make_unit(block, observations)
            block = []
        if is_text:
            block.append((at, row))
        at += len(row) + 1
    if block:
        yield from _make_unit(block, observations)


def _make_unit(block: list[tuple[int, str]], observations: bool) -> Iterator[Unit]:
    (start, row), (last, end) = block[0], block[-1]
    bullet = _ROW_BULLET.match(row)
    mark, said = (bullet["mark"], bullet["text"]) if bullet else ("", row)
    if observations:
        found = _OBSERVATION.match(said) if bullet else None
        if found is None:
            return
        mark, said = mark + found[1], found[2]
    text = " ".join(" ".join([said, *(one for _, one in block[1:])]).split())
    if not text.rstrip("*_ ").endswith(":"):
        yield Unit(start, last + len(end.rstrip("\r")), mark, text)
