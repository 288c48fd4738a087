"""Formats of other tools, as their own programs and documents have them: editors' rules, vaults, exports, databases."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from memsync.errors import ImportFailed
from memsync.transfer import exports, notes
from memsync.transfer.sources import ORIGIN, read, read_bytes

SAVED = {
    "memories": [
        {
            "id": "0b2f6c52",
            "content": "Prefers pnpm",
            "state": "active",
            "created_at": 1718000000,
            "category_ids": ["c1"],
        },
        {"id": "0b2f6c53", "content": "Old", "state": "deleted", "category_ids": []},
    ],
    "categories": [{"id": "c1", "name": "Tools"}],
}
CHAT = [
    {
        "title": "a chat",
        "mapping": {
            "1": {"message": {"recipient": "all", "content": {"parts": ["Hello there, how are you today?"]}}},
            "2": {"message": {"recipient": "bio", "create_time": 1.7e9, "content": {"parts": ["User prefers tabs."]}}},
            "3": {"message": {"recipient": "bio", "content": {"parts": ["Forget that User prefers tabs."]}}},
            "4": {"message": None},
        },
    }
]
NOTE = """\
---
tags: [infra, "#ops"]
---
%% only for me %%
- The [[Gateway|gateway]] listens on port ==8443== #net ^b1
- [ ] The gateway needs a new certificate soon.

![[drawing.png]]
"""


def contents(data: object, name: str, source: str | None = None) -> list[tuple[str, tuple[str, ...]]]:
    raw = data if isinstance(data, bytes) else str(data).encode()
    return [(one.memory.content, one.memory.tags) for one in read_bytes(raw, name, source) if one.memory]


@pytest.mark.parametrize(
    ("globs", "found"),
    [
        ("src/**/*.{ts,tsx}, *.mdx", ["*.mdx", "src/**/*.ts", "src/**/*.tsx"]),
        (["app/**", "./Makefile"], ["Makefile", "app/**"]),
        ("src\\app\\**, .\\Makefile", ["Makefile", "src/app/**"]),
        ("**", []),
        ("docs/*.md,**/*", []),
        ("/etc/*, ../x, a b", []),
        ("{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}", []),
        (None, []),
    ],
)
def test_what_a_rule_is_for_becomes_its_anchors_unless_it_is_for_everything(globs, found):
    assert sorted(notes.list_anchors(globs)) == found


def test_rules_of_an_editor_are_found_in_the_repository_and_say_where_they_came_from(tmp_path):
    path = tmp_path / ".cursor" / "rules" / "web" / "ts.mdc"
    path.parent.mkdir(parents=True)
    path.write_text(
        "---\nglobs: src/*.ts\nalwaysApply: false\n---\n# TS\n\n- Always use named exports in components.\n"
    )
    (found,) = read(tmp_path, "cursor")
    assert found.memory.anchors == ("src/*.ts",)
    assert found.memory.extra[ORIGIN] == "cursor: .cursor/rules/web/ts.mdc:7"
    path.write_text(path.read_text().replace("alwaysApply: false", "alwaysApply: true"))
    assert next(read(path)).memory.anchors == ()


def test_a_letta_block_is_knowledge_and_its_persona_and_skills_are_not():
    block = "---\ndescription: d\nlimit: 20000\n---\n- The build always runs with bun, never npm.\n"
    home = ".letta/agents/agent-1/memory"
    assert contents(block, f"{home}/system/project/tooling.md") == [
        ("The build always runs with bun, never npm.", ("project",))
    ]
    assert contents(block, f"{home}/system/persona.md") == []
    assert contents(block, f"{home}/skills/deploy/SKILL.md") == []


def test_a_note_of_a_vault_is_read_without_what_only_obsidian_shows(tmp_path):
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / "Payment.md").write_text(NOTE)
    (found,) = [one.memory for one in read(tmp_path) if one.memory]
    assert found.content == "Payment: The gateway listens on port 8443"
    assert set(found.tags) == {"net", "infra", "ops"}
    assert next(one for one in read(tmp_path / "Payment.md") if one.memory).memory == found


def test_openmemory_gives_what_is_active_with_its_id_and_the_names_of_its_categories():
    found = list(read_bytes(json.dumps(SAVED).encode(), "memories.json"))
    assert [(one.memory.id, one.memory.content, one.memory.tags) for one in found if one.memory] == [
        ("0b2f6c52", "Prefers pnpm", ("tools",))
    ]
    assert found[0].memory.created_at.isoformat() == "2024-06-10T06:13:20+00:00"
    assert found[1].problem == "deleted in OpenMemory"
    rows = "".join(json.dumps({**one, "app": "x"}) + "\n" for one in SAVED["memories"])
    assert contents(rows, "memories.jsonl") == [("Prefers pnpm", ())]


def test_chatgpt_gives_what_it_told_its_memory_tool_and_what_a_user_copied():
    assert contents(json.dumps(CHAT), "conversations.json") == [("User prefers tabs.", ())]
    copied = "1. [2024-05-01]. User works on a payment gateway\n\n- Prefers short answers\n"
    assert [one for one, _ in contents(copied, "copied.txt", "chatgpt")] == [
        "User works on a payment gateway",
        "Prefers short answers",
    ]
    entries = [{"content": "Uses Python 3.11", "enabled": True}, {"content": "Uses PHP", "enabled": False}]
    assert contents(json.dumps(entries), "memory.json") == [("Uses Python 3.11", ())]


def pack(**members: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return data.getvalue()


def test_an_export_is_read_as_it_was_downloaded():
    data = pack(**{"user.json": "{}", "export/conversations.json": json.dumps(CHAT)})
    assert contents(data, "export.zip") == [("User prefers tabs.", ())]


@pytest.mark.parametrize(
    ("data", "name", "why"),
    [
        (pack(**{"user.json": "{}"}), "x.zip", "neither memory.json"),
        (pack(**{"memory.json": "[]" * 9})[:60], "x.zip", "is damaged"),
        (b"\x08\x01", "a.pb", "Windsurf encrypts"),
        (b"SQLite format 3\0", "x.db", "name the file itself"),
        (b"[1, 2", "memory.json", "not JSON"),
    ],
    ids=["no memories", "damaged", "encrypted", "database", "not JSON"],  # an archive holds the time that it was made
)
def test_a_file_of_others_that_cannot_be_read_is_refused_with_the_reason(data, name, why):
    with pytest.raises(ImportFailed, match=why):
        list(read_bytes(data, name, "chatgpt" if name.endswith(".json") else None))


@pytest.fixture
def database(tmp_path) -> Path:
    """Return a database as claude-mem 13.25 makes it, with the columns that are read."""
    path = tmp_path / ".claude-mem" / exports.FILE
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db, db:
        for table, names in exports._NEEDED.items():
            db.execute(f"CREATE TABLE {table} ({', '.join(sorted(names))})")
        db.executemany(
            "INSERT INTO observations (id, memory_session_id, project, type, title, narrative, facts, concepts, created_at) "
            "VALUES (?, 's-1', ?, ?, ?, ?, ?, ?, '2026-01-02T03:04:05.000Z')",
            [
                (1, "shop", "discovery", "Uploads are limited", "nginx refuses 25 MB.", "[]", '["gotcha"]'),
                (2, "shop", "decision", "Use Kafka", None, '["Events go through Kafka."]', "[]"),
                (3, "shop", "bugfix", "Fixed login", "Works again.", "[]", "[]"),
                (4, "other", "decision", "Not ours", "Of another project.", "[]", "[]"),
            ],
        )
        db.execute(
            "INSERT INTO session_summaries (id, memory_session_id, project, learned, created_at) "
            "VALUES (1, 's-1', 'shop', 'Sessions expire after 30 minutes because of the gateway.', '2026-01-02T03:04:05Z')"
        )
    return path


def test_claude_mem_gives_what_it_found_out_and_decided_in_this_project(database):
    found = list(read(database.parent, project="shop"))
    assert [(one.memory.content, one.memory.memory_type) for one in found if one.memory] == [
        ("Uploads are limited. nginx refuses 25 MB.", "fact"),
        ("Use Kafka. Events go through Kafka", "context"),
        ("Sessions expire after 30 minutes because of the gateway.", "fact"),
    ]
    first = found[0].memory
    assert (first.tags, first.source_session_id, f"{first.created_at:%Y-%m-%d}") == (("gotcha",), "s-1", "2026-01-02")
    assert first.extra[ORIGIN] == "claude-mem: claude-mem.db: observation 1"
    assert [one.problem[:6] for one in found if not one.memory] == ["bugfix"]
    assert sorted(path.name for path in database.parent.iterdir()) == [exports.FILE]


def lock(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    Path(f"{path}-wal").touch()  # as long as a writer is there
    return db


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (lock, "another program has locked it"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "is damaged"),
        (
            lambda path: sqlite3.connect(path).execute("ALTER TABLE observations DROP COLUMN title"),
            "does not know .no title",
        ),
        (lambda path: path.write_bytes(b"text"), "is not the database|is damaged"),
        (lambda path: None, r"has nothing of a project 'nope'; .*shop \(3\), other \(1\)"),
    ],
)
def test_a_database_that_cannot_be_read_is_refused_with_the_reason(database, harm, why, monkeypatch):
    monkeypatch.setattr(exports, "PATIENCE", 0.05)
    held = harm(database)
    with pytest.raises(ImportFailed, match=why):
        list(read(database, "claude-mem", project="nope"))
    if isinstance(held, sqlite3.Connection):
        held.close()
