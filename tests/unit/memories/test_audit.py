"""Finding secrets in what is shared, and in what ever was."""

from __future__ import annotations

import secret_shapes as shapes
from helpers import memory_line, memsync

from memsync.memories import audit
from memsync.safety.secrets import scan
from memsync.setup.doctor import examine
from memsync.store.trust import consent

TOKEN = shapes.value("github classic", 1)
OTHER = shapes.value("npm", 2)


def commit(repo, message="change") -> None:
    repo.git("add", "-A")
    repo.git("commit", "-qm", message)


def skill(repo, text: str) -> None:
    path = repo.root / ".claude" / "skills" / "deploy" / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_every_shared_file_is_looked_at_and_nothing_is_shown(repo, project):
    repo.write_memories(
        memory_line("mm-aaaaaa", "fine") + memory_line("mm-bbbbbb", f"token {TOKEN}") + f"broken {OTHER}\n"
    )
    skill(repo, f"---\nname: deploy\n---\n{shapes.private_key(1)}\n")
    own = project.store("global").path
    own.parent.mkdir(parents=True)
    own.write_text(memory_line("mm-cccccc", f"mine {TOKEN}"))
    found = audit.current(project)
    assert [(e.where.rpartition("/")[2], e.id) for e in found] == [
        ("memories.jsonl:2", "mm-bbbbbb"),
        ("memories.jsonl:3", None),
        ("memories.jsonl:1", "mm-cccccc"),
        ("SKILL.md:4", None),
    ]
    told = " ".join(e.what for e in found)
    assert TOKEN not in told
    assert OTHER not in told


def test_what_waits_for_a_commit_is_looked_at_and_the_private_store_is_not(repo, project):
    waiting = repo.root / ".gobby" / "local" / "pending.jsonl"
    waiting.parent.mkdir(parents=True)
    waiting.write_text(memory_line("mm-aaaaaa", f"token {TOKEN}"))
    project.remember(f"mine {OTHER}", scope="private")
    assert [e.id for e in audit.current(project)] == ["mm-aaaaaa"]


def test_the_past_tells_the_commit_that_brought_it_in_once(repo, project):
    repo.write_memories(memory_line("mm-aaaaaa", f"token {TOKEN}"))
    commit(repo, "leak")
    repo.write_memories(memory_line("mm-aaaaaa", f"token {TOKEN}", tags=["x"]))
    skill(repo, f"export TOKEN\n{shapes.private_key(2)}\n")
    commit(repo, "again")
    repo.write_memories(memory_line("mm-aaaaaa", "token gone"))
    skill(repo, "clean\n")
    commit(repo, "cleaned")
    assert audit.current(project) == []
    assert sorted((e.commit.subject, e.id) for e in audit.past(project)) == [("again", None), ("leak", "mm-aaaaaa")]


def test_the_past_of_other_branches_stashes_and_old_folders_counts(repo, project):
    repo.write_memories(memory_line("mm-aaaaaa", "fine"))
    commit(repo)
    repo.git("checkout", "-qb", "side")
    repo.write_memories(memory_line("mm-aaaaaa", f"token {TOKEN}"))
    commit(repo, "on the side")
    repo.write_memories(memory_line("mm-aaaaaa", f"token {OTHER}"))
    repo.git("stash", "-q")
    repo.git("checkout", "-q", "main")
    assert {e.commit.subject.partition(":")[0] for e in audit.past(project)} == {"on the side", "WIP on side"}


def test_what_is_allowed_is_not_told(repo, project):
    repo.write_memories(memory_line("mm-aaaaaa", f"token {TOKEN}"))
    commit(repo)
    consent(project.layout, scan(TOKEN))
    assert audit.current(project) + audit.past(project) == []


def test_a_tag_in_a_file_allows_nothing(repo, project):
    repo.write_memories(memory_line("mm-aaaaaa", f"token {TOKEN}", tags=["allow-secret"]))
    commit(repo)
    assert len(audit.current(project)) == len(audit.past(project)) == 1


def test_doctor_tells_of_a_secret_and_the_command_says_so_by_its_exit_code(repo, project):
    repo.write_memories(memory_line("mm-aaaaaa", f"token {TOKEN}"))
    assert any("looks like a secret: github-token" in finding.what for finding in examine(project))
    done = memsync("memory", "audit", "--json", cwd=repo.root)
    assert (done.code, done.json["found"][0]["id"], TOKEN in done.out + done.err) == (1, "mm-aaaaaa", False)


def test_an_audit_of_a_repository_without_commits_or_memories_finds_nothing(repo, project):
    assert audit.past(project) == []
    assert audit.current(project) == []
