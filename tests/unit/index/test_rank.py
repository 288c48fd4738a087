"""From scored slots to a list: filters, near-copies, boosts, two passes, the gate."""

from __future__ import annotations

import random

import pytest
from searching import everything, nobody, record

from memsync.index.gate import Gate, Lens, agree
from memsync.index.query import Query, parse
from memsync.index.rank import Candidates, Match, Parts, Ranking, Record, is_copy, rank
from memsync.index.scale import BOOST, PHRASE, POOL
from memsync.index.tokens import Tokenizer, say

PLAIN = parse("anything", Tokenizer())
LENS = Lens(
    weight=lambda _: 1.0,
    frequency=lambda _: 1,
    ceiling=2.0,
    alike={},
    called={},
    said=lambda *_: say([1, 2, 3], 3),
    read=lambda _: say([1, 2, 3], 3),
    tokens=str.split,
    live=10,
    weight_of_meaning=0.12,
)


def ranked(*scored: tuple[float, Record], query: Query = PLAIN, limit: int = 15, **how) -> Ranking:
    slots = sorted(range(len(scored)), key=lambda slot: -scored[slot][0])
    found = Candidates(
        ordered=iter([(scored[slot][0], slot) for slot in slots]),
        record=lambda slot: scored[slot][1],
        parts=lambda slot: Parts(scored[slot][0], 0.0, 0.0),
        lens=LENS,
    )
    return rank(query, found, limit=limit, **{"allow": everything, "is_mine": nobody, "weighed": 15, **how})


def confidence(score: float) -> float:
    return Gate(PLAIN, LENS).weigh(0, record("a", "a b c")[1], score, 0.0).confidence


def ids(ranking: Ranking) -> list[str]:
    return [match.memory.id for match in ranking.matches]


def named(score: float, id_: str, content: str = "", **how) -> tuple[float, Record]:
    return score, record(id_, content or f"words of {id_}", **how)


def test_the_best_come_first_and_ties_go_by_id():
    assert ids(ranked(named(0.1, "b"), named(0.3, "c"), named(0.1, "a"), named(0.2, "d"))) == ["c", "d", "a", "b"]


@pytest.mark.parametrize(("limit", "expected"), [(0, []), (1, ["a"]), (2, ["a", "b"]), (9, ["a", "b", "c"])])
def test_the_cut_comes_last(limit, expected):
    assert ids(ranked(named(0.3, "a"), named(0.2, "b"), named(0.1, "c"), limit=limit)) == expected


def test_filters_come_before_the_cut_however_many_they_reject():
    crowd = [named(0.9, f"no-{n:04}") for n in range(3000)]
    kept = [named(0.2, "yes-1"), named(0.3, "yes-2")]
    found = ranked(*crowd, *kept, limit=2, allow=lambda _, memory: 0.0 if memory.id.startswith("yes") else None)
    sure = agree(confidence(0.3), 1.0)  # the crowd is of the same words
    assert (ids(found), found.gate) == (["yes-2", "yes-1"], min(sure, confidence(0.9)))


def test_an_id_in_three_scopes_is_one_hit_of_the_nearest_one_allowed():
    everywhere = [named(0.5, "a", scope=scope) for scope in ("global", "private", "project")]
    found = ranked(*everywhere)
    assert [(match.scope, match.memory.id) for match in found.matches] == [("project", "a")]
    found = ranked(*everywhere, allow=lambda scope, _: None if scope == "project" else 0.0)
    assert [(match.scope, match.memory.id) for match in found.matches] == [("private", "a")]


def test_a_slot_whose_record_is_gone_is_passed_over():
    found = Candidates(
        ordered=iter([(0.9, 0), (0.5, 1)]),
        record=[None, record("a", "x")].__getitem__,
        parts=lambda _: Parts(0.5, 0.0, 0.0),
        lens=LENS,
        degraded="no vectors",
    )
    match = Match("project", record("a", "x")[1], Parts(0.5, 0.0, 0.0), 0.5, slot=1)
    expected = Ranking(matches=(match,), gate=0.0, degraded="no vectors", weight_of_meaning=0.12)
    assert rank(PLAIN, found, limit=3, allow=everything, is_mine=nobody, weighed=0) == expected


@pytest.mark.parametrize("text", ["one two three", 'say "one and only" words', "foo_bar one"])
@pytest.mark.parametrize("seed", range(4))
def test_nominees_are_the_best_of_the_whole_pool_with_copies_and_phrases_where_they_belong(text, seed):
    pick = random.Random(seed)
    words = "one and only words of ports cache worker queue release said".split()
    texts = [" ".join(pick.choices(words, k=12)) for _ in range(60)]
    texts += [f"{text} again" for text in texts[:20]]
    scores = sorted((round(pick.random() * 0.4, 2) for _ in texts), reverse=True)
    parts = [Parts(score / 3, score / 3, score / 3) for score in scores]
    records = [record(f"m{n:02}", text) for n, text in enumerate(texts)]
    query = parse(text, Tokenizer(), places=False)
    size = 4 * POOL * (POOL if query.phrases else 1)
    pool = [Match("project", records[n][1], parts[n], 0.0, slot=n) for n in range(size)]
    if quoting := [match for match in pool if any(phrase in match.memory.content for phrase in query.phrases)]:
        raised = [match._replace(parts=match.parts._replace(phrase=PHRASE / len(quoting))) for match in quoting]
        pool = raised + [match for match in pool if match not in quoting]
    pool.sort(key=lambda match: (-match.parts.score, match.memory.id))
    kept: list[Match] = []
    copies: list[Match] = []
    for match in pool:
        own = frozenset(match.memory.content.split())
        original = next((one for one in kept if is_copy(own, frozenset(one.memory.content.split()))), None)
        (copies if original else kept).append(match._replace(copy_of=original.memory.id) if original else match)
    read: list[int] = []
    found = Candidates(
        ordered=iter([(parts[n].score, n) for n in range(len(parts))]),
        record=lambda slot: read.append(slot) or records[slot],
        parts=parts.__getitem__,
        lens=LENS,
    )
    ranking = rank(query, found, limit=4, allow=lambda *_: 0.0, is_mine=nobody, weighed=0)
    assert [*ranking.matches] == [*kept, *copies][:4]
    assert query.phrases or query.led or len(read) < len(pool)


def test_a_near_copy_comes_last_and_names_its_original():
    text = "the nightly backup runs at two and writes to the second bucket"
    found = ranked(named(0.9, "a", text), named(0.8, "b", f"{text} too"), named(0.3, "c", "restore with make restore"))
    assert [(match.memory.id, match.copy_of) for match in found.matches] == [("a", None), ("c", None), ("b", "a")]


@pytest.mark.parametrize("seed", range(3))
def test_near_copies_are_those_that_comparing_each_with_each_would_find(seed):
    pick = random.Random(seed)
    texts = [pick.sample("a an the of to in is it on ports cache worker queue release".split(), 10) for _ in range(6)]
    texts += [
        [*text[: pick.randint(7, 10)], *pick.choices(("surprisingly", "unexpected", "b"), k=2)] for text in texts * 3
    ]
    found = ranked(*(named(0.9 - n / 100, f"m{n:02}", " ".join(text)) for n, text in enumerate(texts)), limit=24)
    words = [frozenset(match.memory.content.split()) for match in found.matches]
    kept = [n for n, match in enumerate(found.matches) if match.copy_of is None]
    assert 0 < len(kept) < len(texts) == len(words)
    for n, match in enumerate(found.matches):
        like = [
            k for k in kept if k != n and found.matches[k].memory.id < match.memory.id and is_copy(words[n], words[k])
        ]
        assert match.copy_of == (found.matches[like[0]].memory.id if like else None)


def test_a_copy_gives_its_place_to_another_memory():
    copies = [named(0.9 - n / 100, f"copy-{n}", "the very same words once more") for n in range(3)]
    assert ids(ranked(*copies, named(0.2, "other"), limit=2)) == ["copy-0", "other"]


def test_siblings_that_differ_in_a_number_are_both_kept():
    found = ranked(
        named(0.9, "a", "the staging server listens on port 8080"),
        named(0.8, "b", "the staging server listens on port 8081"),
        named(0.3, "c", "use tabs"),
    )
    assert [(match.memory.id, match.copy_of) for match in found.matches] == [("a", None), ("b", None), ("c", None)]


@pytest.mark.parametrize(
    ("one", "other", "copies"),
    [
        ("a b c d e f g", "a b c d e f g", True),
        ("a b c d e f g", "a b c d e f h", True),
        ("a b c d e f g", "a b c x y z g", False),
        ("use v1.2 of the tool now", "use v1.3 of the tool now", False),
        ("use v1.2 of the tool now", "use v1.2 of the tool now please", True),
        ("", "", True),
        ("a", "", False),
    ],
)
def test_copies_share_nearly_all_words_and_every_number(one, other, copies):
    one_way, other_way = (is_copy(frozenset(a.split()), frozenset(b.split())) for a, b in ((one, other), (other, one)))
    assert (one_way, other_way) == (copies, copies)


def test_up_to_half_of_the_places_go_to_my_own_memories():
    others = [named(0.9 - n / 100, f"other-{n}", author="Bo") for n in range(9)]
    mine = [named(0.3 - n / 100, f"mine-{n}", author="Ann") for n in range(4)]
    found = ranked(*others, *mine, limit=5, is_mine=lambda memory: memory.author == "Ann")
    assert ids(found) == ["other-0", "other-1", "other-2", "mine-0", "mine-1"]


def test_my_own_memories_take_more_than_half_where_they_are_the_best():
    mine = [named(0.9 - n / 100, f"mine-{n}", author="Ann") for n in range(4)]
    found = ranked(*mine, named(0.1, "other", author="Bo"), limit=4, is_mine=lambda memory: memory.author == "Ann")
    assert ids(found) == ["mine-0", "mine-1", "mine-2", "mine-3"]


def test_where_all_are_my_own_or_none_is_the_authors_make_no_difference():
    text = "the nightly backup runs at two and writes to the second bucket"
    scored = [
        named(0.9 - n / 100, f"m{n}", f"{text} {word}" if n < 2 else f"{word} is another", author=word)
        for n, word in enumerate("too also often again daily still".split())
    ]
    answers = [ranked(*scored, limit=3, is_mine=is_mine) for is_mine in (nobody, lambda _: True)]
    assert [ids(answer) for answer in answers] == [["m0", "m2", "m3"]] * 2


def test_my_own_memories_do_not_enter_the_gate():
    scored = [named(0.9, "other", author="Bo"), named(0.2, "mine", author="Ann")]
    assert ranked(*scored, is_mine=lambda memory: memory.author == "Ann").gate == confidence(0.9)


def boosts(**by_id: float):
    return lambda _scope, memory: by_id[memory.id]


def test_a_boost_decides_between_near_equals_and_never_against_a_better_match():
    near = 0.5 * (1 + BOOST) - 0.001
    assert ids(ranked(named(near, "a"), named(0.5, "b"), allow=boosts(a=0.0, b=1.0))) == ["b", "a"]
    better = 0.5 * (1 + BOOST) + 0.001
    assert ids(ranked(named(better, "a"), named(0.5, "b"), allow=boosts(a=0.0, b=1.0))) == ["a", "b"]


@pytest.mark.parametrize("limit", [1, 2, 15])
def test_boosts_and_the_limit_never_enter_the_gate(limit):
    scored = [named(0.52, "a"), named(0.5, "b"), named(0.1, "c")]
    gates = [
        ranked(*scored, limit=limit, allow=boosts(a=x, b=y, c=z)).gate
        for x, y, z in ((0, 0, 0), (1, 1, 1), (0, 1, 1), (1, 0, 0))
    ]
    assert gates == [confidence(0.52)] * 4


def test_without_a_match_there_is_no_gate():
    empty = ranked()
    assert empty == Ranking(matches=(), gate=0.0, weight_of_meaning=0.12, account=empty.account)
    rejected = ranked(named(0.9, "a"), allow=lambda *_: None)
    assert (rejected.matches, rejected.gate, rejected.refused) == ((), 0.0, {"a": confidence(0.9)})


def test_a_quoted_phrase_counts_extra_and_is_a_part_of_the_score():
    query = parse('the "green build" rule', Tokenizer())
    found = ranked(named(0.4, "a", "a build that is green"), named(0.3, "b", "wait for the Green\n build"), query=query)
    assert [(m.memory.id, m.parts.phrase, m.parts.score) for m in found.matches] == [
        ("b", PHRASE, 0.3 + PHRASE),
        ("a", 0.0, 0.4),
    ]


def test_a_quoted_phrase_counts_though_many_memories_hold_its_words():
    query = parse('"green build"', Tokenizer())
    crowd = [named(0.4, f"no-{n:03}", f"build number {n} was green") for n in range(100)]
    assert ids(ranked(*crowd, named(0.3, "yes", "wait for a green build"), query=query))[0] == "yes"


def test_of_what_was_not_allowed_is_told_how_sure_it_was_and_nobody_looks_at_more_than_is_weighed():
    found = ranked(named(0.3, "b"), named(0.1, "a"), named(0.05, "weak"), allow=lambda *_: None, weighed=2)
    assert (ids(found), found.refused) == ([], {"b": confidence(0.3), "a": confidence(0.1)})
    assert confidence(0.3) > confidence(0.1) > 0


def test_a_quoted_phrase_that_many_have_hardly_counts():
    query = parse("why does `make up` fail after a reboot", Tokenizer())
    crowd = [named(0.1, f"no-{n}", f"`make up` takes option {n}") for n in range(6)]
    found = ranked(*crowd, named(0.15, "yes", "after a reboot the socket is left"), query=query)
    assert ids(found)[0] == "yes"
    assert found.matches[1].parts.phrase == PHRASE / 6
