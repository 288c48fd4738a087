"""Thousands of real records of another tool, where they are given: MEMSYNC_DATA=DIR with gobby/corpus.jsonl."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
from helpers import memsync

from memsync.safety.secrets import scan

CORPUS = Path(os.environ.get("MEMSYNC_DATA", "")) / "gobby" / "corpus.jsonl"
pytestmark = pytest.mark.skipif(not CORPUS.is_file(), reason="MEMSYNC_DATA does not name the real records")


@pytest.fixture
def records() -> list[dict]:
    return [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def real(repo):
    """Return a repository that already has the other tool's file, committed."""
    repo.memories.parent.mkdir()
    shutil.copyfile(CORPUS, repo.memories)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "theirs")
    return repo


def test_every_record_is_read_with_every_field(real, records):
    found = memsync("memory", "list", "--json", cwd=real.root).json["memories"]
    latest = {record["id"]: record for record in records}
    assert len(found) == len(latest)
    for memory in found:
        record = latest[memory["id"]]
        assert memory["content"] == record["content"]
        assert memory["memory_type"] == record["type"]
        assert memory["tags"] == [tag for tag in record["tags"] if tag]
        assert memory["project_id"] == record["project_id"]


def test_every_type_can_be_listed_and_shown(real, records):
    latest = {record["id"]: record for record in records}
    counts = Counter(record["type"] for record in latest.values())
    assert memsync("memory", "stats", "--json", cwd=real.root).json["by_type"] == counts
    for name in counts:
        found = memsync("memory", "list", "--type", name, "--json", cwd=real.root).json["memories"]
        assert len(found) == counts[name]
    shown = memsync("memory", "show", found[0]["id"][:13], cwd=real.root)
    assert (shown.code, f"type: {name}" in shown.out) == (0, True)


def test_an_update_is_one_changed_line_and_an_export_none(real, records):
    assert memsync("memory", "export", cwd=real.root).code == 0
    before = real.memories.read_bytes()
    assert sorted(before.splitlines()) == sorted(CORPUS.read_bytes().splitlines())  # both versions of an id stay
    assert memsync("memory", "export", cwd=real.root).code == 0
    assert real.memories.read_bytes() == before
    real.git("commit", "-qam", "sorted", "--allow-empty")
    target = records[1000]["id"]
    assert memsync("memory", "update", target, "--importance", "0.9", cwd=real.root).code == 0
    assert real.git("diff", "--numstat").split()[:2] == ["1", "1"]
    after = real.memories.read_bytes()
    assert memsync("memory", "export", cwd=real.root).code == 0
    assert real.memories.read_bytes() == after


def test_an_import_elsewhere_keeps_ids_and_unknown_fields_and_folds_copies(repo, records):
    report = memsync("memory", "import", str(CORPUS), "--allow-secret", "--json", cwd=repo.root).json
    distinct = len({record["id"] for record in records})
    told = {name: report[name] for name in ("created", "updated", "duplicate", "skipped")}
    assert sum(told.values()) == len(records)
    assert told["skipped"] == len(records) - distinct
    assert 0 < told["updated"] + told["duplicate"] < 0.01 * distinct
    assert memsync("memory", "import", str(CORPUS), "--json", cwd=repo.root).json["created"] == 0
    shown = memsync("memory", "show", records[0]["id"], "--json", cwd=repo.root).json
    assert (shown["content"], shown["project_id"]) == (records[0]["content"], records[0]["project_id"])


def test_recall_finds_a_commit_by_its_hash(real):
    found = memsync("memory", "recall", "f9f319717", "--json", "-n", "1", cwd=real.root).json["memories"]
    assert "f9f319717" in found[0]["content"]


def test_next_to_none_of_the_records_is_taken_for_a_secret(records):
    flagged = [record["id"] for record in records if scan(record["content"])]
    assert len(flagged) <= 0.002 * len(records)
