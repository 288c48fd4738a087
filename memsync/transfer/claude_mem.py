"""The database of claude-mem (`~/.claude-mem/claude-mem.db`), opened for reading only."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from memsync.errors import ImportFailed, Remedy
from memsync.memories.imports import Candidate
from memsync.system import limits
from memsync.transfer.candidates import make_candidate, parse_time, read_statements

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
