"""Suites of judged questions: how they are read, asked and scored. The figures are worked out by hand."""

from __future__ import annotations

import json
from math import log2
from pathlib import Path

import pytest

from memsync.agents.recall_suite import Answer, Query, Report, ask, auroc, count_facts, measure, read_suite, together
from memsync.errors import ImportFailed, MemsyncError

CORPUS = (
    {"id": "port", "content": "The staging database listens on port 5433"},
    {"id": "node", "content": "CI needs Node 20", "type": "preference", "tags": ["zebra"]},
    {"id": "tabs", "content": "Makefiles are indented with tabs"},
)
QUERIES = (
    {"qid": "q1", "kind": "short", "text": "staging database port"},
    {"qid": "q2", "kind": "short", "text": "zebra"},
    {"qid": "q3", "kind": "na_chat", "text": "xylophone"},
    {"qid": "q4", "kind": "long", "text": "tabs"},
)
QRELS = (
    {"qid": "q1", "id": "port", "rel": 2, "evidence": ["seen"]},
    {"qid": "q2", "id": "node", "rel": 1},
    {"qid": "q2", "id": "port", "rel": 0},
    {"qid": "q4", "id": "tabs", "rel": 0},
)


def lines(rows) -> str:
    return "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def write(tmp_path):
    def write(corpus=CORPUS, queries=QUERIES, qrels=QRELS) -> Path:
        for name, rows in (("corpus", corpus), ("queries", queries), ("qrels", qrels)):
            (tmp_path / f"{name}.jsonl").write_text(lines(rows))
        return tmp_path

    return write


def answer(kind="short", rels=None, ids=(), gate=0.0, degraded="", injected=None) -> Answer:
    query = Query(qid="q", kind=kind, text="text", rels=rels or {})
    ranked = [(id_, 1.0) for id_ in ids]
    return Answer(query=query, ranked=ranked, gate=gate, degraded=degraded, injected=injected)


# one ranking


def test_a_ranking_is_measured_as_by_hand():
    ideal = 3 / log2(2) + 1 / log2(3) + 1 / log2(4)
    assert measure({"best": 2, "good": 1, "other": 1, "bad": 0}, ["good", "unjudged", "best"]) == pytest.approx(
        {
            "hit@1": 0,
            "hit@5": 1,
            "hit@10": 1,
            "recall@10": 2 / 3,
            "nDCG@5": (1 / log2(2) + 3 / log2(4)) / ideal,
            "nDCG@10": (1 / log2(2) + 3 / log2(4)) / ideal,
            "MRR": 1 / 3,
        }
    )


def test_a_ranking_without_anything_relevant_scores_nothing():
    assert set(measure({"best": 1}, ["x", "y"]).values()) == {0.0}
    assert set(measure({"best": 1}, []).values()) == {0.0}


def test_a_hit_is_of_the_best_level_that_the_question_has():
    assert measure({"a": 1}, ["a"])["hit@1"] == 1
    assert measure({"a": 1, "b": 2}, ["a"])["hit@10"] == 0


@pytest.mark.parametrize(("rank", "hits"), [(1, (1, 1, 1)), (5, (0, 1, 1)), (6, (0, 0, 1)), (10, (0, 0, 1))])
def test_the_rank_of_the_best_decides_which_hits_count(rank, hits):
    found = measure({"best": 1}, [*"abcdefghi"[: rank - 1], "best"])
    assert tuple(found[f"hit@{k}"] for k in (1, 5, 10)) == hits
    assert found["MRR"] == 1 / rank
    assert found["nDCG@5"] == pytest.approx(1 / log2(rank + 1) if rank <= 5 else 0)
    assert found["nDCG@10"] == pytest.approx(1 / log2(rank + 1))


def test_recall_is_out_of_ten_when_more_than_ten_are_relevant():
    rels = dict.fromkeys("abcdefghijkl", 1)
    assert measure(rels, [*"abc"])["recall@10"] == 0.3
    assert measure(rels, [*"abcdefghijkl"])["recall@10"] == 1


def test_five_of_seven_equal_ones_are_all_that_the_first_five_can_hold():
    found = measure(dict.fromkeys("abcdefg", 1), [*"abcde"])
    assert (found["nDCG@5"], found["nDCG@10"] < 1) == (1, True)


def test_the_gates_of_the_two_sides_are_compared_pair_by_pair_with_ties_as_half():
    assert auroc([3, 2], [1, 2]) == 0.875
    assert auroc([1], [2, 3]) == 0
    assert (auroc([], [1]), auroc([1], [])) == (None, None)


# many answers


def test_a_report_counts_by_kind_and_leaves_out_questions_without_a_relevant_record():
    report = Report(
        name="mine",
        records=7,
        answers=[
            answer("short", {"a": 1}, ["a"], gate=0.9),
            answer("short", {"a": 1}, ["b", "a"], gate=0.4),
            answer("long", {"a": 1}, [], gate=0.0),
            answer("long", {"a": 0}, ["a"], gate=0.9),
            answer("na_x", {}, ["a"], gate=0.2),
        ],
    )
    found = report.as_dict()
    assert (found["suite"], found["records"], found["left_out"], found["degraded"]) == ("mine", 7, 1, "")
    assert {kind: row["n"] for kind, row in found["kinds"].items()} == {"short": 2, "long": 1, "na_x": 1}
    assert (found["kinds"]["short"]["hit@1"], found["kinds"]["short"]["MRR"]) == (0.5, 0.75)
    assert (found["answerable"]["n"], found["answerable"]["hit@5"]) == (3, 0.6667)
    assert found["unanswerable"] == found["kinds"]["na_x"] == {"n": 1}
    assert found["auroc"] == 0.6667


def test_judgements_of_an_unanswerable_question_make_it_no_answerable_one():
    found = Report(name="", records=1, answers=[answer("na_x", {"a": 1}, ["a"])]).as_dict()
    assert (found["answerable"]["n"], found["unanswerable"]["n"], found["left_out"]) == (0, 1, 0)


def test_the_facts_of_what_is_shown_are_counted_as_by_hand():
    facts = {"a": ("f1", "f2"), "b": ("f2",), "c": ("f3",)}
    found = count_facts(["a", "b", "x", "y"], facts, {"a": 2, "b": 1, "c": 1, "y": 1})
    assert found == {"facts": 2, "repeats": 0.25, "off": 0.25, "fact recall": 2 / 3}
    assert count_facts([], facts, {}) == {"facts": 0, "repeats": None, "off": None, "fact recall": 0}
    assert count_facts([*"cccccba"], {"a": [*"12345678"], "b": "9", "c": "c"}, {})["fact recall"] == 1 / 5


def test_facts_are_told_where_a_suite_names_them(write):
    folder = write()
    (folder / "facets.jsonl").write_text('{"qid": "q1", "id": "port", "facts": ["f1"]}\n')
    found = ask(read_suite(folder), None).as_dict()
    assert (found["kinds"]["short"]["facts"], found["kinds"]["short"]["off"]) == (1, 0)
    (folder / "facets.jsonl").write_text('{"qid": "nobody", "id": "port", "facts": []}\n')
    with pytest.raises(ImportFailed, match=r"facets\.jsonl:1: the query is not in queries\.jsonl"):
        read_suite(folder)


def test_injection_is_a_share_of_both_sides_and_hits_only_where_it_happens():
    answers = [
        answer("short", {"a": 1}, ["a"], injected=["a"]),
        answer("short", {"a": 1}, ["a"], injected=[]),
        answer("short", {"a": 1}, [*"bcdefa"], injected=[*"bcdef"]),
        answer("na_x", {}, ["a"], injected=["a"]),
        answer("na_y", {}, ["a"], injected=[]),
    ]
    found = Report(name="", records=1, answers=answers).as_dict()
    assert (found["answerable"]["injected"], found["answerable"]["injected hit@5"]) == (0.6667, 0.3333)
    assert found["answerable"]["hit@5"] == 0.6667
    assert found["unanswerable"] == {"n": 2, "injected": 0.5, "headlines": 0.0}
    assert found["kinds"]["na_x"] == {"n": 1, "injected": 1.0, "headlines": 0.0}


def test_a_report_of_nothing_has_no_figures():
    found = Report(name="", records=0, answers=[]).as_dict()
    assert found["answerable"] == {"n": 0} | dict.fromkeys(set(found["answerable"]) - {"n"})
    assert (found["kinds"], found["unanswerable"], found["auroc"]) == ({}, {"n": 0}, None)


def test_together_every_question_counts_once():
    one = Report(name="one", records=2, answers=[answer(rels={"a": 1}, ids="a")])
    three = Report(name="three", records=3, answers=[answer(rels={"a": 1}, ids="b", degraded="why")] * 3)
    found = together([one, three]).as_dict()
    assert (found["records"], found["degraded"]) == (5, "why")
    assert (found["answerable"]["n"], found["answerable"]["hit@1"]) == (4, 0.25)


def test_the_line_of_a_run_has_what_an_outside_scorer_needs():
    one = answer(ids="ab", gate=0.75)
    ranked = [{"id": "a", "score": 1.0}, {"id": "b", "score": 1.0}]
    assert one.as_dict() == {"qid": "q", "ranked": ranked, "gate": 0.75}
    given = answer(ids="ab", gate=0.75, injected=("b",))
    assert given.as_dict() == {"qid": "q", "ranked": ranked, "gate": 0.75, "injected": ["b"], "folded": []}


# asking


def test_a_suite_is_indexed_and_asked_as_a_project_is(write):
    report = ask(read_suite(write()), None)
    assert [one.query.qid for one in report.answers] == ["q1", "q2", "q3", "q4"]
    assert [one.ids[:1] for one in report.answers] == [["port"], ["node"], [], ["tabs"]]
    found = report.as_dict()
    assert (found["records"], found["left_out"], found["answerable"]["n"]) == (3, 1, 2)
    assert found["answerable"]["hit@1"] == found["auroc"] == 1
    assert "injected" not in found["unanswerable"]


def test_a_ranking_is_as_long_as_was_asked_for(write):
    report = ask(
        read_suite(write([{"id": f"r{n}", "content": f"tabs {n}"} for n in range(20)], qrels=())), None, depth=12
    )
    assert [len(one.ids) for one in report.answers] == [0, 0, 0, 12]


def test_asking_goes_through_the_given_tracker(write):
    seen = []
    ask(read_suite(write()), None, track=lambda queries: (seen.append(query.qid) or query for query in queries))
    assert seen == ["q1", "q2", "q3", "q4"]


def test_archived_records_are_not_found(write):
    corpus = [{**record, "archived_at": "2026-01-01T00:00:00Z"} for record in CORPUS]
    assert [one.ids for one in ask(read_suite(write(corpus=corpus)), None).answers] == [[], [], [], []]


# reading


def test_records_are_read_with_the_codec_and_the_last_of_an_id_counts(write):
    again = {"id": "node", "content": "CI needs Node 22", "type": "preference", "tags": ["ci"], "unknown": 1}
    suite = read_suite(write(corpus=[*CORPUS, "\n", again, {"id": "tabs", "deleted_at": "2026-01-01"}], qrels=[]))
    memories = {memory.id: memory for memory in suite.records}
    assert list(memories) == ["port", "node"]
    assert (memories["node"].content, memories["node"].memory_type) == ("CI needs Node 22", "preference")
    assert memories["node"].tags == ("ci",)


def test_a_byte_order_mark_blank_lines_and_carriage_returns_are_no_trouble(write):
    queries = ["\ufeff", *lines(QUERIES).replace("\n", "\r\n\r\n").splitlines(keepends=True)]
    assert [query.qid for query in read_suite(write(queries=queries)).queries] == ["q1", "q2", "q3", "q4"]


def test_the_last_judgement_of_a_pair_counts(write):
    suite = read_suite(write(qrels=[*QRELS, {"qid": "q1", "id": "port", "rel": 1}]))
    assert suite.queries[0].rels == {"port": 1}


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"corpus": [CORPUS[0], "{\n"]}, "corpus.jsonl:2: not JSON"),
        ({"corpus": [{"id": "a"}]}, "corpus.jsonl:1: no content"),
        ({"queries": [QUERIES[0], "\n", "nonsense\n"]}, "queries.jsonl:3: not JSON"),
        ({"queries": ["[]\n"]}, "queries.jsonl:1: not a JSON object"),
        ({"queries": [{"qid": 1, "kind": "short", "text": "x"}]}, "queries.jsonl:1: the qid is missing or not text"),
        ({"queries": [{"qid": "q", "text": "x"}]}, "queries.jsonl:1: the kind is missing or not text"),
        ({"queries": [QUERIES[0], QUERIES[0]]}, "queries.jsonl:2: query 'q1' is there twice"),
        ({"qrels": [QRELS[0], {"qid": "q9", "id": "port", "rel": 1}]}, "qrels.jsonl:2: there is no query 'q9'"),
        ({"qrels": [{"qid": "q1", "id": "nix", "rel": 1}]}, "qrels.jsonl:1: there is no record 'nix'"),
        ({"qrels": [{"qid": "q1", "id": "port"}]}, "qrels.jsonl:1: rel is not a whole number"),
        ({"qrels": [{"qid": "q1", "id": "port", "rel": True}]}, "qrels.jsonl:1: rel is not a whole number"),
        ({"qrels": [{"qid": "q1", "id": "port", "rel": -1}]}, "qrels.jsonl:1: rel is not a whole number"),
    ],
)
def test_what_cannot_be_read_is_named_with_file_and_line(write, files, says):
    with pytest.raises(ImportFailed) as caught:
        read_suite(write(**files))
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.jsonl"])
def test_a_missing_file_is_named(write, name):
    suite = write()
    (suite / name).unlink()
    with pytest.raises(ImportFailed, match=f"{name}: no such file"):
        read_suite(suite)


def test_a_folder_in_place_of_a_file_is_an_expected_failure(tmp_path):
    (tmp_path / "corpus.jsonl").mkdir()
    with pytest.raises(MemsyncError):
        read_suite(tmp_path)
