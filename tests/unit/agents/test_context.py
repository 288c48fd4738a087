"""Memories as text for a context: whole lines, within the budget."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memsync.agents import context
from memsync.memories.results import Entry
from memsync.records import Memory

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def entry(id_: str, content: str, kind: str = "fact", importance: float = 0.8, days: float = 3) -> Entry:
    made = NOW - timedelta(days=days)
    memory = Memory(id_, content, memory_type=kind, importance=importance, created_at=made, updated_at=made)
    return Entry(memory=memory, scope="project", effective_importance=importance)


def test_a_line_has_id_type_importance_age_and_text():
    one = entry("mm-abc123", "prefers tabs", kind="preference")
    assert context.line(one, NOW) == "- [mm-abc123] (preference, importance 0.8, 3 days ago) prefers tabs"


def test_a_memory_that_somebody_else_wrote_and_nobody_here_has_seen_is_marked():
    assert ", 3 days ago, new)" in context.line(entry("mm-a", "x"), NOW, is_new=True)


def test_a_session_start_groups_by_type_in_the_order_of_the_seeds():
    found = [entry("mm-a", "A", "fact"), entry("mm-b", "B", "decision"), entry("mm-c", "C", "context")]
    block = context.build(found, NOW, limit=9, budget=2_000, grouped=True)
    lines = [line for line in block.text.splitlines() if line.startswith(("#", "<"))]
    assert lines == ["<project-memory>", "## Project Context", "## Facts", "## decision", "</project-memory>"]


def test_a_memory_that_does_not_fit_is_left_out_whole_and_the_next_may_come():
    found = [entry("mm-a", "short"), entry("mm-b", "x" * 10_000), entry("mm-c", "also short")]
    block = context.build(found, NOW, limit=9, budget=2_000, grouped=False)
    assert [e.id for e in block.entries] == ["mm-a", "mm-c"]
    assert [e.id for e in block.left_out] == ["mm-b"]
    assert "xxx" not in block.text


def test_nothing_fits_gives_no_empty_tag():
    assert context.build([entry("mm-a", "x" * 500)], NOW, limit=9, budget=100, grouped=False).text == ""


def test_the_cap_counts_bytes_whatever_the_budget_allows():
    found = [entry(f"mm-{n}", "é" * 1_000) for n in range(20)]
    block = context.build(found, NOW, limit=99, budget=100_000, grouped=False)
    assert 7_000 < len(block.text.encode()) <= context.CAP


TEXTS = st.lists(st.text(min_size=1, max_size=400), max_size=20)


@given(TEXTS, st.integers(0, 3_000), st.integers(0, 12), st.booleans())
def test_a_block_keeps_to_limit_and_budget_and_holds_each_chosen_line_whole(texts, budget, limit, grouped):
    found = [entry(f"mm-{n}", text) for n, text in enumerate(texts)]
    block = context.build(found, NOW, limit=limit, budget=budget, grouped=grouped)
    assert len(block.entries) <= limit
    assert block.text == "" if not block.entries else len(block.text) <= budget
    lines = block.text.splitlines()
    assert all(context.line(one, NOW) in lines for one in block.entries)
    assert sum(line.startswith("- [") for line in lines) == len(block.entries)
    assert block.text.count("<project-memory>") == block.text.count("</project-memory>") == bool(block.entries)
