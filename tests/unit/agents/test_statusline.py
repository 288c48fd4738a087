"""The status line: by the heads in the cache, as by the files."""

from __future__ import annotations

import pytest
from helpers import memsync

from memsync import Memsync
from memsync.agents.statusline import describe


@pytest.fixture
def many(repo):
    with Memsync.open(repo.root) as project:
        for number in range(6):
            scope = {3: "private", 4: "global"}.get(number)
            project.remember(f"Rule {number} of the house is rule {number}", scope=scope)
        project.remember("Rule 9 replaces one", supersedes=[project.list(limit=1)[0].id])
        project.search("rule")  # makes the index
    return repo


def forget_index(repo):
    (repo.root / ".gobby" / "local" / "index.db").unlink(missing_ok=True)


def test_it_says_the_same_without_an_index(many):
    by_index = describe(str(many.root), "")
    forget_index(many)
    assert by_index == describe(str(many.root), "") == "memsync 6\n"


@pytest.mark.parametrize("deed", ["add", "forget", "forget what came", "archive", "edit", "damage"])
def test_it_counts_what_came_and_went_since_the_index(many, deed):
    with Memsync.open(many.root) as project:
        if deed in ("add", "forget what came"):
            new = project.remember("A rule that came since").entry.id
        if deed == "forget":
            project.forget(project.list(limit=1)[0].id)
    if deed == "forget what came":
        with Memsync.open(many.root) as project:
            project.forget(new)
    if deed == "archive":
        with Memsync.open(many.root) as project:
            project.remember("Rule 10 replaces another", supersedes=[project.list(limit=1)[0].id])
    if deed == "edit":
        many.memories.write_bytes(many.memories.read_bytes() + b'{"content":"by hand","id":"mm-hand"}\n')
    if deed == "damage":
        index = many.root / ".gobby" / "local" / "index.db"
        index.write_bytes(index.read_bytes()[:200])
    count = {"add": 7, "forget": 5, "edit": 7}.get(deed, 6)
    assert describe(str(many.root), "") == f"memsync {count}\n"
    forget_index(many)
    assert describe(str(many.root), "") == f"memsync {count}\n"


def test_under_stealth_and_where_nothing_is_it_says_what_the_stores_have(many, tmp_path, monkeypatch):
    memsync("config", "--stealth", "on", "--yes", cwd=many.root)
    assert describe(str(many.root), "") == "memsync 6\n"
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("MEMSYNC_HOME", str(tmp_path / "nobody"))
    assert describe(str(tmp_path / "empty"), "") == ""
