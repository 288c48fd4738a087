"""Recorded sessions as Claude Code writes them, about a small shop."""

from __future__ import annotations

import json
from pathlib import Path

from helpers import GitRepo

ROOT = "/home/ann/shop"


class Recorder:
    """Writes the transcript of one session of Claude Code."""

    def __init__(self, name: str, day: int, root: str | Path = ROOT) -> None:
        self.name, self.day, self.rows = name, day, []
        self.number, self.root = 0, str(root)

    def row(self, kind: str, content: object) -> None:
        self.number += 1
        self.rows.append({
            "type": kind, "uuid": f"{self.name}{self.number}", "sessionId": self.name, "cwd": self.root,
            "timestamp": f"2026-03-{self.day:02d}T10:{self.number:02d}:00Z", "message": {"role": kind, "content": content},
        })  # fmt: skip

    def prompt(self, text: str) -> Recorder:
        self.row("user", text)
        return self

    def call(self, tool: str, result: str = "", *, failed: bool = False, **given: str) -> Recorder:
        id_ = f"{self.name}-{self.number}"
        self.row("assistant", [{"type": "tool_use", "id": id_, "name": tool, "input": given}])
        self.row("user", [{"type": "tool_result", "tool_use_id": id_, "content": result, "is_error": failed}])
        return self

    def flag(self) -> Recorder:
        return self.call("Bash", "Error: unknown flag: --fast", failed=True, command="shopctl sync --fast")

    def name_wrong(self) -> Recorder:
        return self.call("Read", "File does not exist.", failed=True, file_path=f"{self.root}/config/shop.yml")

    def fine(self) -> Recorder:
        return self.call("Edit", "ok", file_path=f"{self.root}/src/invoice.py", old_string="a", new_string="b")


def make_shop(root: Path) -> Path:
    """Return a repository that the sessions are about."""
    repo = GitRepo.create(root)
    for name in ("config/shop.yaml", "src/invoice.py"):
        (repo.root / name).parent.mkdir()
        (repo.root / name).write_text("a\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "the shop")
    return repo.root


def record(folder: Path, *sessions: Recorder) -> Path:
    folder.mkdir(exist_ok=True)
    for one in sessions:
        (folder / f"{one.name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in one.rows))
    return folder
