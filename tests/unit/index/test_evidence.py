"""What terms count in each slot, however many postings are added at once."""

from __future__ import annotations

import numpy as np
import pytest
from searching import base_of

from memsync.index import core
from memsync.index.core import gather
from memsync.index.lexical import Lexical, Spelling, build_grams
from memsync.index.query import parse
from memsync.index.synonyms import Synonyms
from memsync.index.tokens import Tokenizer

TEXTS = (
    "deploy the cache before the tests",
    "throttle the deploy of the cache, cache, cache",
    "the rate limit of the gateway",
    "tests of the gateway in run_all",
    "retry the tests, retry the deploy",
)
QUERIES = ("deploy cache tests", "429 deploy", "thrott gatewey deploys", "run_all tests retry", "nothing")


def found(text: str):
    tokenizer = Tokenizer()
    documents = list(map(tokenizer.terms, TEXTS))
    spelling = Spelling(build_grams(sorted({term for terms in documents for term in terms if term.isalpha()})))
    query = parse(text, tokenizer)
    return gather(query, Lexical(base_of(documents)), spelling, Synonyms(tokenizer.terms), len(TEXTS))


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("at_once", [0, 3])
def test_terms_that_are_added_at_once_count_as_one_by_one(text, at_once, monkeypatch):
    whole = found(text)
    monkeypatch.setattr(core, "_AT_ONCE", at_once)
    apart = found(text)
    assert np.allclose(apart.lexical, whole.lexical, rtol=1e-12, atol=0)
    assert (apart.exact == whole.exact).all()


def test_of_what_a_rare_word_is_called_a_slot_counts_the_best_alone():
    slots = {text: np.flatnonzero(found(text).lexical).tolist() for text in ("429", "throttle", "rate limit")}
    assert slots["429"] == sorted({*slots["throttle"], *slots["rate limit"]}) == [1, 2]
    both = found("429")
    assert both.lexical.max() < found("throttle").lexical[1]


def test_a_query_without_a_known_word_scores_nothing():
    assert not found("zzz qqq").lexical.any()
