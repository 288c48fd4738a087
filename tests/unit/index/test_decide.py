"""What a new text is to an old one: merged only when nothing would be lost."""

from __future__ import annotations

import pytest

from memsync.index.dedup import Thresholds, decide, may_replace, on_scale

ALIKE = 0.97  # as alike as contradicting sentences usually are


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Use  UV for everything", "use uv for everything"),
        ("The tests need Docker.", "Tests need `docker`"),
        ("The deploy script doesn't take a tag", "The deploy script does not take a tag"),
        ("The build fails on Windows (observed in turns 5, 29)", "The build fails on Windows"),
        ("The build fails on Windows (Turn 46).", "The build fails on Windows, observed twice"),
    ],
)
def test_the_same_words_in_the_same_order_are_a_copy(new, old):
    verdict = decide(new, old, ALIKE)
    assert (verdict.relation, verdict.decision in ("hash_exact", "auto_reject")) == ("duplicate", True)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The API listens on port 8081", "The API listens on port 8080"),
        ("Tests may not use the network", "Tests may use the network"),
        ("Signing is optional for tags", "Signing is required for tags"),
        ("The schema is read from `src/a/users.py`", "The schema is read from `src/a/orders.py`"),
        ("Works with Node 20.1", "Works with Node 20.2"),
    ],
)
def test_what_contradicts_is_told_and_never_merged(new, old):
    verdict = decide(new, old, ALIKE)
    assert (verdict.relation, verdict.decision) == ("contradicts", "gray")
    assert verdict.reason


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Jan reviews Klara's pull requests", "Klara reviews Jan's pull requests"),
        (
            "Archives are encrypted first and compressed afterwards",
            "Archives are compressed first and encrypted afterwards",
        ),
        ("发布流程:先升级应用,再备份数据库。", "发布流程:先备份数据库,再升级应用。"),
    ],
)
def test_swapped_roles_are_never_merged(new, old):
    assert decide(new, old, 1.0).decision == "gray"


def test_the_text_that_says_more_is_told_from_the_one_that_says_less():
    short, long = "GPU tests are skipped by default.", "GPU tests are skipped by default; pass `-m gpu` to run them."
    assert decide(long, short, 0.8)[:2] == ("contains", "subsumed")
    assert decide(short, long, 0.8)[:2] == ("contained", "subsumed")


def test_more_words_that_turn_the_sentence_round_are_not_more_of_the_same():
    verdict = decide("The reports job is not idempotent: it doubles rows", "The reports job is idempotent", ALIKE)
    assert (verdict.relation, verdict.decision) == ("contradicts", "gray")


def test_with_the_highest_threshold_only_the_very_same_text_is_a_copy():
    verdict = decide("The tests need Docker", "Tests need docker", 1.0, thresholds=Thresholds(auto_reject=1.0))
    assert (verdict.relation, verdict.decision) == ("duplicate", "gray")


def test_texts_about_different_things_are_different():
    assert decide("The staging port is 8080", "Marta dislikes emojis", 0.1)[:2] == ("different", "keep")


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("plain", "negated"),
    [
        ("Tests may use the network", "Tests may not use the network"),
        ("The worker retries a failed job", "The worker never retries a failed job"),
        ("Der Importer schreibt in die Warteschlange", "Der Importer schreibt nicht in die Warteschlange"),
        ("Тесты могут ходить в сеть", "Тесты не могут ходить в сеть"),
    ],
)
def test_a_negation_contradicts_whichever_text_came_first(plain, negated, turned):
    new, old = (plain, negated) if turned else (negated, plain)
    verdict = decide(new, old, ALIKE)
    assert (verdict.relation, verdict.decision) == ("contradicts", "gray")
    assert verdict.reason.startswith("only one of them says 'not ")


@pytest.mark.parametrize(
    ("short", "long"),
    [("Docker", "Docker is needed in tests"), ("uv run", "uv run is for tests"), ("Postgres", "Postgres; and Redis")],
)
def test_a_text_of_one_or_two_words_is_never_folded_into_a_longer_one(short, long):
    for new, old in ((short, long), (long, short)):
        assert decide(new, old, 1.0).decision in ("gray", "keep")


def test_one_word_more_is_not_more_of_the_same():
    short = "Deploys on staging wait for approval and tests"
    nearly = "Approval, then tests; deploys on staging and canary wait"
    longer = "Approval, then tests; deploys on staging, canary and production wait for Marta"
    for new, old in ((short, nearly), (nearly, short)):
        assert decide(new, old, 0.8).relation == "duplicate"
    assert decide(longer, short, 0.8).relation == "contains"
    assert decide(short, longer, 0.8).relation == "contained"


@pytest.mark.parametrize(("likeness", "similarity"), [(-1.0, 0.6), (0.0, 0.6), (0.5, 0.8), (1.0, 1.0), (2.0, 1.0)])
def test_a_likeness_of_any_embedder_is_put_on_the_scale_of_the_thresholds(likeness, similarity):
    assert on_scale(likeness) == pytest.approx(similarity)


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("The API listens on port 8081", "The API listens on port 8080", True),
        ("The API listens on port 8080", "the api listens on port 8080", False),
        ("GPU tests are skipped by default; pass `-m gpu`", "GPU tests are skipped by default", False),
        ("Deploys run from the green runner on Fridays", "Deploys run from the blue runner on Mondays", True),
        ("The linter must run without a cache", "The linter must run with a cache", True),
        ("Bugs are filed in Linear", "The cache is cleared with `make clean`", False),
    ],
)
def test_whether_a_text_may_replace_another_is_what_the_verdict_says(new, old, expected):
    assert (decide(new, old, 1.0).may_replace, may_replace(new, old)) == (expected, expected)
