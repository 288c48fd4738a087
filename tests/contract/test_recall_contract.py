"""What a recall promises to its caller, from the cache alone and from the warm index."""

from __future__ import annotations

import pytest
from helpers import memory_line

from memsync import Memsync
from memsync.memories.filters import Filters

NOTES = (
    "run the tests with uv, never with pip",
    "the staging server listens on port 8080",
    "the staging server listens on port 8081",
    "deploy on friday is forbidden since a1b2c3d4e5f60718293a4b5c6d7e8f9012345678",
    "broken by a1b2c3d999999999999999999999999999999999, see #871",
    "login lives in src/auth/login.py",
    "login tests live in tests/auth/test_login.py",
    "prefer small pull requests with one reviewer",
    "wait for a green build before you merge",
    "the build is slow; green means that it merged",
    "日本語のドキュメントは docs/ja にあります",
    "Größenänderung nur mit Migration, naïve Lösungen sind verboten",
    "kubernetes upgrades happen on the first Monday",
)


class Asker:
    """Asks one kind of process: a new one each time, or one that stays."""

    def __init__(self, kind: str, first: Memsync) -> None:
        self._kind = kind
        self.memsync = first

    def __call__(self, query: str, filters: Filters | None = None, **how) -> list[str]:
        return [hit.content for hit in self.recall(query, filters, **how)]

    def recall(self, query: str, filters: Filters | None = None, **how):
        if self._kind == "a new process":
            self.memsync = Memsync.open(self.memsync.layout.start, clock=self.memsync.clock)
        return self.memsync.search(query, filters or Filters(), **how)


@pytest.fixture(params=["a new process", "a running process"])
def ask(request, project) -> Asker:
    for note in NOTES:
        project.remember(note)
    project.search("anything")
    project.close()
    return Asker(request.param, project)


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("a1b2c3d4e5f60718293a4b5c6d7e8f9012345678", 3),
        ("what about a1b2c3d4e5f60718293a4b5c6d7e8f9012345678?", 3),
        ("#871", 4),
        ("src/auth/login.py", 5),
        ("where is tests/auth/test_login.py", 6),
        ("port 8081", 2),
        ("port 8080", 1),
        ('"green build"', 8),
        ("kuberentes upgrade", 12),
        ("reviewres of pull requsts", 7),
        ("日本語", 10),
        ("ドキュメント", 10),
        ("groessenaenderung Größenänderung", 11),
        ("naive losungen", 11),
        ("pip", 0),
    ],
)
def test_the_right_memory_comes_first(ask, query, number):
    assert ask(query)[0] == NOTES[number]


@pytest.mark.parametrize("query", ["xylophone zebra", "qwertzuiop", "the of and", "?!", "\0", "🙂", "@" * 5000])
def test_where_nothing_fits_nothing_is_returned_and_never_the_recent_ones(ask, query):
    found = ask.recall(query)
    assert (list(found), found.gate, found.degraded) == ([], 0.0, "")


def test_a_question_about_something_else_stays_below_the_floor(ask):
    found = ask.recall("how do I cook lasagne for twelve people on a saturday")
    assert found.gate < found.floor == 0.35
    assert ask.recall("run tests with uv or pip").gate > found.floor


def test_the_parts_of_a_hit_add_up_to_its_score(ask):
    found = ask.recall('src/auth/login.py "green build" kuberentes')
    assert len(found) >= 3
    for hit in found:
        parts = dict(hit.parts)
        boost = parts.pop("boost")
        assert (sum(parts.values()), 1 <= boost <= 1.1) == (pytest.approx(hit.score), True)
        assert set(parts) == {"lexical", "semantic", "identifier", "phrase", "place", "wording"}
    orders = [hit.score * hit.parts["boost"] for hit in found if not hit.copy_of]
    assert orders == sorted(orders, reverse=True)
    assert 0 < found.gate == max(hit.confidence for hit in found) < 1


def test_the_three_stores_answer_together_and_each_alone(ask):
    ask.memsync.remember("my own tests use uv too", scope="private")
    ask.memsync.remember("I like uv everywhere", scope="global")
    ask.memsync.close()
    assert {hit.scope for hit in ask.recall("uv")} == {"project", "private", "global"}
    alone = {scope: ask("uv", Filters(scopes=(scope,))) for scope in ("project", "private", "global")}
    assert alone == {
        "project": ["run the tests with uv, never with pip"],
        "private": ["my own tests use uv too"],
        "global": ["I like uv everywhere"],
    }


def test_filters_come_before_the_cut(ask):
    for number in range(40):
        ask.memsync.remember(f"deploy number {number} went well", tags=["log"])
    ask.memsync.remember("deploy", memory_type="preference")
    ask.memsync.close()
    assert ask("deploy number", Filters(memory_type="preference"), limit=1) == ["deploy"]
    assert len(ask("deploy number", Filters(tags_none=("log",)))) == 2
    first = ask.recall("deploy number", limit=1)[0]
    assert ask.recall("deploy number", Filters(exclude={first.id}), limit=1)[0].id != first.id


def test_the_limit_of_the_settings_holds_where_none_is_given(ask):
    for number in range(40):
        ask.memsync.remember(f"zebra number{number} runs", tags=[f"t{number}"])
    ask.memsync.close()
    assert [len(ask("zebra")), len(ask("zebra", limit=3)), len(ask("zebra", limit=0))] == [15, 3, 0]


def test_a_memory_of_ten_thousand_characters_is_found_whole(ask):
    long = "filler about nothing at all. " * 340 + "the zanzibar clause"
    ask.memsync.remember(long)
    ask.memsync.close()
    assert ask("zanzibar") == [long]


def test_what_was_changed_or_forgotten_is_found_as_it_is_now(ask):
    (first,) = ask.memsync.search("pip")
    ask.memsync.update(first.id, content="run the tests with nox")
    ask.memsync.forget(ask.memsync.search("kubernetes")[0].id)
    assert [ask.memsync.search(query).hits for query in ("pip", "kubernetes")] == [(), ()]
    ask.memsync.close()
    assert [ask("pip"), ask("kubernetes"), ask("nox")] == [[], [], ["run the tests with nox"]]


# what a recall leaves behind


def test_a_recall_counts_as_use_and_a_search_does_not(repo, project, clock):
    project.remember("tests run with uv")
    for _ in range(2):
        with Memsync.open(repo.root, clock=clock) as memsync:
            memsync.search("uv")
            memsync.recall("uv")
            memsync.recall("nothing of the kind")
    later = Memsync.open(repo.root, clock=clock)
    assert ([hit.access_count for hit in later.search("uv")], [e.access_count for e in later.list()]) == ([2], [2])


def test_a_process_that_stays_writes_down_what_it_used_now_and_then(repo, project, clock):
    for number in range(15):
        project.remember(f"zebra number{number}")
    for _ in range(100):
        project.recall("zebra")
    assert sum(entry.access_count for entry in Memsync.open(repo.root, clock=clock).list()) >= 1000


def test_a_recall_of_a_session_is_noted_once_and_a_search_is_not(repo, clock):
    def opened() -> Memsync:
        return Memsync.open(repo.root, clock=clock, env={"MEMSYNC_SESSION_ID": "s1", "HOME": str(repo.root.parent)})

    with opened() as memsync:
        created = memsync.remember("tests run with uv").entry.id
        memsync.search("uv")
    assert opened().state("project").session("s1", "accessed") == []
    with opened() as memsync:
        memsync.recall("uv")
        memsync.recall("uv")
    assert opened().state("project").session("s1", "accessed") == [created]


def test_a_recall_changes_no_tracked_file(project, repo):
    repo.write_memories(memory_line("b", "tests") + memory_line("a", "tests too"))
    repo.git("add", "-A")
    repo.git("commit", "-qm", "memories")
    with project:
        project.recall("tests")
    assert repo.status() == ""


def test_use_brings_back_what_fades_and_importance_decides_between_equals(project, clock):
    for content, importance in (("tests need docker", 0.3), ("tests need postgres", 0.9)):
        project.remember(content, importance=importance)
    assert [hit.content for hit in project.recall("tests")] == ["tests need postgres", "tests need docker"]
    clock.move(days=900)
    assert [hit.effective_importance for hit in project.search("tests")] == [0.1, 0.1]
    project.recall("postgres")
    project.close()
    assert [hit.effective_importance for hit in project.search("tests")] == [0.9, 0.1]


@pytest.mark.parametrize("query", ["anything", "", "  ", None])
def test_an_empty_store_has_no_answer(project, query):
    found = project.recall(query)
    assert (list(found), found.gate) == ([], 0.0)


def test_without_a_query_the_most_important_come_first(project):
    for content, importance in (("one", 0.2), ("two", 0.9), ("three", 0.5)):
        project.remember(content, importance=importance)
    assert [hit.content for hit in project.recall(limit=2)] == ["two", "three"]
    assert [(hit.score, hit.parts) for hit in project.recall("  ", limit=1)] == [(0.0, {})]


def test_my_own_memories_get_their_places_beside_those_of_others(repo, clock):
    repo.write_memories(
        "".join(memory_line(f"o{n}", f"the tests of part{n}", author="Somebody Else") for n in range(8))
        + memory_line(
            "mine", "the tests of my part are in this long sentence about many other things", author="Test User"
        )
    )
    found = Memsync.open(repo.root, clock=clock).search("tests of the part", limit=4)
    assert (len(found), "mine" in [hit.id for hit in found]) == (4, True)
