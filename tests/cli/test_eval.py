"""`memsync eval recall`: figures of suites, as people and as programs see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import memsync

CORPUS = [
    {"id": "port", "content": "The staging database listens on port 5433"},
    {"id": "tabs", "content": "Makefiles are indented with tabs"},
]
QUERIES = [
    {"qid": "q1", "kind": "short", "text": "staging database port"},
    {"qid": "q2", "kind": "long", "text": "Makefiles indented with tabs"},
    {"qid": "q3", "kind": "na_chat", "text": "xylophone"},
    {"qid": "q4", "kind": "long", "text": "nobody has judged it"},
]
QRELS = [{"qid": "q1", "id": "port", "rel": 2}, {"qid": "q2", "id": "port", "rel": 1}]

TABLE = """\
mine: 2 records, 3 questions, 1 without a relevant record left out
                  n  hit@1  hit@5  hit@10  recall@10  nDCG@5  nDCG@10    MRR  injected  injected hit@5  headlines  served
short             1  1.000  1.000   1.000      1.000   1.000    1.000  1.000     1.000           1.000      0.000   1.000
long              1  0.000  0.000   0.000      0.000   0.000    0.000  0.000     1.000           0.000      0.000   0.000
na_chat           1                                                              0.000                      0.000
answerable        2  0.500  0.500   0.500      0.500   0.500    0.500  0.500     1.000           0.500      0.000   0.500
unanswerable      1                                                              0.000                      0.000
AUROC of answerable against unanswerable 1.000
"""


def write(folder: Path, prefix: str = "") -> Path:
    folder.mkdir()
    for name, rows in (("corpus", CORPUS), ("queries", QUERIES), ("qrels", QRELS)):
        named = [{**row, **({"qid": prefix + row["qid"]} if "qid" in row else {})} for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in named))
    return folder


def configure(folder: Path, text: str) -> None:
    (folder / ".git").mkdir()
    (folder / ".gobby").mkdir()
    (folder / ".gobby" / "config.yaml").write_text(text)


@pytest.fixture
def suite(tmp_path):
    return write(tmp_path / "mine")


def ask(*words: str | Path, cwd: Path):
    return memsync("eval", "recall", *map(str, words), "--embedder", "none", cwd=cwd)


def test_the_table_has_a_row_for_each_kind_and_for_both_sides(suite):
    ran = ask("mine", "--inject", cwd=suite.parent)
    assert (ran.code, ran.out, ran.err) == (0, TABLE, "")


def test_the_figures_come_as_one_json_object(suite):
    ran = ask("mine", "--json", cwd=suite.parent)
    assert ran.code == 0
    (found,) = ran.json["suites"]
    assert ran.json["overall"] == {**found, "suite": "overall"}
    assert (found["suite"], found["records"], found["left_out"], found["auroc"]) == ("mine", 2, 1, 1.0)
    assert (found["answerable"]["n"], found["answerable"]["hit@5"]) == (2, 0.5)
    assert list(found["kinds"]) == ["short", "long", "na_chat"]


def test_hits_are_counted_by_their_confidence(suite):
    ran = ask("mine", "--calibration", "--json", cwd=suite.parent)
    bins = ran.json["overall"]["calibration"]
    assert [(one["from"], one["to"]) for one in bins[:2]] == [(0.0, 0.1), (0.1, 0.2)]
    out = suite.parent / "run.jsonl"
    ask("mine", "--run", out, cwd=suite.parent)
    sure = [hit["confidence"] for line in out.read_text().splitlines() for hit in json.loads(line)["ranked"]]
    assert sum(one["n"] for one in bins) == len(sure) > 0
    assert sum(one["relevant"] for one in bins) == 1
    assert "| confidence | hits | relevant | share |" in ask("mine", "--calibration", cwd=suite.parent).out
    assert "confidence" not in ask("mine", cwd=suite.parent).out


def test_several_suites_get_a_table_each_and_one_over_all(suite):
    write(suite.parent / "other", "o")
    ran = ask("mine", "other", cwd=suite.parent)
    titles = [line for line in ran.out.splitlines() if "questions" in line]
    assert [title.partition(":")[0] for title in titles] == ["mine", "other", "overall"]
    assert titles[2].startswith("overall: 4 records, 6 questions, 2 without")


def test_a_run_holds_every_answer_of_every_suite_in_order(suite):
    write(suite.parent / "other", "o")
    out = suite.parent / "run.jsonl"
    assert ask("mine", "other", "--run", out, cwd=suite.parent).code == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["qid"] for line in lines] == ["q1", "q2", "q3", "q4", "oq1", "oq2", "oq3", "oq4"]
    assert all(set(line) == {"qid", "ranked", "gate"} for line in lines)
    assert lines[0]["ranked"][0]["id"] == "port"
    assert 0.35 < lines[0]["gate"] < 1
    assert lines[2] == {"qid": "q3", "ranked": [], "gate": 0.0}


def test_a_run_says_what_would_be_injected_when_asked(suite):
    out = suite.parent / "run.jsonl"
    ask("mine", "--inject", "--run", out, cwd=suite.parent)
    injected = [json.loads(line)["injected"] for line in out.read_text().splitlines()]
    assert injected[:3] == [["port"], ["tabs"], []]


def test_what_is_injected_goes_by_the_rules_of_a_session_at_the_time_given(suite):
    (suite / "corpus.jsonl").write_text(
        '{"id":"port","content":"The staging database listens on port 5433","created_at":"2020-01-01T00:00:00Z"}\n'
        '{"id":"low","content":"The staging database listens on port 5433 of db","importance":0.1}\n'
    )
    out = suite.parent / "run.jsonl"
    ran = ask("mine", "--inject", "--now", "2026-01-01", "--run", out, cwd=suite.parent)
    assert ran.code == 0
    assert json.loads(out.read_text().splitlines()[0])["injected"] == ["port"]
    ran = ask("mine", "--inject", "--now", "yesterday", cwd=suite.parent)
    assert (ran.code, "--now: 'yesterday' is not a time" in ran.err) == (2, True)


def test_what_is_anchored_is_there_for_the_session_that_is_asked(suite):
    anchors = '["src/tax.py#total", "src/", ".gobby/memories.jsonl", "../out.py", "docs/**"]'
    (suite / "corpus.jsonl").write_text(f'{{"id":"port","content":"VAT is rounded per line","anchors":{anchors}}}\n')
    (suite / "queries.jsonl").write_text('{"qid":"q1","kind":"short","text":"shorten src/tax.py"}\n')
    (suite / "qrels.jsonl").write_text('{"qid":"q1","id":"port","rel":1}\n')
    out = suite.parent / "run.jsonl"
    assert ask("mine", "--inject", "--run", out, cwd=suite.parent).code == 0
    assert json.loads(out.read_text())["injected"] == ["port"]


def test_the_embedder_of_the_settings_is_used_unless_another_is_named(suite, home):
    (home / ".gobby").mkdir()
    (home / ".gobby" / "config.yaml").write_text("memory:\n  embedder: nonsense\n")
    ran = memsync("eval", "recall", "mine", cwd=suite.parent)
    assert ran.code == 1
    assert "memory.embedder: 'nonsense'" in ran.err
    assert ask("mine", cwd=suite.parent).code == 0


def test_stop_words_count_where_the_settings_say_so(suite):
    (suite / "queries.jsonl").write_text('{"qid":"q1","kind":"short","text":"the"}\n')
    (suite / "qrels.jsonl").write_text('{"qid":"q1","id":"port","rel":1}\n')
    before = ask("mine", "--json", cwd=suite.parent).json
    configure(suite.parent, "memory:\n  stop_words: false\n")
    after = ask("mine", "--json", cwd=suite.parent).json
    assert [found["overall"]["answerable"]["hit@1"] for found in (before, after)] == [0, 1]


def test_nothing_is_written_but_the_run(suite):
    ask("mine", "--inject", cwd=suite.parent)
    assert sorted(path.name for path in suite.parent.rglob("*")) == [
        "corpus.jsonl",
        "mine",
        "qrels.jsonl",
        "queries.jsonl",
    ]


def test_what_is_wrong_with_a_suite_is_said_with_file_and_line(suite):
    with (suite / "qrels.jsonl").open("a") as file:
        file.write('{"qid":"q1","id":"gone","rel":1}\n')
    ran = ask("mine", cwd=suite.parent)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "memsync: mine/qrels.jsonl:3: there is no record 'gone' in corpus.jsonl; add it, or remove the line\n"
    )


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["nowhere"], 1, "nowhere/corpus.jsonl: no such file; a suite has"),
        (["mine", "--run", "no/such/folder"], 1, "no/such/folder: No such file or directory"),
        (["mine", "nowhere", "--run", "never.jsonl"], 1, "nowhere/corpus.jsonl"),
        ([], 2, "Missing argument 'SUITE...'"),
    ],
)
def test_a_failure_says_what_to_do_and_writes_no_run(suite, words, code, says):
    ran = ask(*words, cwd=suite.parent)
    assert ran.code == code
    assert says in ran.err
    assert not (suite.parent / "never.jsonl").exists()


def test_an_embedder_that_there_is_not_is_named(suite):
    ran = memsync("eval", "recall", "mine", "--embedder", "nonsense", cwd=suite.parent)
    assert ran.code == 1
    assert "--embedder: 'nonsense'" in ran.err
