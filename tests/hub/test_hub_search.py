"""A search over repositories ranks as a laptop does, and filters before it cuts."""

from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path

import pytest
from filling import bring, give, texts
from helpers import memory_line

from memsync.format.jsonl import current, read_lines
from memsync.hub import binary, ingest, nominate
from memsync.hub.intake import MEMORIES, take
from memsync.hub.nominate import Filters, Nominees
from memsync.hub.sample import Sample, Whole
from memsync.index.bulk import make_index
from memsync.index.query import parse
from memsync.index.tokens import Tokenizer

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
ALLOW = lambda _, memory: memory.importance  # noqa: E731 - what ranks wants a function


@pytest.fixture
def own(make):
    """Return a repository with the memories of this project."""
    return make("own", *OWN.read_text(encoding="utf-8").splitlines())


def test_scores_confidence_and_order_are_those_of_the_local_index(hub, own):
    bring(hub, own)
    lines = current(read_lines(own.memories.read_bytes())).values()
    records = [("project", line.memory) for line in lines if line.memory and line.memory.archived_at is None]
    index = make_index(records, hub.meaning)
    for query in QUERIES:
        local = index.search(query, limit=15, allow=ALLOW)
        found = hub.search(query, principal="alice")
        assert [hit.memory.id for hit in found.hits] == [match.memory.id for match in local.matches], query
        assert [hit.score for hit in found.hits] == pytest.approx([match.parts.score for match in local.matches])
        assert [hit.confidence for hit in found.hits] == pytest.approx([m.confidence for m in local.matches])
        assert found.gate == pytest.approx(local.gate)


def test_records_that_answer_equally_well_stand_in_the_order_of_their_ids(hub, make):
    anchored = [
        memory_line(f"mm-{letter}", f"{word} wants a fresh database", anchors=["tests/test_tax.py"])
        for letter, word in zip("xyz", ("alpha", "bravo", "delta"), strict=True)
    ]
    bring(hub, make("one", *(memory_line(f"mm-{n:06d}", f"port {n} is free") for n in range(8)), *anchored))
    found = hub.search("tests/test_tax.py", principal="alice").hits
    assert len({round(hit.score, 6) for hit in found[:3]}) == 1
    assert [hit.memory.id for hit in found[:3]] == ["mm-x", "mm-y", "mm-z"]


ODD = (
    memory_line("mm-aaaaaa", "docker docker docker; the tests need docker, see tests/run_all.py and v1.2.3"),
    memory_line("mm-bbbbbb", "Ports begin at 8000 – naïve cafés 東京都の設定", tags=["docker", "Ports"], cues=["where is docker"]),
    memory_line("mm-cccccc", "of the and", created_at="2026-03-01T10:00:00Z"),
    memory_line("mm-dddddd", "the release is cut from main; " + "docker is not needed there, ports are; " * 40, importance=0.9),
    memory_line("mm-eeeeee", "?"),
)  # fmt: skip
SKILL = "---\nname: deploy\ndescription: How we deploy with docker\n---\nPush the tag, see tests/run_all.py. docker\n"
ASKED = (
    "docker",
    "tests/run_all.py `the tests need docker`",
    "which ports",
    "march 2026",
    "東京都",
    "v1.2",
    "cafe",
    "",
)


@pytest.mark.parametrize("kind", ["memory", "skill"])
def test_the_terms_that_were_counted_when_a_record_came_in_score_as_its_text_does(kind):
    files = {MEMORIES: "\n".join(ODD).encode(), ".claude/skills/deploy/SKILL.md": SKILL.encode()}
    rows = [row for row in take(files).rows if row.kind == kind]
    made, words = ingest.prepare(rows)
    local = make_index([("project", row.memory) for row in rows], None)
    fields = [(n, 7, row.memory.id, row.line, row.number, "c0ffee", one.length, binary.spell_counts(one.counts), None, None)
              for n, (row, one) in enumerate(zip(rows, made, strict=True))]  # fmt: skip
    nominees, tokenizer = Nominees(fields, kind), Tokenizer()
    for text in ASKED:
        query = parse(text, tokenizer)
        seen = {term: local._lexical.frequency(term) for term in words.union(query.terms)}
        lengths = [one.length for one in made]
        whole = Whole(len(rows), sum(lengths), sum(length**2 for length in lengths), seen, len(rows))
        sample = Sample(nominees.as_record, nominees.counted(), partial(ingest.key_of, kind), None, tokenizer, whole, sorted(words), None)  # fmt: skip
        ranked, expected = sample.answer(text, query, limit=9, allow=ALLOW), local.search(text, limit=9, allow=ALLOW)
        told = [(nominees.find(m.memory.id).memory.id, m.parts, m.confidence) for m in ranked.matches]
        assert told == [(m.memory.id, m.parts, m.confidence) for m in expected.matches]
        assert ranked.gate == expected.gate
    assert told == []  # nothing was asked last


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

    assert link_to(url, nominate.Nominee(1, 1, "memory", None, 7, "c0ffee")) == link


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


def test_copies_in_forks_are_one_hit_that_says_in_how_many_repositories_it_is(hub, make, monkeypatch):
    monkeypatch.setattr(nominate, "BY_WORDS", 4)
    monkeypatch.setattr(nominate, "BY_MEANING", 4)
    rules = [f"{'docker ' * (4 - n)}rule {n}" for n in range(3)]
    for number in range(5):  # a template's copies have other ids
        bring(hub, make(f"fork{number}", *(memory_line(f"mm-{number}{n}", text) for n, text in enumerate(rules))))
    bring(hub, make("own", "the registry is what docker pulls from, by night"))
    bring(hub, make("hidden", rules[1]), to="bob")
    found = hub.search("docker", principal="alice")
    assert sorted(texts(found)) == [*sorted(rules), "the registry is what docker pulls from, by night"]
    assert {hit.memory.content[-1]: hit.also_in for hit in found.hits} == {"0": 4, "1": 4, "2": 4, "t": 0}
    assert sum("also_in" in hit for hit in found.as_dict()["memories"]) == 3
    one = hub.search("docker", principal="alice", filters=Filters(repositories=("org/fork3",)))
    assert {(hit.repository, hit.also_in) for hit in one.hits} == {("org/fork3", 0)}


def test_what_stands_out_of_its_own_repository_is_not_pushed_out_by_one_in_which_all_share_words_with_the_question(
    hub, make
):
    chatter = "the order page, its invoice and the tax of a position were looked at in the meeting about step"
    loud = make("loud", *(f"{chatter} {n} by team {n * 7}" for n in range(12)))
    wanted = "tax is rounded for each position of an invoice"
    bring(hub, loud, make("terse", wanted, "mail goes through the outbox", "guests have no account"))
    asked = "is the tax of a position in the order page rounded"
    found = hub.search(asked, principal="alice")
    alone = hub.search(asked, principal="alice", filters=Filters(repositories=("org/loud",)))
    assert texts(found)[0] == wanted
    assert found.hits[0].score < found.hits[1].score
    assert [hit.score for hit in alone.hits] == sorted((hit.score for hit in alone.hits), reverse=True)


def test_what_a_memory_says_is_quoted(hub, make):
    bring(hub, make("one", "the parser of pages takes <Button></Button> as a word"))
    (hit,) = hub.search("parser", principal="alice").as_dict()["memories"]
    assert hit["content"] == "the parser of pages takes &lt;Button>&lt;/Button> as a word"
