"""The warm index as a whole: what finds what, and what it keeps of its records."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from searching import BUILTIN, Answer, ask, change, found, index, record

from memsync.index import vectors
from memsync.index.bulk import make_index
from memsync.index.core import Index
from memsync.index.rank import Parts
from memsync.index.scale import IDENTIFIER

NOTHING = Answer((), 0.0, "")
MEANINGS = pytest.mark.parametrize("meaning", [None, BUILTIN], ids=["words", "builtin"])


@MEANINGS
@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("call parse_json_file first", ["parse_json_file", "json", "parse file", "parseJsonFile", "PARSE_JSON_FILE"]),
        ("HTTPServerError is raised", ["HTTPServerError", "server", "http server", "http_server_error"]),
        (
            "edit src/auth/login.py",
            ["src/auth/login.py", "auth/login.py", "login.py", "./src/auth/login.py:42", "auth"],
        ),
        ("pinned to v1.2.3", ["1.2.3", "v1.2.3", "1.2"]),
        ("fixed by a1b2c3d4e5f60718", ["a1b2c3d4e5f60718", "a1b2c3d", "a1b2c3d4e5f6"]),
        ("see 1234567abcdef0123", ["1234567", "1234567abcdef0123"]),
        ("set `MEMSYNC_HOME=/tmp`", ["MEMSYNC_HOME", "memsync home"]),
        ("Datenbank für Café-Straße", ["datenbank", "cafe", "CAFÉ", "strasse"]),
        ("日本語のテキスト", ["日本語", "テキスト"]),
        ("we deploy with Kubernetes", ["deploying", "kuberentes", "kubernetse", "Kubernets"]),
        ("the parse_json_file helper", ["parse_jsn_file", "prase_json_file"]),
        ("issue GH-1234", ["GH-1234", "1234", "gh 1234"]),
        ("closes #871", ["#871"]),
    ],
)
def test_code_and_words_are_found_whole_by_part_and_mistyped(text, queries, meaning):
    others = ("an unrelated sentence", "another thing entirely")
    first = {query: found(query, *others, text, meaning=meaning)[:1] for query in queries}
    assert first == {query: [2] for query in queries}


@MEANINGS
@pytest.mark.parametrize("query", ["", "   ", "?!", "\0", "\ud800", "xy", "🙂"])
def test_a_query_that_asks_for_nothing_finds_nothing(query, meaning):
    assert found(query, "use tabs", "the end of the story", meaning=meaning) == []


@pytest.mark.parametrize("query", ["the and of", "zebra", "xylophone"])
def test_a_query_that_matches_nothing_finds_nothing(query):
    assert ask(index("use tabs", "the end of the story"), query) == NOTHING


def test_an_empty_index_finds_nothing_and_says_how_it_looked():
    assert ask(make_index([], None), "tabs") == NOTHING
    assert ask(make_index([], BUILTIN), "tabs") == NOTHING
    assert ask(index("", "...", meaning=BUILTIN), "tabs") == NOTHING


def test_the_exact_word_beats_a_similar_one():
    assert found("deploys fast", "deploy fast", "destroy fast", "employ")[:2] == [0, 1]
    assert found("1.2.3", "uses 1.2.4", "uses 1.2.3", "uses 2.0.0") == [1, 0]
    assert found("src/a/login.py", "src/b/login.py is it", "src/a/login.py is it") == [1, 0]
    assert found("a1b2c3d4e5f60718", "in a1b2c3d9999999 it is", "in a1b2c3d4e5f60718 it is") == [1, 0]


def test_a_word_that_is_known_is_not_taken_for_a_typo():
    assert found("cache", "the cache", "the caches", "a cachet") in ([0, 1, 2], [0, 1])


def test_a_guess_is_worth_less_than_the_word_and_more_than_nothing():
    made = index("use kubernetes", "use docker")
    word, guess = (ask(made, query).gate for query in ("kubernetes", "kuberentes"))
    assert word > guess > 0


def test_one_word_of_many_never_looks_like_a_full_match():
    made = index("deploy on friday after the standup")
    part, whole = (ask(made, query).gate for query in ("deploy zebra yak gnu", "deploy friday standup"))
    assert part < ask(made, "deploy").gate < whole < 1


def test_all_identifiers_of_a_query_they_lead_are_worth_the_more_the_rarer_they_are():
    made = index("parse_json lives in src/parser.py", "parse_json is slow", "parsers in general")
    found = ask(made, "parse_json src/parser.py")
    parts = {match[1]: match[3] for match in found.matches}
    crowd = [f"parse_json of case {n} in src/parser.py" for n in range(9)]
    common = ask(index(*crowd), "parse_json src/parser.py").matches[0][3]
    assert common.identifier < parts["0"].identifier < IDENTIFIER
    assert 0 < parts["1"].identifier < IDENTIFIER


def test_meaning_finds_what_no_word_does_but_is_no_part_of_a_score_without_vectors():
    texts = ("the car would not start this morning", "invoices are rounded")
    (match,) = ask(index(*texts, meaning=BUILTIN), "automobile engine trouble").matches
    assert (match[1], match[3]) == ("0", Parts(0.0, match[3].semantic, 0.0))
    assert match[3].semantic > 0
    assert ask(index(*texts), "automobile engine trouble") == NOTHING


def test_tags_are_found_too_and_count_once_each():
    made = make_index(
        [record("a", "x", tags=("code-style",)), record("b", "y", tags=("style", "style")), record("c", "z")], None
    )
    assert ask(made, "style").ids == ["b", "a"]
    twice = make_index([record("a", "x style", tags=("style style",))], None)
    once = make_index([record("a", "x style", tags=("style",))], None)
    assert [match[3] for match in ask(twice, "style").matches] == [match[3] for match in ask(once, "style").matches]


def test_stop_words_can_be_looked_for():
    assert ask(index("to be or not to be", "x", stop_words=False), "to be").ids == ["0"]


def test_one_id_in_two_scopes_is_two_records_and_one_hit():
    made = make_index([record("a", "known here"), record("a", "known there", scope="global")], None)
    assert (len(made), [match[:2] for match in ask(made, "known").matches]) == (2, [("project", "a")])
    made.apply("project", [change("a", None)])
    assert (len(made), [match[:2] for match in ask(made, "known").matches]) == (1, [("global", "a")])


@MEANINGS
def test_a_changed_record_is_found_by_its_new_words_only(meaning):
    made = index("zebra stripes", "x", meaning=meaning)
    made.apply("project", [change("0", "new sentence")])
    assert [by_words(made, query) for query in ("zebra stripes", "new sentence")] == [[], ["0"]]
    made.apply("project", [change("0", None), change("never there", None)])
    assert (by_words(made, "new sentence"), len(made)) == ([], 1)


def by_words(made: Index, query: str) -> list[object]:
    return [match[1] for match in ask(made, query).matches if match[3].lexical]


def test_a_change_that_words_do_not_show_reaches_the_hits():
    made = index("use tabs")
    made.apply("project", [change("0", "use tabs", importance=0.9)])
    assert [match[2].importance for match in ask(made, "tabs").matches] == [0.9]


def test_hundreds_of_equal_scores_come_in_the_order_of_their_ids():
    made = index(*(f"shared {'word' if n % 7 else 'sentence'} number{n}" for n in range(700)))
    matches = [match for match in ask(made, "shared word", limit=700).matches if match[5] is None]
    assert len(matches) == 700
    assert matches == sorted(matches, key=lambda match: (-match[3].score, match[1]))


def test_more_changes_than_are_quick_are_not_taken_in_and_change_nothing():
    made = index(*(f"word{n}" for n in range(10)))
    before = ask(made, "word1 late7")
    assert not made.apply("project", [change(str(n), f"late{n}") for n in range(501)])
    assert (ask(made, "word1 late7"), len(made)) == (before, 10)


def test_a_memory_of_ten_thousand_characters_is_found_like_any_other():
    long = "filler sentence about nothing. " * 320 + "the zanzibar clause"
    assert found("zanzibar", "x", long, meaning=BUILTIN) == [1]
    assert found("z" * 10_000, "x", long, meaning=BUILTIN) == []
    assert found(long, "x", long, meaning=BUILTIN)[0] == 1


def test_a_removed_record_takes_no_place_in_the_sieve_of_vectors(monkeypatch):
    monkeypatch.setattr(vectors, "SIEVED", 1)
    kept = [record("1", "the car is parked beside a sofa"), record("2", "automobile, vehicle, motor")]
    made = make_index([record("0", "car"), *kept], BUILTIN)
    made.apply("project", [change("0", None)])
    answer = ask(made, "car")
    assert answer == ask(make_index(kept, BUILTIN), "car")
    assert {match[1]: match[3].semantic > 0 for match in answer.matches} == {"1": True, "2": True}


def test_a_search_between_two_changes_is_forgotten_by_the_next_one():
    ports = [record(f"m{n}", f"port number {n} staging") for n in range(3)]
    grown = make_index(ports, None)
    ask(grown, "staging port")
    for step in (change("m9", "staging port database of the canary"), change("m1", None), change("m2", "a port")):
        grown.apply("project", [step])
        held = [one for one in grown.vectors()[0] if one]
        assert ask(grown, "staging port") == ask(make_index(held, None), "staging port")


def test_a_letter_or_a_digit_is_a_word():
    contents = [f"The widget factory line number {n} builds model {n * 13}" for n in range(12)]
    assert found("widget factory line number 7", *contents)[0] == 7
    assert found("language C", "We use C for the firmware", "Use tabs") == [0]
    assert found("a or i", "a b", "i c") == []


def test_a_memory_is_found_by_the_day_it_was_made():
    days = [datetime(2026, month, 9, tzinfo=UTC) for month in range(1, 13)]
    made = make_index([record(str(day.month), "we chose Kafka", created_at=day) for day in days], None)
    assert ask(made, "what did we choose in march 2026?").ids[0] == "3"
    assert ask(made, "2026-11-09").ids[0] == "11"
