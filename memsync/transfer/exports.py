"""What services hand out to their users: memories of mem0 and OpenMemory, what ChatGPT has saved, and the ZIP files of both."""

from __future__ import annotations

import io
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from zipfile import BadZipFile, ZipFile

from memsync.errors import ImportFailed, Remedy
from memsync.memories.imports import Candidate
from memsync.system import limits
from memsync.transfer import readers
from memsync.transfer.readers import get_list, make_candidate, parse_time, read_json, read_statements

# the database of claude-mem (`~/.claude-mem/claude-mem.db`), opened for reading only


MAGIC: Final = b"SQLite format 3\0"
FILE: Final = "claude-mem.db"
PATIENCE = 2.0  # seconds for a writer to finish
_NEEDED: Final = {
    "observations": {
        "id",
        "memory_session_id",
        "project",
        "type",
        "title",
        "narrative",
        "facts",
        "concepts",
        "created_at",
    },
    "session_summaries": {"id", "memory_session_id", "project", "learned", "created_at"},
}
# The kinds that say how things are, and what they are to us; the others say what was done, which git knows.
_KINDS: Final = {"decision": "context", "discovery": "fact", "security_note": "fact"}


def read_database(path: Path, project: str) -> Iterator[Candidate]:
    """Yield what claude-mem noted in *project*, by its name there: discoveries, decisions, and what sessions learned.

    Raises:
        ImportFailed: it is locked, damaged, of a layout that is not known, or has nothing of that project.
    """
    try:
        with closing(_open(path)) as db:
            _check_layout(db, path)
            _check_project(db, path, project)
            yield from _read_observations(db, path.name, project)
            yield from _read_summaries(db, path.name, project)
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise ImportFailed(f"{path}: another program has locked it; stop claude-mem, or import a copy") from None
        raise ImportFailed(f"{path}: cannot be read ({error})") from None
    except sqlite3.DatabaseError as error:
        raise ImportFailed(
            f"{path}: is damaged ({error}); import a backup, or what `sqlite3 {path} .recover` saves"
        ) from None


def _open(path: Path) -> sqlite3.Connection:
    """Open *path* so that nothing is written: without a log of changes beside it, it needs no file for its readers either."""
    has_log = Path(f"{path}-wal").exists()
    db = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode=ro{'' if has_log else '&immutable=1'}", uri=True, timeout=PATIENCE
    )
    db.row_factory = sqlite3.Row
    return db


def _check_layout(db: sqlite3.Connection, path: Path) -> None:
    for table, needed in _NEEDED.items():
        found = {row["name"] for row in db.execute(f"PRAGMA table_info({table})")}
        if missing := sorted(needed - found):
            what = f"no {', '.join(missing)} in its table {table}" if found else f"no table {table}"
            raise ImportFailed(f"{path}: a layout that memsync does not know ({what}); it was made for claude-mem 13")


def _check_project(db: sqlite3.Connection, path: Path, project: str) -> None:
    rows = db.execute(
        "SELECT project, count(*) AS n FROM observations GROUP BY project ORDER BY n DESC, project LIMIT 9"
    )
    known = {str(row["project"]): row["n"] for row in rows}
    if not known:
        raise ImportFailed(f"{path}: claude-mem has noted nothing yet")
    if db.execute("SELECT 1 FROM observations WHERE project = ? LIMIT 1", (project,)).fetchone() is None:
        names = ", ".join(f"{name} ({count})" for name, count in known.items())
        raise ImportFailed(
            f"{path}: has nothing of a project {project!r}; name one with ", Remedy("--project"), f": {names}"
        )


def _read_observations(db: sqlite3.Connection, name: str, project: str) -> Iterator[Candidate]:
    left: Counter[str] = Counter()
    for row in db.execute("SELECT * FROM observations WHERE project = ? ORDER BY id", (project,)):
        if kind := _KINDS.get(str(row["type"])):
            yield make_candidate(
                f"{name}: observation {row['id']}", _spell(row), kind, _list_texts(row["concepts"]), **_tell_origin(row)
            )
        else:
            left[str(row["type"])] += 1
    for kind, count in left.items():
        yield Candidate(name, None, f"{kind} says what was done, or is not to be passed on ({count} of them)")


def _spell(row: Mapping[str, Any]) -> str:
    """Return the title of an observation and what it tells; its facts where it tells nothing."""
    title, told = (str(row[key] or "").strip() for key in ("title", "narrative"))
    told = told or "; ".join(fact.rstrip(".") for fact in _list_texts(row["facts"]))
    return f"{title.rstrip('.')}. {told}" if title and told and not told.startswith(title) else told or title


def _read_summaries(db: sqlite3.Connection, name: str, project: str) -> Iterator[Candidate]:
    for row in db.execute("SELECT * FROM session_summaries WHERE project = ? ORDER BY id", (project,)):
        for one in read_statements(str(row["learned"] or ""), f"{name}: summary {row['id']}"):
            yield Candidate(one.where, one.memory._replace(**_tell_origin(row))) if one.memory else one


def _tell_origin(row: Mapping[str, Any]) -> dict[str, Any]:
    made = parse_time(row["created_at"])
    return {"source_session_id": str(row["memory_session_id"]), "created_at": made, "updated_at": made}


def _list_texts(value: object) -> list[str]:
    try:
        return limits.list_only(limits.read_json(str(value)), str)
    except ValueError:
        return []


_MEM0: Final = re.compile(r'\s*(?:\{[^\[\]]*"(?:results|memories)"\s*:\s*)?\[\s*\{[^{}]*"memory"\s*:\s*"')
_STATES: Final = {"archived", "deleted", "paused"}


def detect(text: str, first: Mapping[str, Any]) -> str | None:
    """Return "mem0" or "openmemory" if *text* begins as theirs; *first* is its first line as an object."""
    if _MEM0.match(text):
        return "mem0"
    is_row = {"content", "state"} <= first.keys() and ("app" in first or "app_id" in first)
    is_export = re.search(r'"(?:status_history|memory_categories|access_controls|category_ids|app_name)"\s*:', text)
    return "openmemory" if is_row or (is_export and '"content"' in text) else None


def read_mem0(text: str, name: str) -> Iterator[Candidate]:
    """Read what get_all or an export of mem0 returned; its ids stay, so that a later export updates."""
    tree = read_json(text, name)
    if isinstance(tree, dict):
        tree = next((tree[key] for key in ("results", "memories") if isinstance(tree.get(key), list)), None)
    if not isinstance(tree, list):
        raise ImportFailed(f"{name}: has no list of memories, as mem0's get_all returns it")
    keys = {"content": "memory", "tags": "categories", **{key: key for key in ("id", "created_at", "updated_at")}}
    yield from readers.read_bytes(json.dumps(tree).encode(), name, "json", keys)


def read_openmemory(text: str, name: str) -> Iterator[Candidate]:
    """Read OpenMemory's export (`memories.json`, or its lines) or a page of its API; what is not active there is left out."""
    if "\n{" in text.strip() and not text.lstrip().startswith("["):
        rows = [read_json(row, f"{name}:{number}") for number, row in enumerate(text.split("\n"), 1) if row.strip()]
        tree: Any = {"memories": rows}
    else:
        tree = read_json(text, name)
    if isinstance(tree, list):
        tree = {"memories": tree}
    if not isinstance(tree, dict) or not any(isinstance(tree.get(key), list) for key in ("memories", "items")):
        raise ImportFailed(f"{name}: has no list of memories, as OpenMemory exports it")
    names = {one.get("id"): one.get("name") for one in get_list(tree, "categories") if isinstance(one, dict)}
    for number, one in enumerate([*get_list(tree, "memories"), *get_list(tree, "items")], 1):
        yield _read_row(f"{name}[{number}]", one, names)


def _read_row(where: str, one: Any, names: Mapping[Any, Any]) -> Candidate:
    if not isinstance(one, dict):
        return Candidate(where, None, "not a JSON object")
    if one.get("state") in _STATES:
        return Candidate(where, None, f"{one['state']} in OpenMemory")
    tags = [str(tag) for tag in get_list(one, "categories")]
    tags += [str(names[id_]) for id_ in get_list(one, "category_ids") if isinstance(id_, str) and names.get(id_)]
    times = {key: parse_time(one.get(key)) for key in ("created_at", "updated_at")}
    found = make_candidate(where, one.get("content") or one.get("memory"), "fact", tags, **times)
    id_ = one.get("id")
    return Candidate(where, found.memory._replace(id=id_)) if found.memory and isinstance(id_, str) else found


# ChatGPT: of an export of the account, or copied from "Manage memories"
_TEXTS: Final = ("content", "memory", "text", "value")
_NUMBER: Final = re.compile(r"^\s*(?:[-*•]|\d+[.)])?\s*(?:\[(\d{4}-\d{2}-\d{2})\]\.?\s*)?(?:-\s+)?(.*\S)\s*$")
_FORGET: Final = re.compile(r"\b(?:forget|no longer)\b", re.IGNORECASE)
_WAYS: Final = "give memory.json or conversations.json of an export, or a text with one memory a line"


def read_chatgpt(text: str, name: str) -> Iterator[Candidate]:
    """Yield what was saved: entries of `memory.json`, what conversations told the memory tool, or the lines of a copy."""
    if text.lstrip()[:1] not in ("[", "{"):
        yield from _read_lines(text, name, None)
        return
    tree = read_json(text, name)
    if isinstance(tree, dict):
        tree = next((tree[key] for key in ("memories", "items", "data") if isinstance(tree.get(key), list)), [tree])
    if not isinstance(tree, list):
        raise ImportFailed(f"{name}: nothing that ChatGPT saved; {_WAYS}")
    for number, one in enumerate(tree, 1):
        if isinstance(one, dict) and isinstance(one.get("mapping"), dict):
            yield from _read_conversation(one, f"{name}[{number}]")
        else:
            yield _read_entry(one, f"{name}[{number}]")


def _read_entry(one: Any, where: str) -> Candidate:
    if isinstance(one, str):
        return make_candidate(where, one, "preference")
    if not isinstance(one, dict):
        return Candidate(where, None, "not a JSON object")
    if one.get("enabled") is False:
        return Candidate(where, None, "turned off in ChatGPT")
    said = next((one[key] for key in _TEXTS if isinstance(one.get(key), str)), None)
    times = {key: parse_time(one.get(key)) for key in ("created_at", "updated_at")}
    return make_candidate(where, said, "preference", **times)


def _read_conversation(one: dict[str, Any], where: str) -> Iterator[Candidate]:
    for node in one["mapping"].values():
        message = node.get("message") if isinstance(node, dict) else None
        if not isinstance(message, dict) or message.get("recipient") != "bio":
            continue
        content = message.get("content")
        parts = get_list(content, "parts") if isinstance(content, dict) else []
        said = "\n".join(part for part in parts if isinstance(part, str))
        yield from _read_lines(said, where, message.get("create_time"))


def _read_lines(text: str, where: str, time: object) -> Iterator[Candidate]:
    for number, row in enumerate(text.split("\n"), 1):
        if not (found := _NUMBER.match(row)):
            continue
        if _FORGET.search(found[2]):
            yield Candidate(f"{where}:{number}", None, "takes back what was saved before")
        else:
            made = parse_time(found[1] or time)
            yield make_candidate(f"{where}:{number}", found[2], "preference", created_at=made, updated_at=made)


ZIP: Final = b"PK\x03\x04"
_MEMBER: Final = re.compile(r"(?:^|/)(?:memory|memories|conversations(?:-\d+)?)\.json$")


def unpack(data: bytes, name: str) -> Iterator[tuple[bytes, str]]:
    """Yield each file of the archive that may hold memories, and its name.

    Raises:
        ImportFailed: it is damaged, encrypted or too large, or holds none.
    """
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            found = [one for one in archive.infolist() if _MEMBER.search(one.filename)]
            if sum(one.file_size for one in found) > limits.LARGEST_IMPORT:
                raise ImportFailed(
                    f"{name}: unpacks to more than {limits.LARGEST_IMPORT:,} bytes; unpack it, and name a file"
                )
            files = [(archive.read(one), f"{name}/{one.filename}") for one in found]
    except (BadZipFile, NotImplementedError, EOFError, OSError) as error:
        raise ImportFailed(f"{name}: is damaged ({error}); download it again") from None
    except RuntimeError:
        raise ImportFailed(f"{name}: is encrypted; unpack it, and name a file of it") from None
    if not files:
        raise ImportFailed(f"{name}: has neither memory.json, memories.json nor conversations.json")
    yield from files
