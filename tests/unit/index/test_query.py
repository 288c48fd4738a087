"""What a query asks for."""

from __future__ import annotations

import pytest

from memsync.index.query import Query, folded, parse
from memsync.index.tokens import Tokenizer


def asked(text: str, **settings: bool) -> Query:
    return parse(text, Tokenizer(**settings))


def test_each_term_is_asked_for_once_in_its_order():
    assert asked("deploy the tests, deploying tests").terms == ("deploy", "test")


@pytest.mark.parametrize(
    ("text", "identifiers", "led"),
    [
        ("how do we deploy", set(), False),
        ("parse_json", {"=parse_json"}, True),
        ("where is parse_json tested", {"=parse_json"}, True),
        ("v1.2.3", {"=1.2.3", "=1.2"}, True),
        ("when parse_json fails retry nightly import job twice", {"=parse_json"}, False),
    ],
)
def test_identifiers_lead_a_query_of_few_other_words(text, identifiers, led):
    query = asked(text)
    assert (query.identifiers, query.led) == (identifiers, led)


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('say "Use  Tabs" please', ("use tabs",)),
        ("run `make test` or 'make lint'", ("make test", "make lint")),
        ("it's Anna's and Bob's turn", ()),
        ('"one" "ab c" ""', ("ab c",)),
        ('"never closed here', ()),
    ],
)
def test_a_phrase_is_what_stands_in_quotes_and_has_a_space(text, phrases):
    assert asked(text).phrases == phrases


def test_stop_words_are_asked_for_where_they_count():
    assert (asked("to be or not").terms, asked("to be", stop_words=False).terms) == ((), ("to", "be"))


def test_folding_ignores_case_and_white_space():
    assert folded("  Straße\n\tIST  da ") == "strasse ist da"
