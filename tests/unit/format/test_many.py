"""Many memories are spelled as one is, by another speller."""

from __future__ import annotations

from datetime import UTC, datetime

from memsync.format.codec import encode
from memsync.format.jsonl import encode_all
from memsync.records import Memory

WHEN = datetime(2026, 1, 15, 12, 0, 0, 5_000, tzinfo=UTC)
CONTENTS = [
    "plain",
    'a "quoted" \\ one\n\t\b\f',
    "".join(map(chr, range(1, 300))),
    "ends \u2028 \u2029 \x85",
    "日本 😀",
    "\ud800",
]
EXTRAS = [
    {},
    {"project_id": "p", "zz": "\u2028"},
    {"a\uffff": "x", "a😀": "y"},
    {"n": 1.0, "big": 10**30},
    {"of": [None, True]},
]
IMPORTANCES = [0.0, 0.00001, 0.0001, 1 / 3, 0.5, 1.0, 1]


def test_each_of_many_is_spelled_as_it_is_alone():
    memories = [
        Memory(id=f"mm-{n}", content=content, importance=importance, tags=("a", content), created_at=WHEN, extra=extra)
        for n, content in enumerate(CONTENTS)
        for importance in IMPORTANCES
        for extra in EXTRAS
    ]
    assert encode_all(memories) == [encode(memory) for memory in memories]
    assert encode_all(memories[:3]) == [encode(memory) for memory in memories[:3]]
