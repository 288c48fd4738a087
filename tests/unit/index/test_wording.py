"""How a record says the words of a query moves it among the first hits, and nothing else."""

from __future__ import annotations

import pytest
from searching import everything, index, nobody

from memsync.index.rank import Match

ASKED = "which staging database?"
REST = "keeps one copy of all orders"


def found(*texts: str, asked: str = ASKED, limit: int = 15) -> list[Match]:
    made = index(*texts, "a note on the worker pool", "tabs in Makefiles")
    return [*made.search(asked, limit=limit, allow=everything, is_mine=nobody).matches]


def order(*texts: str, **how) -> list[str]:
    return [match.memory.content for match in found(*texts, **how)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"box {REST} logs staging database", f"staging box {REST} logs database"),
        (f"box {REST} logs staging database", f"database staging box {REST} logs"),
        (f"box {REST} logs staging database", f"staging logs box database {REST}"),
        (f"box {REST} logs database staging", f"database box {REST} logs staging"),
    ],
    ids=["together before apart", "in order before reversed", "near before far", "reversed before apart"],
)
def test_words_that_stand_together_as_asked_come_before_the_same_words_said_earlier(first, second):
    assert order(second, first) == order(first, second) == [first, second]


def test_what_is_said_early_comes_before_what_is_said_late():
    rest = " ".join(f"note{n}" for n in range(60))
    early, late = f"database {rest} box", f"box {rest} database"
    assert order(late, early, asked="database") == order(early, late, asked="database") == [early, late]


def test_it_is_a_part_of_the_score_and_lifts_nothing_over_the_gate():
    apart, together = f"the staging box {REST} in its database", f"the staging database {REST} in its box"
    [near], [far] = found(together), found(apart)
    assert near.parts.wording > far.parts.wording
    assert near.parts.score - far.parts.score == pytest.approx(near.parts.wording - far.parts.wording)
    assert near.confidence == far.confidence


def test_the_first_hit_is_the_same_whatever_number_is_wanted():
    texts = [f"the staging box number {n} {REST} and a database" for n in range(6)]
    texts.append(f"the staging database {REST} and a box, says the old page of the handbook")
    assert [order(*texts, limit=limit)[0] for limit in (1, 2, 7)] == [texts[-1]] * 3
