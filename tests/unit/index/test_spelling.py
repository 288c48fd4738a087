"""Words like a word: typos, word forms, parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.index.lexical import Spelling, build_grams, trigrams
from memsync.index.scale import ALIKE, KEPT, TYPO

WORDS = ("authentication", "cache", "caches", "deploy", "kubernetes", "migration", "parse", "settings")


def spelling(words: tuple[str, ...] = WORDS, late: tuple[str, ...] = ()) -> Spelling:
    made = Spelling(build_grams(sorted(words)))
    made.add(late)
    return made


def alike(word: str, words: tuple[str, ...] = WORDS, late: tuple[str, ...] = ()) -> list[str]:
    live = {*words, *late}
    return [other for other, _ in spelling(words, late).alike(word, live.__contains__)]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("kuberentes", "kubernetes"),
        ("kubernets", "kubernetes"),
        ("kkubernetes", "kubernetes"),
        ("authentcation", "authentication"),
        ("autehntication", "authentication"),
        ("migratoin", "migration"),
        ("setings", "settings"),
        ("dpeloy", "deploy"),
        ("cachez", "cache"),
    ],
)
def test_a_typo_is_like_the_word_that_was_meant(word, meant):
    assert alike(word)[0] == meant


@pytest.mark.parametrize("late", [(), WORDS[4:]])
def test_late_words_are_found_as_well_as_early_ones(late):
    early = tuple(word for word in WORDS if word not in late)
    for word in ("kuberentes", "parsed", "cache", "migratoin"):
        one, other = spelling(early, late), spelling()
        assert one.alike(word, WORDS.__contains__) == other.alike(word, WORDS.__contains__)


def test_a_word_is_not_like_itself_and_a_known_one_is_compared_by_letters_in_common_only():
    assert alike("cache") == ["caches"]
    assert alike("deploy", ("deploy", "dpeloy")) == alike("zebra") == alike("xy") == []
    assert alike("deploy", ("dpeloy",)) == ["dpeloy"]


@pytest.mark.parametrize("word", ["tap", "adb"])
def test_three_letters_are_too_few_to_be_a_typo(word):
    assert alike(word, ("tab", "tape", "abd")) in ([], ["tape"])


def test_words_that_no_record_has_any_more_are_not_offered_and_take_no_place():
    words = tuple(f"deployment{letter}" for letter in "abcdefghijklmnop")
    live = set(words[-3:])
    found = spelling(words).alike("deployment", live.__contains__)
    assert [word for word, _ in found] == sorted(live)


def test_likeness_falls_and_ties_go_by_word_and_few_are_kept():
    words = tuple(f"deployment{letter}" for letter in "ponmlkjihgfedcba")
    found = spelling(words).alike("deployment", words.__contains__)
    assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
    assert [word for word, _ in found] == sorted(words)[:KEPT]
    assert all(min(ALIKE, TYPO) <= likeness < 1 for _, likeness in found)


def test_an_answer_is_forgotten_when_the_vocabulary_changes():
    made = spelling()
    assert made.alike("kubernetez", WORDS.__contains__)[0][0] == "kubernetes"
    made.add(["kubernetez2"])
    made.forget()
    words = (*WORDS, "kubernetez2")
    assert made.alike("kubernetez", words.__contains__) == spelling(words).alike("kubernetez", words.__contains__)


def test_an_empty_vocabulary_knows_nothing():
    assert alike("word", ()) == []


words = st.text("abcé日\U0001f642", min_size=1, max_size=5)


@given(st.lists(words, unique=True, max_size=8), st.lists(words, unique=True, max_size=4))
def test_the_grams_of_words_say_which_words_they_are_in(early, late):
    grams = build_grams(sorted(early))
    spelled = {grams.word(place): int(grams.sizes[place]) for place in range(len(early))}
    assert spelled == {word: len(trigrams(word)) for word in early}
    inside = {
        grams.word(place): {int(key) for key, a, b in _rows(grams) if place in grams.places[a:b]}
        for place in range(len(early))
    }
    assert inside == {word: trigrams(word) for word in early}


def _rows(grams):
    return zip(grams.keys, grams.starts[:-1], grams.starts[1:], strict=True)


@given(st.lists(words, unique=True, max_size=8), st.lists(words, max_size=4), words)
def test_early_or_late_makes_no_difference(early, late, word):
    every = {*early, *late}
    one, other = spelling(tuple(early), tuple(late)), spelling(tuple(every))
    assert one.alike(word, every.__contains__) == other.alike(word, every.__contains__)


def test_of_thousands_of_words_that_are_alike_few_are_asked_for():
    words = {f"record{number}" for number in range(3_000)}
    asked = []

    def is_live(word):
        asked.append(word)
        return word in words

    found = Spelling(build_grams(sorted(words))).alike("record1234", is_live)

    assert len(found) == KEPT
    assert len(asked) <= 2 * KEPT  # whoever is asked remembers each


def test_words_that_are_gone_make_room_for_those_that_are_less_alike():
    words = [f"record{number}" for number in range(3_000)]
    left = {"record7", "record2999", "record1500"}

    found = Spelling(build_grams(sorted(words))).alike("record1234", {"record1234", *left}.__contains__)

    assert {word for word, _ in found} == left
