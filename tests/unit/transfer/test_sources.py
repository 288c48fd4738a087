"""Memories of other tools: told by their look, read by their own keys, and nothing left out unsaid."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.errors import ImportFailed, UsageError
from memsync.memories.imports import Candidate
from memsync.transfer.sources import SOURCES, detect, read, read_bytes

FEEDBACK = """\
---
name: integration-tests
description: Integration tests hit a real database
metadata:
  type: feedback
---

Integration tests must hit a real database, not a mock.

**Why:** a mocked migration passed and failed in production.
"""
INDEX = "# Memory\n\n- [Tests](feedback_tests.md) — a real database\n- The staging queue listens on port 6380.\n"
GRAPH = [
    {"type": "entity", "name": "billing_service", "entityType": "Service", "observations": ["Runs on port 7070"]},
    {"type": "entity", "name": "Mia", "entityType": "person", "observations": ["Mia reviews every migration", ""]},
    {"type": "relation", "from": "billing_service", "to": "Postgres", "relationType": "depends_on"},
]
BEADS = [
    {"_type": "issue", "id": "bd-1", "title": "Fix login", "status": "open", "issue_type": "bug"},
    {"_type": "memory", "key": "auth-jwt", "value": "Auth uses JWT, not sessions"},
    {
        "id": "bd-2",
        "title": "Use Postgres",
        "description": "SQLite locks",
        "issue_type": "decision",
        "labels": ["db"],
    },
]
NOTE = """\
---
title: Coffee Service
permalink: coffee-service
tags: [backend]
---

# Coffee Service

- [decision] Tokens are signed with ed25519 #auth (after the audit)
- [x] a task that is done
- [a link](other.md) to elsewhere
- relates_to [[Billing]]

```
- [decision] code is no observation
```
"""
MEM0 = {
    "results": [
        {
            "id": "5f0c2a52-8a0f-4d0e-9c64-5d8f1f9f3a11",
            "memory": "Prefers pnpm over npm",
            "hash": "x",
            "categories": ["tools"],
            "created_at": "2025-03-01T10:00:00-08:00",
            "updated_at": None,
        }
    ],
    "relations": [],
}


def lines(rows: list[dict]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def taken(text: str, name: str, source: str | None = None) -> list[tuple[str, str, tuple[str, ...]]]:
    found = [one.memory for one in read_bytes(text.encode(), name, source) if one.memory]
    return [(memory.content, memory.memory_type, memory.tags) for memory in found]


def left(text: str, name: str, source: str | None = None) -> list[tuple[str, str]]:
    return [(one.where, one.problem) for one in read_bytes(text.encode(), name, source) if not one.memory]


@pytest.mark.parametrize(
    ("name", "text", "source"),
    [
        ("memory/feedback_tests.md", FEEDBACK, "claude-memory"),
        ("copied.md", FEEDBACK.replace("metadata:\n  type", "type"), "claude-memory"),
        ("MEMORY.md", INDEX, "claude-memory"),
        ("CLAUDE.md", "- Always use uv\n", "claude-md"),
        (".cursorrules", "Always use uv\n", "cursor"),
        (".cursor/rules/a.mdc", "Always use uv\n", "cursor"),
        (".windsurf/rules/a.md", "Always use uv\n", "windsurf"),
        (".github/instructions/a.instructions.md", "Always use uv\n", "copilot"),
        (".letta/agents/a/memory/system/human.md", "Always use uv\n", "letta"),
        ("memories.json", '{"memories": [{"id": "a", "content": "x", "category_ids": []}]}', "openmemory"),
        ("memories.jsonl", '{"id": "a", "content": "x", "state": "active", "app": null}', "openmemory"),
        ("conversations.json", '[{"title": "a", "mapping": {}}]', "chatgpt"),
        ("memory.json", '[{"content": "x", "enabled": true}]', "chatgpt"),
        ("memory.json", lines(GRAPH), "mcp-memory"),
        ("graph.json", json.dumps({"entities": GRAPH[:2], "relations": GRAPH[2:]}, indent=1), "mcp-memory"),
        ("issues.jsonl", lines(BEADS), "beads"),
        ("issues.jsonl", lines(BEADS[2:]), "beads"),
        (".serena/memories/style.md", "Use tabs\n", "serena"),
        ("memory-bank/style.md", "Use tabs\n", "cline"),
        ("GitHub.copilot-chat/memory-tool/memories/repo/style.md", "Use tabs\n", "vscode"),
        ("notes/coffee.md", NOTE, "basic-memory"),
        ("export.json", json.dumps(MEM0), "mem0"),
        ("export.json", json.dumps(MEM0["results"], indent=2), "mem0"),
        ("notes.md", "- Use tabs\n- [x] done\n", None),
        ("memories.jsonl", '{"id":"mm-a","content":"x"}\n', None),
        ("dump.json", '[{"text":"x"}]', None),
        ("empty", "", None),
    ],
)
def test_whose_a_file_is_is_told_by_its_look(name, text, source):
    assert detect(text.encode(), name) == source
    assert detect(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(), name) == source


def test_a_note_of_claude_is_one_memory_of_its_kind():
    (memory,) = (one.memory for one in read_bytes(FEEDBACK.encode(), "memory/x.md"))
    assert memory.content == (
        "Integration tests must hit a real database, not a mock.\n"
        "Why: a mocked migration passed and failed in production."
    )
    assert (memory.memory_type, memory.source_type) == ("preference", "import")


def test_the_index_of_claudes_notes_is_read_for_what_only_it_says():
    assert taken(INDEX, "MEMORY.md") == [("The staging queue listens on port 6380.", "fact", ("memory",))]


def test_a_long_note_is_taken_statement_by_statement():
    text = FEEDBACK + "\n".join(f"- Always keep rule number {number} of this long list.\n" for number in range(60))
    found = taken(text, "memory/x.md")
    assert ("Always keep rule number 7 of this long list.", "preference", ()) in found
    assert len(found) > 60


def test_each_observation_and_relation_of_a_graph_is_a_memory_with_its_subject():
    expected = [
        ("billing service: Runs on port 7070", "fact", ("service",)),
        ("Mia reviews every migration", "fact", ("person",)),
        ("billing_service depends on Postgres", "fact", ("relation",)),
    ]
    assert taken(lines(GRAPH), "memory.json") == expected
    assert taken(json.dumps({"entities": GRAPH[:2], "relations": GRAPH[2:]}), "graph.json") == expected
    assert left(lines(GRAPH) + "{torn", "memory.json") == [
        ("memory.json:2", "an observation without text"),
        ("memory.json:4", "neither an entity nor a relation"),
    ]


def test_of_beads_come_what_was_remembered_and_decided_and_not_the_work():
    assert taken(lines(BEADS), "issues.jsonl") == [
        ("Auth uses JWT, not sessions", "fact", ("beads",)),
        ("Use Postgres: SQLite locks", "context", ("decision", "db")),
    ]
    assert left(lines(BEADS), "issues.jsonl") == [("issues.jsonl", "issues are work to do, not memories (1 of them)")]


def test_observations_of_basic_memory_come_with_category_and_tags():
    ((content, kind, tags),) = taken(NOTE, "coffee.md")
    assert content == "Coffee Service: Tokens are signed with ed25519"
    assert kind == "context"
    assert set(tags) == {"auth", "decision", "backend"}


def test_memories_of_mem0_keep_id_and_time():
    (found,) = read_bytes(json.dumps(MEM0).encode(), "export.json")
    assert found.memory.id == "5f0c2a52-8a0f-4d0e-9c64-5d8f1f9f3a11"
    assert f"{found.memory.created_at:%Y-%m-%dT%H:%M%z}" == "2025-03-01T18:00+0000"
    assert found.memory.tags == ("tools",)


def test_of_instructions_comes_what_lasts_and_the_rest_is_named():
    text = "# Rules\n\n- Always use uv for Python.\n- Currently the CI is red here.\n"
    assert taken(text, "CLAUDE.md") == [("Always use uv for Python.", "preference", ("rules",))]
    assert left(text, "CLAUDE.md") == [("CLAUDE.md:4", "true for a while only")]


def plant(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_folder_is_searched_for_what_its_tool_keeps(tmp_path):
    plant(tmp_path, ".serena/memories/deep/style.md", "The build always needs Node 20 here.\n")
    plant(tmp_path, "README.md", "- a bullet that is nobody's memory\n")
    for path in (tmp_path, tmp_path / ".serena", tmp_path / ".serena" / "memories"):
        (found,) = read(path, "serena")
        assert found.memory.content == "The build always needs Node 20 here."
    assert [one.memory.content for one in read(tmp_path)] == ["The build always needs Node 20 here."]


def test_two_tools_in_one_folder_must_be_told_apart(tmp_path):
    plant(tmp_path, ".beads/issues.jsonl", lines(BEADS))
    plant(tmp_path, ".gobby/memories.jsonl", '{"id":"mm-a","content":"x"}\n')
    with pytest.raises(UsageError, match="gobby, beads; choose one with --from"):
        read(tmp_path)
    assert [one.memory.id for one in read(tmp_path, "gobby") if one.memory] == ["mm-a"]
    assert len([one for one in read(tmp_path, "beads") if one.memory]) == 2


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    plant(tmp_path, "secret/x.md", "- The password list is over there.\n")
    plant(tmp_path, "notes/a.md", "- Use tabs\n")
    os.symlink(tmp_path / "secret" / "x.md", tmp_path / "notes" / "b.md")
    os.symlink(tmp_path / "secret", tmp_path / "notes" / ".gobby")
    assert [one.memory.content for one in read(tmp_path / "notes")] == ["Use tabs"]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda root: None, "no such file or folder"),
        (lambda root: root.mkdir(), "no file in it"),
        (lambda root: root.write_bytes(b"- caf\xe9"), "not UTF-8 at byte 6"),
        (lambda root: root.write_bytes("- x".encode("utf-16")), "is UTF-16"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(tmp_path, make, why):
    make(tmp_path / "x.md")
    with pytest.raises(ImportFailed, match=why):
        list(read(tmp_path / "x.md"))


def test_keys_are_named_for_json_only():
    with pytest.raises(UsageError, match="mem0 is read by its own keys"):
        list(read_bytes(json.dumps(MEM0).encode(), "x.json", "mem0", {"content": "memory"}))
    (found,) = read_bytes(json.dumps(MEM0["results"]).encode(), "x.json", None, {"content": "hash"})
    assert found.memory.content == "x"


@given(st.sampled_from(SOURCES), st.text(max_size=300) | st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["entities", "observations", "name", "from", "to", "relationType", "_type", "results", "memory"]),
        inner,
        max_size=4,
    ),
    max_leaves=10,
).map(json.dumps))  # fmt: skip
def test_no_content_makes_a_reader_stumble(source, text):
    found: list[Candidate] = []
    with suppress(ImportFailed):  # refused whole, with the reason
        found.extend(read_bytes(text.encode("utf-8", "replace"), "x.md", source))
    assert all(one.memory is not None or one.problem for one in found)
