"""What a copy says of the store that a text left, in the forms in which it may come back."""

from __future__ import annotations

import pytest

from memsync.format.scopes import read_scope
from memsync.records import Memory


@pytest.mark.parametrize(
    ("line", "text", "scope"),
    [
        ("(private) Bob is hard", "Bob is hard", "private"),
        ("[mm-abc123] Bob is hard (private)", "Bob is hard", "private"),
        ("[mm-abc123] Bob is hard (preference, private) (of 2026-11-28, +1 alike)", "Bob is hard", "private"),
        ("[mm-abc123] (fact, importance 0.7, today, private) Bob is hard", "Bob is hard", "private"),
        ("[0003be8a] My editor is Helix (global)", "My editor is Helix", "global"),
        ("[mm-abc123] Use tabs (see README)", "Use tabs (see README)", None),
        ("[mm-abc123] Use tabs (see README) (pattern, Feb 2026)", "Use tabs (see README)", None),
        (
            "[mm-abc123] Bob is hard (private) (of 2026-11-28, repl…",
            "Bob is hard (private) (of 2026-11-28, repl…",
            "private",
        ),
        ("Bob is hard (private)", "Bob is hard", "private"),
        ("mm-abc123 Bob is hard (fact, importance 0.7, today, private)", "Bob is hard", "private"),
        ("[fact] Bob is hard (private)", "[fact] Bob is hard", "private"),
        ("Settings are in one file (global)", "Settings are in one file (global)", None),
        ("Methods are private (see README)", "Methods are private (see README)", None),
    ],
)
def test_a_line_that_an_agent_was_given_is_its_text_and_says_its_scope(line, text, scope):
    memory, found = read_scope(Memory("", line))
    assert (memory.content, found) == (text, scope)
