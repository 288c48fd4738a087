"""What errors offer in the place of what was mistyped."""

from __future__ import annotations

import pytest

from memsync.errors import closest


@pytest.mark.parametrize(
    ("said", "known", "offered"),
    [
        ("memory.recal_limit", ["memory.enabled", "memory.recall_limit"], "memory.recall_limit"),
        ("Contents", ["content", "tags"], "content"),
        ("trigger", ["name", "trigger_pattern"], "trigger_pattern"),
        ("zebra", ["content", "tags"], None),
        ("", ["content"], None),
        ("content", [], None),
    ],
)
def test_what_was_probably_meant_is_offered_and_nothing_else(said, known, offered):
    assert closest(said, known) == offered
