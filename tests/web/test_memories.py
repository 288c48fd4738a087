"""The page of all memories: what it shows, finds, filters and sorts, also without any script."""

from __future__ import annotations

import gc
import shlex
import weakref

import pytest
from helpers import until

from memsync import Memsync
from memsync.cli import app
from memsync.system.beside import Beside
from memsync.web import past
from memsync.web.shelf import Shelf

WORDS = "alpha bravo carol delta echo foxtrot golf hotel india julia".split()


def ids(page) -> list[str]:
    return [one["data-id"].partition(" ")[2] for one in page.every("li") if "data-id" in one]


@pytest.fixture
def some(repo, line, browse):
    """Return a desk with four memories, one of them private and one archived."""
    rows = [
        line("mm-aaaaaa", "CI needs Node 20", memory_type="fact", importance=0.9, tags=["ci"], author="Ann", created_at="2020-01-01T00:00:00.000Z"),
        line("mm-bbbbbb", "Prices are integers in cents", memory_type="preference", importance=0.5, tags=["payments"], anchors=["src/price.py"], author="Bob"),
        line("mm-cccccc", "The old server was in Oslo", importance=0.2, archived_at="2025-01-01T00:00:00.000Z"),
    ]  # fmt: skip
    repo.write_memories("".join(rows))
    desk = browse(repo.root)
    desk.post(
        "/memory/new",
        content="the staging box is mine alone",
        type="fact",
        importance="0.7",
        tags="",
        supersedes="",
        private="1",
    )
    return desk


def test_the_first_page_has_the_memories_with_the_most_important_first(some):
    page = some.get("/memories")
    assert len(ids(page)) == 3
    assert ids(page)[-1] == "mm-aaaaaa"  # it has faded
    assert "Prices are integers in cents" in page.text
    assert "3 memories" in page.text


def test_a_large_store_is_searched_by_letters_until_a_process_beside_has_made_its_index(
    repo, line, browse, monkeypatch
):
    monkeypatch.setattr("memsync.memories.finder._LARGE", 0)
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20", tags=["ci"]) + line("mm-bbbbbb", "Prices are in cents"))
    some = browse(repo.root)
    page = some.get("/memories", q="node ci")
    assert ids(page) == ["mm-aaaaaa"]
    assert "The index is being made" in page.text
    assert ids(some.get("/memories", q="node ci", tag="payments")) == []
    until(lambda: not some.checkup.index.is_going)
    page = some.get("/memories", q="node ci")
    assert "confidence" in page.text
    assert "being made" not in page.text
    some.edit("mm-aaaaaa", content="CI needs Node 22")
    assert "Node 22" in some.get("/memories", q="node 22 ci").text
    assert not some.live.call(lambda project: project.finder.file.is_made_anew)  # the rows are the other process's


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"type": "preference"}, {"mm-bbbbbb"}),
        ({"tag": "ci"}, {"mm-aaaaaa"}),
        ({"author": "Ann"}, {"mm-aaaaaa"}),
        ({"age": "old"}, {"mm-aaaaaa"}),
        ({"file": "price"}, {"mm-bbbbbb"}),
        ({"scope": "project", "least": "0.4"}, {"mm-bbbbbb"}),
        ({"scope": "project", "archived": "1"}, {"mm-aaaaaa", "mm-bbbbbb", "mm-cccccc"}),
        ({"q": "node"}, {"mm-aaaaaa"}),
        ({"q": "zzzzqqqq"}, set()),
        ({"q": "node", "tag": "payments"}, set()),
        ({"q": "oslo", "archived": "1"}, {"mm-cccccc"}),
    ],
)
def test_a_list_is_narrowed_by_each_filter_and_by_a_search(some, query, found):
    assert set(ids(some.get("/memories", **query))) == found


def test_a_scope_is_chosen_by_the_word_that_the_commands_have_for_it(some):
    (private,) = ids(some.get("/memories", scope="private"))
    assert ids(some.get("/memories", scope="private")) == [private]
    assert private not in ids(some.get("/memories", scope="project"))


def test_each_order_lists_all_and_an_unknown_one_is_the_usual(some):
    usual = ids(some.get("/memories"))
    for order in ("importance", "new", "old", "used", "type", "text", "nonsense"):
        assert sorted(ids(some.get("/memories", sort=order))) == sorted(usual)
    assert ids(some.get("/memories", sort="text"))[0] == "mm-aaaaaa"
    assert ids(some.get("/memories", sort="nonsense")) == usual


def test_a_search_shows_where_the_score_comes_from_and_does_not_count_as_a_use(some):
    page = some.get("/memories", q="node")
    assert "confidence" in page.text
    assert "lexical" in page.text
    assert "recalled 1×" not in some.get("/memories").text


def test_a_search_that_nothing_fits_says_so_above_the_weak_matches(some):
    assert "Nothing fits" not in some.get("/memories", q="node").text
    assert (
        "Nothing fits well; weak matches: 1"
        in some.get("/memories", q="alone at the lighthouse of the northern coast with a lamp").text
    )


def test_the_title_of_a_long_memory_is_its_first_line(repo, line, browse):
    repo.write_memories(line("mm-aaaaaa", "Release steps\n\n1. Tag it"))
    assert (
        browse(repo.root).get("/memory", id="mm-aaaaaa").said.count("Release steps") == 1
    )  # and not with what follows


def test_a_long_list_comes_in_parts_that_lead_to_each_other(repo, line, browse):
    repo.write_memories("".join(line(f"mm-{n:06d}", f"{WORDS[n % 10]} is number {n}") for n in range(120)))
    desk, seen, path = browse(repo.root), [], "/memories"
    for _ in range(3):
        page = desk.get(path)
        seen += ids(page)
        path = ((page.every("a") and [one["href"] for one in page.every("a") if one.get("hx-trigger")]) or [""])[0]
    assert len(seen) == len(set(seen)) == 120
    assert path == ""
    assert len(ids(desk.get("/memories", shown="120"))) == 120  # what was on the screen, when the files have changed


def test_what_the_file_says_now_is_shown(repo, some, line):
    some.get("/memories")
    repo.memories.write_text(repo.memories.read_text() + line("mm-dddddd", "written by hand just now"))
    assert "mm-dddddd" in ids(some.get("/memories"))


def test_a_line_that_cannot_be_read_is_told_beside_the_rest(repo, some):
    repo.memories.write_text(repo.memories.read_text() + "{broken\n")
    page = some.get("/memories")
    assert f"{repo.memories}:4" in page.text
    assert "mm-bbbbbb" in ids(page)


def test_a_store_that_cannot_be_read_is_told_on_the_page(repo, some):
    repo.memories.write_bytes("{}".encode("utf-16"))
    page = some.get("/memories")
    assert some.status == 500
    assert "is UTF-16; save it as UTF-8" in page.text


def test_the_command_beside_a_list_shows_the_same(some, monkeypatch, capsys, repo):
    monkeypatch.chdir(repo.root)
    for query in (
        {"tag": "ci"},
        {"type": "preference", "least": "0.1"},
        {"scope": "project", "archived": "1"},
        {"q": "-node 20"},
    ):
        page = some.get("/memories", **query)
        (command,) = [text for text in page.said if text.startswith("memsync memory ")]
        words = shlex.split(command)[1:]
        assert app.run([*words[:2], "--json", *words[2:]]) == 0
        out = capsys.readouterr().out
        assert all(f'"{id_}"' in out for id_ in ids(page))
        assert out.count('"content"') == len(ids(page))


def test_a_record_has_its_anchors_its_code_its_relatives_and_its_history(repo, line, browse):
    (repo.root / "src").mkdir()
    (repo.root / "src" / "price.py").write_text("import x\n\n\nCENTS = 100\n")
    repo.write_memories(
        line("mm-aaaaaa", "Prices are in cents, see mm-bbbbbb", anchors=["src/price.py#CENTS", "src/gone.py", "../out"])
        + line("mm-bbbbbb", "Prices were in euros", supersedes=["mm-aaaaaa"])
    )
    repo.git("add", ".")
    repo.git("commit", "-qm", "Remember the unit")
    repo.write_memories(repo.memories.read_text().replace("in cents", "in integer cents"))
    desk = browse(repo.root)
    page = desk.get("/memory", id="mm-aaaaaa")
    assert "CENTS = 100" in page.text
    assert "src/gone.py is gone" in page.text
    assert "superseded by Prices were in euros" in page.text
    assert "mentions Prices were in euros" in page.text
    history = desk.get_whole("/memory/history", id="mm-aaaaaa")
    assert ("ins", {}) in history.elements
    assert "Remember the unit" in history.text
    assert "not committed yet" in history.text


def test_a_history_that_takes_long_is_read_beside_the_desk_and_the_page_says_how_far(repo, line, browse, monkeypatch):
    repo.write_memories(line("mm-aaaaaa", "Prices are in cents"))
    repo.git("add", ".")
    repo.git("commit", "-qm", "Remember the unit")
    readings = past.Readings()
    monkeypatch.setattr(past, "_WAIT", 0.0)
    monkeypatch.setattr(past, "Readings", lambda: readings)
    desk = browse(repo.root)
    with readings.turn:  # that of another memory is being read
        page = desk.get("/memory/history", id="mm-aaaaaa")
        assert "Reading its history: 0 versions of the file" in page.text
        (again,) = page.every("div", id="history")
        assert (again["hx-get"], again["hx-select"]) == ("/memory/history?id=mm-aaaaaa", "#history")
        assert "Prices are in cents" in desk.get("/memories").text  # which waits for nobody
    assert "Remember the unit" in desk.get_whole("/memory/history", id="mm-aaaaaa").text


def test_a_history_is_read_once_however_many_pages_wait_and_not_for_one_that_was_left(repo, line, monkeypatch):
    repo.write_memories("".join(line(f"mm-aaaaa{letter}", f"{letter} is a letter") for letter in "abc"))
    repo.git("add", ".")
    repo.git("commit", "-qm", "Remember letters")
    for name, value in (("_WAIT", 0.0), ("_KEPT", 1)):
        monkeypatch.setattr(past, name, value)
    readings = past.Readings()
    with Memsync.open(repo.root) as project:
        with readings.turn:  # that of another memory is being read
            first, second, left = (readings.look(project, f"mm-aaaaa{letter}") for letter in "abc")
            thread = first.thread
            assert (readings.look(project, "mm-aaaaaa"), first.thread) == (first, thread)
            left.asked -= 2 * past._LEFT
        for one in (first, second, left):
            one.thread.join()
        assert [(one.is_done, len(one.held)) for one in (first, second, left)] == [(True, 2), (True, 2), (False, 0)]


def test_what_is_kept_of_a_history_is_little_also_where_an_id_tells_no_line(repo, line, browse, monkeypatch):
    readings = past.Readings()
    monkeypatch.setattr(past, "Readings", lambda: readings)
    rows = [line(f"mm_{number}", f"{number} {'word ' * 2_000}") for number in range(400)]
    for count in (398, 399, 400):
        repo.write_memories("".join(rows[:count]))
        repo.git("add", ".")
        repo.git("commit", "-qm", f"{count} of them")
    assert "400 of them" not in (text := browse(repo.root).get("/memory/history", id="mm_7").text)
    assert "398 of them" in text
    (one,) = readings._kept.values()
    assert sum(map(len, one.held.values())) < 1 << 23


def test_the_sessions_that_a_memory_was_given_to_are_shown(repo, some):
    from memsync import Memsync

    with Memsync.open(repo.root) as project:
        project.state("project").record_session("session-1", [("mm-aaaaaa", "injected", project.clock())])
    assert "given unasked session-1" in some.get("/memory", id="mm-aaaaaa").text


def test_a_code_excerpt_never_leaves_the_repository(repo, line, browse, tmp_path):
    (tmp_path / "secret.txt").write_text("OUTSIDE\n")
    (repo.root / "link.txt").symlink_to(tmp_path / "secret.txt")
    repo.write_memories(
        line("mm-aaaaaa", "a fact", anchors=["../secret.txt", "link.txt", str(tmp_path / "secret.txt")])
    )
    assert "OUTSIDE" not in browse(repo.root).get("/memory", id="mm-aaaaaa").text


def test_a_page_that_is_read_again_by_itself_says_that_its_memory_is_gone(repo, desk):
    found = desk.client.get("/memory", params={"id": "mm-nobody"}, headers={"HX-Request": "true"})
    assert found.status_code == 200
    assert "no memory" in found.text
    page = desk.client.get("/memory", params={"id": "mm-nobody"})
    assert (page.status_code, "<h1>Not shown</h1>" in page.text) == (404, True)


def test_the_list_of_all_memories_goes_with_the_project_that_they_are_of(repo, line):
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20"))
    shelf, project = Shelf(Beside(repo.root, "index", "rebuild")), Memsync.open(repo.root)
    assert shelf.look(project).choices is shelf.look(project).choices
    seen = weakref.ref(project)
    del project
    gc.collect()
    assert seen() is None


def test_no_memory_is_looked_at_again_because_another_process_screens_them(repo, line):
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20"))
    shelf = Shelf(Beside(repo.root, "index", "rebuild"))
    with Memsync.open(repo.root) as project, Memsync.open(repo.root) as other:
        other.state("project").record_use([("mm-aaaaaa", project.clock())])
        before = shelf.look(project).choices
        other.state("project").record_screened("rules", {b"0" * 16: ""})
        assert shelf.look(project).choices is before
        other.state("project").record_use([("mm-aaaaaa", project.clock())])
        assert shelf.look(project).choices is not before
