"""`memsync import . --from claude-md` takes the instruction files of folders too, each statement for its folder."""

from __future__ import annotations

import json

import pytest
from helpers import GitRepo, memsync

LONG = (
    "A payout is created in state draft by the planner, and nobody else may create one. "
    "The nightly worker moves it to sent after the bank has confirmed the file, and writes the number of the file to the audit table. "
    "A payout that the bank refuses goes back to draft with the reason, and the owner of the shop is told by mail on the same day. "
    "Payouts are never deleted: a wrong one is cancelled by a second payout with the opposite amount, which the auditors look for. "
    "Whoever changes a state by hand writes why into the audit table first, because the monthly report is made of that alone."
)
FILES = {
    "AGENTS.md": "# Shop\n\n- Run make check before every push\n",
    "pkg/api/AGENTS.md": "# API\n\n## Error handling\n\n- Return problem details, never plain text\n",
    "pkg/payout/CLAUDE.md": f"# Payouts\n\n{LONG}\n",
    "node_modules/left/AGENTS.md": "- Always use tabs in this library\n",
    "pkg/api/x.py": "x = 1\n",
}


@pytest.fixture
def shop(repo: GitRepo) -> GitRepo:
    for path, text in FILES.items():
        (repo.root / path).parent.mkdir(parents=True, exist_ok=True)
        (repo.root / path).write_text(text)
    return repo


def read(repo: GitRepo) -> list[dict]:
    return [json.loads(line) for line in repo.memories.read_text("utf-8").splitlines()]


def test_each_statement_is_anchored_to_its_folder_and_says_which_file_it_is_from(shop: GitRepo):
    assert memsync("import", ".", "--from", "claude-md", cwd=shop.root).code == 0
    found = {one["imported_from"].partition(": ")[2]: one for one in read(shop)}
    assert found["AGENTS.md:3"].get("anchors") is None
    assert found["pkg/api/AGENTS.md:5"]["anchors"] == ["pkg/api/"]
    assert found["pkg/api/AGENTS.md:5"]["content"] == "Error handling: Return problem details, never plain text"
    assert not any("node_modules" in where for where in found)


def test_what_was_imported_for_a_folder_is_given_when_a_file_in_it_is_edited(shop: GitRepo):
    memsync("import", "pkg/api/AGENTS.md", cwd=shop.root)
    (one,) = read(shop)
    assert (one["imported_from"], one["anchors"]) == ("claude-md: pkg/api/AGENTS.md:5", ["pkg/api/"])
    assert "problem details" in memsync("inject", "--tool", "Edit", "--path", "pkg/api/x.py", cwd=shop.root).out


def test_a_long_statement_is_split_at_its_sentences_and_nothing_of_it_is_lost(shop: GitRepo):
    memsync("import", "pkg/payout/CLAUDE.md", cwd=shop.root)
    texts = [one["content"] for one in read(shop)]
    assert len(texts) >= 2
    assert max(map(len, texts)) <= 500
    assert all(any(sentence.strip(". ") in text for text in texts) for sentence in LONG.split(". "))
