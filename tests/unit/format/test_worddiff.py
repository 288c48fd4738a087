from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.format.textdiff import compare

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


DRAW = random.Random(7)
SLOW = {
    "blank lines": ("\n" * 40_000, "x\n" + "\n" * 40_000 + "y"),
    "two lines": tuple("".join(DRAW.choices(["a\n", "b\n"], k=30_000)) for _ in range(2)),
    "two words": tuple("".join(DRAW.choices(["a ", "b "], k=2_900)) for _ in range(2)),
    "one word": ("a " * 2_900, "b" + "a " * 2_900),
}


@pytest.mark.parametrize("name", SLOW)
def test_no_two_texts_take_long(name):
    old, new = SLOW[name]
    began = time.process_time()
    pieces = compare(old, new)
    assert time.process_time() - began < 2
    assert "".join(piece.text for piece in pieces if piece.mark != "+") == old
    assert "".join(piece.text for piece in pieces if piece.mark != "-") == new


def test_what_two_repetitive_texts_begin_and_end_with_is_not_marked():
    assert compare("a " * 2_500 + "x " + "b " * 100, "a " * 2_500 + "y " + "b " * 100) == [
        (" ", "a " * 2_500),
        ("-", "x"),
        ("+", "y"),
        (" ", " " + "b " * 100),
    ]
