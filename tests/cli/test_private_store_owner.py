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


def keep_as_before(repo: GitRepo, home: Path, *, key: bool = True) -> Path:
    """Leave the private store of *repo* as an older memsync did, and return its folder."""
    assert memsync("remember", "--private", SECRET, cwd=repo.root).code == 0
    (new,) = (home / ".gobby" / "projects").iterdir()
    url = repo.git("remote", "get-url", "origin").strip().removeprefix("https://")
    old = new.rename(new.with_name(old_name(f"remote:{url}", "payments")))
    (old / "identity").unlink()
    keys = repo.root / ".git" / "memsync" / "key"
    keys.write_text(f"{old.name}\n")
    if not key:
        keys.unlink()
    return old


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


def test_the_old_store_of_a_clone_is_taken_over_once_with_what_was_approved(victim, home):
    old = keep_as_before(victim, home)
    (victim.root / ".gobby" / "workflows").mkdir(parents=True)
    (victim.root / ".gobby" / "workflows" / "w.yaml").write_text(WORKFLOW)
    memsync("trust", "--yes", cwd=victim.root)
    (approved,) = (home / ".gobby" / "projects").glob("payments-*/trust.json")
    trust = home / ".gobby" / "trust"
    trust.mkdir()
    approved.rename(trust / f"{old.name}.json")
    if not old.exists():  # taken over by `trust`: back to where it was
        approved.parent.rename(old)
        (old / "identity").unlink()
        (victim.root / ".git" / "memsync" / "key").write_text(f"{old.name}\n")
    assert SECRET in listed(victim)
    assert "nothing waits" in memsync("trust", cwd=victim.root).out
    (store,) = (home / ".gobby" / "projects").iterdir()
    assert (store.name != old.name, (store / "identity").read_text().splitlines()[0]) == (
        True,
        "remote:github.com/acme/payments",
    )


def test_who_comes_first_with_a_chosen_name_claims_no_old_store_and_its_owner_still_gets_it(victim, evil, home):
    old = keep_as_before(victim, home)
    for words in (("list",), ("doctor",), ("remember", "--private", "mine"), ("status",)):
        assert SECRET not in memsync(*words, cwd=evil.root).out
    assert old.is_dir()
    assert SECRET in listed(victim)
    assert SECRET not in listed(evil)


def test_a_clone_that_noted_nothing_is_told_of_the_old_store_and_adopts_it_beside_its_own(victim, home):
    old = keep_as_before(victim, home, key=False)
    assert SECRET not in listed(victim)
    assert old.name in memsync("status", cwd=victim.root).out
    assert f"memsync doctor --adopt {old.name}" in memsync("doctor", cwd=victim.root).out
    memsync("remember", "--private", "A new one of mine about the ledger", cwd=victim.root)
    refused = memsync("doctor", "--adopt", old.name, cwd=victim.root, env={"CLAUDECODE": "1"})
    assert (refused.code == 0, old.exists()) == (False, True)
    done = memsync("doctor", "--adopt", old.name, cwd=victim.root)
    assert "is the private store of this project now" in done.out
    assert (old.exists(), SECRET in listed(victim), "about the ledger" in listed(victim)) == (False, True, True)
    again = memsync("doctor", "--adopt", old.name, cwd=victim.root)
    assert (again.code, "waits for its project" in again.err) == (2, True)


def test_another_text_of_the_same_memory_stays_where_it_was_when_a_store_is_adopted(victim, home):
    old = keep_as_before(victim, home, key=False)
    id_ = json.loads((old / "memories.jsonl").read_text())["id"]
    memsync("remember", "--private", "Something else", cwd=victim.root)
    (own,) = (path for path in (home / ".gobby" / "projects").iterdir() if path != old)
    (own / "memories.jsonl").write_text(json.dumps({"content": "Another text", "id": id_}) + "\n")
    assert f"stays in {old}" in memsync("doctor", "--adopt", old.name, cwd=victim.root).out
    assert SECRET in (old / "memories.jsonl").read_text()
    assert "Another text" in listed(victim)


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
