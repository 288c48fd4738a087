"""What was acknowledged can be found again, whatever git and its helpers did to the file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from datetime import timedelta

import pytest
from doing import edit, forget, remember, shown
from helpers import GitRepo, memsync

from memsync import Memsync
from memsync.git import attributes
from memsync.memories.lost import find_lost
from memsync.records import format_time, utc_now
from memsync.store import local_history

TEXT = "Deploys go through the blue cluster"


def lost(repo: GitRepo) -> set[str]:
    with Memsync.open(repo.root) as project:
        return {one.memory.content for one in find_lost(project)}


def doctor(repo: GitRepo) -> str:
    return memsync("doctor", cwd=repo.root).out


# What takes changes of the work tree away without asking: a person, or a hook manager that rolls back.
AWAY = {
    "checkout": [["checkout", "--", "."]],
    "reset": [["reset", "-q", "--hard"]],
    "restore": [["restore", "."]],
    "stash": [["stash", "-q"], ["stash", "drop", "-q"]],
    "commit": [["-c", "core.hooksPath=/dev/null", "commit", "-qam", "x"], ["reset", "-q", "--hard", "HEAD~1"]],
}


@pytest.mark.parametrize("how", list(AWAY))
@pytest.mark.parametrize("kind", ["add", "edit"])
def test_what_git_took_away_is_named_and_brought_back(hooked, how, kind):
    remember(hooked.root, TEXT) if kind == "add" else edit(hooked.root, "mm-aaaaaa", TEXT)
    assert (lost(hooked), "written here" in doctor(hooked)) == (set(), False)
    for words in AWAY[how]:
        hooked.git(*words)
    assert TEXT not in shown(hooked.root)
    note = f"note {hooked.memories}: 1 memory that was written here is neither in the file nor in any commit, mm-"
    assert note in doctor(hooked)
    ran = memsync("memory", "restore", cwd=hooked.root)
    assert (ran.code, TEXT in ran.out, TEXT in shown(hooked.root)) == (0, True, True)
    assert (lost(hooked), memsync("memory", "restore", cwd=hooked.root).out) == (
        set(),
        "nothing that was written here is missing\n",
    )


@pytest.mark.parametrize("mode", ["worktree", "on-commit", "auto-commit"])
def test_it_is_so_in_every_mode(hooked, mode):
    assert memsync("memory", "config", "memory_sync.mode", mode, "--global", cwd=hooked.root).code == 0
    remember(hooked.root, TEXT)
    hooked.git("reset", "-q", "--hard", "HEAD~1" if mode == "auto-commit" else "HEAD")
    (hooked.root / ".gobby" / "local" / "pending.jsonl").unlink(missing_ok=True)
    assert lost(hooked) == {TEXT}
    ids = [memory["content"] for memory in memsync("memory", "restore", "--json", cwd=hooked.root).json["restored"]]
    assert (ids, TEXT in shown(hooked.root)) == ([TEXT], True)


@pytest.mark.parametrize("scope", ["global", "private"])
def test_it_is_so_in_private_stores_too(repo, scope):
    with Memsync.open(repo.root) as project:
        project.remember("kept", scope=scope)
        path = project.store(scope).place.memories
    backup = path.read_bytes()
    with Memsync.open(repo.root) as project:
        project.remember(TEXT, scope=scope)
    path.write_bytes(backup)
    assert f"note {path}: 1 memory that was written here is not in the file" in doctor(repo)
    assert memsync("memory", "restore", cwd=repo.root).code == 0
    assert shown(repo.root) == {"kept", TEXT}


def test_a_memory_that_the_roll_back_of_a_hook_takes_is_named(hooked):
    """As pre-commit does where its patch does not apply any more."""
    hook = hooked.root / ".git" / "hooks" / "commit-msg"
    words = f"cd {hooked.root} && {os.sys.executable} -m memsync memory add '{TEXT}' && git checkout -- ."
    hook.write_text(f"#!/bin/sh\nunset $(git rev-parse --local-env-vars)\n{words} >/dev/null\n")
    hook.chmod(0o755)
    (hooked.root / "README").write_text("changed\n")
    hooked.git("add", "README")
    hooked.git("commit", "-qm", "work")
    assert (TEXT in shown(hooked.root), lost(hooked)) == (False, {TEXT})


@pytest.mark.skipif(os.name != "posix", reason="no process groups")
def test_what_a_killed_pull_took_away_is_named_and_brought_back(hooked):
    """Before it says that it refuses, `git merge` resets the tree and puts what was changed back by `git stash apply`."""
    edit(hooked.root, "mm-aaaaaa", "edited by others")
    hooked.git("switch", "-qc", "others")
    hooked.git("commit", "-qam", "others")
    hooked.git("switch", "-q", "main")
    hooked.git("commit", "-q", "--allow-empty", "-m", "ours")
    remember(hooked.root, TEXT)
    forget(hooked.root, "mm-aaaaaa")
    hook = hooked.root / ".git" / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ngrep -q '{TEXT}' {hooked.memories} || kill -9 0\n")  # git, and all that it started
    hook.chmod(0o755)
    words = ["git", "merge", "-q", "--no-edit", "others"]
    ran = subprocess.run(words, cwd=hooked.root, start_new_session=True, capture_output=True, check=False)
    hook.unlink()
    assert (ran.returncode, shown(hooked.root), lost(hooked)) == (-signal.SIGKILL, {"first"}, {TEXT})
    assert "1 memory that was forgotten here is back, and no commit has the removal, mm-aaaaaa “first”; " in doctor(
        hooked
    )
    assert memsync("memory", "restore", cwd=hooked.root).code == 0
    forget(hooked.root, "mm-aaaaaa")
    assert (shown(hooked.root), " here is " in doctor(hooked)) == ({TEXT}, False)


@pytest.mark.parametrize("how", ["checkout", "commit"])
def test_a_forgotten_memory_that_is_back_is_named_unless_git_has_the_removal(hooked, how):
    forget(hooked.root, "mm-aaaaaa")
    assert "forgotten here" not in doctor(hooked)
    for words in AWAY[how]:
        hooked.git(*words)
    assert (shown(hooked.root), "forgotten here is back" in doctor(hooked)) == ({"first"}, True)


def test_a_memory_that_was_edited_before_it_was_forgotten_is_named_when_its_committed_text_is_back(hooked):
    (one,) = remember(hooked.root, TEXT)
    hooked.git("commit", "-q", "--allow-empty", "-m", "one")
    edit(hooked.root, one, "Deploys go through the green cluster")
    forget(hooked.root, one)
    hooked.git("checkout", "--", ".")
    assert "forgotten here is back" in doctor(hooked)


def test_a_forgotten_memory_that_was_brought_back_or_is_on_another_branch_is_not_named(hooked):
    hooked.git("branch", "before")
    forget(hooked.root, "mm-aaaaaa")
    assert memsync("memory", "restore", "mm-aaaaaa", cwd=hooked.root).code == 0
    assert "forgotten here" not in doctor(hooked)
    forget(hooked.root, "mm-aaaaaa")
    hooked.git("stash", "-q")
    (hooked.root / "README").write_text("another stash\n")
    hooked.git("stash", "-q")
    assert (shown(hooked.root), "forgotten here" in doctor(hooked)) == ({"first"}, False)
    hooked.git("stash", "drop", "-q")
    hooked.git("stash", "pop", "-q")
    hooked.git("commit", "-qam", "forgotten")
    hooked.git("switch", "-q", "before")
    assert (shown(hooked.root), "forgotten here" in doctor(hooked)) == ({"first"}, False)


def test_an_edit_that_the_removal_of_the_old_text_never_saw_is_not_offered_for_forgetting(hooked):
    (hooked.root / ".git" / "info" / "attributes").write_bytes(attributes.add_lines(b""))
    hooked.git("switch", "-qc", "side")
    edit(hooked.root, "mm-aaaaaa", TEXT)
    hooked.git("commit", "-qam", "edited")
    hooked.git("switch", "-q", "main")
    forget(hooked.root, "mm-aaaaaa")
    hooked.git("commit", "-qam", "forgotten")
    hooked.git("merge", "-q", "side", "-m", "merged")
    assert (shown(hooked.root), "forgotten here" in doctor(hooked)) == ({TEXT}, False)


@pytest.mark.parametrize("again", ["edited", "reverted"])
def test_a_removal_that_is_older_than_what_git_has_hides_no_later_one_that_is_undone(hooked, again):
    (hooked.root / ".git" / "info" / "attributes").write_bytes(attributes.add_lines(b""))
    hooked.git("switch", "-qc", "other")
    forget(hooked.root, "mm-aaaaaa")
    hooked.git("commit", "-qam", "removed elsewhere")
    if again == "edited":
        hooked.git("switch", "-q", "main")
        edit(hooked.root, "mm-aaaaaa", TEXT)
        hooked.git("commit", "-qam", "edit")
        hooked.git("merge", "-q", "other", "-m", "merged")
    else:
        hooked.git("revert", "--no-edit", "HEAD")
    forget(hooked.root, "mm-aaaaaa")
    hooked.git("checkout", "-q", "-f", "HEAD")
    text = TEXT if again == "edited" else "first"
    note = f"1 memory that was forgotten here is back, and no commit has the removal, mm-aaaaaa “{text}”"
    assert (shown(hooked.root), note in doctor(hooked)) == ({text}, True)


def test_what_was_removed_or_thrown_away_on_purpose_is_not_lost(hooked):
    (id_,) = remember(hooked.root, TEXT)
    forget(hooked.root, id_)
    forget(hooked.root, "mm-aaaaaa")
    assert lost(hooked) == set()


def test_what_a_commit_of_any_branch_or_a_stash_has_is_not_lost(hooked):
    hooked.git("switch", "-qc", "side")
    remember(hooked.root, TEXT)
    hooked.git("commit", "-qam", "side")
    remember(hooked.root, "The metrics endpoint listens on port 7777")
    hooked.git("stash", "-q")
    (hooked.root / "README").write_text("another stash\n")
    hooked.git("stash", "-q")
    hooked.git("switch", "-q", "main")
    assert (shown(hooked.root), lost(hooked)) == ({"first"}, set())


def test_what_others_removed_or_changed_later_and_what_was_edited_by_hand_is_not_lost(hooked):
    (hooked.root / ".git" / "info" / "attributes").write_bytes(attributes.add_lines(b""))
    (gone,) = remember(hooked.root, TEXT)
    (changed,) = remember(hooked.root, "The API listens on port 8080")
    hooked.git("commit", "-q", "--allow-empty", "-m", "two")
    hooked.git("switch", "-qc", "others")
    forget(hooked.root, gone)
    edit(hooked.root, changed, "The API listens on port 8081")
    hooked.git("commit", "-qam", "others")
    (hooked.root / ".gobby" / "local" / "history.jsonl").unlink()
    hooked.git("switch", "-q", "main")
    remember(hooked.root, "written by hand soon")
    hooked.git("commit", "-q", "--allow-empty", "-m", "three")
    hooked.git("merge", "-q", "others", "-m", "merged")
    remember(hooked.root, "this one is corrected in an editor")
    hooked.memories.write_text(hooked.memories.read_text().replace("is corrected in", "was corrected in"))
    assert lost(hooked) == set()


def test_a_text_that_somebody_said_again_is_not_lost(hooked):
    remember(hooked.root, TEXT)
    hooked.git("checkout", "--", ".")
    remember(hooked.root, TEXT)
    assert lost(hooked) == set()


@pytest.mark.parametrize("how", ["by hand", "by memsync", "and committed"])
def test_what_was_written_in_the_place_of_what_comes_back_stays_as_a_copy(hooked, tmp_path, how):
    hooked.write_memories('{"content": "The API listens on port 8080", "id": "by-hand"}\n')
    hooked.git("commit", "-qam", "by hand")
    hooked.git("worktree", "add", "-q", "-b", "tree", str(tmp_path / "tree"))
    if how == "by hand":
        hooked.write_memories('{"content": "The API listens on port 9090", "id": "by-hand"}\n')
    else:
        edit(hooked.root, "by-hand", "The API listens on port 9090")
    if how == "and committed":
        hooked.git("commit", "-qam", "another port")
    edit(tmp_path / "tree", "by-hand", "The API listens on port 8081")
    hooked.git("worktree", "remove", "--force", str(tmp_path / "tree"))
    assert memsync("restore", cwd=hooked.root).code == 0
    assert shown(hooked.root) == {"The API listens on port 8081", "The API listens on port 9090"}
    assert lost(hooked) == set()


def test_what_comes_back_is_newer_than_it_was_also_where_clocks_were_ahead(hooked):
    row = {"content": "The API listens on port 8080", "id": "by-hand", "updated_at": "2099-01-01T00:00:00.000Z"}
    hooked.write_memories(json.dumps(row) + "\n")
    hooked.git("commit", "-qam", "by a clock that is ahead")
    hooked.git("switch", "-qc", "topic")
    edit(hooked.root, "by-hand", "The API listens on port 9090")
    hooked.git("commit", "-qam", "another port")
    edit(hooked.root, "by-hand", "The API listens on port 8081")
    written = read_row(hooked)["updated_at"]
    hooked.git("checkout", "--", ".")
    hooked.git("switch", "-q", "main")
    assert memsync("restore", cwd=hooked.root).code == 0
    assert read_row(hooked)["updated_at"] > written
    assert read_row(hooked)["content"] == "The API listens on port 8081"


def read_row(repo: GitRepo) -> dict[str, str]:
    """Return the last line that the file has of the record."""
    rows = map(json.loads, repo.memories.read_text().splitlines())
    return [row for row in rows if row["id"] == "by-hand"][-1]


def test_one_that_may_not_come_back_stops_no_other(hooked):
    first, _ = remember(hooked.root, TEXT, "Staging lives in the Dublin region")
    hooked.git("checkout", "--", ".")
    path = hooked.root / ".gobby" / "local" / "history.jsonl"
    token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    path.write_text(path.read_text().replace(TEXT, f"the token is {token}"))
    ran = memsync("memory", "restore", "--json", cwd=hooked.root)
    assert (ran.code, [one["id"] for one in ran.json["refused"]]) == (1, [first])
    assert token not in ran.out
    assert shown(hooked.root) == {"first", "Staging lives in the Dublin region"}


def test_a_purge_leaves_nothing_to_find(hooked):
    (id_,) = remember(hooked.root, TEXT)
    edit(hooked.root, id_, "Deploys go through the green cluster")
    assert memsync("memory", "forget", "--purge", id_, cwd=hooked.root).out == f"purged {id_}\n"
    local = hooked.root / ".gobby" / "local"
    assert "cluster" not in "".join(path.read_text() for path in (*local.glob("*.jsonl"), hooked.memories))
    assert memsync("memory", "restore", id_, cwd=hooked.root).code == 1
    remember(hooked.root, TEXT)
    hooked.git("checkout", "--", ".")
    ((kept, _),) = [(one.memory.id, one) for one in find_lost(Memsync.open(hooked.root))]
    assert memsync("memory", "forget", "--purge", kept, "--json", cwd=hooked.root).json == {"purged": [kept]}
    assert (lost(hooked), "cluster" in (local / "history.jsonl").read_text()) == (set(), False)


def test_under_on_commit_a_purge_leaves_nothing_that_waits(hooked):
    memsync("memory", "config", "memory_sync.mode", "on-commit", "--global", cwd=hooked.root)
    (id_,) = remember(hooked.root, TEXT)
    assert memsync("memory", "forget", "--purge", id_, cwd=hooked.root).code == 0
    assert TEXT not in (hooked.root / ".gobby" / "local" / "pending.jsonl").read_text()
    assert shown(hooked.root) == {"first"}


def test_what_is_shared_or_unshared_is_not_lost_and_stays_where_it_went(repo):
    with Memsync.open(repo.root) as project:
        id_ = project.remember(TEXT, scope="private").entry.id
    for word in ("share", "unshare", "share"):
        assert memsync("memory", word, id_, "--json", cwd=repo.root).code == 0
        assert lost(repo) == set()
    assert memsync("memory", "unshare", id_, cwd=repo.root).code == 0
    forget(repo.root, id_)
    assert lost(repo) == set()
    assert memsync("memory", "restore", id_, cwd=repo.root).code == 0
    assert [entry.scope for entry in Memsync.open(repo.root).list()] == ["private"]
    assert TEXT not in (repo.root / ".gobby" / "local" / "history.jsonl").read_text()


def test_stealth_there_and_back_finds_nothing_lost(hooked):
    remember(hooked.root, TEXT)
    (gone,) = remember(hooked.root, "This one is forgotten")
    forget(hooked.root, gone)
    for turn in ("on", "off"):
        assert memsync("memory", "config", "--stealth", turn, "-y", cwd=hooked.root).code == 0
        assert lost(hooked) == set()


def test_the_history_is_private_and_bounded(tmp_path, monkeypatch):
    local = tmp_path / ".gobby" / "local"
    local.mkdir(parents=True)
    line = json.dumps({"content": "x" * 100_000, "id": "mm-a"}).encode()
    for _ in range(250):
        local_history.keep(local, [line], private=False)
    sizes = [path.stat().st_size for path in local.iterdir()]
    assert (len(sizes), sum(sizes) <= 20 * 2**20) == (2, True)
    assert {path.stat().st_mode & 0o077 for path in local.iterdir()} == {0}


def test_a_file_of_the_history_takes_ninety_days_and_is_kept_for_as_long(tmp_path):
    since = format_time(utc_now() - timedelta(days=91))
    (tmp_path / "history.jsonl").write_text(f'{{"since":"{since}"}}\n{{"content":"old","id":"mm-a"}}\n')
    (tmp_path / "history.1.jsonl").write_text('{"content":"older","id":"mm-b"}\n')
    local_history.keep(tmp_path, [b'{"content":"new","id":"mm-c"}'], private=True)
    assert set(local_history.find_last(tmp_path)) == {"mm-a", "mm-c"}
    assert "mm-a" in (tmp_path / "history.1.jsonl").read_text()


def test_a_write_waits_for_the_disk_no_more_often_than_before(repo, monkeypatch):
    with Memsync.open(repo.root) as project:
        project.remember("first")
        synced: list[str] = []
        real = os.fsync
        monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), real(fd))[1])
        project.remember("second")
        assert [os.path.basename(path) for path in synced] == ["memories.jsonl"]


def test_a_full_disk_for_the_history_does_not_take_the_memory_back(repo):
    remember(repo.root, "first")
    local = repo.root / ".gobby" / "local"
    (local / "history.jsonl").unlink()
    (local / "history.jsonl").mkdir()
    remember(repo.root, "second")
    assert shown(repo.root) == {"first", "second"}


def test_a_line_of_the_history_that_was_cut_off_hides_no_other(hooked):
    remember(hooked.root, TEXT)
    with (hooked.root / ".gobby" / "local" / "history.jsonl").open("ab") as file:
        file.write(b'{"content":"half a li')
    hooked.git("checkout", "--", ".")
    remember(hooked.root, "another")
    hooked.git("checkout", "--", ".")
    assert lost(hooked) == {TEXT, "another"}
