"""Laws of what waits for a commit: it is worth the same as if it had been written at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memsync.format import codec, jsonl, merge, pending
from memsync.records import Memory

IDS = ("mm-aaaaaa", "mm-bbbbbb", "mm-cccccc", "mm-dddddd")
BORN = datetime(2026, 1, 1, tzinfo=UTC)

texts = st.sampled_from(("use uv", "port 8080", "port 8081", "naïve \u2028 line", '{"base":{}}', "<<<<<<< ours"))
moments = st.integers(1, 10**6).map(lambda seconds: BORN + timedelta(seconds=seconds))
records = st.builds(
    lambda id_, text, tags, importance, at: codec.encode(
        Memory(id_, text, tags=tags, importance=importance, created_at=BORN, updated_at=at)
    ),
    st.sampled_from(IDS),
    texts,
    st.lists(st.sampled_from(("ci", "db", "ü")), max_size=2, unique=True).map(tuple),
    st.sampled_from((0.1, 0.5, 0.9)),
    moments,
)
removals = st.builds(codec.encode_tombstone, st.sampled_from(IDS), moments)
# A record with a key of its own that reads like ours.
foreign = st.just(b'{"base":{"content":"z","id":"mm-aaaaaa"},"content":"edited","id":"u1"}')
writes = st.lists(st.lists(records | removals | foreign, min_size=1, max_size=3), max_size=4)
# Unknown keys that look like ours, spaces, an unreadable line.
odd = st.sampled_from(
    (b'{"base":{"id":"x"},"content":"y","id":"u1"}', b'{ "id": "mm-aaaaaa", "content": "by hand" }', b"{")
)
branches = st.lists(records | odd, max_size=5).map(lambda raws: jsonl.export(jsonl.read_lines(joined(raws))))


def joined(raws: Sequence[bytes]) -> bytes:
    return b"".join(raw + b"\n" for raw in raws)


def held_by(tracked: bytes, batches: Sequence[Sequence[bytes]]) -> bytes:
    """Return the pending file after *batches* of writes over *tracked*."""
    held: list[bytes] = []
    for raws in batches:
        held += pending.add_bases(raws, jsonl.read_lines(tracked), pending.read(joined(held)))
    return joined(held)


def folded(tracked: bytes, held: bytes) -> bytes:
    return jsonl.export(pending.lay_over(jsonl.read_lines(tracked), held)[0])


def contents(data: bytes) -> set[str]:
    return {line.memory.content for line in merge.current(jsonl.read_lines(data)).values() if line.memory}


@given(branches, writes)
def test_what_waited_ends_in_the_bytes_that_writing_at_once_would_have_made(tracked, batches):
    raws = [raw for batch in batches for raw in batch]
    assert folded(tracked, held_by(tracked, batches)) == jsonl.export(jsonl.read_lines(tracked + joined(raws)))


@given(branches, branches, writes)
def test_on_any_branch_folding_twice_is_folding_once(tracked, other, batches):
    held = held_by(tracked, batches)
    once = folded(other, held)
    assert folded(once, held) == once


@given(branches, branches, writes)
def test_on_any_branch_no_text_that_waits_and_no_other_record_is_lost(tracked, other, batches):
    held = held_by(tracked, batches)
    waiting = jsonl.current(pending.read(held))
    found = contents(folded(other, held))
    old = contents(tracked)
    assert {line.memory.content for line in waiting.values() if line.memory} - old <= found
    others = jsonl.current(jsonl.read_lines(other))
    assert {line.memory.content for id_, line in others.items() if line.memory and id_ not in waiting} <= found


@given(branches, branches, writes)
def test_a_text_that_another_branch_gave_a_record_outlives_an_edit_that_waits(tracked, other, batches):
    held = held_by(tracked, batches)
    waiting = jsonl.current(pending.read(held))
    old = {line.memory.content for line in jsonl.read_lines(tracked) if line.memory}
    others = jsonl.current(jsonl.read_lines(other))
    theirs = {line.memory.content for id_, line in others.items() if line.memory and id_ in waiting}
    assert theirs - old <= contents(folded(other, held))


@given(branches, branches, writes)
def test_looking_at_another_branch_changes_nothing_on_the_first(tracked, other, batches):
    held = held_by(tracked, batches)
    before = folded(tracked, held)
    folded(other, held)
    assert folded(tracked, held) == before


def test_an_edit_made_on_another_branch_is_an_edit_of_what_was_seen_there():
    def line(content: str, *tags: str) -> bytes:
        return codec.encode(Memory("mm-aaaaaa", content, tags=tags, created_at=BORN, updated_at=BORN))

    here, there = joined([line("one")]), joined([line("one", "theirs")])
    held = held_by(here, [[line("two")]])
    held += joined(pending.add_bases([line("three")], jsonl.read_lines(there), pending.read(held)))
    assert folded(there, held) == joined([line("three")])


def test_in_a_conflicted_file_what_waits_is_merged_into_both_sides_and_not_into_the_last_line():
    def line(content: str, second: int) -> bytes:
        at = BORN + timedelta(seconds=second)
        return codec.encode(Memory("mm-aaaaaa", content, created_at=BORN, updated_at=at))

    held = held_by(joined([line("one", 0)]), [[line("waiting", 1)]])
    conflict = joined([b"<<<<<<< HEAD", line("ours", 3), b"=======", line("theirs", 2), b">>>>>>> side"])
    shown = pending.lay_over(jsonl.read_lines(conflict), held)[0]
    now = {id_: found.memory.content for id_, found in merge.current(shown).items() if found.memory}
    assert now["mm-aaaaaa"] == "ours"
    assert set(now.values()) == {"ours", "theirs", "waiting"}
