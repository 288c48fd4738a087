"""The part of YAML that is read without a parser means what the parser says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from memsync.store.yamltext import read_plain

PIECES = st.sampled_from(
    ["a", "b", "memory", "on", "off", "yes", "null", "Null", "true", "True", "0", "1", "-0", "-1", "017", "1.50", "1e3", "1_0",
     "2026-11-21", "12:30", "x:y", ":", ": ", " ", "  ", "#", " #", "\n", "\n  ", "\n    ", "\n ", '"', "'", "[", "{", "-", "- ",
     "\t", "\r", "~", ".", "&", "*", "!", "|", "---", "\\", "é", "\u0085", "a: b", "a:\n  b: 1", "a: 'c'", 'b: "d e"', "key: x y", "key: a, b (c) [d] {e}", "key: it's", "key: a:b", "key: a# b", "key: see http://x/y?z", "key: a & b * c ! d"]
)  # fmt: skip
ROWS = st.builds(
    lambda depth, key, value, end: f"{' ' * depth}{key}:{value}{end}",
    st.sampled_from([0, 0, 2, 2, 4, 1]),
    st.sampled_from(["a", "b", "c.d", "on", "null", "e-f", "0"]),
    st.sampled_from(
        [
            "",
            "",
            " 1",
            " x",
            " on",
            " true",
            " -2.5",
            " 'q # r'",
            ' "s"',
            " t u",
            " v:w",
            " x, y.",
            " it's [1] {2}",
            " a: b",
            " w:",
            " x@y!z",
            " w  w",
            " 08",
            " null",
            " y",
        ]
    ),
    st.sampled_from(["", "", "  # why", " ", "#"]),
)


def parsed(text):
    try:
        return YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError) as error:
        return error


@given(st.lists(ROWS, max_size=7).map("\n".join) | st.lists(PIECES, max_size=10).map("".join))
def test_what_is_read_without_a_parser_is_what_the_parser_reads(text):
    plain = read_plain(text)
    if plain is not None:
        told = parsed(text)
        assert repr(plain) == repr(told or {})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("# nothing yet\n\n", {}),
        ("memory:\n  recall_limit: 7\n  embedder: builtin  # ours\nllm.model: 'x y'\n",
         {"memory": {"recall_limit": 7, "embedder": "builtin"}, "llm.model": "x y"}),
        ("a:\n  b:\n    c: 0.5\n  d: true\ne: off\n", {"a": {"b": {"c": 0.5}, "d": True}, "e": "off"}),
    ],
)  # fmt: skip
def test_ordinary_settings_are_read_without_a_parser(text, value):
    assert read_plain(text) == value


@pytest.mark.parametrize(
    "text", ["a: [1]\n", "a:\nb: 1\n", "a: 1\na: 2\n", "a: 'it''s'\n", "a: |\n  b\n", "\ta: 1\n", "a: 1\n  b: 2\n"]
)
def test_all_else_is_left_to_the_parser(text):
    assert read_plain(text) is None
