"""Files below `.gobby/local` are put in one step, and nothing of a step that was never ended stays."""

from __future__ import annotations

import os

import pytest

from memsync.system import local


def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path):
    path, other = tmp_path / "index.bin", tmp_path / "index.bin.notes"
    left, now = tmp_path / "index.bin.4711", tmp_path / "index.bin.4712"
    for one in (left, now, other):
        one.write_bytes(b"half")
    for one in (left, other):
        os.utime(one, (1_000_000_000, 1_000_000_000))
    local.put(path, [b"who", b"le"])
    assert path.read_bytes() == b"whole"
    assert not left.exists()
    assert now.exists(), "another process may be writing it"
    assert other.exists()


def test_what_git_comes_to_track_and_no_longer_tracks_is_seen_at_the_next_look(repo):
    below = repo.root / ".gobby" / "local"
    below.mkdir(parents=True)
    (below / "hooks.log").write_text("{}")
    seen = []
    for words in (
        ("status",),
        ("add", "-f", ".gobby/local/hooks.log"),
        ("rm", "-q", "--cached", ".gobby/local/hooks.log"),
    ):
        repo.git(*words)
        seen += [local.is_tracked(below, repo.root, repo.root / ".git") for _ in range(2)]
    assert seen == [False, False, True, True, False, False]


def test_gits_index_is_read_once_until_it_changes(repo, monkeypatch):
    def look():
        return local.is_tracked(repo.root / ".gobby" / "local", repo.root, repo.root / ".git")

    assert not look()
    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", lambda *_: pytest.fail("reads it again"))
        assert not look()
    (repo.root / "new.py").write_text("")
    repo.git("add", "new.py")
    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", lambda *_: pytest.fail("reads it again"))
        with pytest.raises(pytest.fail.Exception, match="again"):
            look()
