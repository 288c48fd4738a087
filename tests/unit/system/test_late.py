"""What is late is made when it is used, and is then what it would have been at once."""

from __future__ import annotations

import re
import sys

import pytest

from memsync.system.late import late, late_pattern


def test_a_late_pattern_finds_what_a_compiled_one_finds():
    text, flags = r"(\w+)-(\d+)", re.IGNORECASE
    mine, theirs = late_pattern(text, flags), re.compile(text, flags)
    for name in ("search", "match", "fullmatch"):
        assert getattr(mine, name)("ab-12").groups() == getattr(theirs, name)("ab-12").groups()
    assert (mine.pattern, mine.flags, mine.sub("x", "a-1 b-2")) == (text, theirs.flags, "x x")


def test_a_late_pattern_is_compiled_only_when_it_is_used():
    made = late_pattern("(")
    assert made.pattern == "("
    with pytest.raises(re.error):
        made.search("")


def test_a_late_module_is_imported_when_something_of_it_is_used(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    module = late("colorsys")
    assert "colorsys" not in sys.modules
    assert module.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
