"""A private store has one owner: no name that another repository chooses, and no folder that was there before, leads to it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from zlib import crc32

import pytest
from helpers import GitRepo, memsync

VICTIM = "https://github.com/acme/payments"
SECRET = "Client MegaBank is leaving us in May"
WORKFLOW = "on_session_end:\n  - {action: memory_extract}\n"


def old_name(identity: str, slug: str) -> str:
    """Spell the name that versions before this one gave to a store."""
    raw = identity.encode()
    return f"{slug}-{crc32(raw):08x}{crc32(raw[::-1]):08x}"


def collide(victim: str, owner: str) -> str:
    """Return a URL below *owner* whose store had the name of the one of *victim*: CRC is linear, so that is 64 equations."""

    def both(text: bytes) -> int:
        return (crc32(text) << 32) | crc32(text[::-1])

    name = victim.rpartition("/")[2]
    free = 99 - len(name)

    def spell(chosen: int) -> bytes:
        signs = bytes(ord(".") if chosen >> i & 1 else ord("-") for i in range(free))
        return f"remote:{owner}/{name}".encode() + signs + b"_"

    zero, basis = both(spell(0)), {}
    for i in range(free):
        vector, mask = both(spell(1 << i)) ^ zero, 1 << i
        while vector and vector.bit_length() in basis:
            vector, mask = vector ^ basis[vector.bit_length()][0], mask ^ basis[vector.bit_length()][1]
        if vector:
            basis[vector.bit_length()] = vector, mask
    wanted, chosen = zero ^ both(f"remote:{victim}".encode()), 0
    while wanted:
        vector, mask = basis[wanted.bit_length()]
        wanted, chosen = wanted ^ vector, chosen ^ mask
    return "https://" + spell(chosen)[len("remote:") :].decode()


@pytest.fixture
def victim(tmp_path: Path) -> GitRepo:
    repo = GitRepo.create(tmp_path / "own")
    repo.git("remote", "add", "origin", VICTIM)
    return repo


@pytest.fixture
def evil(tmp_path: Path) -> GitRepo:
    """Return the clone of a repository whose name was chosen for its checksum."""
    repo = GitRepo.create(tmp_path / "lib")
    repo.git("remote", "add", "origin", collide("github.com/acme/payments", "github.com/evil-dev"))
    (repo.root / ".gobby" / "workflows").mkdir(parents=True)
    (repo.root / ".gobby" / "workflows" / "w.yaml").write_text(WORKFLOW)
    return repo


def listed(repo: GitRepo) -> str:
    return memsync("list", cwd=repo.root).out


def test_a_repository_with_a_chosen_name_finds_no_private_memory_and_no_approval_of_another(victim, evil):
    (victim.root / ".gobby" / "workflows").mkdir(parents=True)
    shutil.copy(evil.root / ".gobby" / "workflows" / "w.yaml", victim.root / ".gobby" / "workflows")
    memsync("remember", "--private", SECRET, cwd=victim.root)
    assert memsync("trust", "--yes", cwd=victim.root).code == 0
    assert (SECRET in listed(victim), SECRET in listed(evil)) == (True, False)
    assert "w.yaml" in memsync("trust", cwd=evil.root).out
    start = {"session_id": "s1", "source": "startup", "cwd": str(evil.root), "hook_event_name": "SessionStart"}
    told = memsync("hook", "session-start", "--client", "claude", cwd=evil.root, stdin=json.dumps(start))
    assert "MegaBank" not in told.out


def test_a_key_that_names_the_store_of_another_project_is_not_believed(victim, evil, home):
    memsync("remember", "--private", SECRET, cwd=victim.root)
    (store,) = (home / ".gobby" / "projects").iterdir()
    for text in (f"{store.name}\n", f"{store.name} {'0' * 32}\n", f"{store.name} \n"):
        (evil.root / ".git" / "memsync").mkdir(exist_ok=True)
        (evil.root / ".git" / "memsync" / "key").write_text(text)
        assert SECRET not in listed(evil)


def test_a_store_that_names_another_project_is_not_used_and_doctor_says_so(victim, home):
    memsync("remember", "--private", SECRET, cwd=victim.root)
    (store,) = (home / ".gobby" / "projects").iterdir()
    (victim.root / ".git" / "memsync" / "key").unlink()
    (store / "identity").write_text("remote:example.org/another\n0123\n")
    assert SECRET not in listed(victim)
    assert "names another project; move it away" in memsync("doctor", cwd=victim.root).out
    refused = memsync("remember", "--private", "text", cwd=victim.root)
    assert (refused.code, "names another project" in refused.err) == (1, True)


def test_a_clone_that_moved_and_got_another_remote_keeps_its_private_memories(victim, tmp_path):
    memsync("remember", "--private", SECRET, cwd=victim.root)
    victim.git("remote", "set-url", "origin", "https://example.org/other/place")
    moved = GitRepo(victim.root.rename(tmp_path / "moved"))
    assert SECRET in listed(moved)
