"""From the bytes of a repository's files to what the hub keeps of them, and what it leaves out. Pure.

Left out is what an agent would not be given on a laptop either: archived, waiting in a conflict, reading like an order,
looking like a secret, or private by its tag or by what it says of its scope.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from memsync.errors import InvalidMemory
from memsync.format.jsonl import is_utf16, problems, read_lines
from memsync.format.merge import current
from memsync.format.scopes import find_skill_scope, read_scope
from memsync.index.scale import LEXICON
from memsync.memories.fingerprints import read_rules
from memsync.memories.sharing import PRIVATE_TAG
from memsync.records import Memory, check_size
from memsync.safety.screen import flaw_of, suspicious
from memsync.safety.secrets import scan, scan_memory
from memsync.skills.file import read as read_skill
from memsync.skills.skills import make_record

MEMORIES: Final = ".gobby/memories.jsonl"
SKILLS: Final = ".claude/skills"
_RULES: Final = 2  # of this module; another number has every repository taken in anew
_TERMS: Final = 2  # of what is counted of a record beside its words; another number has every record written anew
LARGEST: Final = 64 * 1024 * 1024  # bytes of a memory file; 100,000 memories have 40

Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One memory or skill: its line as it stands in the file, at which line, and what it is read as."""

    kind: str
    memory: Memory
    line: bytes
    number: int

    @property
    def key(self) -> Key:
        """What it is known by in its repository."""
        return self.kind, plain(self.memory.id)

    @property
    def hash(self) -> bytes:
        """What changes with the line."""
        return blake2b(self.line, digest_size=16).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What the hub keeps of a repository; `left_out` counts the rest by the reason, `notes` name broken lines.

    Of the kinds `unread` a file could not be read at all: what the hub has of these stays.
    """

    rows: tuple[Row, ...]
    unread: frozenset[str] = frozenset()
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def plain(text: str) -> str:
    """Return *text* as PostgreSQL can hold it: its texts have neither NUL nor lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def version() -> str:
    """Return what changes when the same bytes would be taken in differently."""
    return f"{LEXICON}.{_TERMS}-{_RULES}-{blake2b(read_rules(), digest_size=8).hexdigest()}"


def read_alike(one: str, other: str) -> bool:
    """Tell whether two versions make the same terms of a text, whatever else they leave out."""
    return one.partition("-")[0] == other.partition("-")[0]


def take(files: Mapping[str, bytes]) -> Taken:
    """Return what the hub keeps of *files*, by their paths in the repository; never raises for what they hold."""
    rows: list[Row] = []
    notes: list[str] = []
    left_out: Counter[str] = Counter()
    unread: set[str] = set()
    for path, data in sorted(files.items()):
        if len(data) > LARGEST:
            notes.append(f"{path}: more than {LARGEST:,} bytes")
            unread.add("memory" if path == MEMORIES else "skill")
            continue
        if path == MEMORIES and is_utf16(data):
            notes.append(f"{path}: UTF-16; save it as UTF-8")
            unread.add("memory")
            continue
        found = list(_read_memories(data, notes) if path == MEMORIES else _read_skill(path, data))
        for row in found:
            if why := why_left_out(row):
                left_out[why] += 1
            else:
                rows.append(row)
    return Taken(rows=tuple(rows), unread=frozenset(unread), left_out=dict(left_out), notes=tuple(notes))


def _read_memories(data: bytes, notes: list[str]) -> Iterator[Row]:
    lines = read_lines(data)
    broken = [problem for problem in problems(lines) if not problem.harmless]
    notes += [f"{MEMORIES}:{problem.number}: {problem.why}" for problem in broken[:5]]
    numbers = {line.raw: number for number, line in enumerate(lines, 1)}
    for line in current(lines).values():
        if line.memory:
            yield Row(kind="memory", memory=line.memory, line=line.raw, number=numbers.get(line.raw, 1))


def _read_skill(path: str, data: bytes) -> Iterator[Row]:
    folder = path.split("/")[-2]
    skill = read_skill(data, folder).skill
    # Its folder names it: two skills of a repository may say that they have one id.
    yield Row(kind="skill", memory=make_record(skill)._replace(id=folder), line=data, number=1)


def why_left_out(row: Row) -> str:
    """Return why the hub does not take *row*; "" if it does."""
    memory = row.memory
    if memory.archived_at is not None:
        return "archived"
    if memory.conflict_of:
        return "in conflict"
    text = row.line.decode("utf-8", "replace") if row.kind == "skill" else ""
    if PRIVATE_TAG in {tag.lower() for tag in memory.tags} or read_scope(memory)[1] or find_skill_scope(text):
        return "private"
    try:
        check_size(memory)
    except InvalidMemory:
        return "too large"
    if row.kind == "skill":
        return "suspicious" if suspicious(text) else "a secret" if scan(text) else ""
    return "suspicious" if flaw_of(memory) else "a secret" if scan_memory(memory) else ""


def diff(old: Mapping[Key, bytes], new: Taken) -> tuple[list[Row], list[Key]]:
    """Return which rows to write and which to remove, so that the hashes *old* become those of *new*."""
    rows = {row.key: row for row in new.rows}
    put = [row for key, row in rows.items() if old.get(key) != row.hash]
    return put, sorted(key for key in old.keys() - rows.keys() if key[0] not in new.unread)
