"""Bundles of the Open Knowledge Format (0.2): a folder of Markdown, a concept a file. docs/okf.md maps the fields.

What OKF cannot say of a memory stands under `memsync` in its front matter; what a memory cannot say of a concept, under
`okf` in the record. So nothing is lost on either way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any, Final

from memsync import __version__
from memsync.format import codec
from memsync.format.scopes import mark_record
from memsync.memories.imports import Candidate
from memsync.memories.results import Entry
from memsync.records import Memory, format_time, hash_id, parse_time, shown_id, sort_types
from memsync.skills.file import load_front
from memsync.system.limits import read_object
from memsync.system.texts import one_line
from memsync.transfer.readers import ORIGIN, add_subject, make_candidate, read_statements

VERSION: Final = "0.2"
RESERVED: Final = frozenset({"index.md", "log.md"})
_OURS, _THEIRS = "memsync", "okf"  # the key in a concept, and in a record
_MARKS: Final = frozenset(
    {"generated", "verified", "sources", "stale_after", "timestamp", "resource", "runtime", _OURS}
)
_FRONT: Final = re.compile(r"\A---\n(.*?)\n---(?:\n|\Z)", re.DOTALL)
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?: [A-Za-z0-9_-]+)*")
_YAML_WORDS: Final = frozenset("true false null yes no on off y n".split())
_PART: Final = re.compile(r"\w[\w .-]{0,100}")
_WHOLE: Final = 2_000  # characters of a body that is one memory; a longer one is read by statement
_HEAD: Final = 65_536
_TITLE: Final = 80


def is_bundle(folder: Path) -> bool:
    """Tell whether *folder* looks like a bundle: its index says so, or its first concept does."""
    root = folder.resolve()
    found = sorted(path for path in folder.rglob("*.md") if path.name not in RESERVED)[:1]
    paths = [path for path in (folder / "index.md", *found) if path.is_file() and path.resolve().is_relative_to(root)]
    return any(is_concept(load_front(_read_head(path))[0]) for path in paths)


def _read_head(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_HEAD)


def is_concept(front: Mapping[str, Any]) -> bool:
    """Tell whether *front* is that of a concept, or of the index of a bundle."""
    return "okf_version" in front or bool(front.get("type") and _MARKS & front.keys() and "permalink" not in front)


def read_concept(text: str, name: str, path: str) -> Iterator[Candidate]:
    """Yield what a concept says, the file *path* of its bundle: one memory, or of a long page each statement that lasts."""
    if PurePosixPath(path).name in RESERVED:
        return
    front = json.loads(json.dumps(load_front(text)[0], default=str))
    ours = read_object(str(front.pop(_OURS, None)))
    kind, tags, body = front.pop("type", None), front.pop("tags", None), _FRONT.sub("", text, count=1).strip()
    if not kind:
        yield Candidate(name, None, "has no type, which every concept of OKF has")
    elif not ours and len(body) > _WHOLE:
        yield from read_statements(text, name)
    else:
        found = make_candidate(name, body or front.get("description"), str(kind), tags)
        if found.memory and ours and isinstance(tags, list):
            found = Candidate(name, found.memory._replace(tags=tuple(map(str, tags))))  # as they were
        memory = found.memory and _complete(found.memory, ours, front, path)
        yield Candidate(name, memory, found.problem or ("" if memory else "is deprecated, and does not say since when"))


def _complete(memory: Memory, ours: dict[str, Any], front: dict[str, Any], path: str) -> Memory | None:
    """Return *memory* with what stands under our key and what else the concept says; None if it is out of date since nobody knows when."""
    given = front.get("generated")
    at = parse_time(given.get("at") if isinstance(given, dict) else front.get("timestamp"))
    is_old = front.get("status") == "deprecated" and bool(front.pop("status"))
    is_edited = "seal" in ours and ours.pop("seal") != hash_id(memory.content)
    if is_edited:
        ours.pop("content", None)
    for key in ours.pop("made", ()):  # by us, of what the record says
        front.pop(key, None)
    if not ours:
        ours = {"source_type": "import", "created_at": at and format_time(at), ORIGIN: f"{_THEIRS}: {path}"}
    content = add_subject(str(front["title"]), memory.content) if front.get("title") else memory.content
    said = {"content": content, **ours, "memory_type": memory.memory_type, "tags": list(memory.tags)}
    line = codec.decode(json.dumps({**said, **({_THEIRS: front} if front else {})}).encode())
    known = line.memory
    if known is None or (is_old and not (known.archived_at or at)):
        return None
    if at and (known.written_at is None or at > known.written_at or line.nameless):
        known = known._replace(updated_at=at)
    elif is_edited and known.written_at:  # by hand, who wrote no time
        known = known._replace(updated_at=known.written_at + timedelta(milliseconds=1))
    known = known._replace(id="" if line.nameless else known.id)
    return known._replace(archived_at=(known.archived_at or at) if is_old else None)


def spell_bundle(found: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file of a bundle that holds *found*."""
    rows: dict[str, list[str]] = {}
    taken = set(RESERVED)
    for entry in found:
        memory = mark_record(entry.memory, entry.scope)
        path = _choose_path(memory, taken)
        taken.add(path)
        rows.setdefault(memory.memory_type, []).append(f"* [{_title_of(memory)}]({path.replace(' ', '%20')})")
        yield path, _spell_concept(memory)
    parts = [f"# {one_line(kind)}\n\n" + "\n".join(rows[kind]) for kind in sort_types(rows)]
    yield "index.md", f'---\nokf_version: "{VERSION}"\n---\n\n' + "\n\n".join(parts) + "\n"


def _choose_path(memory: Memory, taken: set[str]) -> str:
    """Return where the concept goes: where it came from, if that is a plain path of a bundle, else by its id."""
    said = str(memory.extra.get(ORIGIN) or "").removeprefix(f"{_THEIRS}: ")
    parts = said.split("/")
    is_plain = said.endswith(".md") and len(parts) < 10 and all(map(_PART.fullmatch, parts))
    is_free = said not in taken and parts[-1].lower() not in RESERVED
    return said if is_plain and is_free else f"{shown_id(memory.id)}.md"


def _title_of(memory: Memory) -> str:
    row = one_line(memory.content.strip().split("\n")[0])
    return re.sub(r"[\[\]\\]", "", row if len(row) <= _TITLE else row[:_TITLE].rsplit(" ", 1)[0] + "…")


def _spell_concept(memory: Memory) -> str:
    """Return the file of *memory*: what OKF has a key for, then what it has none for, then the text."""
    theirs = memory.extra.get(_THEIRS)
    theirs = dict(theirs) if isinstance(theirs, dict) else {}
    made: dict[str, Any] = {} if "title" in theirs else {"title": _title_of(memory)}
    if memory.written_at and not theirs.keys() & {"generated", "timestamp"}:
        is_human = memory.source_type == "user" and memory.author
        by = f"human:{memory.author}" if is_human else f"memsync/{__version__}"
        made["generated"] = {"by": by, "at": format_time(memory.written_at)}
    if memory.archived_at:
        theirs["status"] = "deprecated"
    body, title = memory.content, f"{theirs.get('title') or ''}: "
    if body.startswith(title) and title[:-2].lower() not in body.removeprefix(title).lower():
        body = body.removeprefix(title)
    left = ("content", "memory_type", "tags", _THEIRS)
    ours = {key: one for key, one in codec.fields_of(memory).items() if key not in left}
    if add_subject(title[:-2], body) != memory.content or "\r" in body:
        ours["content"] = memory.content  # which the body alone would not give back
    ours["seal"] = hash_id(body.replace("\r\n", "\n").strip())  # another text is an edit by hand
    front = {"type": memory.memory_type, **made, **theirs, "tags": list(memory.tags)}
    rows = [f"{_spell(key)}: {_spell(one)}" for key, one in front.items() if one != []]
    quoted = json.dumps({**ours, "made": [*made]}, sort_keys=True).replace(
        "'", "''"
    )  # numbers keep their digits in a text
    return "---\n" + "\n".join([*rows, f"{_OURS}: '{quoted}'"]) + f"\n---\n\n{body}\n"


def _spell(value: Any) -> str:
    """Return *value* as YAML on one line: plain where it is a word, else as JSON, which is YAML too."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _YAML_WORDS:
        return value
    text = json.dumps(value, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in text)
