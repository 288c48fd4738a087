"""Two versions of a text, line by line: what difflib says, and in bounds where that would take hours."""

from __future__ import annotations

import re
from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from memsync.format import textdiff
from memsync.format.textdiff import diff_lines

LINES = st.lists(st.sampled_from(["", "one", "two", "@@ three", "- four"]), max_size=30)
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+")


def patch(before: list[str], rows: list[str]) -> list[str]:
    """Return what *rows* make of *before*."""
    made, at = [], 0
    for row in rows:
        if head := HUNK.match(row):
            start = int(head[1]) - (head[2] != "0")
            made += before[at:start]
            at = start
        elif row[0] == "+":
            made.append(row[1:])
        else:
            assert before[at] == row[1:]
            made += [before[at]] * (row[0] == " ")
            at += 1
    return made + before[at:]


@given(LINES, LINES, st.integers(0, 3))
def test_it_says_what_difflib_says(before, after, context):
    assert diff_lines(before, after, context=context) == list(unified_diff(before, after, n=context, lineterm=""))[2:]


@given(LINES, LINES, LINES, LINES, st.integers(0, 3), st.integers(0, 40))
def test_what_is_more_than_is_compared_is_still_what_was_made_of_it(head, before, after, tail, context, most):
    old, new = [*head, *before, *tail], [*head, *after, *tail]
    was, textdiff._MOST_LINES = textdiff._MOST_LINES, most
    try:
        assert patch(old, diff_lines(old, new, context=context)) == new
    finally:
        textdiff._MOST_LINES = was


def test_two_large_texts_of_the_same_few_lines_are_one_change_between_what_they_share():
    old = ["first", *(f"line {number % 150}" for number in range(400_000)), "last"]
    new = ["first", *(f"line {number % 151}" for number in range(400_000)), "last"]
    rows = diff_lines(old, new, context=1)
    assert len([row for row in rows if row.startswith("@@")]) == 1
    assert rows[-1] == " last"
    assert patch(old, rows) == new


def test_many_lines_that_change_one_after_the_other_are_one_change_and_not_as_many_passes_over_the_rest():
    old = ["first", *(f"line {number}" if number % 2 else f"old {number}" for number in range(8_000)), "last"]
    new = ["first", *(f"line {number}" if number % 2 else f"new {number}" for number in range(8_000)), "last"]
    rows = diff_lines(old, new, context=1)
    assert [row[0] for row in rows] == ["@", " ", *["-"] * 7_999, *["+"] * 7_999, " "]
    assert patch(old, rows) == new
