"""Memories as text for a context: whole lines, within the budget."""

from __future__ import annotations

from dataclasses import replace
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


def test_a_line_says_of_a_memory_only_what_a_reader_needs():
    assert context.line(entry("mm-abc123", "listens on 8080"), NOW) == "- [mm-abc123] listens on 8080"
    old = entry("mm-abc123", "prefers tabs", kind="preference", days=200)
    assert context.line(old, NOW) == "- [mm-abc123] prefers tabs (preference, Jun 2025)"
    assert (
        context.line(old, NOW, is_grouped=True, note="+2 alike") == "- [mm-abc123] prefers tabs (Jun 2025) (+2 alike)"
    )


def test_of_a_foreign_id_only_the_first_part_is_shown():
    assert context.line(entry("85df566f-28e9-4bd3-a7f5-0a8f0a5b0a44", "x"), NOW) == "- [85df566f] x"


def test_a_memory_that_somebody_else_wrote_and_nobody_here_has_seen_names_its_author():
    one = entry("mm-a", "x")
    assert context.line(one, NOW, is_new=True) == "- [mm-a] x (unread)"
    theirs = replace(one, memory=one.memory._replace(author="Ann"))
    assert context.line(theirs, NOW, is_new=True) == "- [mm-a] x (by Ann)"


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
    assert all(context.line(one, NOW, is_grouped=grouped) in lines for one in block.entries)
    assert sum(line.startswith("- [") for line in lines) == len(block.entries)
    assert block.text.count("<project-memory>") == block.text.count("</project-memory>") == bool(block.entries)
