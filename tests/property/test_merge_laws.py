"""Laws of the merge, over files in which every field, spelling and kind of line varies."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

from helpers import sample
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from strategies import (
    conflicted_files,
    files,
    ids,
    importances,
    json_values,
    plain_lines,
    texts,
    times,
    unknown_keys,
    words,
)

from memsync.format import codec
from memsync.format.codec import Line, bare
from memsync.format.jsonl import current, export, read_lines
from memsync.format.merge import merge, settle
from memsync.format.versions import is_earlier
from memsync.records import format_time

# Each example is a merge of whole files; hypothesis keeps those that failed.
FEW = settings(max_examples=sample(40))

# What a person or a tool changes in a record; None takes the field out.
edits = st.dictionaries(st.just("content"), texts, max_size=1).flatmap(
    lambda content: st.fixed_dictionaries(
        {},
        optional={
            "importance": importances | st.just("high"),
            "tags": st.none() | st.lists(words, max_size=4) | st.lists(st.sampled_from("abcd"), max_size=4),
            "supersedes": st.none() | st.lists(ids, max_size=2),
            "memory_type": st.sampled_from(("fact", "pattern", "rule")),
            "author": st.none() | words,
            "updated_at": times.map(format_time),
            "archived_at": st.none() | times.map(format_time),
            "conflict_of": st.none() | ids,
            "nested": st.dictionaries(st.sampled_from("xyz"), json_values, max_size=3),
            "numbers": st.lists(st.integers(0, 5), max_size=4) | st.integers(),
        },
    ).map(lambda fields: content | fields)
)
more_edits = st.builds(
    lambda fields, extra: extra | fields, edits, st.dictionaries(unknown_keys, json_values, max_size=2)
)


@st.composite
def branches(draw: st.DrawFn, count: int = 2) -> list[bytes]:
    """Draw a file and *count* files that came from it: lines edited, removed, moved and added, in any form."""
    base = draw(files())
    kept = [line.raw for line in read_lines(base)]
    return [base, *(draw(branch(kept)) for _ in range(count))]


@st.composite
def branch(draw: st.DrawFn, lines: list[bytes]) -> bytes:
    done = []
    for raw in lines:
        fate = draw(st.sampled_from(("kept", "kept", "edited", "removed")))
        if fate == "edited" and codec.decode(raw).memory and codec.decode(raw).id:
            done.append(codec.edit(bare(raw), draw(more_edits)))
        elif fate != "removed":
            done.append(raw)
    done += draw(st.lists(plain_lines, max_size=3))
    data = b"".join(raw + b"\n" for raw in done)
    return export(read_lines(data)) if draw(st.booleans()) else data


def texts_of(data: bytes) -> set[str]:
    """Return every text that a file's records have, repeated ids included."""
    return {line.memory.content for line in read_lines(export(read_lines(data))) if line.memory}


def settled(data: bytes) -> list[Line]:
    return settle(read_lines(data))


def repeated(files: list[bytes]) -> set[str]:
    """Return the ids that more than one line of a file has."""
    counts = (Counter(line.id for line in read_lines(export(settled(data)))) for data in files)
    return {id_ for found in counts for id_, count in found.items() if id_ and count > 1}


def unreadable(data: bytes) -> set[bytes]:
    return {bare(line.raw) for line in settled(data) if line.id is None and line.problem}


def shown(data: bytes) -> set[str]:
    """Return the texts that a reader is shown: of each id the one that counts."""
    return {line.memory.content for line in current(read_lines(data)).values() if line.memory}


def live(data: bytes) -> dict[str, bytes]:
    return {id_: line.raw for id_, line in current(read_lines(data)).items() if line.memory}


@FEW
@given(conflicted_files, conflicted_files, conflicted_files)
def test_both_clones_get_the_same_bytes_from_any_files(base, ours, theirs):
    assert merge(base, ours, theirs) == merge(base, theirs, ours)


@FEW
@given(branches())
def test_both_clones_get_the_same_bytes_from_branches(files):
    base, ours, theirs = files
    assert merge(base, ours, theirs) == merge(base, theirs, ours)


@FEW
@given(files(), conflicted_files)
def test_merging_a_file_with_itself_gives_its_canonical_form(base, data):
    done = merge(base, data, data)
    assert done == (export(settle(read_lines(data))), 0, ())
    assert merge(base, done.data, done.data).data == done.data


LINE = b'{"content":"a","created_at":"2026-01-01T00:00:00Z","id":"mm-aaaaaa"%s}\n'
REMOVAL = b'{"deleted_at":"2026-01-02T00:00:00Z","id":"mm-aaaaaa"}\n'
# An edit that is later than the removal below it: as git merges an edit and a removal, so that the record lives.
EDITED_ABOVE_ITS_REMOVAL = [LINE % b"" + REMOVAL, LINE % b',"updated_at":"2026-02-01T00:00:00Z"' + REMOVAL, b""]


@FEW
@given(branches())
@example(EDITED_ABOVE_ITS_REMOVAL)
def test_one_side_unchanged_gives_the_other_as_it_is_read(files):
    base, ours, _ = files
    read = export(settled(ours))
    for done in (merge(base, ours, base), merge(base, base, ours)):
        assert live(done.data).keys() == live(read).keys()
        assert texts_of(done.data) == texts_of(read)


@FEW
@given(branches())
def test_a_merged_file_is_canonical(files):
    done = merge(*files)
    if not done.unsettled:
        assert export(read_lines(done.data)) == done.data
    assert merge(files[0], done.data, done.data).data == export(settle(read_lines(done.data)))


@FEW
@given(branches())
def test_every_new_text_of_either_side_survives(files):
    """But for what the other side removed later in its log, and a birth version that the other side has edited."""
    base, ours, theirs = map(settled, files)
    before = texts_of(files[0]) | texts_of(export(base))  # with the copies that reading it makes
    after = texts_of(merge(*files).data)
    for side, other in ((ours, theirs), (theirs, ours)):
        theirs_now = current(other)
        for line in read_lines(export(side)):
            if line.memory and line.memory.content not in before:
                there = theirs_now.get(line.id)
                was_removed = there and there.deleted_at and there.moment > line.moment
                was_edited = there and is_earlier(line, there)
                assert was_removed or was_edited or line.memory.content in after


@FEW
@given(branches())
def test_every_new_unreadable_line_of_either_side_survives(files):
    new = (unreadable(files[1]) | unreadable(files[2])) - unreadable(files[0])
    assert new <= unreadable(merge(*files).data)


@FEW
@given(branches())
def test_what_both_sides_left_alone_keeps_its_bytes(files):
    base, ours, theirs = (live(export(settled(data))) for data in files)
    after = live(merge(*files).data)
    same = {id_ for id_ in base if bare(base[id_]) == bare(ours.get(id_, b"")) == bare(theirs.get(id_, b""))}
    assert {id_: bare(base[id_]) for id_ in same} == {id_: after.get(id_) for id_ in same}


@FEW
@given(branches())
def test_what_one_side_removed_and_the_other_left_alone_is_gone(files):
    base, ours, theirs = (live(export(settled(data))) for data in files)
    after = live(merge(*files).data)
    for one, other in ((ours, theirs), (theirs, ours)):
        gone = {id_ for id_ in base.keys() - one.keys() if base[id_] == other.get(id_)}
        assert not gone & after.keys() - repeated(files)


@FEW
@given(branches())
def test_merging_a_merge_with_one_of_its_sides_again_changes_nothing(files):
    base, ours, theirs = files
    done = merge(base, ours, theirs)
    if not repeated(files):  # else versions that are no records, of one id in one file, may be settled once more
        assert merge(ours, done.data, ours).data == (done.data if not done.unsettled else export(settled(done.data)))


# A torn line, and a record of which one side has the birth version and, in an odd spelling, an edit of it.
TORN = b'{"content":"c","id":"mm-aaaaaa","u\n'
EDITED = (
    LINE % b""
    + b'{"id": "mm-aaaaaa", "content": "b", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-09T00:00:00Z"}\n'
)


@FEW
@given(branches())
@example([TORN, TORN + b'{"content":"d","id":"mm-aaaaaa"\n', EDITED])
@example([TORN + LINE % b"", TORN, EDITED])
def test_merging_a_merge_with_one_of_its_sides_again_takes_away_nothing_that_a_side_added_or_both_kept(files):
    base, *sides = files
    done = merge(base, *sides).data
    kept = set.intersection(*map(shown, sides))
    of_base = (texts_of(base) | texts_of(export(settled(base)))) - kept
    for side in sides:
        again = merge(base, done, side).data
        assert shown(done) - of_base <= texts_of(again)
        assert unreadable(done) - unreadable(base) <= unreadable(again)


@FEW
@given(branches(count=3))
def test_three_branches_end_with_the_same_texts_in_any_order(files):
    """What counts and what is kept beside it may change places, and its other fields differ; no text does.

    In canonical form, as files are committed: a removal that only a log names is gone after the first merge. And of
    what a side has replaced (an earlier line of an id, a text of the base) one order may keep a copy, and another none.
    """
    assume(not repeated(files))
    base, *sides = (export(settled(data)) for data in files)
    results = set()
    for one, two, three in permutations(sides):
        first = merge(base, one, two)
        results.add(frozenset(texts_of(merge(base, first.data, three).data) - texts_of(base)))
    assert len(results) == 1
