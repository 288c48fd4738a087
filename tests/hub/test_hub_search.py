"""A search over repositories ranks as a laptop does, and filters before it cuts."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from filling import bring, give, texts
from helpers import memory_line

from memsync.format.jsonl import current, read_lines
from memsync.hub import nominate
from memsync.hub.nominate import Filters
from memsync.index.core import Index
from memsync.index.sample import Whole

OWN = Path(__file__).parents[2] / ".gobby" / "memories.jsonl"
QUERIES = (
    "how is a secret found",
    "which imports are allowed",
    "embeder",
    "tests/test_architecture.py",
    "`memsync git merge-driver`",
    "what may a hook load",
    "zebra crossing",
    "merging",
    "release",
)


@pytest.fixture
def own(make):
    """Return a repository with the memories of this project."""
    return make("own", *OWN.read_text(encoding="utf-8").splitlines())


def test_scores_confidence_and_order_are_those_of_the_local_index(hub, own):
    bring(hub, own)
    lines = current(read_lines(own.memories.read_bytes())).values()
    records = [("project", line.memory) for line in lines if line.memory and line.memory.archived_at is None]
    index = Index(records, hub.meaning)
    for query in QUERIES:
        local = index.search(query, limit=15, allow=lambda _, memory: memory.importance)
        found = hub.search(query, principal="alice")
        assert [hit.memory.id for hit in found.hits] == [match.memory.id for match in local.matches], query
        assert [hit.score for hit in found.hits] == pytest.approx([match.parts.score for match in local.matches])
        assert [hit.confidence for hit in found.hits] == pytest.approx([m.confidence for m in local.matches])
        assert found.gate == pytest.approx(local.gate)


def test_a_hit_names_its_repository_and_its_line(hub, make):
    bring(hub, make("one", "ports begin at 8000", "the tests need docker"))
    (hit,) = hub.search("docker", principal="alice").hits
    assert (hit.repository, hit.link.rpartition("/.gobby/")[2]) == ("org/one", "memories.jsonl:2")


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("https://github.com/o/r.git", "https://github.com/o/r/blob/c0ffee/.gobby/memories.jsonl#L7"),
        ("git@github.com:o/r.git", "https://github.com/o/r/blob/c0ffee/.gobby/memories.jsonl#L7"),
        ("ssh://git@gitlab.example.org:2222/g/s/r.git", "https://gitlab.example.org/g/s/r/-/blob/c0ffee/.gobby/memories.jsonl#L7"),
        ("https://user@gitlab.com/g/r", "https://gitlab.com/g/r/-/blob/c0ffee/.gobby/memories.jsonl#L7"),
        ("/srv/git/r", "/srv/git/r/.gobby/memories.jsonl:7"),
    ],
)  # fmt: skip
def test_a_link_leads_to_the_line_at_its_commit(url, link):
    from memsync.hub.search import link_to

    assert link_to(url, nominate.Nominee(1, 1, "memory", None, 7, "c0ffee", None)) == link


def test_filters_come_before_the_cut(hub, make, monkeypatch):
    monkeypatch.setattr(nominate, "BY_WORDS", 3)
    monkeypatch.setattr(nominate, "BY_MEANING", 3)
    many = [memory_line(f"mm-a{n}", f"docker docker docker number {n}") for n in range(9)]
    wanted = memory_line(
        "mm-z", "docker is needed by the tests of the payment service", tags=["CI"], type="pattern", importance=0.9
    )
    other = make("other", "docker is used here as well, for the registry and its mirror")
    bring(hub, make("one", *many, wanted), other)

    def found(**chosen):
        return texts(hub.search("docker", principal="alice", filters=Filters(**chosen)))

    text = json.loads(wanted)["content"]
    assert text not in found()
    assert found(tags_all=("ci",)) == found(tags_any=("CI", "x")) == found(memory_type="pattern") == [text]
    assert found(min_importance=0.8) == [text]
    assert text not in found(tags_none=("ci",))
    assert found(repositories=("org/other",)) == ["docker is used here as well, for the registry and its mirror"]
    assert found(repositories=("org/nobody",)) == []


def test_the_graph_is_walked_on_until_what_may_be_read_is_found(hub, make, monkeypatch):
    words = "docker node python port cache queue token login retry batch mail page index shard proxy".split()
    draw = random.Random(7)
    crowd = make("crowd", *(" ".join(draw.sample(words, 5)) for _ in range(150)))
    small = make("small", "shard proxy retry is done by the gateway alone")
    bring(hub, crowd, to="root")
    bring(hub, small)
    give(hub, "root", small)
    monkeypatch.setattr(nominate, "FEW", 0)
    monkeypatch.setattr(nominate, "by_words", lambda *_: [])
    monkeypatch.setattr(nominate, "BY_MEANING", 5)
    found = hub.search("shard proxy retry by the gateway", principal="alice")
    assert texts(found) == ["shard proxy retry is done by the gateway alone"]
    assert hub.search("shard proxy", principal="root").records == 151


def test_the_rarest_terms_nominate_within_what_their_postings_cost():
    seen = {f"t{n:02}": 10 ** (n % 7) for n in range(20)}
    whole = Whole(2_000_000, 1e7, 1e8, seen, 2_000_000)
    chosen = nominate.choose_terms(whole, list(seen))
    assert [seen[term] for term in chosen] == [1, 1, 1, 10, 10, 10, 100, 100, 100, 1000, 1000, 1000]
    common = {f"t{n}": 1_000_000 for n in range(9)}
    assert len(nominate.choose_terms(whole._replace(seen=common), list(common))) == 2
    assert len(nominate.choose_terms(whole._replace(seen=common), list(common), share=0.001)) == 9
    assert nominate.choose_terms(whole, ["unknown"]) == []


def test_a_typo_finds_words_that_any_repository_has(hub, make):
    bring(hub, make("one", "the reconciliation job runs at night", "ports begin at 8000"))
    assert texts(hub.search("reconcilation", principal="alice")) == ["the reconciliation job runs at night"]


def test_names_and_values_that_differ_are_not_folded_into_one(hub, make):
    bring(hub, make("a", "the service listens on port 8080"), make("b", "the service listens on port 8081"))
    found = hub.search("which port does the service listen on", principal="alice")
    assert sorted(texts(found)) == ["the service listens on port 8080", "the service listens on port 8081"]
    assert [hit.copy_of for hit in found.hits] == [None, None]


def test_what_a_memory_says_is_quoted(hub, make):
    bring(hub, make("one", "the parser of pages takes <Button> as a word"))
    (hit,) = hub.search("parser", principal="alice").as_dict()["memories"]
    assert hit["content"] == "the parser of pages takes &lt;Button> as a word"
