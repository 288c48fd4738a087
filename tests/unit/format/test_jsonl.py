"""Whole files: what is read from any mix of forms, what is reported, and the canonical form."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from helpers import memory_line

from memsync.format.codec import encode, encode_tombstone
from memsync.format.jsonl import current, export, in_conflict, is_utf16, may_be_of, problems, read_line, read_lines
from memsync.records import Memory, derive_id

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
GONE = encode_tombstone("a", NEW_YEAR) + b"\n"


def ours(id_: str, content: str) -> bytes:
    """Spell a record as memsync does."""
    return encode(Memory(id=id_, content=content)) + b"\n"


def foreign(id_: str, content: str, **fields: object) -> bytes:
    """Spell a record as Gobby or a person does."""
    return memory_line(id_, content, **fields).encode()


def told(data: bytes) -> list[tuple[int, str]]:
    return [(problem.number, problem.why) for problem in problems(read_lines(data))]


def live(data: bytes) -> dict[str, str]:
    return {id_: line.memory.content for id_, line in current(read_lines(data)).items() if line.memory}


def exported(data: bytes, *, collapse: bool = False) -> bytes:
    return export(read_lines(data), collapse=collapse)


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
def test_an_empty_file_has_no_memories_and_no_problems(data):
    assert (live(data), told(data), exported(data)) == ({}, [], b"")


@pytest.mark.parametrize(
    "data",
    [
        foreign("a", "x") + b"\n\n" + ours("b", "y"),
        foreign("a", "x").replace(b"\n", b"\r\n") + ours("b", "y").replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + foreign("a", "x") + ours("b", "y"),
        foreign("a", "x") + b"\xef\xbb\xbf" + ours("b", "y"),
        foreign("a", "x") + ours("b", "y").rstrip(b"\n"),
        foreign("a", "x") + b" \t" + ours("b", "y"),
    ],
    ids=["blank lines", "CRLF", "BOM", "BOM between", "no final newline", "indented"],
)
def test_what_editors_do_to_a_file_is_no_problem(data):
    assert (live(data), told(data)) == ({"a": "x", "b": "y"}, [])


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_a_newline_ends_a_line(end):
    data = f'{{"id":"a","content":"x","k":"{end if end >= chr(32) else ""}"}}{end if end < chr(32) else ""}\n'.encode()
    assert len(read_lines(data)) == 1
    assert exported(data) == data


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85"])
def test_foreign_line_ends_inside_a_text_are_read_and_kept(end):
    data = foreign("a", f"one{end}two")
    assert live(data) == {"a": f"one{end}two"}
    assert exported(data) == data


def test_unreadable_lines_are_reported_by_number_and_reason_and_kept_in_place():
    data = foreign("a", "x") + b"# a note\n\n" + foreign("b", "y") + b'{"id":7}\n'
    assert told(data) == [(2, "not JSON: Expecting value at column 1"), (5, "the id is not text")]
    assert exported(data) == foreign("a", "x") + b"# a note\n" + foreign("b", "y") + b'{"id":7}\n'


def test_an_unreadable_line_stays_behind_the_record_that_it_followed():
    data = b"head\n" + foreign("b", "y") + b"after b\n" + foreign("a", "x") + b"after a\nmore\n"
    assert exported(data) == (b"head\n" + foreign("a", "x") + b"after a\nmore\n" + foreign("b", "y") + b"after b\n")


def test_an_unreadable_line_outlives_the_record_that_it_followed():
    assert exported(foreign("a", "x") + b"note\n" + foreign("b", "y") + GONE) == b"note\n" + foreign("b", "y")


def test_a_torn_last_line_is_kept_and_reported_as_such():
    data = foreign("a", "x") + b'{"id": "b", "con'
    why = "the last line was cut off (not JSON: Unterminated string starting at at column 13)"
    assert (live(data), told(data), exported(data)) == ({"a": "x"}, [(2, why)], data + b"\n")


def test_a_torn_line_that_others_wrote_behind_is_an_ordinary_unreadable_one():
    torn = read_lines(b'{"id": "b", "con')
    data = b'{"id": "b", "con\n' + ours("a", "x")
    assert read_lines(data, {line.raw: line for line in torn}) == read_lines(data)


@pytest.mark.parametrize(
    ("data", "is_it"),
    [("x".encode("utf-16"), True), (b"\xfe\xff\x00x", True), (b"{}", False), (b"\xef\xbb\xbf{}", False), (b"", False)],
)
def test_a_utf16_file_is_recognised(data, is_it):
    assert is_utf16(data) is is_it


@pytest.mark.parametrize(
    "data", [foreign("a", "x").decode().encode("utf-16"), bytes(range(256)), b"\x00" * 50, b"\xff"]
)
def test_a_file_of_other_bytes_has_problems_and_no_memories(data):
    assert live(data) == {}
    assert [number for number, _ in told(data)] == list(range(1, data.rstrip(b"\n").count(b"\n") + 2))


def test_a_latin1_line_is_kept_byte_for_byte_among_readable_ones():
    data = foreign("a", "x") + b'{"id": "b", "content": "caf\xe9"}\n'
    assert (live(data), told(data)) == ({"a": "x"}, [(2, "not UTF-8: byte 0xe9 at byte 28")])
    assert exported(data) == data


def test_the_last_line_of_an_id_wins_and_a_foreign_copy_is_reported_and_kept():
    data = foreign("a", "one") + foreign("a", "two")
    assert (live(data), told(data)) == ({"a": "two"}, [(1, "duplicate id a; a later line wins")])
    assert exported(data) == data


def test_lines_of_the_log_replace_earlier_ones_without_a_report():
    data = foreign("a", "one") + ours("b", "x") + ours("a", "two") + ours("a", "three")
    assert (live(data), told(data)) == ({"a": "three", "b": "x"}, [])
    assert exported(data) == ours("a", "three") + ours("b", "x")


def test_lines_of_the_log_are_known_as_ours_after_a_conversion_to_other_line_ends():
    data = (ours("a", "one") + ours("a", "two")).replace(b"\n", b"\r\n")
    assert (told(data), exported(data)) == ([], ours("a", "two"))


def test_a_foreign_line_after_ours_wins_and_leaves_ours_as_a_reported_copy():
    data = ours("a", "one") + foreign("a", "two")
    assert (live(data), told(data)) == ({"a": "two"}, [(1, "duplicate id a; a later line wins")])
    assert exported(data) == data


def test_a_collapsing_export_takes_out_foreign_copies_too():
    data = foreign("a", "one") + foreign("b", "x") + b"note\n" + foreign("a", "two")
    assert exported(data, collapse=True) == foreign("a", "two") + foreign("b", "x") + b"note\n"


def test_a_removal_ends_a_memory_and_leaves_with_it():
    data = foreign("a", "x") + foreign("b", "y") + GONE
    assert (live(data), told(data), exported(data)) == ({"b": "y"}, [], foreign("b", "y"))


def test_a_removal_can_be_taken_back():
    assert exported(ours("a", "x") + GONE + ours("a", "again")) == ours("a", "again")


def test_foreign_copies_after_a_removal_keep_their_order():
    data = GONE + foreign("a", "one") + foreign("a", "two")
    assert exported(data) == foreign("a", "one") + foreign("a", "two")


def test_lines_without_an_id_are_live_and_told_apart_by_their_text():
    data = b'{"content": "one"}\n{"content": "two"}\n'
    one, two = derive_id("one"), derive_id("two")
    assert live(data) == {one: "one", two: "two"}
    assert told(data) == [(1, f"no id; known as {one}"), (2, f"no id; known as {two}")]
    assert sorted(exported(data).splitlines(keepends=True)) == sorted(data.splitlines(keepends=True))


def test_what_a_nameless_line_or_a_copy_has_wrong_is_harmless_and_an_unreadable_line_is_not():
    data = b'{"content": "one"}\n' + foreign("a", "x") + foreign("a", "y") + b"note\n"
    assert [problem.harmless for problem in problems(read_lines(data))] == [True, True, False]


def test_the_canonical_form_is_sorted_by_id_with_plain_line_ends():
    data = (
        b"\xef\xbb\xbf"
        + foreign("c", "3").replace(b"\n", b"\r\n")
        + b"\r\n"
        + foreign("a", "1")
        + foreign("b", "2")[:-1]
    )
    assert exported(data) == foreign("a", "1") + foreign("b", "2") + foreign("c", "3")


@pytest.mark.parametrize(
    "data",
    [
        foreign("b", "y") + b"\xef\xbb\xbf" + foreign("a", "x"),
        b"\xef\xbb\xbf\xef\xbb\xbf" + foreign("a", "x"),
        foreign("a", "x").replace(b"\n", b"\r\r\n"),
        GONE + b"\xef\xbb\xbfnote\n",
        b"note\r\r\n",
    ],
    ids=["two files joined", "two marks", "CR CR LF", "mark on a note", "note"],
)
def test_an_export_of_an_export_changes_nothing_after_a_broken_conversion(data):
    once = exported(data)
    assert exported(once) == once
    assert live(once) == live(data)


def test_only_lines_that_changed_are_parsed_again():
    before = read_lines(foreign("a", "x") + foreign("b", "y"))
    after = read_lines(foreign("a", "x") + foreign("b", "z"), {line.raw: line for line in before})
    assert (after[0] is before[0], after[1].memory) == (True, Memory(id="b", content="z"))


def test_a_file_without_markers_is_not_in_conflict():
    assert not in_conflict(read_lines(foreign("a", "<<<<<<< ours") + b"======\n<<<<<<<x\n"))


def test_one_line_reads_as_it_would_in_a_file():
    raw = foreign("a", "x").rstrip(b"\n")
    assert read_line(raw) == read_lines(raw)[0]


@pytest.mark.parametrize(
    "raw",
    [
        b'{"content":"x","id":"mm-aaaaaa"}',
        b'{"id" : "\\u006dm-aaaaaa", "content": "x"}',
        b'{"\\u0069d":"mm-aaaaaa","content":"x"}',
        encode_tombstone("mm-aaaaaa", datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_line_of_a_record_may_be_of_it_however_its_id_is_spelled(raw):
    assert read_line(raw).id == "mm-aaaaaa"
    assert may_be_of(raw, "mm-aaaaaa")


@pytest.mark.parametrize("raw", [b'{"content":"no id"}', b'{"content":"no id","more":{"id":"mm-bbbbbb"}}'])
def test_a_record_without_an_id_may_be_of_the_one_that_is_derived(raw):
    assert may_be_of(raw, read_line(raw).id)


def test_a_line_with_another_id_is_not_of_a_record():
    assert not may_be_of(b'{"content":"x","id":"mm-bbbbbb"}', "mm-aaaaaa")
