"""`python -m benchmarks replay`: the table over published sessions, from a folder of git repositories."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import GitRepo

ROOT = Path(__file__).parents[2]
LINT = "main.go:8:13: string `line` has 4 occurrences, make it a constant (goconst)"
SESSIONS = (("a", "2026-01-10"), ("b", "2026-01-11"), ("c", "2026-02-10"), ("d", "2026-02-11"))  # two in each half


@pytest.fixture
def mirror(tmp_path):
    """Return a folder with one of the repositories, whose four sessions all fail by the same rule of a linter."""
    repo = GitRepo.create(tmp_path / "mirror" / "entireio+cli")
    (repo.root / "main.go").write_text("package main\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "the code")
    branch = repo.git("rev-parse", "--abbrev-ref", "HEAD").strip()
    repo.git("checkout", "-q", "--orphan", "entire/checkpoints/v1")
    repo.git("rm", "-qf", "main.go")
    for name, day in SESSIONS:
        folder = repo.root / "aa" / f"0{name}" / "0"
        folder.mkdir(parents=True)
        (folder / "metadata.json").write_text(json.dumps({"session_id": name, "created_at": f"{day}T11:00:00Z"}))
        (folder / "full.jsonl").write_text("".join(json.dumps(row) + "\n" for row in list_rows(name, day)))
    repo.git("add", "-A")
    repo.git("commit", "-qm", "checkpoints")
    repo.git("checkout", "-q", branch)
    return tmp_path / "mirror"


def list_rows(name: str, day: str) -> list[dict[str, object]]:
    used = {"type": "tool_use", "id": f"{name}1", "name": "Bash", "input": {"command": "mise run lint"}}
    failed = {"type": "tool_result", "tool_use_id": f"{name}1", "content": LINT, "is_error": True}
    said = (("user", "lint it"), ("assistant", [used]), ("user", [failed]))
    return [
        {
            "type": kind,
            "uuid": f"{name}{number}",
            "sessionId": name,
            "cwd": "/home/ann/cli",
            "timestamp": f"{day}T10:0{number}:00Z",
            "message": {"role": kind, "content": content},
        }
        for number, (kind, content) in enumerate(said)
    ]


def measure(code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("MEMSYNC_")}
    command = [sys.executable, "-m", "benchmarks", "replay"]
    ran = subprocess.run(command, cwd=ROOT, env={**env, **variables}, capture_output=True, text=True, check=False)
    assert ran.returncode == code, ran.stderr
    return ran


def test_the_table_has_each_half_and_arm_and_says_loudly_what_is_absent(mirror, tmp_path):
    corpus = tmp_path / "data" / "gobby" / "corpus.jsonl"
    corpus.parent.mkdir(parents=True)
    corpus.write_text(json.dumps({"id": "mm-other1", "content": "Invoices are rounded per line"}) + "\n")
    ran = measure(MEMSYNC_REPLAY=str(mirror), MEMSYNC_DATA=str(tmp_path / "data"))
    table = [[cell.strip() for cell in row.strip("|").split("|")] for row in ran.stdout.splitlines()[4:] if row]
    assert [(row[0], row[1]) for row in table] == [
        (f"entireio/cli, {half} half", arm)
        for half in ("first", "second")
        for arm in (
            "lines by hand", "lines by hand, beside 400 others", "learned by itself", "FTS5, no gate", "random lines",
            "instruction files", "nothing",
        )
    ]  # fmt: skip
    repeats = {(row[0], row[1]): int(row[2]) for row in table}
    assert (repeats["entireio/cli, first half", "nothing"], repeats["entireio/cli, second half", "nothing"]) == (1, 2)
    after_right = {(row[0], row[1]): int(row[6]) for row in table}
    assert after_right["entireio/cli, second half", "lines by hand"] == 2
    assert after_right["entireio/cli, second half", "nothing"] == 0
    for name in ("FSM1/cipher-box", "PackmindHub/context-evaluator"):
        assert f"SKIPPED: {name}: MEMSYNC_REPLAY={mirror} has no git repository {name}" in ran.stderr


def test_the_same_run_twice_gives_the_same_bytes_and_leaves_the_repository_alone(mirror):
    before = list_all(mirror)
    first, second = (measure(MEMSYNC_REPLAY=str(mirror)) for _ in range(2))
    assert first.stdout == second.stdout
    assert "| entireio/cli, second half | lines by hand | 2 |" in first.stdout
    assert "beside" not in first.stdout
    assert "SKIPPED: lines by hand, beside 400 others: set MEMSYNC_DATA" in first.stderr
    assert list_all(mirror) == before


def list_all(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_without_any_of_the_repositories_gives_a_head_and_three_refusals_and_fails(tmp_path):
    ran = measure(1, MEMSYNC_REPLAY=str(tmp_path))
    assert "nothing was measured" in ran.stderr
    assert len([row for row in ran.stdout.splitlines() if row.startswith("| ")]) == 1
    assert ran.stderr.count("has no git repository") == 3
