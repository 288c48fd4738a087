"""The terms of each record as numbers: what the forward index says is what the text says, and no text is split for it."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime

from searching import ask, change, record

from memsync.index.bulk import fill, load_arrays, make_index
from memsync.index.cold import Cold
from memsync.index.core import Index
from memsync.index.database import Database, Row
from memsync.index.rank import Record
from memsync.index.tokens import Tokenizer
from memsync.records import Change

DAY = datetime(2026, 3, 1, tzinfo=UTC)
RECORDS = [
    record("a", "deploy the api, then deploy the web app", tags=("CI", "deploy"), created_at=DAY),
    record("b", "the and of", anchors=("src/auth/login.py",)),
    record("c", "run src/auth/login.py first", cues=("how to log in", "sign on"), anchors=("src/auth/login.py",)),
    record("d", "", tags=("empty",)),
    record("e", "日本語のテキスト at v1.2.3", created_at=DAY, anchors=("a/b.py", "c/d.py:main")),
]
LATE = record("f", "a late record on kubernetes", tags=("new",), cues=("k8s",), anchors=("deploy/k8s.yaml",))


def check(index: Index, records: list[Record]) -> None:
    """See that *index* knows of each of *records* what its text says."""
    slots = {held[1].id: slot for slot, held in enumerate(index.vectors()[0]) if held}
    assert slots.keys() == {memory.id for _, memory in records}
    for _, memory in records:
        assert index._said.read(slots[memory.id]) == Tokenizer().read(memory), memory.id


def test_what_a_record_says_is_what_its_text_says():
    check(make_index(RECORDS, None), RECORDS)
    check(make_index(RECORDS[:1], None), RECORDS[:1])


def test_what_came_late_is_said_too_and_what_went_is_not_held():
    index = make_index(RECORDS, None)
    index.apply("project", [Change("f", None, LATE[1]), change("a", None)])
    check(index, [*RECORDS[1:], LATE])
    index.apply("project", [Change("f", LATE[1], None)])
    check(index, RECORDS[1:])
    assert not index._said._late


def test_a_question_splits_no_text_that_is_in_the_database(monkeypatch):
    index = make_index(RECORDS, None)
    rows = Database(sqlite3.connect(":memory:"))
    fill(rows, [Row(scope, memory, b"", is_plain=True) for scope, memory in RECORDS], Tokenizer(), None)
    alone = Cold(rows, RECORDS.__getitem__, None, stop_words=True)
    expected = [ask(one, "deploy the login web app") for one in (index, alone)]

    def refuse(self, memory):
        raise AssertionError(f"the text of {memory.id} was split")

    monkeypatch.setattr(Tokenizer, "read", refuse)
    index.apply("project", [Change("f", None, LATE[1])])
    assert len(ask(index, "kubernetes").matches) == 1
    assert [len(ask(one, "deploy the login web app").matches) for one in (index, alone)] == [
        len(answer.matches) for answer in expected
    ]
    assert expected[0] == expected[1]
    assert len(expected[0].matches) == 2


def test_an_index_that_does_not_hold_what_the_records_say_reads_them_and_answers_the_same():
    rows = Database(sqlite3.connect(":memory:"))
    fill(rows, [Row(scope, memory, b"", is_plain=True) for scope, memory in RECORDS], Tokenizer(), None)
    lean = Index(RECORDS, load_arrays(rows, has_vectors=False, is_lean=True), None)
    whole = make_index(RECORDS, None)
    for index in (lean, whole):
        index.apply("project", [Change("f", None, LATE[1]), change("a", None)])
    for query in ("deploy the login web app", "kubernetes", "how to log in"):
        assert ask(lean, query) == ask(whole, query)
        assert ask(lean, query).matches
