"""Where recall has no sure answer, it says with which subjects and names to ask once more."""

from __future__ import annotations

import json

import pytest
from helpers import GitRepo, memory_line, memsync


@pytest.fixture
def shop(repo: GitRepo) -> GitRepo:
    lines = [memory_line(f"mm-bill{n}", f"Invoice format {n} is sent on day {n}", tags=["billing"]) for n in range(3)]
    lines.append(memory_line("mm-mail0", "`send_receipt` needs the queue of mailer.py", tags=["mail"]))
    (repo.root / "src" / "tax").mkdir(parents=True)
    lines.append(memory_line("mm-tax00", "VAT is rounded per line, never on the sum", anchors=["src/tax/"]))
    repo.write_memories("".join(lines))
    return repo


def test_a_miss_names_the_subjects_that_there_are_the_most_frequent_first(shop: GitRepo):
    found = memsync("recall", "kubernetes", "--json", cwd=shop.root).json
    assert (found["count"], found["nearest"]) == (0, {"subjects": ["billing", "mail", "src/tax/"]})
    said = memsync("recall", "kubernetes", cwd=shop.root).out.splitlines()
    assert said[0] == "no memory fits"
    assert "ask once more, by subjects: billing, mail, src/tax/" in said[1]


def test_weak_matches_bring_their_own_subjects_and_names_first(shop: GitRepo):
    memsync("config", "memory.recall_threshold", "1", cwd=shop.root)
    nearest = memsync("recall", "why is the queue stuck", "--json", cwd=shop.root).json["nearest"]
    assert nearest["subjects"][0] == "mail"
    assert nearest["names"][:2] == ["send_receipt", "mailer.py"]


def test_a_sure_answer_and_a_store_without_subjects_say_nothing_of_asking_again(shop: GitRepo):
    assert "nearest" not in memsync("recall", "how is VAT rounded per line?", "--json", cwd=shop.root).json
    shop.write_memories(memory_line("mm-one00", "Makefiles are indented with tabs"))
    assert memsync("recall", "kubernetes", cwd=shop.root).out == "no memory fits\n"


def test_the_instructions_of_the_server_say_that_a_miss_is_no_proof(shop: GitRepo):
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    call |= {
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    }
    said = memsync("mcp", cwd=shop.root, stdin=json.dumps(call) + "\n").out
    instructions = json.loads(said.splitlines()[0])["result"]["instructions"]
    assert "ask once more with the names of files, symbols or errors" in " ".join(instructions.split())
