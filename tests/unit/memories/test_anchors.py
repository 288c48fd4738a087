"""Memories that speak of files say so when these are not what they were."""

from __future__ import annotations

import gc
import sys

import pytest
from helpers import put_stuck_git
from hypothesis import given, settings
from hypothesis import strategies as st

from memsync import Memsync
from memsync.agents import context
from memsync.cli import render
from memsync.errors import InvalidMemory, MemsyncError
from memsync.janitor.survey import survey
from memsync.memories import anchors, citations, naming
from memsync.memories.filters import Filters
from memsync.setup.doctor import examine


@pytest.fixture
def code(repo):
    (repo.root / "src").mkdir()
    (repo.root / "src" / "client.py").write_text("MAX_RETRIES = 5\n")
    (repo.root / "Makefile").write_text("test:\n")
    return repo.root / "src" / "client.py"


def find_named(content, root):
    with naming.Named(content, root) as named:
        return named.finish()


@pytest.fixture
def edited(repo):
    """Return a repository in which a session has changed one file, added one and removed one, and left one as it was."""
    for name in ("rate_limiter.py", "mail_queue.py", "order_form.py"):
        (repo.root / name).write_text("x = 1\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "begin")
    (repo.root / "rate_limiter.py").write_text("x = 2\n")
    (repo.root / "order_form.py").unlink()
    (repo.root / "invoices.test.ts").write_text("x\n")
    (repo.root / "utils.py").write_text("x\n")
    return repo.root


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("The rate limiter counts by tenant, not by address", ["rate_limiter.py"]),
        ("An invoice has no negative lines", ["invoices.test.ts"]),
        ("The rate of mails is limited", []),  # not the whole name
        ("The mail queue is emptied at night", []),  # nobody has edited it
        ("An order form has a title", []),  # it is gone
        ("Utils are for everybody", []),  # a name that many files have
        ("The rate limiter is in mail_queue.py", ["mail_queue.py"]),  # what a text names counts alone
    ],
)
def test_what_an_agent_remembers_is_about_the_file_that_was_edited_and_has_its_words_for_a_name(edited, content, found):
    with Memsync.open(edited, env={"CLAUDE_CODE_SESSION_ID": "s1", "MEMSYNC_HOME": str(edited / "home")}) as project:
        assert [text.partition("@")[0] for text in project.remember(content).entry.memory.anchors] == found


def test_what_a_person_remembers_is_not_about_what_is_just_edited(edited):
    with Memsync.open(edited, env={"MEMSYNC_HOME": str(edited / "home")}) as project:
        assert project.remember("The rate limiter counts by tenant").entry.memory.anchors == ()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("Retries are in src/client.py, see there.", ("src/client.py",)),
        ("See `./src/client.py:12`, and src/.", ("src/client.py",)),
        ("Look at https://example.org/src/client.py first.", ()),
        ("/src/client.py and ~/src/client.py and ../src/client.py are elsewhere", ()),
        ("src/missing.py was never there; e.g. this, i.e. that, v1.2", ()),
        ("Makefile is too ordinary a word", ()),
    ],
)
def test_files_that_a_text_names_and_that_are_there_are_its_anchors(code, repo, content, found):
    assert find_named(content, repo.root) == found


@settings(max_examples=20)  # each asks git
@given(st.text(max_size=200))
def test_no_text_breaks_the_search_for_files(text):
    from pathlib import Path

    find_named(text, Path(__file__).parents[1])
    citations.find_stale([text], Path(__file__).parents[1])


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_pinned_file_is_out_of_date_when_its_text_changes_and_not_its_line_ends(code, repo, line_end):
    pin = anchors.pin("src/client.py", repo.root)
    code.write_bytes(f"MAX_RETRIES = 5{line_end}".encode())
    assert citations.find_stale([pin], repo.root) == ()
    code.write_bytes(f"MAX_RETRIES = 6{line_end}".encode())
    assert citations.find_stale([pin], repo.root) == ("src/client.py has changed",)
    code.unlink()
    assert citations.find_stale([pin], repo.root) == ("src/client.py is gone",)


def test_a_file_that_is_gone_is_told_once_however_many_anchors_name_it(repo):
    assert citations.find_stale(["src/old.py", "src/old.py#one", "src/b.py"], repo.root) == (
        "src/old.py is gone",
        "src/b.py is gone",
    )


def test_the_pin_is_the_name_that_git_gives_the_contents(code, repo):
    assert anchors.parse(anchors.pin("src/client.py", repo.root)).blob == repo.git("hash-object", str(code))[:12]


def test_a_symbol_is_looked_for_as_a_whole_word(code, repo):
    pin = anchors.pin("src/client.py#MAX_RETRIES", repo.root)
    code.write_text("x = 1\nMAX_RETRIES = 5\n")
    assert citations.find_stale([pin], repo.root) == ()
    code.write_text("x = 1\nMAX_RETRIES = 9\n")
    assert citations.find_stale([pin], repo.root) == ("MAX_RETRIES in src/client.py has changed",)
    code.write_text("MAX_RETRIES_ALL = 5\n")
    assert citations.find_stale([pin], repo.root) == ("src/client.py no longer has MAX_RETRIES",)


@pytest.mark.parametrize("text", ["missing.py", "src/client.py#NOPE", "/etc/passwd", "../x", "src/../../x", "a\0b"])
def test_an_anchor_that_is_not_there_is_refused(code, project, text):
    with pytest.raises(InvalidMemory, match="no anchor there"):
        project.remember("Retries are capped.", anchors=[text])
    assert project.memories() == []


def test_recall_list_and_show_mark_what_is_out_of_date(code, project):
    id_ = project.remember("Retries are capped at 5, see src/client.py").entry.id
    project.remember("Tests need Docker.")
    assert [entry.stale for entry in project.memories()] == [(), ()]
    code.unlink()
    wanted = ("src/client.py is gone",)
    assert project.get(id_).stale == wanted
    assert [hit.stale for hit in project.recall("how many retries") if hit.id == id_] == [wanted]
    assert {entry.id: entry.stale for entry in project.memories()}[id_] == wanted
    assert {hit.id: hit.stale for hit in project.recall()}[id_] == wanted
    assert project.get(id_).as_dict()["stale"] == ["src/client.py is gone"]


def test_a_line_names_three_of_what_has_changed_and_counts_the_rest(code, project, repo):
    names = [f"src/part{number}.py" for number in range(5)]
    for name in names:
        (repo.root / name).write_text("x = 1\n")
    id_ = project.remember("Every part retries by itself.", anchors=names).entry.id
    for name in names:
        (repo.root / name).unlink()
    entry = project.get(id_)
    gone = "src/part0.py is gone, src/part1.py is gone, src/part2.py is gone"
    assert len(entry.stale) == 5
    assert f"out of date: {gone}, and 2 more" in context.line(entry, project.clock())
    assert f"out of date: {gone}, and 2 more)" in render.entry_line(entry, project.clock())


def test_it_is_the_same_in_another_clone(code, project, repo, tmp_path):
    project.remember("Retries are capped.", anchors=["src/client.py#MAX_RETRIES"])
    project.close()
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "x")
    repo.git("clone", "-q", ".", str(tmp_path / "other"))
    (tmp_path / "other" / "src" / "client.py").write_text("")
    (entry,) = Memsync.open(tmp_path / "other").list()
    assert entry.stale == ("src/client.py no longer has MAX_RETRIES since a change that is not committed",)


def test_doctor_lists_it_and_the_janitor_only_guesses(code, project):
    id_ = project.remember("Retries are capped at 5, see src/client.py").entry.id
    assert [f for f in examine(project) if id_ in f.where] == []
    code.unlink()
    (found,) = [f.what for f in examine(project) if id_ in f.where]
    assert (
        found == f"may be out of date: src/client.py is gone; if it is still true, `memsync anchor {id_}`, else edit it"
    )
    plan = survey(project, ["stale"])
    assert (plan.steps, [guess.id for guess in plan.guesses]) == ([], [id_])


def test_global_memories_speak_of_no_project(code, project):
    project.remember("I like src/client.py", scope="global")
    assert [entry.memory.anchors for entry in project.memories(Filters(scopes=("global",)))] == [()]


@pytest.mark.parametrize(
    ("anchor", "first", "row"),
    [("src/long.py#NEEDLE", 39, "NEEDLE = 1"), ("src/long.py", 1, "line 1"), ("src/long.py#absent", 1, "line 1")],
)
def test_an_excerpt_is_of_the_lines_around_the_symbol(tmp_path, anchor, first, row):
    (tmp_path / "src").mkdir()
    rows = [f"line {number}" for number in range(1, 60)]
    rows[40] = "NEEDLE = 1"
    (tmp_path / "src" / "long.py").write_text("\n".join(rows) + "\n")
    found = anchors.read_excerpt(anchor, tmp_path)
    assert found is not None
    assert (found.first, row in found.text.splitlines()) == (first, True)
    assert len(found.text.splitlines()) == 12


def test_there_is_no_excerpt_of_what_is_not_a_text_of_the_repository(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    (tmp_path / "out.py").write_text("out\n")
    (root / "link.py").symlink_to(tmp_path / "out.py")
    (root / "data.bin").write_bytes(b"a\0b")
    for anchor in ("../out.py", "link.py", "data.bin", "gone.py", "", str(tmp_path / "out.py")):
        assert anchors.read_excerpt(anchor, root) is None


@pytest.mark.parametrize("anchor", [r"a\ud800", r"src/\udfff#MAX", r"src/client.py#\ud800"])
def test_half_a_character_in_an_anchor_keeps_nobody_from_the_other_memories(code, repo, line, anchor):
    repo.write_memories(
        line("mm-aaaaaa", "CI needs Node 20") + f'{{"id": "mm-b", "content": "x", "anchors": ["{anchor}"]}}\n'
    )
    with Memsync.open(repo.root) as memory:
        assert {entry.id for entry in memory.list()} == {"mm-aaaaaa", "mm-b"}


def test_git_is_asked_about_a_few_anchors_of_one_memory_alone(code, project, repo):
    gone = [f"gone/{number}.py" for number in range(3)]
    memory = project.remember("Retries are capped").entry.memory._replace(anchors=(*gone, "src/client.py"))
    repo.git("add", ".")
    repo.git("commit", "-q", "-m", "one")
    repo.git("mv", "src/client.py", "src/wire.py")
    assert citations.find_stale(memory.anchors[3:], repo.root) == ("src/client.py is now src/wire.py",)
    assert citations.find_stale(memory.anchors, repo.root)[3] == "src/client.py is gone"


def test_what_is_deeper_than_a_hundred_folders_is_not_looked_at(tmp_path):
    text = "f/" * 99 + "x.py"
    (tmp_path / text).parent.mkdir(parents=True)
    (tmp_path / text).write_text("one\n")
    assert anchors.read_excerpt(text, tmp_path).text == "one"
    (tmp_path / f"f/{text}").parent.mkdir()
    (tmp_path / f"f/{text}").write_text("one\n")
    assert anchors.read_excerpt(f"f/{text}", tmp_path) is None
    assert citations.find_stale([f"f/{text}@000000000000"], tmp_path) == ()


def test_symbols_that_a_text_names_are_looked_for_at_once(code, repo, tmp_path, monkeypatch):
    (repo.root / "src" / "wire.py").write_text("def send_all():\n    read_one()\n\n\ndef read_one():\n    pass\n")
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE", str(trace))
    found = find_named("send_all calls read_one, and hook_dispatcher.py, e.g. a missing_one, never", repo.root)
    assert found == ("src/wire.py#send_all", "src/wire.py#read_one")
    assert trace.read_text().count("git grep") == 1


def test_a_symbol_that_two_files_define_is_no_anchor_and_one_that_others_only_use_is(code, repo):
    for number in range(4):
        (repo.root / "src" / f"step{number}.py").write_text("def run_step():\n    print(send_all)\n")
    (repo.root / "src" / "wire.py").write_text("def send_all():\n    pass\n")
    assert find_named("run_step comes before send_all", repo.root) == ("src/wire.py#send_all",)


def test_a_text_that_is_refused_leaves_no_search_behind(code, repo, project):
    with pytest.raises(MemsyncError):
        project.remember("send_all asks with the key AKIA" + "QYLPMN5HFIQR7XYA", supersedes=["mm-zzzzzz"])
    gc.collect()  # a process that still runs warns, which is an error here


def test_a_name_that_ends_as_a_file_does_is_not_looked_for(repo, tmp_path, monkeypatch):
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE", str(trace))
    assert find_named("hook_dispatcher.py was removed, e.g. by user_data.json or app_one.example.com", repo.root) == ()
    assert not trace.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="NOT TESTED on Windows: a script stands for git")
def test_a_work_tree_that_git_cannot_search_in_time_is_not_searched_again(code, repo, tmp_path, monkeypatch):
    (repo.root / "src" / "wire.py").write_text("def send_all():\n    pass\n")
    with monkeypatch.context() as hurry:
        hurry.setattr(naming, "_PATIENCE", 0.0)
        hurry.setenv("PATH", put_stuck_git(tmp_path))
        assert find_named("send_all is slow", repo.root) == ()
    assert find_named("send_all is slow", repo.root) == ()
