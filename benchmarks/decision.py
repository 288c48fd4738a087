"""At the point of decision: sessions with tools, each call through the real hook command.

A session of `benchmarks/decisions/` is a project with files and memories, and what an agent does in it. Half of them were held back
while the rules were made. Counted is whether the session has a memory before the call that needs it, and what else it was given.

Claude Code and Codex hand what a hook says before a call to the model with the result of that call. So a memory is there *in time* only if it
was given at an earlier call, or by the prompt; what comes at the deciding call itself is there before the next one, and is counted
apart. A command that fails is what the next call hangs on: what its failure brings comes with the failure, and is in time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.corpus import records
from benchmarks.made_session import untagged
from benchmarks.timing import Paired, paired
from memsync import Memsync

SESSIONS = Path(__file__).with_name("decisions")
OTHERS = 300  # memories that are about nothing in the project
_LEAST = 30  # calls of a session
_MANY = 10_000
_RUNS = 25
_TOOLS = {"R": "Read", "E": "Edit", "W": "Write", "B": "Bash", "F": "Bash"}

Send = Callable[[str, Mapping[str, Any]], str]


@dataclass
class Call:
    """One call of a tool: its letter, what it is given, and the keys of the memories that it needs."""

    kind: str
    parts: list[str]
    needs: list[str] = field(default_factory=list)

    def payload(self) -> dict[str, Any]:
        """Return tool and input as Claude Code sends them."""
        first, *more = [part.replace("\\n", "\n") for part in self.parts]
        given = {"command": first} if self.kind in "BF" else {"file_path": first}
        given |= dict(
            zip({"E": ("old_string", "new_string"), "W": ("content",)}.get(self.kind, ()), more, strict=False)
        )
        return {"tool_name": _TOOLS[self.kind], "tool_input": given}


@dataclass
class Session:
    """A project, its memories by key, what the user says, and the calls."""

    name: str
    files: dict[str, str] = field(default_factory=dict)
    memories: dict[str, tuple[list[str], str]] = field(default_factory=dict)
    prompt: str = ""
    calls: list[Call] = field(default_factory=list)


@dataclass
class Played:
    """How many needed memories were given in time, of how many, and how many at the latest with the call's own result.

    Those missed; calls, and lines that no call needed.
    """

    needed: int = 0
    early: int = 0
    present: int = 0
    missed: list[str] = field(default_factory=list)
    calls: int = 0
    beside: list[str] = field(default_factory=list)

    def add(self, other: Played) -> None:
        """Count another session too."""
        for name in ("needed", "early", "present", "calls", "missed", "beside"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def read(path: Path) -> list[Session]:
    """Return the sessions of one file."""
    found: list[Session] = []
    for row in path.read_text(encoding="utf-8").splitlines():
        mark, _, rest = row.partition(" ")
        if mark == "==":
            found.append(Session(rest))
        elif mark == "+":
            name, text = rest.split(" | ", 1)
            found[-1].files[name] = text.replace("\\n", "\n").replace("\\t", "\t")
        elif mark == "!":
            key, text = rest.split(" ", 1)
            listed, _, after = text[1:].partition("] ") if text.startswith("[") else ("", "", text)
            found[-1].memories[key] = ([one for one in listed.split("; ") if one], after)
        elif mark == ">":
            found[-1].prompt = rest
        elif mark in _TOOLS:
            call, _, needs = rest.partition(" <- ")
            found[-1].calls.append(Call(mark, call.split(" | "), needs.split(",") if needs else []))
    return found


def make(session: Session, root: Path, home: Path) -> dict[str, str]:
    """Make the project of *session* at *root*, and return the ids of its memories by key."""
    for name, text in session.files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / ".gobby").mkdir()
    (root / ".gobby" / "memories.jsonl").write_bytes(b"".join(untagged(line) + b"\n" for line in records(OTHERS)))
    with Memsync.open(root, env={"MEMSYNC_HOME": str(home)}) as project:
        return {
            key: project.remember(text, anchors=anchors, importance=0.6).entry.id
            for key, (anchors, text) in session.memories.items()
        }


def play(session: Session, root: Path, ids: Mapping[str, str], send: Send, unhooked: str = "") -> Played:
    """Play *session*: *send* passes an event on to the hook and returns what it gave; *unhooked* calls have no hook."""
    done = Played(calls=len(session.calls))
    keys = {id_: key for key, id_ in ids.items()}
    given: set[str] = set()
    wanted = {need for call in session.calls for need in call.needs}
    about = {"session_id": session.name, "cwd": str(root)}

    def take(event: str, payload: Mapping[str, Any]) -> None:
        rows = send(event, {**about, **payload}).splitlines()
        new = {keys.get(id_, id_) for id_ in (row[3:].partition("]")[0] for row in rows if row.startswith("- ["))}
        done.beside += [f"{session.name}: {key}" for key in new - wanted if event != "prompt"]
        given.update(new)

    take("prompt", {"prompt": session.prompt, "hook_event_name": "UserPromptSubmit"})
    for number, call in enumerate(session.calls):
        payload = call.payload() | {"tool_use_id": f"{session.name}-{number}"}
        early = set(given)
        if call.kind not in unhooked:
            take("pre-tool", payload | {"hook_event_name": "PreToolUse"})
        if call.kind == "F":
            said = {"hook_event_name": "PostToolUseFailure", "error": f"Exit code 1\n{call.parts[1]}"}
            take("post-tool", payload | said)
        done.needed += len(call.needs)
        done.early += len((given if call.kind == "F" else early).intersection(call.needs))
        done.present += len(given.intersection(call.needs))
        done.missed += [f"{session.name}: {key}" for key in call.needs if key not in given]
        if call.kind in "EW":
            _carry_out(root, call)
    return done


def _carry_out(root: Path, call: Call) -> None:
    path = root / call.parts[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    old, new = call.parts[1:] if call.kind == "E" else ("", call.parts[1])
    text = (
        path.read_text(encoding="utf-8").replace(old.replace("\\n", "\n"), new.replace("\\n", "\n"), 1) if old else new
    )
    path.write_text(text, encoding="utf-8")


def run_hook(env: Mapping[str, str], event: str, payload: Mapping[str, Any]) -> str:
    """Return what the hook *event* gives as context for *payload*."""
    line = [sys.executable, "-m", "memsync", "hook", event, "--client", "claude"]
    done = subprocess.run(line, input=json.dumps(payload).encode(), env=dict(env), capture_output=True, check=True)
    return json.loads(done.stdout)["hookSpecificOutput"].get("additionalContext", "") if done.stdout else ""


def play_file(
    path: Path, send: Callable[[Mapping[str, str]], Send] = lambda env: partial(run_hook, env), unhooked: str = ""
) -> Played:
    """Play each session of *path* in a project of its own; calls of the kinds *unhooked* ask no hook."""
    total = Played()
    for session in read(path):
        if len(session.calls) < _LEAST:
            raise ValueError(f"{session.name} has {len(session.calls)} calls")
        with tempfile.TemporaryDirectory() as name:
            root, home = Path(name) / "repo", Path(name) / "home"
            root.mkdir()
            env = {**os.environ, "MEMSYNC_HOME": str(home), "MEMSYNC_HOOK_SECONDS": "30"}
            total.add(play(session, root, make(session, root, home), send(env), unhooked))
    return total


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    late = "with that call's result at the latest"
    yield (
        "sessions",
        "calls",
        "needed memories given before the deciding call",
        late,
        "lines per 100 calls that none needed",
    )
    kinds = (("open", "the rules were made with"), ("held", "held back"))
    for name, what, unhooked in ((*kind, unhooked) for kind in kinds for unhooked in ("R", "")):
        done = play_file(SESSIONS / f"{name}.txt", unhooked=unhooked)
        shares = (f"{count} of {done.needed} ({count / done.needed:.0%})" for count in (done.early, done.present))
        label = f"{what}, {'reading asks no hook' if unhooked else 'as it is'}"
        yield (label, str(done.calls), *shares, f"{100 * len(done.beside) / done.calls:.1f}")
        for missed in done.missed:
            print(f"missed: {missed}", file=sys.stderr)
        for beside in done.beside:
            print(f"beside: {beside}", file=sys.stderr)
    yield ("one call", "ms p50 / p95", "python -c pass, ms p50", "ratio")
    for what, times, size in measure():
        label = f"{what}, {_MANY:,} memories" + (f", lookup file of {size / 1024:.0f} KB" if size else "")
        yield (label, f"{times.ms():.0f} / {times.ms(at=0.95):.0f}", f"{times.ms('base'):.0f}", f"{times.ratio:.2f}")


def measure() -> Iterator[tuple[str, Paired, int]]:
    """Yield what a call costs where nothing is anchored to it, without and with a running server, and where something is."""
    with tempfile.TemporaryDirectory() as name:
        root, env = Path(name) / "repo", {**os.environ, "MEMSYNC_HOME": f"{name}/home", "MEMSYNC_HOOK_SECONDS": "30"}
        _fill(root)
        program = [sys.executable, "-m", "memsync"]

        def send(path: str, session: str = "s") -> None:
            payload = {"session_id": session, "cwd": str(root), "tool_name": "Edit", "tool_input": {"file_path": path}}
            line = [*program, "hook", "pre-tool", "--client", "claude"]
            subprocess.run(line, input=json.dumps(payload).encode(), env=env, capture_output=True, check=True)

        base = partial(
            subprocess.run, [sys.executable, "-c", "pass"], env=env, check=True, capture_output=True, input=b""
        )
        send("elsewhere.py")
        (size,) = [path.stat().st_size for path in (Path(name) / "home" / "run").glob("*.anchors")]
        yield "nothing is anchored there, cold", paired(partial(send, "elsewhere.py"), base, _RUNS), size
        sessions = iter(range(1_000))
        yield "something is, cold", paired(lambda: send("src/m7.py", f"c{next(sessions)}"), base, 9), 0
        server = subprocess.Popen(
            [*program, "mcp"], cwd=root, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        try:
            _wait_for(Path(name) / "home" / "run")
            yield "nothing is, with a server", paired(partial(send, "elsewhere.py"), base, _RUNS), 0
            yield "something is, with a server", paired(lambda: send("src/m8.py", f"w{next(sessions)}"), base, 9), 0
        finally:
            server.communicate()


def _wait_for(directory: Path) -> None:
    import time

    end = time.monotonic() + 60
    while not any(path.is_dir() and any(path.iterdir()) for path in directory.iterdir()) and time.monotonic() < end:
        time.sleep(0.1)


def _fill(root: Path) -> None:
    """Make a project of many memories, each with two or three anchors."""
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / ".gobby").mkdir()
    (root / "src").mkdir()
    lines = []
    for number, line in enumerate(records(_MANY)):
        found = json.loads(line)
        found["anchors"] = [
            f"src/m{number % 3_000}.py#f{number}",
            f"pkg{number % 97}/d{number}/",
            f"$ tool{number % 500} run",
        ]
        lines.append(json.dumps(found))
    (root / ".gobby" / "memories.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for number in (7, 8):
        (root / "src" / f"m{number}.py").write_text(f"def f{number}():\n    pass\n", encoding="utf-8")


def summary(done: Played) -> str:
    """Return the figures of *done* in one line."""
    return f"{done.early}/{done.needed} early, {done.present} present, {len(done.beside)} lines beside in {done.calls} calls"
