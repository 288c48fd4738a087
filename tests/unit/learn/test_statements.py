"""Instruction files as people write them, point by point, and each point whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.learn.statements import statements
from memsync.learn.worth import why_dropped


def said(text: str) -> list[str]:
    return [one.text for one in statements(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. Packages\n   - ONLY use uv\n   - Add: `uv add`\n", ["Packages: ONLY use uv; Add: `uv add`"]),
        ("Write it in docs/moves.md:\n\n- what\n- why.\n", ["Write it in docs/moves.md: what; why"]),
        ("- Only to accept all, run:\n  - `insta accept`\n", ["Only to accept all, run: `insta accept`"]),
        ("- Never push.\n  - Not even once.\n", ["Never push.", "Not even once."]),
        ("Rules:\n\n# Other\n\n- one\n", ["Rules:", "one"]),
        ("- Ruff\n  - Format: `a`\n  - Issues:\n    - long\n", ["Ruff: Format: `a`", "Ruff: Issues: long"]),
        ("# New route\n\n1. Write the schema\n2. Register it\n",
         ["New route: Write the schema", "New route: Register it"]),
        ("# Style\n\n- Use tabs\n", ["Use tabs"]),
        ("Use `*Params` and `__init__` for **requests**", ["Use `*Params` and `__init__` for requests"]),
    ],
)  # fmt: skip
def test_a_point_is_told_with_what_introduces_it(text, expected):
    assert said(text) == expected


def test_a_long_list_is_told_point_by_point_with_the_last_sentence_before_it():
    points = [f"Point {number} says something of its own and {'goes on ' * 8}here" for number in range(4)]
    text = "Run `fmt` after each change. Then run the tests:\n\n" + "".join(f"- {point}\n" for point in points)
    assert said(text) == ["Run `fmt` after each change.", *(f"Then run the tests: {point}" for point in points)]


def test_each_point_has_the_line_where_it_begins():
    text = "# A\n\nIntro:\n\n- one\n- two\n\nA paragraph\nover two lines.\n"
    assert [(one.line, one.text) for one in statements(text)] == [
        (3, "Intro: one; two"),
        (8, "A paragraph over two lines."),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("This file provides guidance to coding agents in this repository.", "about the text itself"),
        ("This document contains critical information about the codebase.", "about the text itself"),
        ("See `docs/style.md` for the rest.", "about the text itself"),
        ("Once those pass, run the complete test suite.", "only with what stood before it"),
        ("Where `<name>` is the name of the user.", "only with what stood before it"),
        ("Example: patch the lines of a summary", "an example"),
        ("This service is deployed to Fly by `make ship`.", ""),
    ],
)
def test_what_says_nothing_alone_is_left_out(text, why):
    assert why_dropped(text) == why


@given(st.text(alphabet="-*1. ab:\n#`>\t", max_size=200))
def test_no_text_is_lost_or_made_up(text):
    words = set("".join(letter if letter.isalnum() else " " for letter in text).split())
    found = list(statements(text))
    assert all(0 < one.line <= text.count("\n") + 1 for one in found)
    for one in found:
        assert set("".join(letter if letter.isalnum() else " " for letter in one.text).split()) <= words
