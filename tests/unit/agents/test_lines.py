"""Which hits become lines: several, one or none; repeats are folded, disagreement is told."""

from __future__ import annotations

from datetime import UTC, datetime

from memsync.agents.lines import choose_lines, notes_of
from memsync.index.terms import term_key
from memsync.memories.filters import NEAR
from memsync.memories.results import Hit
from memsync.records import Memory

FLOOR = 0.35


def hit(id_: str, confidence: float, text: str = "", day: int = 1) -> Hit:
    text = text or f"{id_}one {id_}two {id_}three"
    return Hit(
        memory=Memory(id=id_, content=text, created_at=datetime(2026, 1, day, tzinfo=UTC)),
        scope="project",
        effective_importance=0.5,
        score=confidence,
        parts={},
        confidence=confidence,
        terms=frozenset(map(term_key, text.lower().split())),
    )


def chosen(*hits: Hit, limit: int = 5, withheld: str = "") -> list[str]:
    lines = choose_lines(hits, floor=FLOOR, limit=limit, is_withheld=lambda hit: hit.id in withheld.split())
    return [line.hit.id for line in lines]


def test_below_the_floor_nothing_is_given_beside_a_surer_one_either():
    assert chosen(hit("a", FLOOR - 0.01), hit("b", 0.1)) == []
    assert chosen(hit("a", FLOOR), hit("b", FLOOR + 0.01), hit("c", FLOOR - 0.01)) == ["a", "b"]


def test_what_is_far_below_the_surest_ends_the_block_early_and_the_order_stays():
    assert chosen(hit("a", 0.6), hit("b", 0.9), hit("c", NEAR * 0.9 - 0.01), hit("d", NEAR * 0.9)) == ["a", "b", "d"]
    assert chosen(hit("a", 0.6), hit("b", NEAR * 0.6 - 0.01), hit("c", NEAR * 0.6)) == ["a", "c"]
    assert chosen(*(hit(letter, 0.9) for letter in "abcdefg")) == [*"abcde"]


def test_the_first_two_go_by_the_ranking_and_the_other_places_to_the_surest():
    falling = [hit("a", 0.6), hit("b", 0.7), hit("c", 0.8), hit("d", 0.9)]
    assert [chosen(*falling, limit=limit) for limit in (1, 3)] == [["a"], ["a", "b", "d"]]


def test_the_first_of_the_ranking_stands_beside_a_surer_one_from_the_floor_on():
    surer = hit("b", 0.9)
    assert [chosen(hit("a", sure), surer) for sure in (FLOOR - 0.01, FLOOR)] == [["b"], ["a", "b"]]
    assert chosen(hit("a", 0.46), surer, withheld="a") == ["b"]


def test_what_is_withheld_opens_no_gate_for_others_and_is_asked_about_no_more_than_needed():
    assert chosen(hit("a", 0.9), hit("b", 0.3), withheld="a") == []
    assert chosen(hit("a", 0.9), hit("b", 0.8), withheld="a") == ["b"]
    asked: list[str] = []
    choose_lines(
        [hit(letter, 0.9) for letter in "abcdefghi"], floor=FLOOR, limit=2, is_withheld=lambda h: asked.append(h.id)
    )
    assert set(asked) == {"a", "b"}


def test_what_says_a_line_again_is_folded_into_it_and_its_place_goes_to_another_fact():
    one = hit("a", 0.9, "the nightly backup runs at two and writes to the second bucket")
    again = hit("b", 0.9, "nightly backup runs at two and writes to the second bucket, too")
    lines = choose_lines([one, again, hit("c", 0.8)], floor=FLOOR, limit=2, is_withheld=lambda _: False)
    assert [(line.hit.id, [other.id for other in line.alike]) for line in lines] == [("a", ["b"]), ("c", [])]
    assert notes_of(lines) == {"a": "+1 alike"}


def test_what_the_lines_above_say_together_is_folded_into_the_one_that_says_most_of_it():
    above = hit("a", 0.9, "red blue green brown pink grey"), hit("b", 0.9, "oak elm ash fir pine birch")
    again, news = hit("c", 0.9, "oak elm green blue red zebra"), hit("d", 0.9, "red blue oak zebra gnu yak")
    lines = choose_lines([*above, again, news], floor=FLOOR, limit=5, is_withheld=lambda _: False)
    assert [(line.hit.id, [other.id for other in line.alike]) for line in lines] == [("a", ["c"]), ("b", []), ("d", [])]


def test_a_number_that_no_line_has_is_never_folded_away():
    above = hit("a", 0.9, "one two three four five six"), hit("b", 0.9, "ten eleven twelve thirteen fourteen fifteen")
    lines = choose_lines(
        [*above, hit("c", 0.9, "one two three ten eleven 47")], floor=FLOOR, limit=5, is_withheld=lambda _: False
    )
    assert [line.hit.id for line in lines] == ["a", "b", "c"]


def test_lines_that_disagree_are_both_shown():
    old, new = "the staging database listens on port 5432", "the staging database listens on port 5433"
    for one, other in ((old, new), (new, old)):
        hits = [hit("a", 0.9, one, day=1), hit("b", 0.8, other, day=2)]
        lines = choose_lines(hits, floor=FLOOR, limit=5, is_withheld=lambda _: False)
        assert [(line.hit.id, line.alike) for line in lines] == [("a", ()), ("b", ())]
