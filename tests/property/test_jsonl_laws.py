"""Laws of whole files: nothing is lost, an export changes form and not meaning, nothing raises."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import conflicted_files, files, plain_lines, record_lines, tombstones

from memsync.format import merge
from memsync.format.jsonl import export, in_conflict, problems, read_line, read_lines
from memsync.format.merge import current


def bare(raw: bytes) -> bytes:
    """Return a line without what an editor on another system puts around it."""
    return re.sub(rb"^(\xef\xbb\xbf)+|\r+$", b"", raw)


def meaning(lines: list) -> dict[str, bytes]:
    """Return what counts: each live memory with the bytes that say so."""
    return {id_: bare(line.raw) for id_, line in current(lines).items() if line.memory}


def read_log(data: bytes) -> list:
    """Read *data*, a file that memsync appended to; what a merge of text put together is for the laws of merging."""
    lines = read_lines(data)
    assume(not merge.find(lines))
    return lines


def unreadable(lines: list) -> Counter:
    return Counter(bare(line.raw) for line in lines if line.id is None and bare(line.raw).strip())


@given(st.binary(max_size=200) | conflicted_files)
def test_any_bytes_can_be_read_and_explained(data):
    lines = read_lines(data)
    assert all(1 <= problem.number <= len(lines) and problem.why for problem in problems(lines))


@given(conflicted_files)
def test_reading_keeps_every_byte(data):
    lines = read_lines(data)
    assert b"\n".join(line.raw for line in lines) == data.removesuffix(b"\n")


@given(conflicted_files, conflicted_files)
def test_reading_with_lines_known_from_before_gives_the_same(before, data):
    known = {line.raw: line for line in read_lines(before)}
    assert read_lines(data, known) == read_lines(data)


@given(files(record_lines), st.binary(max_size=20))
def test_lines_known_from_a_torn_file_are_read_afresh_when_it_grows(data, more):
    known = {line.raw: line for line in read_lines(data)}
    assert read_lines(data + b"\n" + more, known) == read_lines(data + b"\n" + more)


@given(files())
def test_an_export_of_an_export_changes_no_byte(data):
    once = export(read_lines(data))
    assert export(read_lines(once)) == once


@given(files())
def test_an_export_changes_no_memory(data):
    lines = read_log(data)
    assert meaning(read_lines(export(lines))) == meaning(lines)


@given(files())
def test_a_collapsing_export_changes_no_memory_and_keeps_one_line_an_id(data):
    lines = read_log(data)
    after = read_lines(export(lines, collapse=True))
    assert meaning(after) == meaning(lines)
    assert sorted(line.id for line in after if line.id) == sorted(meaning(lines))


@given(files())
def test_an_export_keeps_every_unreadable_line(data):
    lines = read_lines(data)
    assert unreadable(read_lines(export(lines))) == unreadable(lines)


@given(files())
def test_an_export_is_sorted_with_plain_line_ends_and_no_blank_line(data):
    new = export(read_lines(data))
    lines = read_lines(new)
    ids = [line.id for line in lines if line.id]
    assert ids == sorted(ids)
    assert new == b"".join(line.raw + b"\n" for line in lines)
    assert all(bare(line.raw).strip() and not line.raw.endswith(b"\r") for line in lines)
    assert not any(line.deleted_at for line in lines)


@given(files(), files(record_lines | tombstones))
def test_appending_after_an_export_means_the_same_as_appending_before_it(data, log):
    """The log form on top of a file does not care whether the file was exported meanwhile."""
    log = b"".join(bare(raw) + b"\n" for raw in log.split(b"\n"))
    before = data if data.endswith(b"\n") or not data else data + b"\n"
    after = read_log(before + log)
    assert meaning(read_lines(export(read_lines(before)) + log)) == meaning(after)


@given(st.lists(plain_lines), st.lists(plain_lines))
def test_both_clones_of_a_conflict_read_the_same(ours, theirs):
    def conflict(first: list[bytes], second: list[bytes]) -> bytes:
        return b"\n".join([b"<<<<<<< a", *first, b"=======", *second, b">>>>>>> b", b""])

    lines = read_lines(conflict(ours, theirs))
    assert in_conflict(lines)
    assert meaning(lines) == meaning(read_lines(conflict(theirs, ours)))


@given(st.lists(plain_lines), st.lists(plain_lines), st.lists(plain_lines))
def test_nothing_counts_that_only_the_base_of_a_conflict_has(ours, base, theirs):
    parts = [b"<<<<<<< a", *ours, b"||||||| b", *base, b"=======", *theirs, b">>>>>>> c", b""]
    written = {line.memory.content for line in map(read_line, ours + theirs) if line.memory}
    found = meaning(read_lines(b"\n".join(parts)))
    assert {read_line(raw).memory.content for raw in found.values()} <= written  # one of two births gets a new id


@given(st.lists(plain_lines), st.lists(plain_lines))
def test_every_record_of_both_sides_of_a_conflict_is_read(ours, theirs):
    data = b"\n".join([b"<<<<<<< a", *ours, b"=======", *theirs, b">>>>>>> b", b""])
    written = {line.id for line in map(read_line, ours + theirs) if line.id}
    assert set(current(read_lines(data))) >= written
