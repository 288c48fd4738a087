"""Whole processes as a user has them, in CPU time beside `python -c pass`.

A git repository after `memsync init`, its file of memories committed: MEMSYNC_CORPUS=FILE, which is copied, or 10,000
made-up records. Each command where nothing changed since the last one, and right after a change. All in turn, p50 of nine.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.corpus import records
from benchmarks.profile import SCRIPT, Place, Ran

RUNS = 9
MADE_UP = 10_000
BRANCH = 15  # lines that the other branch has more
SERVED = 2.8  # the bound of hooks beside a server
STATES = ("nothing changed", "another's line", "remember", "git checkout")
_SOON, _ALL = STATES[:2], STATES
_PROMPT, _TOOL = (("hook", event, "--client", "claude") for event in ("prompt", "pre-tool"))


class Command(NamedTuple):
    """One command: its bound, what it reads, whether it prints, and after which changes it is run."""

    what: str
    bound: float
    words: tuple[str, ...]
    payload: dict[str, Any] | None = None
    is_answered: bool = True
    states: tuple[str, ...] = _SOON


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("command", "records", "ms", "÷, nothing changed", *(f"after {state}" for state in STATES[1:]), "bound")
    given = os.environ.get("MEMSYNC_CORPUS")
    lines = Path(given).read_bytes().splitlines() if given else records(MADE_UP)
    with tempfile.TemporaryDirectory(dir="/tmp" if os.path.isdir("/tmp") else None) as name:  # sockets want short paths
        project = Project(name, list({json.loads(line)["id"]: line for line in lines}.values()))
        commands = project.list_commands()
        yield from _measure(project, commands, "")
        served = [command._replace(bound=SERVED, states=STATES[:1]) for command in commands if command.payload]
        with project.serve():
            yield from _measure(project, served, ", beside a server")


def _measure(project: Project, commands: Sequence[Command], where: str) -> Iterator[tuple[str, ...]]:
    took: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number in range(RUNS + 1):
        for state, command in itertools.product(STATES, commands):
            if state in command.states:
                project.change(state)
                bare, ours = project.time((sys.executable, "-c", "pass")).seconds, project.ask(command)
                if number:  # the first one screens what will be given, and makes what is not there
                    took["", ""].append(bare)
                    took[command.what, state].append(ours)
    base = statistics.median(took.pop(("", "")))
    yield (f"`python -c pass`{where}", f"{project.size:,}", f"{1000 * base:.1f}", *("–",) * len(STATES), "–")
    for command in commands:
        p50 = {state: statistics.median(took[command.what, state]) for state in command.states}
        ratios = (f"{p50[state] / base:.1f}" if state in p50 else "–" for state in STATES)
        plain = f"{1000 * p50[STATES[0]]:.0f}"
        yield (command.what + where, f"{project.size:,}", plain, *ratios, f"{command.bound:g}")


class Project(Place):
    """A repository with *lines* in its file, two branches and an index."""

    def __init__(self, directory: str, lines: Sequence[bytes]) -> None:
        super().__init__(directory)
        self.size, self._lines, self._is_behind = len(lines), lines, True
        self._git("init", "-q")
        self.time((SCRIPT, "init", "--agent", "none"))
        self.memories.write_bytes(b"".join(line + b"\n" for line in lines))
        self._git("add", "-A")
        self._git("commit", "-qnm", "the memories")
        self._git("checkout", "-qb", "other")
        for _ in range(BRANCH):
            self._append()
        self._git("commit", "-qnam", "others")
        self.time((SCRIPT, "index", "rebuild"))

    def list_commands(self) -> tuple[Command, ...]:
        """Return the commands; what is asked is the first text whose words are sure enough of an answer."""
        texts = (" ".join(json.loads(line)["content"].split()[3:15]) for line in self._lines)
        asked = next(text for text in texts if self._run(_PROMPT, {"prompt": text}).out)
        known = str(json.loads(self._lines[len(self._lines) // 2])["id"])
        call: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "ls -la /tmp"}}
        said = "Ticket {}: stage {} waits for the queue of the worker"
        return (
            Command("hook prompt, a memory given", 10, _PROMPT, {"prompt": asked}, states=_ALL),
            Command("hook prompt, nothing found", 6, _PROMPT, {"prompt": "a poem on the sea in winter"}, False),
            Command("hook prompt, small talk", 4, _PROMPT, {"prompt": "ok thanks"}, False),
            Command("hook pre-tool, nothing known, the first after a change", 4, _TOOL, call, False),
            Command("hook pre-tool, nothing known, the next", 4, _TOOL, call | {"session_id": "later"}, False),
            Command("recall", 9, ("recall", asked), states=_ALL),
            Command("list --limit 15", 8.5, ("list", "--limit", "15")),
            Command("show", 8.5, ("show", known)),
            Command("remember", 12, ("remember", said), states=_ALL),
        )

    def ask(self, command: Command) -> float:
        """Run *command* and return the seconds that it took."""
        ran = self._run(command.words, command.payload)
        if bool(ran.out) != command.is_answered:
            raise SystemExit(f"{command.what}: printed {ran.out!r}, {ran.said}")
        return ran.seconds

    def change(self, state: str) -> None:
        """Change what *state* says; what was changed for another one is taken up before."""
        if state == "another's line":
            self._append()
        elif state == "remember":
            self._run(("remember", "Gadget {} listens on port {}"))
        elif state == "git checkout":
            self._git("commit", "--allow-empty", "-qnam", "so far")
            self._git("checkout", "-q", "-")
        elif self._is_behind:
            self._run(("recall", "worker"))
        self._is_behind = state != STATES[0]

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Have `memsync serve` answer meanwhile."""
        server = subprocess.Popen(
            (SCRIPT, "serve", "--json"), cwd=self.directory, env=self.env, stdout=subprocess.PIPE, text=True
        )
        with server:
            assert server.stdout
            server.stdout.readline()
            try:
                yield
            finally:
                server.terminate()

    def _run(self, words: tuple[str, ...], payload: dict[str, Any] | None = None) -> Ran:
        number = next(self.numbers)
        given = {"session_id": f"s{number}", "cwd": self.directory, **(payload or {})}
        return self.time((SCRIPT, *(word.format(number * 7_919, number) for word in words)), json.dumps(given))

    def _append(self) -> None:
        number = next(self.numbers)
        with open(self.memories, "a", encoding="utf-8") as file:
            file.write(json.dumps({"id": f"mm-x{number}", "content": f"walk {number} meets a quokka"}) + "\n")

    def _git(self, *words: str) -> None:
        self.time(("git", *words))
