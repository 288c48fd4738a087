"""What the hooks do at a commit, and what they leave alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from doing import committed, forget, remember, said, shown
from helpers import GitRepo, memory_line, memsync
from ruamel.yaml import YAML

from memsync.git.hooks import main


def test_a_commit_takes_along_what_was_remembered_and_nothing_else_of_the_user(hooked):
    (hooked.root / "README").write_text("changed\n")
    (hooked.root / "new").write_text("untracked\n")
    (hooked.root / "staged").write_text("staged\n")
    hooked.git("add", "staged")
    remember(hooked.root, "second")
    hooked.git("commit", "-q", "-m", "work")
    assert hooked.git("show", "--format=", "--name-only").splitlines() == [".gobby/memories.jsonl", "staged"]
    assert "second" in committed(hooked)
    assert hooked.status() == " M README\n?? new\n"


def test_where_syncing_is_off_a_commit_takes_no_memory_along(hooked):
    assert memsync("memory", "config", "memory_sync.enabled", "off", "--global", cwd=hooked.root).code == 0
    remember(hooked.root, "second")
    hooked.git("commit", "-q", "--allow-empty", "-m", "work")
    assert "second" not in committed(hooked)


def test_the_first_commit_takes_the_two_small_files_along_unless_the_user_has_lines_in_them(repo):
    assert memsync("init", cwd=repo.root).code == 0
    memsync("git", "install", cwd=repo.root)
    remember(repo.root, "one")
    with (repo.root / ".gobby" / ".gitignore").open("a") as file:
        file.write("mine\n")
    repo.git("commit", "-q", "--allow-empty", "-m", "work")
    assert repo.git("show", "--format=", "--name-only").splitlines() == [".gitattributes", ".gobby/memories.jsonl"]
    assert repo.status() == "?? .gobby/.gitignore\n"


def test_a_file_in_log_form_is_committed_in_canonical_form(hooked):
    with hooked.memories.open("a") as file:
        file.write(memory_line("mm-000000", "by hand") + '\n{"id":"mm-aaaaaa","deleted_at":"2026-02-01T00:00:00Z"}\n')
    hooked.git("commit", "-qam", "work")
    assert committed(hooked) == memory_line("mm-000000", "by hand") == hooked.memories.read_text()
    assert hooked.status() == ""


@pytest.mark.parametrize("words", [["-am", "x"], ["--amend", "-m", "x"], ["--amend", "-am", "x"]])
def test_other_ways_to_commit_take_it_along_too(hooked, words):
    (hooked.root / "README").write_text("changed\n")
    hooked.git("add", "README")
    remember(hooked.root, "second")
    hooked.git("commit", "-q", *words)
    assert "second" in committed(hooked)
    assert hooked.status() == ""


def test_a_commit_of_some_paths_leaves_the_memories_for_the_next_commit(hooked):
    (hooked.root / "README").write_text("changed\n")
    remember(hooked.root, "second")
    told = said(hooked, "commit", "-q", "-m", "part", "--", "README")
    assert told == "memsync: .gobby/memories.jsonl is not in this commit: it is a partial commit\n"
    assert hooked.git("show", "--format=", "--name-only").splitlines() == ["README"]
    assert hooked.status() == " M .gobby/memories.jsonl\n"
    hooked.git("commit", "-q", "--allow-empty", "-m", "whole")
    assert "second" in committed(hooked)


def test_what_the_user_staged_in_part_stays_in_part(hooked):
    remember(hooked.root, "second")
    hooked.git("add", ".gobby")
    remember(hooked.root, "third")
    told = said(hooked, "commit", "-q", "-m", "work")
    assert "you staged a part of it" in told
    assert ("second" in committed(hooked), "third" in committed(hooked)) == (True, False)
    assert hooked.status() == " M .gobby/memories.jsonl\n"


def test_a_file_that_the_user_took_away_stays_away(hooked):
    hooked.memories.unlink()
    assert "it is not in the work tree" in said(hooked, "commit", "-q", "--allow-empty", "-m", "work")
    assert (committed(hooked) != "", hooked.memories.exists()) == (True, False)
    hooked.git("commit", "-qam", "remove it")
    assert committed(hooked) == ""


def test_an_ignored_store_is_never_staged(repo):
    (repo.root / ".gitignore").write_text(".gobby\n")
    repo.git("add", ".gitignore")
    assert memsync("git", "install", cwd=repo.root).code == 0
    remember(repo.root, "one")
    repo.git("commit", "-q", "-m", "work")
    assert repo.git("show", "--format=", "--name-only").splitlines() == [".gitignore"]
    assert shown(repo.root) == {"one"}


def test_under_stealth_a_commit_is_what_it_would_be_without_memsync(hooked):
    remember(hooked.root, "second")
    assert memsync("memory", "config", "--stealth", "on", "--keep", cwd=hooked.root).code == 0
    hooked.git("commit", "-q", "--allow-empty", "-m", "work")
    assert hooked.git("show", "--format=", "--name-only") == ""


def test_a_commit_without_anything_of_ours_does_not_start_python(hooked):
    shim = hooked.root / ".git" / "shim"
    shim.mkdir()
    (shim / "memsync").write_text("#!/bin/sh\ntouch started\n")
    (shim / "memsync").chmod(0o755)
    env = {**os.environ, "PATH": f"{shim}:{os.environ['PATH']}"}
    commit = ["git", "commit", "-q", "--allow-empty", "-m", "work"]
    subprocess.run(commit, cwd=hooked.root, env=env, check=True)
    assert not (hooked.root / "started").exists()
    remember(hooked.root, "second")
    subprocess.run(commit, cwd=hooked.root, env=env, check=True)
    assert (hooked.root / "started").exists()


def test_what_came_is_said_after_a_checkout_a_merge_and_a_rebase(hooked):
    hooked.git("checkout", "-q", "-b", "side")
    remember(hooked.root, "second", "third")
    hooked.git("commit", "-q", "--allow-empty", "-m", "two more")
    assert "memsync: -2 memories" in said(hooked, "checkout", "main")
    assert "memsync: +2 memories" in said(hooked, "checkout", "side")
    hooked.git("checkout", "-q", "-b", "later", "main")
    (hooked.root / "later").write_text("x\n")
    hooked.git("add", "later")
    hooked.git("commit", "-q", "-m", "later")
    assert said(hooked, "rebase", "side").count("memsync: +2 memories") == 1
    hooked.git("checkout", "-q", "main")
    assert "memsync: +2 memories" in said(hooked, "merge", "side")
    assert "memsync" not in said(hooked, "checkout", "later")


def test_an_edit_and_a_removal_are_said_as_such(hooked):
    remember(hooked.root, "second")
    hooked.git("commit", "-q", "--allow-empty", "-m", "one more")
    hooked.git("checkout", "-q", "-b", "side")
    forget(hooked.root, "mm-aaaaaa")
    hooked.memories.write_text(hooked.memories.read_text().replace("second", "the second"))
    hooked.git("commit", "-qam", "x")
    hooked.git("checkout", "-q", "main")
    assert "memsync: -1 memory, 1 changed" in said(hooked, "merge", "side")


def test_new_worktrees_and_file_checkouts_say_nothing(hooked, tmp_path):
    assert "memsync" not in said(hooked, "worktree", "add", str(tmp_path / "linked"))
    remember(hooked.root, "second")
    assert "memsync" not in said(hooked, "checkout", "--", ".gobby/memories.jsonl")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["pre-commit"], "not a mapping of settings"),
        (["no-such-hook"], "unknown hook 'no-such-hook'"),
        ([], "unknown hook"),
        (["post-checkout"], ""),
    ],
)
def test_a_hook_that_fails_lets_git_go_on(hooked, words, text):
    (hooked.root / ".gobby" / "config.yaml").write_text("- a list\n")
    ran = memsync("git", "hook", *words, cwd=hooked.root)
    assert ran.code == 0
    assert text in ran.err


def test_an_unexpected_failure_lets_git_go_on(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["pre-commit"]) == 0
    assert "unexpected FileNotFoundError" in capsys.readouterr().err


def test_a_standard_input_that_git_gives_reaches_the_hook_behind_ours(hooked):
    hook = hooked.root / ".git" / "hooks" / "post-rewrite"
    hook.write_bytes(hook.read_bytes() + b"cat > seen\n")
    hooked.git("commit", "-q", "--allow-empty", "-m", "x")
    hooked.git("commit", "-q", "--allow-empty", "--amend", "-m", "y")
    assert len((hooked.root / "seen").read_text().split()) == 2


def test_a_commit_in_a_submodule_goes_there_and_nowhere_else(hooked, tmp_path):
    other = GitRepo.create(tmp_path / "other")
    hooked.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.root), "sub")
    hooked.git("commit", "-q", "-m", "a submodule")
    sub = GitRepo(hooked.root / "sub")
    assert memsync("init", cwd=sub.root).code == 0
    memsync("git", "install", cwd=sub.root)
    remember(sub.root, "in the submodule")
    sub.git("commit", "-q", "--allow-empty", "-m", "work")
    assert "in the submodule" in committed(sub)
    assert "in the submodule" not in committed(hooked)
    assert hooked.status() == " M sub\n"


@pytest.mark.parametrize(
    "words", [["pre-commit"], ["post-merge", "0"], ["post-checkout", "HEAD", "HEAD", "1"], ["post-rewrite", "rebase"]]
)
def test_the_hook_loads_neither_click_nor_gitpython_nor_numpy(hooked, words):
    code = (
        f"import sys, atexit; sys.argv = ['memsync', 'git', 'hook', *{words}]\n"
        "atexit.register(lambda: print(' '.join(sorted(sys.modules)), file=sys.stderr))\n"
        "from memsync.cli import main; main()"
    )
    remember(hooked.root, "second")
    done = subprocess.run([sys.executable, "-c", code], cwd=hooked.root, capture_output=True, text=True, check=False)
    loaded = {name.split(".")[0] for name in done.stderr.splitlines()[-1].split()}
    assert hooked.status() == ("M " if words == ["pre-commit"] else " M") + " .gobby/memories.jsonl\n"
    assert loaded & {"click", "git", "numpy", "watchdog", "mcp", "pydantic", "rich", "frontmatter"} == set()


TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"


def test_a_secret_is_not_staged_by_us_and_the_commit_goes_on_without_the_file(hooked):
    with hooked.memories.open("a") as file:
        file.write(memory_line("mm-bbbbbb", f"the token is {TOKEN}"))
    told = said(hooked, "commit", "-q", "--allow-empty", "-m", "work")
    assert "is not in this commit: .gobby/memories.jsonl:2: looks like a secret: " in told
    assert (TOKEN in told, TOKEN in committed(hooked)) == (False, False)
    assert hooked.status() == " M .gobby/memories.jsonl\n"
    assert "looks like a secret" in said(hooked, "commit", "-qam", "work", code=1)
    assert TOKEN not in hooked.git("log", "-p", "--no-textconv")


def test_a_secret_stops_the_commit_names_the_line_and_is_not_shown(hooked):
    with hooked.memories.open("a") as file:
        file.write(memory_line("mm-bbbbbb", f"the token is {TOKEN}"))
    hooked.git("add", ".gobby")
    told = said(hooked, "commit", "-q", "--allow-empty", "-m", "work", code=1)
    assert ".gobby/memories.jsonl:2: looks like a secret: " in told
    assert "nothing was committed" in told
    assert TOKEN not in told
    assert hooked.git("log", "--format=%s").splitlines()[0] == "memories"


def test_a_secret_in_a_skill_stops_the_commit_and_one_that_was_there_before_does_not(hooked):
    skill = hooked.root / ".claude" / "skills" / "deploy" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\nname: deploy\n---\nUse {TOKEN}\n")
    hooked.git("add", ".claude")
    assert "SKILL.md:4: looks like a secret" in said(hooked, "commit", "-q", "-m", "work", code=1)
    hooked.git("commit", "-q", "--no-verify", "-m", "work")
    skill.write_text(skill.read_text() + "And then deploy.\n")
    hooked.git("commit", "-qam", "more")


def test_a_secret_stops_the_commit_even_where_the_export_fails(hooked):
    with hooked.memories.open("a") as file:
        file.write(memory_line("mm-bbbbbb", f"the token is {TOKEN}"))
    hooked.git("add", ".gobby")
    (hooked.root / ".gobby" / "local").rmdir() if (hooked.root / ".gobby" / "local").exists() else None
    (hooked.root / ".gobby" / "local").write_text("not a directory\n")
    assert "looks like a secret" in said(hooked, "commit", "-q", "-m", "work", code=1)


def test_a_secret_stops_the_commit_even_where_the_settings_cannot_be_read(hooked):
    with hooked.memories.open("a") as file:
        file.write(memory_line("mm-bbbbbb", f"the token is {TOKEN}"))
    (hooked.root / ".gobby" / "config.yaml").write_text("- a list\n")
    hooked.git("add", ".gobby")
    told = said(hooked, "commit", "-q", "-m", "work", code=1)
    assert "not a mapping of settings" in told
    assert "looks like a secret" in told


def test_the_check_tells_by_its_exit_code_and_writes_nothing(hooked):
    assert memsync("git", "check", cwd=hooked.root).out == "all is well\n"
    with hooked.memories.open("a") as file:
        file.write("<<<<<<< ours\n{broken\n")
    hooked.git("add", ".gobby")
    before = hooked.memories.read_bytes(), hooked.status()
    ran = memsync("git", "check", ".gobby/memories.jsonl", "--json", cwd=hooked.root)
    assert ran.code == 1
    assert [(found["line"], found["kind"]) for found in ran.json["found"]] == [(2, "conflict"), (3, "unreadable")]
    assert memsync("git", "check", "README", cwd=hooked.root).code == 0
    assert (hooked.memories.read_bytes(), hooked.status()) == before


def test_the_hook_for_the_pre_commit_framework_runs_a_command_that_there_is():
    text = (Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text()
    (hook,) = YAML(typ="safe", pure=True).load(text)
    assert hook["entry"] == "memsync git check"
    assert re.search(hook["files"], ".gobby/memories.jsonl")
    assert re.search(hook["files"], "packages/a/.claude/skills/deploy/SKILL.md")
    assert not re.search(hook["files"], "src/memories.jsonl")
