"""Which memories pass a filter, in what order they come without a query, and what a hit says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memsync.index.rank import Match, Parts
from memsync.index.scale import BOOST
from memsync.memories.filters import Filters, as_hit, hit_of, sort_by_importance
from memsync.memories.results import Entry, Hit, Recall
from memsync.records import Memory


def entry(id_: str = "a", scope: str = "project", effective: float = 0.5, **fields: object) -> Entry:
    memory = Memory(id=id_, content=f"text of {id_}", **fields)
    return Entry(memory=memory, scope=scope, effective_importance=effective)


@pytest.mark.parametrize(
    ("filters", "passes"),
    [
        ({}, True),
        ({"scopes": ("project", "global")}, True),
        ({"scopes": ("private",)}, False),
        ({"memory_type": "pattern"}, True),
        ({"memory_type": "fact"}, False),
        ({"tags_all": ("API", "db")}, True),
        ({"tags_all": ("api", "ui")}, False),
        ({"tags_any": ("ui", "Db")}, True),
        ({"tags_any": ("ui",)}, False),
        ({"tags_none": ("ui",)}, True),
        ({"tags_none": ("aPi",)}, False),
        ({"min_importance": 0.5}, True),
        ({"min_importance": 0.51}, False),
        ({"exclude": {"b"}}, True),
        ({"exclude": {"a"}}, False),
        ({"tags_any": ("api",), "memory_type": "fact"}, False),
    ],
)
def test_a_memory_counts_only_if_it_passes_every_filter(filters, passes):
    tagged = entry(memory_type="pattern", importance=0.9, tags=("api", "DB"))
    assert Filters(**filters).allow(tagged) is passes


def test_an_archived_memory_counts_only_where_it_is_asked_for():
    archived = entry(archived_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert (Filters().allow(archived), Filters(archived=True).allow(archived)) == (False, True)


def test_a_hit_explains_its_score_and_what_moved_it():
    found = entry("b", effective=0.5)
    match = Match("project", found.memory, Parts(0.3, 0.1, 0.0, 0.2), 0.5, copy_of="a")
    parts = {
        "lexical": 0.3,
        "semantic": 0.1,
        "identifier": 0.0,
        "phrase": 0.2,
        "place": 0.0,
        "wording": 0.0,
        "boost": 1 + BOOST / 2,
    }
    assert hit_of(match) == Hit(
        memory=found.memory,
        scope="project",
        effective_importance=0.5,
        score=match.parts.score,
        parts=pytest.approx(parts),
        copy_of="a",
    )


def test_without_a_match_there_is_no_score():
    found = entry(effective=0.5)
    expected = Hit(memory=found.memory, scope="project", effective_importance=0.5, score=0.0, parts={})
    assert as_hit(found) == expected


def test_a_recall_is_a_sequence_of_its_hits_and_says_how_far_to_trust_them():
    hits = tuple(as_hit(entry(id_)) for id_ in "abc")
    found = Recall(hits=hits, query="q", gate=0.123456, floor=0.125, degraded="no vectors")
    assert (len(found), found[0], found[1:], list(found)) == (3, hits[0], hits[1:], list(hits))
    assert found.as_dict() == {
        "query": "q",
        "count": 3,
        "memories": [hit.as_dict() for hit in hits],
        "gate": 0.1235,
        "floor": 0.125,
        "degraded": "no vectors",
    }
    assert (bool(Recall(hits=())), Recall(hits=()).as_dict()["count"]) == (False, 0)


def test_without_a_query_the_most_important_come_first_and_ties_go_by_id():
    entries = [entry("b"), entry("c", effective=0.9), entry("a"), entry("a", "global")]
    assert [(e.id, e.scope) for e in sort_by_importance(entries)] == [
        ("c", "project"),
        ("a", "global"),
        ("a", "project"),
        ("b", "project"),
    ]
