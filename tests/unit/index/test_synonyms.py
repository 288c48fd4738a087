"""What else a rare word is called: the table, and what an index makes of it."""

from __future__ import annotations

import re

import pytest
from searching import record

from memsync.index.bulk import make_index
from memsync.index.query import parse
from memsync.index.scale import SYNONYM
from memsync.index.synonyms import TABLE, Synonyms, find_word, stem_start
from memsync.index.tokens import STOP_WORDS, Tokenizer

GROUPS = [line.split(", ") for line in TABLE.read_text(encoding="utf-8").splitlines()]
TOKENIZER = Tokenizer()
SYNONYMS = Synonyms(TOKENIZER.terms)


def others(term: str, text: str, *known: str) -> dict[tuple[str, ...], float]:
    """Return what else *term* of *text* is called where records have the words *known*, or all words."""
    return dict(SYNONYMS.find(term, parse(text, TOKENIZER), lambda word: not known or word in known))


def search(text: str, *contents: str, cues: tuple[str, ...] = ()):
    index = make_index([record(f"r{n}", content, cues=cues) for n, content in enumerate(contents)], None)
    return index.search(text, limit=9, allow=lambda scope, memory: 0.0).matches


def test_the_table_is_sorted_and_each_of_its_groups_has_several_plain_members():
    assert sorted(GROUPS) == GROUPS
    assert [group for group in GROUPS if len(set(group)) < 2] == []
    assert [member for group in GROUPS for member in group if not re.fullmatch(r"[a-z0-9]+( [a-z0-9]+)*", member)] == []


def test_no_member_of_several_words_has_but_one_that_says_something():
    """All but one of "out of memory" are stop words; it would stand for every memory."""
    assert [m for group in GROUPS for m in group if len(set(m.split()) - STOP_WORDS) < min(2, len(m.split()))] == []


def test_every_word_of_the_table_is_found_by_its_stem():
    missed = [
        (word, stem)
        for word in {word for group in GROUPS for member in group for word in member.split()}
        for stem in SYNONYMS._read(word)
        if not word.startswith(stem_start(stem)) or not SYNONYMS._groups[stem]
    ]
    assert missed == []


def test_a_code_is_called_by_its_name_and_a_name_by_its_code():
    assert ("rate", "limit") in others("429", "we get a 429")
    assert ("429",) in others("throttl", "who throttles us?")


def test_a_name_of_several_words_counts_only_where_they_follow_each_other():
    assert ("429",) in others("rate", "the rate limit again")
    assert ("429",) not in others("rate", "limit the damping rate")


def test_what_no_record_has_is_not_among_the_others():
    assert others("k8s", "the k8s pods", "kubernet") == {("kubernet",): SYNONYM}
    assert others("k8s", "the k8s pods", "docker") == {}


def test_what_was_asked_for_by_itself_is_not_among_the_others():
    assert ("kubernet",) not in others("k8s", "k8s, that is kubernetes")


def test_each_counts_less_where_there_are_several():
    assert others("k8s", "the k8s pods", "kubernet", "helm") == pytest.approx({
        ("kubernet",): SYNONYM / 2**0.5,
        ("helm",): SYNONYM / 2**0.5,
    })  # fmt: skip


def test_a_record_is_found_by_what_a_word_is_called_in_it():
    (match,) = search(
        "what do we do about a 429?", "The importer keeps below the rate limit", "The limit of a page is 50"
    )
    assert match.memory.id == "r0"


def test_the_word_itself_counts_for_more():
    first, second = search("the k8s upgrade", "The kubernetes upgrade is on Monday", "The k8s upgrade is on Monday")
    assert (first.memory.id, second.memory.id) == ("r1", "r0")
    assert first.parts.lexical > second.parts.lexical > 0


def test_a_record_is_surer_where_its_text_says_what_a_word_is_called_than_where_a_cue_does():
    (said,) = search("what does the importer do about a 429?", "The importer waits at a throttle")
    (cued,) = search("what does the importer do about a 429?", "The importer waits at a gate", cues=("throttle",))
    assert said.confidence > cued.confidence


def test_a_word_that_several_records_have_is_only_that():
    contents = ("A k8s node", "A k8s pod", "The kubernetes upgrade")
    assert {match.memory.id for match in search("k8s", *contents)} == {"r0", "r1"}


@pytest.mark.parametrize(
    ("term", "word"),
    [("stage", "staging"), ("totalof", "total_of"), ("taxpi", "tax.py"), ("total", "total_of"), ("redis", "redis")],
)
def test_a_term_is_shown_as_the_word_of_the_text_that_it_is_of(term, word):
    assert find_word(term, "Why was `total_of` changed, and tax.py in staging?") == word
