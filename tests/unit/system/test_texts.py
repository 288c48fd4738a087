"""Texts from outside, read and shown."""

from __future__ import annotations

import pytest

from memsync.errors import ImportFailed
from memsync.system.texts import one_line, printable, read_utf8


def test_what_is_not_utf8_is_refused_with_its_name_and_its_place():
    assert read_utf8(b"\xef\xbb\xbfcaf\xc3\xa9", "x.md", ImportFailed) == "café"
    with pytest.raises(ImportFailed, match=r"^x\.md: not UTF-8 at byte 6; save it as UTF-8$"):
        read_utf8(b"- caf\xe9", "x.md", ImportFailed)


@pytest.mark.parametrize("code", [0x1B, 0x07, 0x9B, 0x200B, 0x202E, 0x2028, 0xFEFF, 0xE0041, 0xD800])
def test_what_steers_a_terminal_is_shown_as_its_number(code):
    assert printable(f"a{chr(code)}b") == f"a\\u{code:04x}b"
    assert one_line(f"a{chr(code)}b").isprintable()


def test_one_line_is_one_line_and_as_long_as_wanted():
    assert one_line(" a\n\tb\r\n c\xa0d ") == "a b c d"
    assert one_line("abcdef", 3) == "abc …"
    assert [one_line("one two three", most) for most in (7, 8, 12)] == ["one two …", "one two …", "one two …"]
    assert one_line("a bcdefghij", 6) == "a bcde …"  # almost nothing would be left
    assert one_line("abc", 3) == "abc"
