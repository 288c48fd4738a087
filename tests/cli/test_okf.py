"""`memsync export --format okf` and `memsync import` of a bundle: what another program finds in it, and what comes back."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from helpers import memory_line, memsync
from ruamel.yaml import YAML

T1, T2 = "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"
ROWS = (
    memory_line("mm-port11", "The staging database listens on port 5433", tags=["db"], author="Ada", created_at=T1, updated_at=T2,
                importance=0.9, anchors=["src/db.py"], links=["see:mm-old111"], cues=["which port?"], vendor={"x": [1, None]})
    + memory_line("mm-old111", "Use tabs", memory_type="preference", archived_at=T2, created_at=T1, updated_at=T2)
)  # fmt: skip
CONCEPT = """\
---
type: Metric
title: Weekly buyers
description: Distinct buyers in seven days.
resource: https://example.com/buyers
tags: [Sales]
generated: { by: maker/1.0, at: 2026-05-28T14:30:00Z }
stale_after: 2027-01-01
sources:
  - { id: s1, resource: /tables/orders.md }
custom: [1, two]
---

# Definition

Counts buyers once a week. See [orders](/tables/orders.md).
"""


def read_front(text: str) -> dict:
    found = re.match(r"\A---\n(.*?)\n---\n", text, re.DOTALL)
    assert found
    return YAML(typ="safe").load(found[1])


def assert_conformant(folder: Path) -> None:
    """Check what section 11 of OKF 0.2 asks of a bundle."""
    for path in folder.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        if path.name == "log.md":
            continue
        if path.name == "index.md":
            head, _, body = (
                text.removeprefix("---\n").partition("\n---\n") if text.startswith("---") else ("", "", text)
            )
            assert not head or (path.parent == folder and YAML(typ="safe").load(head).keys() == {"okf_version"})
            assert all(re.match(r"(# .+|[*-] \[.+\]\(.+\).*|)$", row) for row in body.splitlines())
            continue
        assert read_front(text)["type"]


def records(repo) -> dict:
    return {row["id"]: row for row in map(json.loads, repo.memories.read_text(encoding="utf-8").splitlines())}


def test_a_bundle_is_conformant_and_says_what_okf_has_a_key_for(repo):
    repo.write_memories(ROWS)
    done = memsync("export", "--format", "okf", "-o", "out", "--archived", cwd=repo.root)
    assert done.out == "wrote 2 memories to out\n"
    assert_conformant(repo.root / "out")
    front = read_front((repo.root / "out" / "mm-port11.md").read_text(encoding="utf-8"))
    assert (front["type"], front["tags"]) == ("fact", ["db"])
    assert front["generated"]["by"] == "human:Ada"
    assert front["title"] == "The staging database listens on port 5433"
    assert read_front((repo.root / "out" / "mm-old111.md").read_text(encoding="utf-8"))["status"] == "deprecated"
    assert "* [Use tabs](mm-old111.md)" in (repo.root / "out" / "index.md").read_text(encoding="utf-8")


def test_what_comes_back_into_another_repository_is_every_field(repo, tmp_path):
    repo.write_memories(ROWS)
    memsync("export", "--format", "okf", "-o", str(tmp_path / "out"), "--archived", cwd=repo.root)
    before = records(repo)
    repo.write_memories("")
    assert memsync("import", str(tmp_path / "out"), cwd=repo.root).out.startswith("2 created")
    assert records(repo) == before
    assert memsync("import", str(tmp_path / "out"), cwd=repo.root).out.startswith("0 created, 0 updated")


def test_an_edit_of_the_text_in_a_bundle_comes_in_as_an_edit(repo, tmp_path):
    repo.write_memories(ROWS)
    memsync("export", "--format", "okf", "-o", str(tmp_path / "out"), cwd=repo.root)
    path = tmp_path / "out" / "mm-port11.md"
    path.write_text(
        path.read_text().replace("\n\nThe staging database listens on port 5433", "\n\nStaging moved to 6000")
    )
    assert memsync("import", str(tmp_path / "out"), cwd=repo.root).out.startswith("0 created, 1 updated")
    assert records(repo)["mm-port11"]["content"] == "Staging moved to 6000"


def test_a_concept_of_another_program_comes_in_with_its_title_and_goes_out_with_every_key_at_its_place(repo, tmp_path):
    theirs = tmp_path / "theirs"
    (theirs / "metrics").mkdir(parents=True)
    (theirs / "metrics" / "buyers.md").write_text(CONCEPT)
    (theirs / "metrics" / "index.md").write_text("# Metrics\n\n* [Weekly buyers](buyers.md) - a number\n")
    (theirs / "index.md").write_text('---\nokf_version: "0.2"\n---\n\n# All\n\n* [Metrics](metrics/)\n')
    (theirs / "log.md").write_text("# Log\n\n## 2026-05-28\n* **Creation**: made.\n")
    assert memsync("import", str(theirs), cwd=repo.root).out == "1 created, 0 updated, 0 duplicate, 0 skipped\n"
    (memory,) = records(repo).values()
    assert memory["content"].startswith("Weekly buyers: # Definition\n\nCounts buyers once a week.")
    assert (memory["memory_type"], memory["tags"], memory["imported_from"]) == (
        "Metric",
        ["sales"],
        "okf: metrics/buyers.md",
    )
    memsync("export", "--format", "okf", "-o", str(tmp_path / "ours"), cwd=repo.root)
    written = (tmp_path / "ours" / "metrics" / "buyers.md").read_text(encoding="utf-8")
    was, now = read_front(CONCEPT), read_front(written)
    assert {key: str(one) for key, one in now.items() if key not in ("memsync", "tags", "generated")} == {
        key: str(one) for key, one in was.items() if key not in ("tags", "generated")
    }
    assert written.endswith(CONCEPT.partition("\n---\n")[2])
    assert memsync("import", str(tmp_path / "ours"), cwd=repo.root).out.startswith("0 created, 0 updated")


def test_a_folder_that_is_no_bundle_is_not_taken_for_one(repo, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text(
        "---\ntitle: A\ntype: note\npermalink: a\n---\n\n- [fact] Basic memory keeps observations\n"
    )
    assert memsync("import", str(tmp_path / "notes"), cwd=repo.root).out.startswith("1 created")
    assert next(iter(records(repo).values()))["imported_from"].startswith("basic-memory")


def test_files_that_are_there_are_not_written_over(repo):
    repo.write_memories(ROWS)
    (repo.root / "out").mkdir()
    (repo.root / "out" / "mine.md").write_text("mine")
    refused = memsync("export", "--format", "okf", "-o", "out", cwd=repo.root)
    assert (refused.code, "out is there and not empty" in refused.err) == (2, True)
    assert memsync("export", "--format", "okf", "-o", "out", "--force", cwd=repo.root).code == 0
    assert (repo.root / "out" / "mine.md").read_text() == "mine"
    assert "is a folder" in memsync("export", "--format", "okf", "-o", "-", cwd=repo.root).err


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_a_record_names_no_place_outside_of_the_bundle_and_no_link_leads_out_of_one(repo, tmp_path):
    places = ("../up.md", "/etc/x.md", "a/../../x.md", ".git/x.md", "index.md", "x.txt", "a\\..\\x.md", "c:x.md")
    rows = [memory_line(f"mm-{n:06}", f"text {n}", imported_from=f"okf: {place}") for n, place in enumerate(places)]
    repo.write_memories("".join(rows))
    before = {path.name for path in tmp_path.iterdir()}
    memsync("export", "--format", "okf", "-o", "out", cwd=repo.root)
    assert {path.name for path in tmp_path.iterdir()} == before
    assert sorted(path.name for path in (repo.root / "out").rglob("*")) == [
        "index.md",
        *(f"mm-{n:06}.md" for n in range(len(places))),
    ]
    (tmp_path / "secret.md").write_text(
        "---\ntype: Secret\ngenerated: {by: x}\n---\n\nThe vault is behind the second door\n"
    )
    (repo.root / "bundle").mkdir()
    (repo.root / "bundle" / "a.md").symlink_to(tmp_path / "secret.md")
    assert memsync("import", "bundle", cwd=repo.root).code == 1
    assert "vault" not in repo.memories.read_text()


def test_a_concept_without_a_type_or_out_of_date_since_nobody_knows_when_is_named(repo, tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "index.md").write_text('---\nokf_version: "0.2"\n---\n')
    (tmp_path / "b" / "a.md").write_text("no front matter at all, and no type")
    (tmp_path / "b" / "b.md").write_text("---\ntype: Playbook\nstatus: deprecated\n---\n\nRestart it by hand\n")
    done = memsync("import", str(tmp_path / "b"), cwd=repo.root)
    assert "a.md: has no type" in done.out
    assert "b.md: is deprecated, and does not say since when" in done.out
