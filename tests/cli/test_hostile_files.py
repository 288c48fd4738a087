"""A few hundred bytes in a repository stop neither a command, nor git, nor a hook: they are named, and the rest goes on."""

from __future__ import annotations

import json
import subprocess
import time
from itertools import pairwise

import pytest
from helpers import GitRepo, memory_line, memsync

from memsync.records import MAX_CONTENT

_PATIENCE = 20  # seconds; the command itself takes a tenth of one, but the machine may be busy


def laughs() -> str:
    names = "abcdefghijkl"
    rows = [f"  - &{two} [{','.join([f'*{one}'] * 9)}]" for one, two in pairwise(names)]
    return "\n".join(["x:", f"  - &a [{','.join(['lol'] * 9)}]", *rows, "memory:", "  recall_limit: *l", ""])


BOMBS = {
    "aliases": laughs(),
    "brackets": "a: " + "[" * 3000 + "]" * 3000,
    "dashes": "- " * 3000,
    "itself": "memory: &m\n  recall_limit: *m\n",
    "digits": "memory:\n  recall_limit: 0x" + "1" * 20_000 + "\n",
    "NUL": "memory:\n  recall_limit: \0\n",
}


def run(repo: GitRepo, *words: str, stdin: str = ""):
    return memsync(*words, cwd=repo.root, stdin=stdin, timeout=_PATIENCE)


@pytest.fixture
def ready(repo: GitRepo) -> GitRepo:
    """Return a repository with a memory, hooks of git, and everything committed."""
    assert run(repo, "init", "--agent", "none").code == 0
    repo.write_memories(memory_line("mm-aaaaaa", "the tests need docker", importance=0.9))
    repo.git("add", "-A")
    repo.git("commit", "-qm", "begin")
    return repo


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_hostile_config_is_named_by_every_command_and_stops_neither_git_nor_a_hook(ready, bomb):
    (ready.root / ".gobby" / "config.yaml").write_text(bomb)
    for words in (["memory", "list"], ["memory", "remember", "CI needs Node 20"], ["memory", "config"]):
        done = run(ready, *words)
        assert done.code == 0, done.err
        assert "config.yaml:" in done.err
        assert len(done.err) < 800
    assert "private" in run(ready, "memory", "recall", "Node").out
    assert ready.memories.read_text().count("\n") == 1
    doctor = run(ready, "doctor")
    assert doctor.code in (0, 1)
    assert "config.yaml:" in doctor.out + doctor.err
    payload = json.dumps({"session_id": "s", "source": "startup", "cwd": str(ready.root)})
    hook = run(ready, "hook", "session-start", "--client", "claude", stdin=payload)
    assert hook.code == 0
    assert "docker" in hook.out
    began = time.monotonic()
    ready.git("add", "-A")
    subprocess.run(["git", "commit", "-qm", "x"], cwd=ready.root, check=True, timeout=_PATIENCE)
    assert time.monotonic() - began < _PATIENCE
    assert ready.status() == ""


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_hostile_workflow_leaves_ours_in_force(ready, bomb):
    folder = ready.root / ".gobby" / "workflows"
    folder.mkdir()
    (folder / "session-lifecycle.yaml").write_text(bomb)
    payload = json.dumps({"session_id": "s", "source": "startup", "cwd": str(ready.root)})
    done = run(ready, "hook", "session-start", "--client", "claude", stdin=payload)
    assert done.code == 0
    assert "docker" in done.out


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_hostile_skill_is_reported_and_the_others_are_found(ready, bomb):
    for name, head in (("good-one", "name: good-one\ndescription: how to release\n"), ("bad-one", bomb)):
        folder = ready.root / ".claude" / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\n{head}\n---\nbody\n")
    assert "good-one" in run(ready, "skill", "search", "release").out
    checked = run(ready, "skill", "validate")
    assert checked.code == 1
    assert "bad-one/SKILL.md:" in checked.out + checked.err


@pytest.mark.parametrize(
    ("kind", "depth"), [("list", 65), ("list", 990), ("object", 1000), ("both", 300), ("both", 100_000)]
)
def test_a_deep_record_keeps_its_bytes_and_the_others_work(ready, depth, kind):
    opening, closing = {"list": ("[", "]"), "object": ('{"a":', "}"), "both": ('[{"a":', "}]")}[kind]
    deep = '{"content":"deep","id":"mm-deep01","x":' + opening * depth + "1" + closing * depth + "}\n"
    with ready.memories.open("a") as file:
        file.write(deep)
    for words in (
        ["memory", "list", "--json"],
        ["memory", "recall", "docker", "--json"],
        ["memory", "remember", "CI needs Node 20"],
        ["memory", "export", "-o", "out.jsonl"],
        ["memory", "stats"],
        ["sync"],
    ):
        assert run(ready, *words).code in (0, 1), words
    assert deep in ready.memories.read_text()
    told = run(ready, "doctor")
    assert "memories.jsonl:" in told.out
    assert "64 levels deep" in told.out


def test_a_deep_file_to_import_is_refused_in_words(ready):
    for name in ("deep.json", "deep.jsonl"):
        (ready.root / name).write_text("[" * 100_000)
        done = run(ready, "memory", "import", name)
        assert done.code in (0, 1)
        assert "levels deep" in done.out + done.err
    assert len((ready.memories).read_text()) < MAX_CONTENT


def test_a_scan_of_hostile_project_files_ends(ready):
    for name, text in {
        "package.json": "[" * 100_000,
        "pyproject.toml": "a." * 100_000 + "a = 1",
        "Cargo.toml": "a = " + "[" * 50_000,
        ".pre-commit-config.yaml": laughs(),
        "compose.yaml": "services: " + "[" * 3000,
        ".github/workflows/ci.yml": "- " * 50_000,
        "tsconfig.json": "\n" * 390_000 + "x",
    }.items():
        path = ready.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    ready.git("add", "-A")
    done = run(ready, "memory", "init", "--dry-run")
    assert done.code == 0, done.err


def test_an_author_with_half_a_character_keeps_no_memory_from_being_found_or_stored(ready):
    with ready.memories.open("a") as file:
        file.write(json.dumps({"id": "mm-bbbbbb", "content": "uploads need a token", "author": "x\ud800"}) + "\n")
    found = run(ready, "search", "uploads", "--ids")
    assert (found.code, found.out) == (0, "mm-bbbbbb\n"), found.err
    assert run(ready, "remember", "CI needs Node 20").code == 0


@pytest.mark.parametrize("damage", [b"CREATE TABLE\xb0", b"CREATE TABLE?"], ids=["no text", "no SQL"])
@pytest.mark.parametrize("name", ["index.db", "state.db"])
def test_a_derived_database_with_a_damaged_beginning_is_made_anew(ready, name, damage):
    assert run(ready, "recall", "docker").code == 0
    path = ready.root / ".gobby" / "local" / name
    broken = path.read_bytes().replace(b"CREATE TABLE ", damage)
    path.write_bytes(broken)
    for _ in range(2):
        found = run(ready, "recall", "docker", "--ids")
        assert (found.code, found.out) == (0, "mm-aaaaaa\n"), found.err
    assert b"CREATE TABLE " in path.read_bytes()
