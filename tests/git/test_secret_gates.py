"""What looks like a secret gets past no gate: not by a field, a tag, a settings file, nor in a repaired form."""

from __future__ import annotations

import json

import pytest
import secret_shapes as shapes
from doing import said
from helpers import memory_line, memsync

from memsync.agents.session import RecallSession
from memsync.errors import SecretFound

TOKEN = shapes.value("github classic", 7)


@pytest.mark.parametrize(
    "row",
    [
        {"id": TOKEN, "content": "a text"},
        {"content": "b text", "source_session_id": TOKEN},
        {"content": "c text", "supersedes": [TOKEN]},
        {"content": "d text", "anchors": [f"x#{TOKEN}"]},
        {"content": f"e text {TOKEN}", "tags": ["allow-secret"]},
        {"content": "f text", "source_type": TOKEN},
        {"content": "g text", "more": {"credentials": {"password": {"value": shapes.password(2)}}}},
        {"content": f"h text {TOKEN[:9]}\u200b{TOKEN[9:]}"},
    ],
)
def test_an_import_brings_in_no_secret_in_any_field(repo, row):
    (repo.root / "imp.jsonl").write_text(json.dumps(row) + "\n")
    said = memsync("memory", "import", "imp.jsonl", cwd=repo.root)
    assert "looks like a secret" in said.out
    assert not repo.memories.exists() or TOKEN not in repo.memories.read_text()


@pytest.mark.parametrize("path", [".gobby/config.yaml", ".gobby/workflows/w.yaml", ".gobby/notes/x.md"])
def test_a_commit_is_stopped_by_a_secret_anywhere_below_the_store(repo, path):
    target = repo.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"# {TOKEN}\n")
    repo.git("add", "-f", path)
    stopped = memsync("git", "hook", "pre-commit", cwd=repo.root)
    assert stopped.code != 0
    assert f"{path}:1: looks like a secret" in stopped.err


def test_sync_does_not_stage_what_it_would_not_commit(repo):
    repo.write_memories(memory_line("mm-aaaaaa", f"token {TOKEN}"))
    said = memsync("sync", cwd=repo.root)
    assert "looks like a secret" in said.out + said.err
    assert TOKEN not in repo.git("diff", "--cached")


def test_what_the_environment_names_as_the_session_is_looked_at_too(project):
    with project.journal.in_session(TOKEN), pytest.raises(SecretFound):
        project.remember("the tests need docker")


def test_an_agent_is_given_no_key_in_a_repaired_form(repo, project):
    masked = f"{TOKEN[:10]}\u200b{TOKEN[10:]}"
    repo.write_memories(memory_line("mm-cccccc", f"CI pushes the image with {masked}", importance=1))
    session = RecallSession(project, "s1")
    assert session.at_start().entries == ()
    assert session.at_prompt("how does CI push the image").entries == ()


def test_the_users_word_counts_here_and_the_tag_is_only_for_reviewers(repo, project):
    project.vetting.allows_secrets = True
    entry = project.remember(f"the demo token is {TOKEN}").entry
    assert "allow-secret" in entry.memory.tags
    project.vetting.allows_secrets = False
    project.update(entry.id, tags=["demo"])
    project.forget(entry.id)
    project.restore(entry.id)
    assert not RecallSession(project, "s1").why_withheld(entry)


def test_a_text_that_names_a_file_keeps_the_tag_of_the_users_word(repo, project):
    (repo.root / "demo.py").write_text("")
    project.vetting.allows_secrets = True
    memory = project.remember(f"the demo token in demo.py is {TOKEN}").entry.memory
    assert memory.anchors
    assert "allow-secret" in memory.tags


def test_a_trial_of_an_import_notes_no_consent(repo):
    (repo.root / "imp.jsonl").write_text(json.dumps({"content": f"the fixture is {TOKEN}"}) + "\n")
    said = memsync("memory", "import", "imp.jsonl", "--dry-run", "--allow-secret", cwd=repo.root)
    assert "looks like a secret" not in said.out
    assert "looks like a secret" in memsync("memory", "import", "imp.jsonl", cwd=repo.root).out


@pytest.mark.parametrize(
    "line",
    [
        '{"id":"mm-d00001","content":"tok TOKEN","content":"harmless"}',
        '{"id":"mm-d00002","content":"harmless","more":{"a":"TOKEN","a":"b"}}',
        '{"id":"mm-d00003","content":"harmless","type":"TOKEN","memory_type":"fact"}',
        '{"id":"mm-d00004","content":"harmless","author":{"name":"TOKEN"}}',
        '{"id":"mm-d00005","content":"harmless","tags":[["TOKEN"]],"tags":[]}',
    ],
)
def test_what_only_the_bytes_of_a_line_say_is_stopped_and_found(repo, line):
    repo.write_memories(line.replace("TOKEN", TOKEN) + "\n")
    repo.git("add", "-A")
    assert memsync("git", "hook", "pre-commit", cwd=repo.root).code != 0
    for command in (["audit"], ["doctor"]):
        said = memsync(*command, cwd=repo.root)
        assert "looks like a secret" in said.out
    repo.git("commit", "-qm", "unseen")
    assert "looks like a secret" in memsync("audit", "--history", cwd=repo.root).out


@pytest.mark.parametrize(
    "path",
    [
        "pkg/.gobby/memories.jsonl",
        "pkg/.claude/skills/a/SKILL.md",
        ".agents/skills/a/SKILL.md",
        f".claude/skills/a/{TOKEN}",
    ],
)
def test_a_commit_is_stopped_by_a_secret_in_any_store_or_skill_of_the_work_tree(repo, path):
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    target = repo.root / path
    target.parent.mkdir(parents=True)
    target.write_text("x\n" if TOKEN in path else memory_line("mm-aaaaaa", f"tok {TOKEN}"))
    repo.git("add", "-A")
    stopped = memsync("git", "hook", "pre-commit", cwd=repo.root)
    assert stopped.code != 0
    assert "looks like a secret" in stopped.err
    assert TOKEN not in stopped.err
    hook = (repo.root / ".git" / "hooks" / "pre-commit").read_text()
    assert all(f"**/{folder}/**" in hook for folder in (".gobby", ".claude/skills", ".agents/skills"))


@pytest.mark.parametrize(
    "hidden",
    [
        '"content":"tok TOKEN"',
        '"more":{"n":1.10,"list":[{"a":"TOKEN","a":"b"}]}',
        '"author":"TOKEN","author":"ann"',
        '"more":{"note":"tok TOKEN"},"more":{"note":"none"}',
    ],
)
def test_an_edit_drops_the_secret_that_a_repeated_key_hides(repo, hidden):
    repo.write_memories(f'{{"id":"mm-d00007",{hidden.replace("TOKEN", TOKEN)},"x":1.10,"content":"harmless seven"}}\n')
    assert memsync("update", "mm-d00007", "--tag", "x", cwd=repo.root).code == 0
    text = repo.memories.read_text()
    assert '"x":1.10' in text
    assert "harmless seven" in text
    assert not [path for path in repo.memories.parent.rglob("*.jsonl") if TOKEN in path.read_text()]


def test_an_edit_keeps_what_a_repeated_key_hides_in_the_local_history(repo):
    repo.write_memories('{"id":"mm-d00007","content":"an earlier text","content":"harmless seven"}\n')
    assert memsync("update", "mm-d00007", "--tag", "x", cwd=repo.root).code == 0
    assert "an earlier text" not in repo.memories.read_text()
    assert "an earlier text" in (repo.memories.parent / "local" / "history.jsonl").read_text()


GATED = [
    "pkg/.gobby/memories.jsonl",
    "pkg/.gobby/workflows/w.yaml",
    "pkg/.claude/skills/a/SKILL.md",
    ".agents/skills/a/SKILL.md",
    "pkg/.agents/skills/a/notes.md",
    f".claude/skills/a/{TOKEN}",
]


@pytest.mark.parametrize("path", GATED)
def test_git_commit_is_stopped_and_audit_finds_a_secret_in_any_store_or_skill(repo, path):
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    repo.git("add", "-A")
    repo.git("commit", "-qm", "begin")
    target = repo.root / path
    target.parent.mkdir(parents=True)
    target.write_text("x\n" if TOKEN in path else memory_line("mm-aaaaaa", f"tok {TOKEN}"))
    repo.git("add", "-A")
    assert "looks like a secret" in said(repo, "commit", "-qm", "x", code=1)
    repo.git("commit", "--no-verify", "-qm", "x")
    for command in (["audit"], ["audit", "--history"]):
        told = memsync(*command, cwd=repo.root)
        assert told.code == 1
        assert "looks like a secret" in told.out
        assert TOKEN not in told.out
    repo.git("rm", "-q", path)
    repo.git("commit", "-qm", "away")
    assert memsync("audit", cwd=repo.root).code == 0
    assert memsync("audit", "--history", cwd=repo.root).code == 1


def test_a_hook_of_before_is_named_by_doctor_and_brought_up_to_date_by_init(repo):
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    hook = repo.root / ".git" / "hooks" / "pre-commit"
    new = hook.read_text()
    hook.write_text(new.replace(":(top,glob)**/.agents/skills/**", ".claude/skills"))
    assert "pre-commit" in memsync("doctor", cwd=repo.root).out
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    assert hook.read_text() == new


TOLD = "The password for the staging db is hunter2secret99"


def test_a_password_told_in_a_sentence_is_neither_remembered_nor_committed(repo):
    refused = memsync("remember", TOLD, cwd=repo.root)
    assert refused.code != 0
    assert "password, 15 characters" in refused.err
    assert "hunter2secret99" not in refused.err
    repo.memories.parent.mkdir(exist_ok=True)
    repo.memories.write_text(memory_line("mm-aaaaaa", TOLD))
    repo.git("add", "-f", ".gobby/memories.jsonl")
    stopped = memsync("git", "hook", "pre-commit", cwd=repo.root)
    assert stopped.code != 0
    assert "hunter2secret99" not in stopped.err


def test_a_sentence_about_passwords_is_remembered(repo):
    assert memsync("remember", "passwords are hashed with argon2id", cwd=repo.root).code == 0
