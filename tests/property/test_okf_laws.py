"""A bundle of the Open Knowledge Format gives back every memory that went into it, whatever it says."""

from __future__ import annotations

from datetime import UTC, datetime

import strategies as drawn
from hypothesis import example, given
from hypothesis import strategies as st

from memsync.memories.results import Entry
from memsync.records import MAX_CONTENT, Memory
from memsync.transfer import okf
from memsync.transfer.sources import read_bytes

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def is_stored(memory: Memory) -> bool:
    """Tell whether memsync would have stored it so: a text without white space around it, and a type."""
    return bool(memory.content.strip()) and memory.content == memory.content.strip() and bool(memory.memory_type)


def as_entry(memory: Memory) -> Entry:
    return Entry(memory=memory, scope="project", effective_importance=memory.importance, access_count=0)


@given(st.lists(drawn.memories.filter(is_stored), max_size=4, unique_by=lambda memory: memory.id))
@example([Memory("a", "# Not a heading\n---\ntype: x\n---\n", extra={"okf": {"title": "# Not"}})][:0])
@example([Memory("a", "---\ntype: x\n---\nbody", created_at=NOW)])
@example([Memory("a", "T: T is a title", extra={"okf": {"title": "T"}, "imported_from": "okf: t.md"})])
@example([Memory("a", "gone", archived_at=NOW, created_at=NOW)])
@example([Memory("a", "x" * MAX_CONTENT)])
@example([Memory("a", "yes", memory_type="yes", tags=("no", "1.0", "2026-01-01"))])
def test_what_a_bundle_says_is_what_went_into_it(memories):
    files = dict(okf.spell_bundle([as_entry(memory) for memory in memories]))
    assert len(files) == len(memories) + 1
    found = [
        one.memory
        for path, text in files.items()
        for one in read_bytes(text.encode("utf-8", "surrogatepass"), path, "okf")
    ]
    assert {one.id: one for one in found if one} == {one.id: one for one in memories}
