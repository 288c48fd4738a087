from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memsync.format.worddiff import compare

TEXT = st.text(st.sampled_from("ab 1.\n-é"), max_size=40)


@given(TEXT, TEXT)
def test_the_pieces_make_up_both_texts(old, new):
    pieces = compare(old, new)
    assert "".join(piece.text for piece in pieces if piece.mark != "+") == old
    assert "".join(piece.text for piece in pieces if piece.mark != "-") == new


def test_only_the_words_that_differ_are_marked():
    assert compare("the port is 8080 here", "the port is 8081 here") == [
        (" ", "the port is "),
        ("-", "8080"),
        ("+", "8081"),
        (" ", " here"),
    ]


def test_changes_that_only_a_space_parts_are_one():
    assert compare("run old tool now", "run new thing now") == [
        (" ", "run "),
        ("-", "old tool"),
        ("+", "new thing"),
        (" ", " now"),
    ]


def test_long_texts_are_compared_line_by_line():
    old = "".join(f"line {number}\n" for number in range(5_000))
    new = old.replace("line 2500\n", "line x\n")
    assert [piece for piece in compare(old, new) if piece.mark != " "] == [("-", "line 2500\n"), ("+", "line x\n")]
