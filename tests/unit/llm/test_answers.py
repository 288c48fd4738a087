"""Prompts with data in them, and JSON out of what a model says."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.llm import answers

PAIRS = {
    "type": "object",
    "required": ["pairs"],
    "properties": {
        "pairs": {
            "type": "array",
            "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
        }
    },
}


@pytest.mark.parametrize(
    "text",
    [
        '{"pairs": [{"n": 1}]}',
        'Sure! Here it is:\n```json\n{"pairs": [{"n": 1}]}\n```\nAnything else?',
        'I think [this] is it: {"pairs": [{"n": 1}]} {"pairs": 3}',
        '{"draft": true} and now {"pairs": [{"n": 1}]}',
    ],
)
def test_the_json_that_fits_is_found_in_whatever_is_around_it(text):
    assert answers.read(text, PAIRS) == {"pairs": [{"n": 1}]}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no JSON in it"),
        ("I'd rather not.", "there is no JSON in it"),
        ('{"pairs": [{"n": 1}', "pairs"),
        ('{"pairs": 3}', "the answer.pairs is not of type array"),
        ('{"pairs": [{"n": 1}, {}]}', "the answer.pairs[1] has no n"),
        ('{"pairs": [{"n": true}]}', "the answer.pairs[0].n is not of type integer"),
        ("[" * 100_000, "there is no JSON in it"),
        ('{"a": [' * 50_000, "there is no JSON in it"),
    ],
)
def test_an_answer_that_does_not_fit_says_what_is_wrong(text, why):
    with pytest.raises(ValueError) as error:
        answers.read(text, PAIRS)
    assert why in str(error.value)


def test_a_value_outside_an_enum_is_named_with_what_is_allowed():
    assert answers.find_misfit("maybe", {"type": "string", "enum": ["yes", "no"]}) == "the answer is none of yes, no"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_json_of_any_kind_comes_back_out_of_prose(value):
    assert answers.read(f"Here: {json.dumps([value])} .", {"type": "array"}) == [value]


@given(st.text())
def test_no_answer_breaks_the_reader(text):
    with suppress(ValueError):
        assert isinstance(answers.read(text, {"type": "object"}), dict)


def test_what_a_memory_says_is_never_read_as_a_field(tmp_path, monkeypatch):
    (tmp_path / "ask.md").write_text("Compare {{a}} with {{b}}.\n")
    monkeypatch.setattr(answers, "PROMPTS", tmp_path)
    assert answers.prompt("ask", a="{{b}} $HOME \\1", b=["x"]) == 'Compare {{b}} $HOME \\1 with [\n "x"\n].\n'
