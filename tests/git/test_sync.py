"""`memsync sync` with real remotes and real clones."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from doing import committed, edit, forget, remember, said, shown
from helpers import GitRepo, memory_line, memsync

from memsync.system.programs import own


@pytest.fixture
def clones(hooked, tmp_path) -> tuple[GitRepo, GitRepo]:
    """Return two clones of a bare remote, the second without our hooks."""
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "remote")], check=True)
    hooked.git("remote", "add", "origin", str(tmp_path / "remote"))
    hooked.git("push", "-q", "-u", "origin", "main")
    subprocess.run(["git", "clone", "-q", str(tmp_path / "remote"), str(tmp_path / "other")], check=True)
    return hooked, GitRepo(tmp_path / "other")


def sync(repo: GitRepo, *words: str, code: int = 0) -> dict:
    ran = memsync("sync", "--json", *words, cwd=repo.root)
    assert ran.code == code, ran.err
    return ran.json


def at_remote(repo: GitRepo) -> str:
    repo.git("fetch", "-q")
    return committed(repo, "origin/main")


def test_a_sync_puts_the_file_in_order_stages_it_and_leaves_all_else_alone(hooked):
    with hooked.memories.open("a") as file:
        file.write(memory_line("mm-000000", "by hand"))
    (hooked.root / "README").write_text("edited\n")
    done = sync(hooked)
    assert (done["exported"], done["staged"], done["memories"], done["held"]) == (True, True, 2, None)
    assert hooked.status() == "M  .gobby/memories.jsonl\n M README\n"
    again = memsync("memory", "sync", "--import", "--export", "--json", cwd=hooked.root).json
    assert (again["exported"], again["commit"]) == (False, None)


def test_an_import_alone_writes_nothing_that_git_sees(hooked):
    with hooked.memories.open("a") as file:
        file.write(memory_line("mm-000000", "by hand"))
    before = hooked.memories.read_bytes()
    assert sync(hooked, "--import")["memories"] == 2
    assert (hooked.memories.read_bytes(), hooked.status()) == (before, " M .gobby/memories.jsonl\n")
    assert memsync("index", "status", "--json", cwd=hooked.root).json["fresh"]


def test_what_waits_for_a_commit_is_folded_and_staged(hooked):
    memsync("memory", "config", "memory_sync.mode", "on-commit", "--global", cwd=hooked.root)
    remember(hooked.root, "second")
    assert hooked.status() == ""
    assert sync(hooked)["staged"]
    assert hooked.status() == "M  .gobby/memories.jsonl\n"


def test_a_commit_holds_the_memory_file_alone(hooked):
    remember(hooked.root, "second")
    (hooked.root / "README").write_text("edited\n")
    hooked.git("add", "README")
    done = sync(hooked, "--commit")
    assert done["message"] == "+1 memory"
    assert hooked.git("log", "-1", "--format=%H").strip() == done["commit"]
    assert hooked.git("show", "--format=", "--name-only") == ".gobby/memories.jsonl\n"
    assert hooked.status() == "M  README\n"
    assert sync(hooked, "--commit")["commit"] is None


def test_two_clones_that_push_in_turn_end_with_the_same_bytes(clones):
    one, other = clones
    for turn in range(3):
        remember(one.root, f"one {turn}")
        edit(other.root, "mm-aaaaaa", f"edited {turn}")
        remember(other.root, f"other {turn}")
        assert sync(one, "--push")["pushed"] == "origin/main"
        assert sync(other, "--push")["pushed"] == "origin/main"
    sync(one, "--push")
    one.git("pull", "-q", "--rebase")
    wanted = {"edited 2", *(f"{who} {turn}" for who in ("one", "other") for turn in range(3))}
    assert shown(one.root) == shown(other.root) == wanted
    assert one.memories.read_bytes() == other.memories.read_bytes() == at_remote(one).encode()
    assert (one.status(), other.status()) == ("", "")
    assert "<<<<<<<" not in one.memories.read_text()


def test_a_rebase_that_meets_a_conflict_of_the_user_is_taken_back_and_nothing_is_pushed(clones):
    one, other = clones
    for repo, text in ((one, "one\n"), (other, "other\n")):
        (repo.root / "README").write_text(text)
        repo.git("commit", "-qam", text)
        remember(repo.root, text)
    sync(one, "--push")
    head = other.git("rev-parse", "HEAD")
    ran = memsync("sync", "--push", cwd=other.root)
    assert ran.code == 1
    assert "git pull --rebase failed" in ran.err
    assert "nothing was pushed" in ran.err
    assert other.git("log", "--format=%s", "-2").splitlines() == ["Update memories: +1 memory", "other"]
    assert other.git("rev-parse", "HEAD^") == head
    assert other.status() == ""
    assert "other" not in at_remote(one)


def test_a_dirty_tree_is_not_rebased_over(clones):
    one, other = clones
    remember(one.root, "one")
    sync(one, "--push")
    (other.root / "README").write_text("in the middle of work\n")
    remember(other.root, "other")
    ran = memsync("sync", "--push", cwd=other.root)
    assert (ran.code, "nothing was pushed" in ran.err) == (1, True)
    assert (other.root / "README").read_text() == "in the middle of work\n"
    assert shown(other.root) == {"first", "other"}


def test_a_side_without_memories_is_never_pushed_over_one_that_has_some(clones):
    one, _ = clones
    forget(one.root, "mm-aaaaaa")
    one.git("commit", "-qam", "empty")
    ran = memsync("sync", "--push", cwd=one.root)
    assert ran.code == 1
    assert "origin/main has 1 memory and this branch has none" in ran.err
    assert at_remote(one) != ""


def test_a_branch_without_an_upstream_is_not_published_by_us(hooked):
    remember(hooked.root, "second")
    ran = memsync("sync", "--push", cwd=hooked.root)
    assert (ran.code, "git push -u origin main" in ran.err) == (1, True)


def test_a_push_that_the_server_refuses_is_not_tried_again(clones):
    one, _ = clones
    url = one.git("remote", "get-url", "origin").strip()
    hook = Path(url) / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho attempt >> attempts\necho 'no, thanks' >&2\nexit 1\n")
    hook.chmod(0o755)
    remember(one.root, "second")
    ran = memsync("sync", "--push", cwd=one.root)
    assert (ran.code, "no, thanks" in ran.err or "pre-receive" in ran.err) == (1, True)
    assert (Path(url) / "attempts").read_text() == "attempt\n"


@pytest.mark.parametrize("words", [["--commit"], ["--push"]])
def test_under_stealth_and_outside_git_there_is_nothing_to_commit(hooked, tmp_path, words):
    memsync("memory", "config", "--stealth", "on", "--keep", cwd=hooked.root)
    assert "stealth is on" in memsync("sync", *words, cwd=hooked.root).err
    assert memsync("sync", cwd=hooked.root).code == 0
    assert "not a git checkout" in memsync("sync", *words, cwd=tmp_path).err


def test_in_the_middle_of_a_merge_the_file_is_left_alone_and_the_report_says_so(hooked):
    hooked.git("checkout", "-q", "-b", "side")
    hooked.git("commit", "-q", "--allow-empty", "-m", "side")
    hooked.git("checkout", "-q", "main")
    hooked.git("merge", "-q", "--no-ff", "--no-commit", "side")
    remember(hooked.root, "second")
    done = sync(hooked, code=1)
    assert done["held"] == "a merge is under way"
    assert hooked.status() == ""
    said(hooked, "commit", "-q", "-m", "merged")
    assert sync(hooked)["staged"]
    assert "second" in hooked.git("diff", "--cached")


def test_a_conflict_in_the_file_is_resolved_and_staged_in_the_middle_of_a_merge(hooked):
    for branch in ("side", "main"):
        hooked.git("checkout", "-q", *(["-b", "side"] if branch == "side" else ["main"]))
        edit(hooked.root, "mm-aaaaaa", f"edited on {branch}")
        remember(hooked.root, f"new on {branch}")
        hooked.git("-c", "core.hooksPath=/dev/null", "commit", "-qam", branch)
    hooked.git("config", "--unset-all", "merge.memsync.driver") if "merge.memsync" in hooked.git(
        "config", "-l"
    ) else None
    said(hooked, "merge", "side", code=1)
    assert "UU" in hooked.status() or "AA" in hooked.status()
    done = sync(hooked)
    assert (done["resolved"], done["staged"]) == (True, True)
    assert "<<<<<<<" not in hooked.memories.read_text()
    hooked.git("commit", "-q", "-m", "merged")
    assert {"new on side", "new on main", "edited on main", "edited on side"} <= shown(hooked.root)


def push_from(repo: GitRepo, name: str) -> None:
    (repo.root / name).write_text(f"{name}\n")
    repo.git("add", name)
    repo.git("commit", "-q", "-m", name)
    repo.git("push", "-q")


@pytest.mark.parametrize("setting", [None, "true", "merges", "false"])
def test_a_push_never_drops_what_only_a_merge_holds(clones, setting):
    one, other = clones
    if setting:
        one.git("config", "pull.rebase", setting)
    one.git("switch", "-qc", "feature")
    (one.root / "feature").write_text("feature\n")
    one.git("add", "feature")
    one.git("commit", "-qm", "feature")
    one.git("switch", "-q", "main")
    one.git("merge", "-q", "--no-ff", "--no-commit", "feature")
    (one.root / "glue").write_text("adapts a call site\n")
    one.git("add", "glue")
    one.git("commit", "-qm", "merge feature")
    merge = one.git("rev-parse", "HEAD").strip()
    push_from(other, "elsewhere")
    remember(one.root, "Deploys go through the blue cluster")
    assert sync(one, "--push")["pushed"] == "origin/main"
    assert {"glue", "feature", "elsewhere"} <= set(one.git("ls-tree", "--name-only", "origin/main").split())
    assert merge in one.git("rev-list", "origin/main").split()
    assert "blue cluster" in at_remote(one)


def test_a_memory_that_only_the_commit_of_a_merge_holds_is_pushed(clones):
    one, other = clones  # the second has no merge driver
    edit(other.root, "mm-aaaaaa", "first, as the second clone has it")
    other.git("commit", "-qam", "second")
    edit(one.root, "mm-aaaaaa", "first, as the first clone has it")
    one.git("commit", "-qam", "first")
    one.git("push", "-q")
    said(other, "pull", "-q", "--no-rebase", code=1)
    remember(other.root, "The metrics endpoint listens on port 7777")
    sync(other)
    other.git("add", "-A")
    other.git("commit", "-qm", "merged")
    push_from(one, "x")
    assert sync(other, "--push")["pushed"] == "origin/main"
    assert "port 7777" in at_remote(one)
    assert {"first, as the first clone has it", "first, as the second clone has it"} <= shown(other.root)


def test_the_users_own_way_to_pull_is_taken(clones):
    one, other = clones
    for setting, merges in (("false", 1), ("true", 0)):
        one.git("config", "pull.rebase", setting)
        push_from(other, f"other-{setting}")
        remember(one.root, f"with pull.rebase {setting}")
        before = one.git("rev-parse", "origin/main").strip()
        assert sync(one, "--push")["pushed"] == "origin/main"
        assert len(one.git("rev-list", "--merges", f"{before}..HEAD").split()) == merges
        other.git("pull", "-q", "--rebase")


def test_a_user_who_only_fast_forwards_is_not_given_a_merge(clones):
    one, other = clones
    one.git("config", "pull.ff", "only")
    one.git("switch", "-qc", "feature")
    one.git("commit", "-q", "--allow-empty", "-m", "feature")
    one.git("switch", "-q", "main")
    one.git("merge", "-q", "--no-ff", "-m", "merge feature", "feature")
    push_from(other, "elsewhere")
    remember(one.root, "second")
    ran = memsync("sync", "--push", cwd=one.root)
    assert (ran.code, "which a rebase would flatten" in ran.err) == (1, True)
    assert one.git("log", "-2", "--format=%s").splitlines() == ["Update memories: +1 memory", "merge feature"]


def test_a_merge_that_meets_a_conflict_of_the_user_is_taken_back_and_nothing_is_pushed(clones):
    one, other = clones
    other.git("config", "pull.rebase", "false")
    for repo, text in ((one, "one\n"), (other, "other\n")):
        (repo.root / "README").write_text(text)
        repo.git("commit", "-qam", text)
        remember(repo.root, text)
    sync(one, "--push")
    ran = memsync("sync", "--push", cwd=other.root)
    assert (ran.code, "git pull --no-rebase failed" in ran.err) == (1, True)
    assert (other.status(), shown(other.root)) == ("", {"first", "other"})


def test_four_clones_that_push_at_once_all_get_through(clones, tmp_path):
    one, _ = clones
    repos = [one]
    for number in range(3):
        root = tmp_path / f"clone-{number}"
        subprocess.run(["git", "clone", "-q", str(tmp_path / "remote"), str(root)], check=True)
        repos.append(GitRepo(root))
    for number, repo in enumerate(repos):
        remember(repo.root, f"written in clone {number}")
    words = own("sync", "--push")
    running = [subprocess.Popen(words, cwd=repo.root, stdout=subprocess.DEVNULL) for repo in repos]
    assert [process.wait(120) for process in running] == [0, 0, 0, 0]
    assert [number for number in range(4) if f"written in clone {number}" not in at_remote(one)] == []


def test_a_push_is_tried_again_while_others_are_first_seven_times(clones, tmp_path):
    one, other = clones
    hook = one.root / ".git" / "hooks" / "pre-push"
    hook.write_text(
        f"#!/bin/sh\necho >> {tmp_path}/tries\n[ $(wc -l < {tmp_path}/tries) -le 7 ] || exit 0\nunset $(git rev-parse --local-env-vars)\n"
        f"cd {other.root} && git commit -q --allow-empty -m other && git push -q\n"
    )
    hook.chmod(0o755)
    remember(one.root, "second")
    assert sync(one, "--push")["pushed"] == "origin/main"
    assert len(one.git("rev-list", "--grep=^other$", "origin/main").split()) == 7
