"""How often a hit of a given confidence is relevant."""

from __future__ import annotations

from memsync.agents.recall_suite import BINS, Answer, Query, count_bins


def answer(kind: str, rels: dict[str, int], **sure: float) -> Answer:
    query = Query(qid="q", kind=kind, text="", rels=rels)
    return Answer(query=query, ranked=[(id_, 1.0) for id_ in sure], confidences=sure)


def test_each_hit_counts_in_the_tenth_of_its_confidence():
    found = count_bins([answer("short", {"a": 2, "b": 1, "c": 0}, a=0.95, b=0.12, c=0.19, d=1.0)])
    assert (len(found), found[1]) == (BINS, {"from": 0.1, "to": 0.2, "n": 2, "relevant": 1, "share": 0.5})
    assert (found[9]["n"], found[9]["relevant"]) == (2, 1)
    assert (found[5]["n"], found[5]["share"]) == (0, None)


def test_what_has_no_answer_is_irrelevant_and_what_nobody_judged_or_weighed_is_left_out():
    found = count_bins([answer("na_chat", {}, a=0.5), answer("short", {}, a=0.5), answer("short", {"a": 1}, a=0.0)])
    assert [(one["n"], one["relevant"]) for one in found if one["n"]] == [(1, 0)]
