"""Edits of JSON text: what is not theirs keeps every byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.setup import jsonedit
from memsync.setup.jsonedit import NotJson

KEYS = st.text(max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
COMMENTS = st.sampled_from(["", " ", "\t", "\n", "\r\n", '/* { " } */', "// } , ]\n", "\n\n  "])


@st.composite
def spelled(draw, value=VALUES):
    """Draw a value and one of the many texts for it, with blanks and comments in every place where they may be."""

    def spell(value) -> str:
        def gap() -> str:
            return draw(COMMENTS)

        if isinstance(value, dict):
            inside = ",".join(
                f"{gap()}{json.dumps(key)}{gap()}:{gap()}{spell(one)}{gap()}" for key, one in value.items()
            )
            return "{" + (inside or gap()) + "}"
        if isinstance(value, list):
            return "[" + (",".join(f"{gap()}{spell(one)}{gap()}" for one in value) or gap()) + "]"
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    drawn = draw(value)
    return drawn, draw(COMMENTS) + spell(drawn) + draw(COMMENTS)


@given(spelled())
def test_a_text_with_comments_means_what_it_means_without(drawn):
    value, text = drawn
    assert jsonedit.parse(text).value == value


@given(spelled(st.dictionaries(KEYS, VALUES, max_size=4)), VALUES)
def test_a_member_that_is_taken_out_again_leaves_every_byte_as_it_was(drawn, new):
    value, text = drawn
    added = jsonedit.add(text, jsonedit.parse(text), "our own key", new)
    root = jsonedit.parse(added)
    assert root.value == {**value, "our own key": new}
    assert jsonedit.drop(added, root, len(root.children) - 1) == text


@given(spelled(st.lists(VALUES, max_size=4)), VALUES)
def test_an_element_that_is_taken_out_again_leaves_every_byte_as_it_was(drawn, new):
    value, text = drawn
    added = jsonedit.add(text, jsonedit.parse(text), None, new)
    root = jsonedit.parse(added)
    assert root.value == [*value, new]
    assert jsonedit.drop(added, root, len(root.children) - 1) == text


@given(spelled(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)), st.data())
def test_what_is_taken_out_takes_nothing_else_along(drawn, data):
    value, text = drawn
    at = data.draw(st.integers(0, len(value) - 1))
    root = jsonedit.parse(jsonedit.drop(text, jsonedit.parse(text), at))
    assert [child.key for child in root.children] == [key for key in value if key != list(value)[at]]
    assert all(root.value[key] == value[key] for key in root.value)


def test_what_is_added_is_spelled_as_the_rest_is():
    def added(text: str) -> str:
        return jsonedit.add(text, jsonedit.parse(text), "b", {"c": [1]})

    assert added("{}") == '{\n  "b": {\n    "c": [\n      1\n    ]\n  }\n}'
    assert added('{"a": 1}') == '{"a": 1, "b": {"c": [1]}}'
    assert added('{\r\n\t"a": 1\r\n}') == '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": [\r\n\t\t\t1\r\n\t\t]\r\n\t}\r\n}'
    assert added('{\n  "a": 1 // one\n}') == ('{\n  "a": 1, // one\n  "b": {\n    "c": [\n      1\n    ]\n  }\n}')


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ('{"a": 1,,\n}', 1),
        ("{,}", 1),
        ('{\n"a" 1}', 2),
        ('{"a": 1}\n\nx', 3),
        ("[1 2]", 1),
        ('{"a": "\n"}', 1),
        (r'"\x"', 1),
        ("/* no end", 1),
        ("{'a': 1}", 1),
        ("[01]", 1),
        ("NaN", 1),
        ("[" * 5000, 1),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text, line):
    with pytest.raises(NotJson) as caught:
        jsonedit.parse(text)
    assert caught.value.line == line


def test_of_a_repeated_key_the_last_counts_as_it_does_for_the_clients():
    root = jsonedit.parse('{"a": 1, "a": 2}')
    assert root.value == {"a": 2}
    assert root.get("a").value == 2
    assert root.get("b") is None


def test_a_number_of_any_length_is_passed_over():
    assert jsonedit.parse("[" + "1" * 5000 + "]").kind == "["


def test_the_first_comment_is_found_and_none_in_a_string():
    assert jsonedit.first_comment('{"url": "https://example.org", "a": "\\"// no"}') is None
    assert jsonedit.first_comment('{"url": "https://example.org",\n/* yes */ "b": 1}') == 2
