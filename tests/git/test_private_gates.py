"""What says that it is private, and what is of this machine alone, gets past no gate; the message says what to do."""

from __future__ import annotations

import re
import shlex

import pytest
import secret_shapes as shapes
from doing import committed, remember, said
from helpers import memory_line, memsync

SKILL = "---\nname: a\ndescription: How\nmetadata:\n  id: sk-aaaaaa\n  scope: {}\n---\n1. Zebra\n"
TOKEN = shapes.value("github classic", 7)


# What a copy of a private or global text says of itself, by where it was put.
COPIES = {
    ".gobby/memories.jsonl": memory_line("mm-bbbbbb", "Zebra snores", scope="private"),
    "pkg/.gobby/memories.jsonl": memory_line("mm-bbbbbb", "Zebra snores", scope="stealth"),
    ".gobby/copy.jsonl": memory_line("mm-bbbbbb", "Zebra snores", scope="global"),
    ".claude/skills/a/SKILL.md": SKILL.format("private"),
    "pkg/.agents/skills/a/SKILL.md": SKILL.format('"global"'),
}


def test_git_commit_is_stopped_and_audit_finds_what_says_that_it_is_private(hooked):
    for path, text in COPIES.items():
        target = hooked.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a") as file:
            file.write(text)
    hooked.git("add", "-A")
    told = said(hooked, "commit", "-qm", "x", code=1)
    assert "secret" not in told
    assert "Zebra" not in hooked.git("log", "-p")
    looks = [told, *(memsync(word, cwd=hooked.root).out for word in ("audit", "doctor"))]
    looks.append(memsync("git", "check", cwd=hooked.root).out)
    hooked.git("commit", "--no-verify", "-qm", "x")
    looks.append(memsync("audit", "--history", cwd=hooked.root).out)
    for said_there in looks:
        for path in COPIES:
            is_skill = path.endswith(".md")
            assert (is_skill and said_there is looks[-1]) or re.search(
                rf"{re.escape(path)}:?\d*( mm-bbbbbb)?( .*)?: says that it is (private|global); ", said_there
            ), (path, said_there)
        assert "Zebra" not in said_there
    (hooked.root / "README").write_text("more\n")
    hooked.git("commit", "-qam", "what is committed already stops nobody")


@pytest.mark.parametrize("scope", ["private", "global"])
def test_the_remedy_moves_the_record_to_where_it_belongs_and_the_commit_goes_on(hooked, scope):
    with hooked.memories.open("a") as file:
        file.write(memory_line("mm-bbbbbb", "Zebra snores", scope=scope))
    hooked.git("add", "-A")
    (remedy,) = re.findall("`memsync (unshare.*?)`", said(hooked, "commit", "-qm", "x", code=1))
    assert memsync(*shlex.split(remedy), cwd=hooked.root).code == 0
    hooked.git("add", "-A")
    hooked.git("commit", "-q", "--allow-empty", "-m", "x")
    assert "Zebra" not in hooked.git("log", "-p")
    assert memsync("list", "--ids", "--scope", scope, cwd=hooked.root).out == "mm-bbbbbb\n"
    assert memsync("share", "mm-bbbbbb", cwd=hooked.root).code == 0  # the user's word, which the next commit follows
    hooked.git("commit", "-q", "--allow-empty", "-m", "x")
    assert "Zebra" in committed(hooked)
    assert "scope" not in committed(hooked)


@pytest.mark.parametrize("mode", ["worktree", "auto-commit"])
def test_what_says_that_it_is_private_is_held_back_where_memsync_would_stage_it(hooked, mode):
    assert memsync("config", "memory_sync.mode", mode, "--global", cwd=hooked.root).code == 0
    with hooked.memories.open("a") as file:
        file.write(memory_line("mm-bbbbbb", "Zebra snores", scope="private"))
    remember(hooked.root, "the second")
    (hooked.root / "README").write_text("changed\n")
    told = said(hooked, "commit", "-qam" if mode == "auto-commit" else "-qm", "x", code=1)
    held_back = r"is not in this commit: .gobby/memories.jsonl:\d: says that it is private"
    assert mode == "auto-commit" or re.search(held_back, told)
    assert "Zebra" not in hooked.git("log", "-p")
    held = memsync("sync", cwd=hooked.root)
    assert "says that it is private" in held.out + held.err
    assert "Zebra" not in hooked.git("log", "-p")


@pytest.mark.parametrize("root", ["", "pkg/"])  # in the latter nothing was set up
def test_local_files_are_committed_by_no_means_that_git_has(hooked, root):
    folder = hooked.root / root
    folder.mkdir(exist_ok=True)
    (folder / ".gobby").mkdir(exist_ok=True)
    assert memsync("remember", "Zebra snores", "--private", cwd=folder).code == 0
    assert memsync("recall", "Zebra", cwd=folder).code == 0  # makes the index
    local = folder / ".gobby" / "local"
    assert any(b"zebra" in path.read_bytes().lower() for path in local.rglob("*") if path.is_file())
    (folder / ".gobby" / ".gitignore").unlink(missing_ok=True)
    (folder / "loose").write_text("loose\n")
    hooked.git("stash", "-u", "-q")
    assert "local" not in hooked.git("show", "--format=", "--name-only", "stash@{0}", "stash@{0}^3")
    hooked.git("stash", "drop", "-q")
    assert any(local.iterdir())
    hooked.git("add", "-f", ".")
    told = said(hooked, "commit", "-qm", "x", code=1)
    assert f"`git rm -r --cached {root}.gobby/local`" in told
    assert "zebra" not in hooked.git("log", "-p", "--text").lower()
    done = memsync("audit", cwd=hooked.root)
    assert done.code == 1
    assert f"{root}.gobby/local" in done.out
    for remedy in re.findall("`git (rm -r --cached .*?)`", told):
        hooked.git(*remedy.split())
    hooked.git("commit", "-q", "--allow-empty", "-m", "x")
    assert "local" not in hooked.git("archive", "HEAD")


def test_what_is_let_pass_is_said_by_each_project_of_a_work_tree_for_itself(hooked):
    allowed, other = shapes.value("github classic", 7), shapes.value("github classic", 8)
    (hooked.root / "pkg" / ".gobby").mkdir(parents=True)
    for folder, value in ((hooked.root, other), (hooked.root / "pkg", allowed)):
        assert memsync("config", "memory.secrets.allow", value, cwd=folder).code == 0
        assert memsync("trust", "--yes", cwd=folder).code == 0
    (hooked.root / "pkg" / ".gobby" / "memories.jsonl").write_text(memory_line("mm-bbbbbb", f"tok {allowed}"))
    (hooked.root / ".gobby" / "notes.md").write_text(f"tok {other}\n")
    for folder in (hooked.root, hooked.root / "pkg"):
        assert memsync("audit", cwd=folder).out.splitlines()[-1] == "no secrets found"
    hooked.git("add", "-A")
    hooked.git("commit", "-qm", "x")
    (hooked.root / ".gobby" / "notes.md").write_text(f"tok {allowed}\n")
    for folder in (hooked.root, hooked.root / "pkg"):
        assert "notes.md" in memsync("audit", cwd=folder).out
    assert "notes.md:1: looks like a secret" in said(hooked, "commit", "-qam", "x", code=1)
