"""Text to terms: whole identifiers, their parts, and stems."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.index.terms import term_key
from memsync.index.tokens import Tokenizer, is_identifier, unaccented, word_parts
from memsync.records import Memory


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The databases are backed up", ["databas", "back"]),
        ("snake_case_name", ["snake", "case", "name", "snakecasenam", "=snake_case_name"]),
        ("CamelCaseName", ["camel", "case", "name", "camelcasenam"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("getURLs", ["url", "geturl"]),
        ("kebab-case", ["kebab", "case", "kebabcas"]),
        ("MEMSYNC_HOME", ["memsync", "home", "memsynchom", "=memsync_home"]),
        ("src/auth/login.py", ["src", "auth", "login", "py", "=src/auth/login.py", "=login.py"]),
        ("~/.gobby/config.yaml", ["gobbi", "config", "yaml", "=gobby/config.yaml", "=config.yaml"]),
        ("v1.2.3", ["=1.2.3", "=1.2"]),
        ("1.10", ["=1.10"]),
        ("a1b2c3d4e5f6", ["=a1b2c3d4e5f6", "=a1b2c3d"]),
        ("port 8080", ["port", "8080"]),
        ("café", ["café", "cafe"]),
        ("Who won? Children wrote", ["win", "child", "write"]),
        ("won't rebuilt_index", ["rebuild", "index", "rebuiltindex", "=rebuilt_index"]),
        ("retry-2 gate.", ["retri", "2", "retry2", "=retry-2", "gate"]),
        ("x/y.py#12", ["x", "y", "py", "12", "=x/y.py#12", "=y.py#12", "=#12"]),
        ("12,000 rows, 1,234,567.", ["12", "000", "12000", "row", "1", "234", "567", "1234567"]),
        ("1,2 12,34 0.5,100 401,403", ["1", "2", "12", "34", "=0.5", "100", "401", "403", "401403"]),
        ("日本語", ["日本", "本語"]),
        ("", []),
        ("🙂 — ... ()", []),
    ],
)
def test_a_text_becomes_these_terms(text, terms):
    assert Tokenizer().terms(text) == terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("snake_case_name", "snakeCaseName"),
        ("snake_case_name", "snake-case-name"),
        ("snake_case_name", "SnakeCaseName"),
    ],
)
def test_spellings_of_one_name_share_its_joined_form(one, other):
    joined = Tokenizer().terms("snakecasename")
    assert set(joined) <= set(Tokenizer().terms(one)) & set(Tokenizer().terms(other))


@pytest.mark.parametrize("around", ["`{}`", "({})", "“{}”", '"{}",', "{}:", "**{}**", "see {}!", "{}'s"])
def test_punctuation_around_a_word_is_not_part_of_it(around):
    assert "login" in Tokenizer().terms(around.format("login"))


def test_a_short_commit_id_is_found_in_the_whole_one_and_the_other_way_round():
    whole, short = "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678", "a1b2c3d"
    assert set(Tokenizer().terms(whole)) & set(Tokenizer().terms(short)) == {"=a1b2c3d"}


def test_two_versions_share_only_what_they_have_in_common():
    assert set(Tokenizer().terms("1.2.3")) & set(Tokenizer().terms("1.2.4")) == {"=1.2"}
    assert set(Tokenizer().terms("1.1")) & set(Tokenizer().terms("1.10")) == set()


def test_stop_words_can_be_kept():
    assert Tokenizer(stop_words=False).terms("to be or not") == ["to", "be", "or", "not"]
    assert Tokenizer().terms("to be or not") == []


def test_negation_of_any_spelling_is_left_out_with_the_other_stop_words():
    assert Tokenizer().terms("don't doesn\u2019t isn't") == []


def test_repeats_count():
    assert Tokenizer().terms("run runs running") == ["run", "run", "run"]


@pytest.mark.parametrize(
    ("unit", "parts"),
    [
        ("parseJSONFile", ["parse", "json", "file"]),
        ("utf8_decode", ["utf8", "decode"]),
        ("e2eTest", ["e2e", "test"]),
        ("__init__", ["init"]),
        ("ALLCAPS", ["allcaps"]),
    ],
)
def test_an_identifier_is_split_where_a_reader_would_split_it(unit, parts):
    assert word_parts(unit) == parts


@pytest.mark.parametrize(
    ("form", "is_it"), [("a_b", True), ("a.b", True), ("x86", True), ("8080", False), ("word", False)]
)
def test_code_is_told_from_words_and_numbers(form, is_it):
    assert is_identifier(form) is is_it


def test_accents_are_removed():
    assert unaccented("déjà Ångström") == "deja Angstrom"


@pytest.mark.parametrize("kept", [1, 3, 100])
def test_what_was_read_before_or_forgotten_says_the_same_when_it_is_asked_for(monkeypatch, kept):
    monkeypatch.setattr("memsync.index.tokens._RECORDS", kept)
    memories = [Memory(id=f"m{n}", content=f"The file_{n}.py has {n} rows", tags=("Rows",)) for n in range(8)]
    tokenizer = Tokenizer()
    for memory in memories * 2:
        assert tokenizer.read(memory) == Tokenizer().read(memory)
    assert 1 <= len(tokenizer._records) <= kept


def test_a_record_says_its_terms_and_tags_as_numbers_and_is_found_by_its_cues_and_its_day_beside():
    made = datetime(2026, 3, 1, tzinfo=UTC)
    said = Tokenizer().read(Memory("m", "Deploy the deploys", tags=("CI",), cues=("ship it",), created_at=made))
    numbers = [term_key(term) for term in ("deploy", "deploy", "ci")]
    assert (list(said.terms), said.words) == (numbers, frozenset(numbers))
    assert said.hidden == frozenset(map(term_key, ("ship", "2026", "march", "=2026-03-01")))


@given(st.text(max_size=60))
def test_every_text_has_terms_that_do_not_depend_on_what_came_before(text):
    used = Tokenizer()
    used.terms("déjà " + text[::-1] + " vu")
    assert used.terms(text) == used.terms(text) == Tokenizer().terms(text)


@given(st.text(max_size=60))
def test_no_term_is_empty_or_has_white_space(text):
    assert all(term.split() == [term] and term != "=" for term in Tokenizer().terms(text))
