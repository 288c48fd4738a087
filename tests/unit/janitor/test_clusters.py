"""How likely copies become clusters: strongest links first, none too large, the best record kept, nothing shown for ever."""

from __future__ import annotations

import pytest

from memsync.index.likeness import find_lost
from memsync.janitor.clusters import Kept, Link, group, propose
from memsync.records import Memory


def kept(id_: str, text: str, scope: str = "project", **fields: object) -> Kept:
    return Kept(scope, Memory(id=id_, content=text, **fields))


def test_the_strongest_links_join_first_and_no_group_grows_too_large():
    links = [Link(0.8, 0, 1), Link(0.9, 1, 2), Link(0.7, 3, 4)]
    assert group(links, [4, 4, 4, 4, 4], lambda *_: True, 8) == [[1, 2], [3, 4]]
    assert group(links, [4, 4, 4, 4, 4], lambda *_: True, 12) == [[0, 1, 2], [3, 4]]


def test_what_contradicts_joins_no_cluster_and_what_is_settled_is_not_shown_again():
    records = [
        kept("a", "GPU tests are skipped by default"),
        kept("b", "Nobody runs the tests of the GPU unless asked"),
        kept("c", "GPU tests are not skipped by default"),
    ]
    links = [Link(0.95, 0, 2), Link(0.9, 0, 1)]
    (merge,) = propose(records, links, lambda *_: False)
    assert {merge.keep, *merge.drop} == {"a", "b"}
    assert list(propose(records, links, lambda *_: True)) == []


def test_the_record_that_loses_least_is_kept_then_what_a_person_wrote():
    short, rich = kept("a", "Run make fmt first"), kept("b", "Run make fmt 1.2 first, always")
    (merge,) = propose([short, rich], [Link(0.9, 0, 1)], lambda *_: False)
    assert (merge.keep, merge.drop) == ("b", ("a",))
    agent, user = (
        kept(id_, f"Run make fmt{end}", source_type=who)
        for id_, end, who in (("a", " first", "session"), ("b", "", "user"))
    )
    (merge,) = propose([agent, user], [Link(0.9, 0, 1)], lambda *_: False)
    assert merge.keep == "b"


def test_only_what_is_private_goes_for_what_lies_elsewhere():
    mine, ours, everywhere = (kept(s[:3], "Run make fmt first", s) for s in ("private", "project", "global"))
    (merge,) = propose([mine, ours], [Link(1.0, 0, 1)], lambda *_: False)
    assert (merge.keep, merge.drop) == ("pro", ("pri",))
    assert list(propose([everywhere, ours], [Link(1.0, 0, 1)], lambda *_: False)) == []


@pytest.mark.parametrize(
    ("dropped", "lost"),
    [
        ("call_tool needs server_name (Turn 46): 'server_name Field required [type=missing] error 3'", []),
        ("call_tool needs server_name, noted 2026-03-01", []),
        ("As of 12 March 2026 call_tool needs server_name (session 9f3a2b, turns 12-14)", []),
        ("call_tool needs server_name. Observed on March 3, 2026 at 14:05", []),
        ("call_tool needs server_name and tool_name by 2026-03-01", ["tool_name", "2026-03-01"]),
        ("The deadline is 12 March 2026; call_tool needs server_name", ["12", "march", "2026"]),
        ("call_tool needs server_name; a session 30 minutes long ends", ["30"]),
        ("Turn 46 of the screw is the last; call_tool needs server_name", ["46"]),
        ("call_tool needs server_name; set 'port 8081' there", ["8081"]),
    ],
)
def test_where_something_was_seen_is_no_value_and_an_identifier_is_one(dropped, lost):
    assert find_lost("call_tool needs the field server_name", dropped) == lost
