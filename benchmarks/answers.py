"""Answers of two versions over real records: what a prompt, a recall and a tool call are given, byte for byte.

    python -m benchmarks.answers DATA --base REVISION [--few]

DATA has `gobby/corpus.jsonl` and folders with `queries.jsonl`. Each question is a process of its own, as a client starts it, in a
store with the same records and the same `state.db`; REVISION is checked out beside this tree. Exit code 1 where an answer differs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TREE = Path(__file__).parents[1]
PROMPTS, RECALLS, CALLS = 1_000, 500, 300
_PATH = re.compile(r"\b(?:[\w.-]+/)+[\w-]+\.(?:py|ts|tsx|md|yaml|json|toml|sh)\b")
_COMMAND = re.compile(r"`((?:git|uv|pytest|ruff|npm|gobby|make|docker) [^`\n]{3,60})`")


@dataclass(frozen=True)
class Question:
    """One command line, what it reads, and its kind."""

    kind: str
    words: tuple[str, ...]
    payload: dict[str, Any]


def main(words: list[str]) -> int:
    """Ask both versions and print how many answers are equal, and the first that are not."""
    parser = argparse.ArgumentParser(prog="benchmarks.answers", description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--base", required=True, help="the revision to compare with")
    parser.add_argument("--few", action="store_true", help="a twentieth of the questions")
    given = parser.parse_args(words)
    records = [json.loads(line) for line in (given.data / "gobby" / "corpus.jsonl").read_text("utf-8").splitlines()]
    questions = [*_list_questions(given.data, records)][:: 20 if given.few else 1]
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        subprocess.run(["git", "worktree", "add", "-q", "--detach", top / "base", given.base], cwd=TREE, check=True)
        try:
            versions = [Version(top / side, tree, records) for side, tree in (("a", top / "base"), ("b", TREE))]
            return _compare(questions, versions)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", top / "base"], cwd=TREE, check=True)


class Version:
    """A store with *records* that is asked by the code of *tree*."""

    def __init__(self, top: Path, tree: Path, records: list[dict[str, Any]]) -> None:
        self.root = top / "repo"
        self._env = {key: value for key, value in os.environ.items() if not key.startswith(("CLAUDE", "MEMSYNC"))}
        self._env |= {"HOME": str(top), "MEMSYNC_HOME": str(top / "home"), "MEMSYNC_HOOK_SECONDS": "60"}
        self._env |= {"PYTHONPATH": str(tree), "GIT_CONFIG_GLOBAL": os.devnull, "NO_COLOR": "1"}
        self.root.mkdir(parents=True)
        for words in (["init", "-q"], ["config", "user.name", "A"], ["config", "user.email", "a@example.org"]):
            subprocess.run(["git", *words], cwd=self.root, check=True)
        self._run("init", "--agent", "none")
        lines = (json.dumps(_anchor(record), ensure_ascii=False) for record in records)
        (self.root / ".gobby" / "memories.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        for words in (["add", "-A"], ["commit", "-q", "--no-verify", "-m", "records"]):
            subprocess.run(["git", *words], cwd=self.root, env=self._env, check=True, capture_output=True)
        self._run("index", "rebuild")
        self._state = self.root / ".gobby" / "local" / "state.db"
        self._kept = top / "state.db"
        if self._state.exists():
            shutil.copyfile(self._state, self._kept)

    def ask(self, question: Question) -> bytes:
        """Return what the command prints, with the store's place taken out."""
        for path in self._state.parent.glob("state.db*"):
            path.unlink()
        if self._kept.exists():
            shutil.copyfile(self._kept, self._state)
        payload = {"session_id": "s", "cwd": str(self.root), **question.payload}
        said = self._run(*question.words, given=json.dumps(payload)).stdout
        return said.replace(str(self.root).encode(), b"/repo")

    def _run(self, *words: str, given: str = "") -> subprocess.CompletedProcess[bytes]:
        run = [sys.executable, "-P", "-m", "memsync", *words]
        return subprocess.run(run, cwd=self.root, env=self._env, input=given.encode(), capture_output=True, check=True)


def _anchor(record: dict[str, Any]) -> dict[str, Any]:
    """Return *record* anchored to the files and commands that it names, as `remember` would have it where they exist."""
    text = record["content"]
    found = [*dict.fromkeys(_PATH.findall(text)), *(f"$ {' '.join(c.split()[:2])}" for c in _COMMAND.findall(text))]
    return record | {"anchors": [*dict.fromkeys(found)][:3]} if found else record


def _list_questions(data: Path, records: list[dict[str, Any]]) -> Iterator[Question]:
    asked = [
        json.loads(line)["text"]
        for path in sorted(data.glob("*/queries.jsonl"), key=lambda path: (path.parent.name != "gobby", path))
        for line in path.read_text("utf-8").splitlines()
    ]
    every = max(len(records) // PROMPTS, 1)
    own = [" ".join(record["content"].split()[3:15]) for record in records[::every]]
    texts = [text for pair in zip(asked, own, strict=False) for text in pair] + asked[len(own) :] + own[len(asked) :]
    for text in texts[:PROMPTS]:
        yield Question("prompt", ("hook", "prompt", "--client", "claude"), {"prompt": text})
    for text in texts[1 : 1 + RECALLS]:
        yield Question("recall", ("recall", "--json", "--limit", "15", "--", text.replace("\n", " ")), {})
    yield from [*_list_calls(records)][:CALLS]


def _list_calls(records: list[dict[str, Any]]) -> Iterator[Question]:
    before = ("hook", "pre-tool", "--client", "claude")
    for record in records[::2]:
        for path in _PATH.findall(record["content"])[:1]:
            yield Question("call", before, {"tool_name": "Edit", "tool_input": {"file_path": path, "new_string": "x"}})
        for command in _COMMAND.findall(record["content"])[:1]:
            yield Question("call", before, {"tool_name": "Bash", "tool_input": {"command": command}})


def _compare(questions: list[Question], versions: list[Version]) -> int:
    equal, given, other = Counter[str](), Counter[str](), 0
    with ThreadPoolExecutor(len(versions)) as pool:
        for question in questions:
            base, ours = pool.map(lambda version, question=question: version.ask(question), versions)
            equal[question.kind] += base == ours
            given[question.kind] += bool(ours)
            if base != ours and (other := other + 1) <= 5:
                print(f"differs: {question}\n  {base.decode()}\n  {ours.decode()}", flush=True)
    for kind, count in Counter(question.kind for question in questions).items():
        print(f"{kind}: {equal[kind]} of {count} equal, {given[kind]} with an answer")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
