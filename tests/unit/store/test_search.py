"""Git looks for words in a work tree while others work."""

from __future__ import annotations

import gc
import os
import sys
from threading import Thread

import pytest
from helpers import put_stuck_git

from memsync.memories.naming import Search
from memsync.system import programs


@pytest.fixture
def tree(repo):
    (repo.root / ".gitignore").write_text("build/\n")
    for name, text in (("a b.py", "send_all()\n"), ("c.py", "send_all_of_it()\n"), ("build/d.py", "send_all()\n")):
        path = repo.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    repo.write_memories('{"id": "mm-aaaaaa", "content": "send_all is slow"}\n')
    return repo.root


def begin(tree, *words, patience=30.0):
    return Search.for_words(tree, words, without=".gobby", patience=patience)


def test_the_files_that_have_a_word_whole_are_found_tracked_or_not(tree):
    search = begin(tree, "send_all", "nothing_like_it")
    assert search.wait() == ["a b.py"]
    search.close()


def test_nothing_is_found_where_no_file_has_a_word(tree):
    search = begin(tree, "nothing_like_it")
    assert search.wait() == []
    search.close()


@pytest.mark.parametrize(
    "setting",
    ["color.grep=always", "color.ui=always", "submodule.recurse=true", "grep.patternType=perl", "core.quotePath=true"],
)
def test_the_same_is_found_under_the_settings_of_a_user(tree, monkeypatch, setting):
    name, _, value = setting.partition("=")
    for key, said in (("COUNT", "1"), ("KEY_0", name), ("VALUE_0", value)):
        monkeypatch.setenv(f"GIT_CONFIG_{key}", said)
    search = begin(tree, "send_all")
    assert search.wait() == ["a b.py"]
    search.close()


@pytest.mark.skipif(sys.platform == "win32", reason="NOT TESTED on Windows: a script stands for git")
def test_a_search_that_takes_too_long_says_so(tree, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", put_stuck_git(tmp_path))
    search = begin(tree, "send_all", patience=0.0)
    assert search.wait() is None
    search.close()


def test_what_was_found_in_time_counts_however_late_somebody_waits_for_it(tree):
    search = begin(tree, "send_all", patience=0.0)
    search._process.wait()
    assert search.wait() == ["a b.py"]
    search.close()


def test_a_search_for_which_nobody_waits_leaves_no_process_behind(tree):
    begin(tree, "send_all").close()
    gc.collect()  # a process that still runs warns, which is an error here


def test_without_git_nothing_is_known(tree, monkeypatch):
    monkeypatch.setenv("PATH", "")
    search = begin(tree, "send_all")
    assert search.wait() is None
    search.close()


@pytest.fixture
def starts_another(tmp_path, monkeypatch):
    """A git that starts a process which keeps its output open; the path of the script, and what lets that process end."""
    held, script = tmp_path / "held", tmp_path / "bin" / "git"
    os.mkfifo(held)
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\ncat '{held}' &\n'{programs.find('git')}' \"$@\"\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    yield script
    held.write_text("")


def ends(work):
    """Return whether *work* comes to its end soon, in a thread that does not keep the tests from theirs."""
    working = Thread(target=work, daemon=True)
    working.start()
    working.join(10)
    return not working.is_alive()


@pytest.mark.skipif(sys.platform == "win32", reason="NOT TESTED on Windows: a script stands for git")
def test_a_search_ends_though_what_git_has_started_still_runs(tree, tmp_path, starts_another):
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    starts_another.write_text(f"{starts_another.read_text()}echo > '{begun}'\ncat '{begun}'\n")
    search = begin(tree, "send_all")
    begun.read_text()
    assert ends(search.close)


@pytest.mark.skipif(sys.platform == "win32", reason="NOT TESTED on Windows: a script stands for git")
def test_nobody_waits_for_what_git_has_started_when_git_has_ended(tree, starts_another):
    search = begin(tree, "send_all", patience=0.0)
    search._process.wait()
    assert ends(search.wait)
    search.close()
