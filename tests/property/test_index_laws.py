"""However an index came about, it gives the answers of a fresh one, to the last bit."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from helpers import sample
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from searching import BUILTIN, ask, change, finder, is_untouched, nobody, record, stores_in, values, write
from strategies import MARKERS, files, plain_lines

from memsync.index import cold, core, lexical, vectors
from memsync.index.bulk import make_index
from memsync.index.scale import LATE
from memsync.index.terms import term_key
from memsync.index.tokens import Tokenizer
from memsync.records import SCOPES

WORDS = (
    "deploy deploys deploying dpeloy employ cache caches cachet tests testa testb database databases the to be not "
    "parse_json parseJson parse_jsn src/auth/login.py login.py a1b2c3d4e5 a1b2c3d v1.2.3 1.2 #871 8080 8081 "
    "`auth/login.py:3` parse_json() src/auth/ Café cafe Größe 日本語 テキスト мы 🙂 don't MEMSYNC_HOME URLs x 429 rate limit throttle k8s"
).split()
NOW = datetime(2026, 11, 22, tzinfo=UTC)
IDS = ("a", "b", "c", "d", "e", "mm-1", "é")
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join) | st.text(max_size=12)
tags = st.lists(st.sampled_from(("ci", "code-style", "run", "runs", "run runs", "Größe")), max_size=3).map(tuple)
queries = st.lists(st.sampled_from((*WORDS, '"deploy cache"', "kubernetes")), min_size=1, max_size=5).map(" ".join)
keys = st.tuples(st.sampled_from(SCOPES), st.sampled_from(IDS))
cues = st.lists(st.sampled_from(("why does it run?", "logged out", "CI")), max_size=2).map(tuple)
anchors = st.lists(
    st.sampled_from(
        ("src/auth/login.py", "src/auth/", "login.py#parse_json", "*.py", "$ git push", "web/login.py@0123456789ab")
    ),
    max_size=2,
).map(tuple)
said = st.tuples(texts, tags, cues, anchors)
contents = st.dictionaries(keys, said, max_size=15)
steps = st.lists(
    st.tuples(
        st.sampled_from(SCOPES),
        st.lists(st.tuples(st.sampled_from(IDS), st.none() | said), max_size=9),
    ),
    max_size=8,
)
MEANINGS = pytest.mark.parametrize("meaning", [None, BUILTIN], ids=["words", "builtin"])
EMBEDDERS = pytest.mark.parametrize("embedder", ["none", "builtin"])
few = settings(max_examples=sample(30), suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True, params=["tight limits", "shipped limits"])
def limits(request) -> Iterator[None]:
    """Lower what small examples would never reach: the sieve, the overlay, what counts as many."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "tight limits":
            patch.setattr(lexical, "_OVERLAY_LIMIT", 2)
            patch.setattr(vectors, "SIEVED", 2)
            patch.setattr(cold, "SIEVED", 2)
        yield


def records_of(held) -> list[core.Record]:
    return [record(id_, text, scope, **fields_of(*said)) for (scope, id_), (text, *said) in sorted(held.items())]


def find_sharing(index, text) -> list[core.Record]:
    numbers = map(term_key, Tokenizer(stop_words=False).terms(text))
    return index.find_sharing(set(numbers), 0.3, limit=3, allow=lambda _, memory: None if memory.id == "b" else 0.0)


def fields_of(tags, cues, anchors) -> dict[str, tuple[str, ...]]:
    return {"tags": tags, "cues": cues, "anchors": anchors}


@pytest.mark.slow
@MEANINGS
@settings(max_examples=sample(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=contents, history=steps, asked=st.lists(queries, min_size=3, max_size=3))
def test_an_index_that_changed_step_by_step_equals_one_made_at_once(meaning, start, history, asked):
    held, grown = dict(start), make_index(records_of(start), meaning)
    for scope, changes in history:
        last = dict(changes)
        for id_, new in last.items():
            held.pop((scope, id_), None)
            held |= {(scope, id_): new} if new else {}
        grown.apply(
            scope,
            [change(id_, new[0], **fields_of(*new[1:])) if new else change(id_, None) for id_, new in last.items()],
        )
        ask(grown, asked[0])  # what a search remembers must not outlive the next change
    fresh = make_index(records_of(held), meaning)
    assert len(grown) == len(fresh)
    for query in asked:
        assert ask(grown, query) == ask(fresh, query)
        assert find_sharing(grown, query) == find_sharing(fresh, query)


@EMBEDDERS
@pytest.mark.parametrize("stop_words", [True, False])
@few
@given(held=contents, asked=st.lists(queries | texts, min_size=1, max_size=3), limit=st.integers(1, 20))
def test_the_cache_alone_gives_the_answer_of_the_warm_index(tmp_path, embedder, stop_words, held, asked, limit):
    how = {"embedder": embedder, "stop_words": stop_words}
    write(tmp_path, records_of(held))
    warm = finder(stores_in(tmp_path), **how)
    warm.index  # noqa: B018 - made and saved by looking at it
    for query in asked:
        stores = stores_in(tmp_path)
        one = finder(stores, **how)
        one.is_brief = True  # as in a hook, which asks more than once
        can_reach = {floor: one.can_reach(query, floor) for floor in (0.2, 0.35, 0.5)}
        alone = ask(one, query, limit)
        assert is_untouched(stores)
        assert alone == ask(warm, query, limit)
        assert find_sharing(one, query) == find_sharing(warm, query)
        assert all(can for floor, can in can_reach.items() if alone.gate >= floor)
        assert not alone.matches or one.can_reach(query, alone.gate)


@EMBEDDERS
@few
@given(before=contents, after=contents, kept=st.sets(keys), query=queries)
def test_an_index_from_a_stale_cache_equals_a_fresh_one(tmp_path, embedder, before, after, kept, query):
    write(tmp_path, records_of(before))
    finder(stores_in(tmp_path), embedder=embedder).index  # noqa: B018
    write(tmp_path, records_of({**after, **{key: new for key, new in before.items() if key in kept}}))
    fresh = ask(finder(stores_in(tmp_path), embedder=embedder, cached=False), query)
    assert ask(finder(stores_in(tmp_path), embedder=embedder), query) == fresh
    stores = stores_in(tmp_path)
    assert ask(finder(stores, embedder=embedder), query) == fresh
    assert is_untouched(stores)


writes = st.lists(
    st.tuples(
        st.sampled_from(SCOPES),
        st.lists(st.tuples(st.sampled_from(IDS), st.none() | said), min_size=1, max_size=4),
        st.sampled_from(("export", "append", "die", "two")),
    ),
    min_size=1,
    max_size=4,
)


def write_some(stores, scope, changes) -> None:
    """Write *changes*, (id, what it says or None), as the store of *scope* does for a command."""
    store = stores[scope]
    with store.writing():
        for id_, new in dict(changes).items():
            if new and not store.get(id_):
                store.write([record(id_, new[0], **fields_of(*new[1:]))[1]], {})
            elif new:
                store.update(
                    {id_: {"content": new[0]} | {name: list(one) for name, one in fields_of(*new[1:]).items()}}
                )
            elif store.get(id_):
                store.remove([id_], NOW)


@EMBEDDERS
@few
@given(before=contents, history=writes, asked=st.lists(queries | texts, min_size=1, max_size=3))
def test_the_cache_and_what_was_written_since_give_the_answer_of_a_fresh_index(
    tmp_path, embedder, before, history, asked
):
    for scope in SCOPES:
        shutil.rmtree(tmp_path / scope, ignore_errors=True)
    write(tmp_path, records_of(before))
    finder(stores_in(tmp_path), embedder=embedder).index  # noqa: B018
    is_known = True
    for scope, changes, then in history:
        stores = stores_in(tmp_path)
        made = finder(stores, embedder=embedder)
        write_some(stores, scope, changes)
        if then == "two":
            others = stores_in(tmp_path)
            other = finder(others, embedder=embedder)
            write_some(others, scope, [("e", ("deploy caches", (), (), ()))])
            other.save()
        if then == "export":
            stores[scope].export()
        if then != "die":
            made.save()
        is_known = is_known and then in ("export", "append")
    for query in asked:
        expected = ask(finder(stores_in(tmp_path), embedder=embedder, cached=False), query)
        stores = stores_in(tmp_path)
        assert ask(finder(stores, embedder=embedder), query) == expected
        assert is_untouched(stores) or not is_known
        is_known = True


@pytest.mark.parametrize("query", ["deploy caches", "dploy number1", "databse", "number1", "a place for rows", "zebra"])
def test_what_went_counts_no_more_and_what_came_does(tmp_path, query):
    write(tmp_path, [record(str(n), f"deploy caches number{n}") for n in range(6)])
    finder(stores_in(tmp_path), embedder="builtin").index  # noqa: B018
    for gone, came in (("1", "deploy the database"), ("2", "zebra crossing"), ("new1", "a shelf for tables")):
        stores = stores_in(tmp_path)
        made = finder(stores, embedder="builtin")
        write_some(stores, "project", [(gone, None), (f"new{gone}", (came, (), (), ()))])
        stores["project"].export()
        made.save()
    expected = ask(finder(stores_in(tmp_path), embedder="builtin", cached=False), query)
    stores = stores_in(tmp_path)
    assert ask(finder(stores, embedder="builtin"), query) == expected
    assert is_untouched(stores)


def test_many_writes_have_the_rows_made_anew(tmp_path, cached, monkeypatch):
    monkeypatch.setattr("memsync.memories.index_file.MOST", 1)
    stores = stores_in(tmp_path)
    made = finder(stores, embedder="builtin")
    write_some(stores, "project", [("x", ("deploying tests", (), (), ())), ("y", ("databases", ("ci",), (), ()))])
    made.save()
    stores = stores_in(tmp_path)
    assert "y" in ask(finder(stores, embedder="builtin"), "databases").ids
    assert is_untouched(stores)


@few
@example(data=b'<<<<<<< ours\n||||||| base\n{"content":"one","id":"0"}\n=======\n>>>>>>> theirs\n')
@given(data=files(plain_lines | st.sampled_from(MARKERS)))
def test_any_file_at_all_is_read_from_the_cache_as_from_the_file(tmp_path, data):
    path = tmp_path / "project" / "memories.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    query = "one two three é e a b 0 1"
    warm = finder(stores_in(tmp_path), stop_words=False)
    answers = [ask(made, query, 50) for made in (warm, warm, finder(stores_in(tmp_path), stop_words=False))]
    assert answers == [answers[0]] * 3


HELD = {
    (scope, id_): (text, ("ci",), ("logged out",), ("src/auth/login.py",))
    for scope, id_, text in zip(SCOPES * 3, "abcdeabcd", (" ".join(WORDS[n : n + 5]) for n in range(9)), strict=True)
}


@pytest.fixture
def cached(tmp_path) -> Path:
    write(tmp_path, records_of(HELD))
    made = finder(stores_in(tmp_path), embedder="builtin")
    made.index  # noqa: B018
    made.file.close()
    return made.file.path


QUERY = "deploying dpeloy parse_json the database `auth/login.py`"


@settings(max_examples=sample(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), damage=st.sampled_from(("cut", "gone", "text", "another database")))
def test_a_damaged_database_changes_no_answer_and_is_replaced(tmp_path, cached, at, damage):
    expected = ask(finder(stores_in(tmp_path), embedder="builtin", cached=False), QUERY)
    data = cached.read_bytes()
    cached.unlink()
    if damage == "another database":
        with closing(sqlite3.connect(cached)) as other:
            other.execute("CREATE TABLE meta (a, b, c)")
    elif damage != "gone":
        cached.write_bytes(data[: int(at * len(data))] + b"memories\n" * (damage == "text"))
    for _ in range(2):
        stores = stores_in(tmp_path)
        assert ask(finder(stores, embedder="builtin"), QUERY) == expected
    assert is_untouched(stores)


@pytest.mark.parametrize(
    "about",
    [
        {"version": 0},
        {"lexicon": 0},
        {"lexicon": None},
        {"embedder": "builtin-256-0123456789ab"},
        {"embedder": ""},
        {"stop_words": False},
        {"stamps": {}},
    ],
    ids=str,
)
def test_rows_of_another_version_change_no_answer_and_are_replaced(tmp_path, cached, about):
    expected = ask(finder(stores_in(tmp_path), embedder="builtin", cached=False), QUERY)
    with closing(sqlite3.connect(cached)) as rows, rows:
        if "stamps" not in about:
            rows.execute("UPDATE shape SET lengths = slots")
        rows.executemany(
            "UPDATE meta SET value = ? WHERE name = ?", [(json.dumps(v), name) for name, v in about.items()]
        )
    for _ in range(2):
        stores = stores_in(tmp_path)
        assert ask(finder(stores, embedder="builtin"), QUERY) == expected
    assert is_untouched(stores)


@MEANINGS
@few
@given(
    held=st.dictionaries(st.sampled_from(IDS), st.tuples(st.sampled_from(SCOPES), texts), max_size=7),
    allowed=st.sets(st.sampled_from(IDS)),
    query=queries,
)
def test_filters_take_hits_away_and_change_nothing_else(meaning, held, allowed, query):
    made = make_index([record(id_, text, scope) for id_, (scope, text) in held.items()], meaning)
    all_of_them = made.search(query, limit=50, allow=lambda *_: 0.5, is_mine=nobody)
    some = made.search(query, limit=50, allow=lambda _, m: 0.5 if m.id in allowed else None, is_mine=nobody)
    expected = {match[1]: match[:5] for match in values(all_of_them).matches if match[1] in allowed}
    assert {match[1]: match[:5] for match in values(some).matches} == expected
    assert some.gate == max(
        (match.confidence for match in all_of_them.matches if match.memory.id in allowed), default=0.0
    )
    kept = [match for match in some.matches if not match.copy_of]
    assert kept == sorted(kept, key=lambda match: (-match.order, match.memory.id))


@MEANINGS
@few
@given(held=contents, query=queries)
def test_every_hit_has_a_score_above_nothing_and_only_late_words_take_some_away(meaning, held, query):
    found = make_index(records_of(held), meaning).search(query, limit=50, allow=lambda *_: 0.5)
    for match in found.matches:
        *others, wording = match.parts
        assert sum(match.parts) == match.parts.score > 0 <= min(others)
        assert wording >= -LATE * match.parts.lexical
