"""What stands in for a module does what that does, and leaves to it what it does not do itself."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.system import standins

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
BLANK = st.text(" \t\r\n", max_size=3)


def outcome(call, *args, **named):
    """Return what *call* returns, or how it fails."""
    try:
        return call(*args, **named)
    except Exception as error:  # noqa: BLE001 - whatever it is, both must fail so
        return type(error), str(error)


@given(VALUES, st.booleans())
def test_a_value_is_spelled_as_json_spells_it(value, ascii_only):
    assert standins.dumps(value, ensure_ascii=ascii_only) == json.dumps(value, ensure_ascii=ascii_only)


@pytest.mark.parametrize("value", [float("nan"), {1: 2, None: True}, {(1, 2): 3}, {1, 2}, b"x", "\ud800", object])
def test_an_odd_value_is_spelled_or_refused_as_by_json(value):
    assert outcome(standins.dumps, value) == outcome(json.dumps, value)


def test_a_value_that_is_in_itself_is_refused_as_by_json():
    value: list[object] = []
    value.append(value)
    assert outcome(standins.dumps, value) == outcome(json.dumps, value)


@given(VALUES, BLANK, BLANK, st.sampled_from(["utf-8", "utf-16", "utf-32-le", "utf-8-sig"]))
def test_a_text_is_read_as_json_reads_it(value, before, after, encoding):
    text = before + json.dumps(value, ensure_ascii=False) + after
    assert standins.loads(text) == json.loads(text)
    raw = text.encode(encoding, "surrogatepass")
    assert outcome(standins.loads, raw) == outcome(json.loads, raw)


@given(st.text('{}[]":,0123456789.eE+- \\ntrufalsNI\ufeff', max_size=12))
def test_a_text_that_may_be_none_is_read_or_refused_as_by_json(text):
    for one in (text, text.encode()):
        assert repr(outcome(standins.loads, one)) == repr(outcome(json.loads, one))
    assert repr(outcome(standins.loads, text, parse_int=str)) == repr(outcome(json.loads, text, parse_int=str))


def test_the_stand_ins_are_there_between_putting_in_and_taking_out_and_become_the_modules_when_needed():
    code = """
import sys
from memsync.system import standins
standins.put_in()
import datetime, json, re, typing
from typing import Any, Literal, get_args
print([name for name in ("json", "re", "typing") if sys.modules[name].__spec__], get_args(Literal["a", "b"]))
print(json.loads('[1]'), re.IGNORECASE | re.DOTALL, datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC).isoformat())
print(typing.NamedTuple.__name__, sys.modules["typing"].__spec__.name)
standins.take_out()
print("json" in sys.modules, json.JSONDecoder.__name__, re.compile("a(b)").match("ab")[1], json.dumps([1], indent=1))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[] ('a', 'b')",
        "[1] 18 2026-01-02T00:00:00+00:00",
        "NamedTuple typing",
        "False JSONDecoder b [",
        " 1",
        "]",
    ]


def test_what_is_loaded_already_has_no_stand_in():
    standins.put_in()
    assert sys.modules["json"] is json
    standins.take_out()
    assert sys.modules["json"] is json
