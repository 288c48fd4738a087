"""The markers of a conflict: what is one, and writing what is read back."""

from __future__ import annotations

import pytest

from memsync.format.jsonl import read_marker, spell_conflict
from memsync.skills import file


@pytest.mark.parametrize("size", [7, 12])
def test_a_conflict_is_written_with_the_markers_that_are_read_back(size):
    rows = spell_conflict(b"one\n", b"two\nthree\n", size=size, labels=(b"a", b"b c")).split(b"\n")
    assert [row for row in rows if not read_marker(row)] == [b"one", b"two", b"three", b""]
    assert [read_marker(row) for row in rows if read_marker(row)] == [(kind, size) for kind in "<=>"]
    assert (rows[0][size:], rows[-2][size:]) == (b" a", b" b c")


@pytest.mark.parametrize(
    ("row", "marker"),
    [
        (b"<<<<<<< HEAD", ("<", 7)),
        (b"||||||| base", ("|", 7)),
        (b"=======\r", ("=", 7)),
        (b">>>>>>>>> theirs", (">", 9)),
        (b"<<<<<< HEAD", None),
        (b"<<<<<<<HEAD", None),
        (b" <<<<<<< HEAD", None),
        (b'{"id":"======="}', None),
        (b"", None),
    ],
)
def test_a_marker_stands_alone_or_before_a_space_and_has_seven_letters_or_more(row, marker):
    assert read_marker(row) == marker


def test_the_underline_of_a_heading_in_a_skill_is_not_a_conflict_unless_it_is_as_long_as_a_marker():
    head = b"---\nname: x\ndescription: d\n---\nTitle\n"
    assert file.read(head + b"==========\n", "x").problems == ()
    assert [problem.number for problem in file.read(head + b"=======\n", "x").problems] == [6]
