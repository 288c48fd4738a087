"""What the other processes do. Run as a program it forks one actor for each job that the crew sends.

An actor says what it is about to do and what is done, a JSON object a line: what it
said is on the pipe even if it is killed in the same moment.
"""

from __future__ import annotations

import array
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from moments import DEEDS, append_by_hand, happening

from memsync import Memsync
from memsync.errors import MemsyncError, StoreError
from memsync.memories.syncing import sync

# Seconds between two deeds: a quick hand, and a vandal that hits every write.
HAND_PACE = 0.02
VANDAL_PACE = 0.003


class Wire:
    """The actor's end of the line to the test."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def say(self, **what: Any) -> None:
        self._end.sendall(json.dumps(what).encode() + b"\n")

    def wait(self) -> bool:
        """Wait for the word to go on; False if the test has hung up."""
        return bool(self._end.recv(1))

    def until_told(self, pace: float) -> Iterator[int]:
        """Count at that pace until the test says stop."""
        number = 0
        while not select.select([self._end], [], [], pace)[0]:
            yield number
            number += 1
        self.wait()


class Scribe:
    """Remembers, updates and forgets memories of its own, and says so before and after."""

    def __init__(self, wire: Wire, project: Memsync, name: str, seed: int) -> None:
        self.wire, self.project, self.name = wire, project, name
        self.dice = random.Random(seed)
        self.mine: dict[str, str] = {}
        self.count = 0

    def act(self, *, may_be_refused: bool = False) -> None:
        self.count += 1
        kind = self.dice.choices(["remember", "update", "forget", "export"], [5, 3, 2, 0.4])[0]
        if kind != "export" and len(self.mine) < 3:
            kind = "remember"
        id_ = self.dice.choice(sorted(self.mine)) if kind in ("update", "forget") else None
        text = (
            None
            if kind in ("forget", "export")
            else f"{'x' * self.dice.randrange(200)} {self.name} says number {self.count}".strip()
        )
        self.wire.say(about_to=kind, id=id_, text=text)
        try:
            id_ = self._do(kind, id_, text)
        except MemsyncError as error:
            if not may_be_refused:
                raise
            self.wire.say(refused=str(error))
            return
        self.wire.say(did=kind, id=id_, text=text)

    def _do(self, kind: str, id_: str | None, text: str | None) -> str | None:
        if kind == "remember":
            id_ = self.project.remember(text).entry.id
            self.mine[id_] = text
        elif kind == "update":
            self.project.update(id_, content=text)
            self.mine[id_] = text
        elif kind == "forget":
            self.project.forget(id_)
            del self.mine[id_]
        else:
            export(self.project)
        return id_


def export(project: Memsync) -> None:
    """Export, unless a hand without the lock is quicker; then the file stays in log form, and nothing is lost."""
    with suppress(StoreError):
        project.export("project")


def scribe(wire: Wire, root: str, name: str, seed: int, rounds: list[int], shared: int = 0, **how: bool) -> None:
    """Write so many times a round; all scribes also remember the same *shared* texts."""
    with Memsync.open(root) as project:
        one = Scribe(wire, project, name, seed)
        for number, count in enumerate(rounds):
            if not wire.wait():
                return
            for turn in range(count):
                one.act(**how)
                if turn < shared:
                    text = f"everybody knows number {number} {turn}"
                    wire.say(shared=text, id=project.remember(text).entry.id)
            wire.say(round=number)


def agent(wire: Wire, root: str, name: str, count: int) -> None:
    """Remember so many texts, opening the project for each as a command does."""
    for number in range(count):
        text = f"{name} found out number {number}"
        with Memsync.open(root) as project:
            id_ = project.remember(text).entry.id
        wire.say(did="remember", id=id_, text=text)


def endless_scribe(wire: Wire, root: str, name: str, seed: int) -> None:
    """Write until somebody stops it; an interrupt ends it in good order."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Memsync.open(root) as project:
            one = Scribe(wire, project, name, seed)
            while True:
                one.act()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        wire.say(interrupted=True)


def endless_syncer(wire: Wire, root: str, home: str, name: str, seed: int) -> None:
    """Write, export, format, commit, pull and push until somebody kills the whole group of processes."""
    os.setsid()
    os.environ["MEMSYNC_HOME"] = home
    dice = random.Random(seed)
    with Memsync.open(root) as project:
        one = Scribe(wire, project, name, seed)
        while True:
            one.act(may_be_refused=True)
            deed = dice.choice(list(SYNCS)) if dice.random() < 0.4 else ""
            if deed:
                wire.say(about_to=deed, id=None, text=None)
                with suppress(MemsyncError):  # git was stopped here before, or the other one is quicker
                    SYNCS[deed](one)
                wire.say(did="export", id=None, text=None)


def run_git(one: Scribe, *words: str) -> None:
    subprocess.run(["git", *words], cwd=one.project.layout.root, capture_output=True, check=False)


def commit_in_an_editor(one: Scribe) -> None:
    """Write while the user's editor is open for the message of a commit."""
    said, told = os.pipe()
    asked, answer = os.pipe()
    editor = f'type() {{ echo open > /dev/fd/{told}; read -r _ < /dev/fd/{asked}; echo typed >> "$1"; }}; type'
    commit = subprocess.Popen(
        ["git", "commit", "-q", "--allow-empty"],
        cwd=one.project.layout.root,
        env=os.environ | {"GIT_EDITOR": editor},
        pass_fds=(told, asked),
        stderr=subprocess.DEVNULL,
    )
    os.close(told)
    os.close(asked)
    if os.read(said, 1):  # nothing comes where git has refused
        one.act(may_be_refused=True)
        os.write(answer, b"\n")
    os.close(said)
    os.close(answer)
    commit.wait()


def format_file(one: Scribe) -> None:
    """Replace the memory file by what `jq -c .` makes of it."""
    root = Path(str(one.project.layout.root))
    path, temp = root / ".gobby" / "memories.jsonl", root.parent / f"formatted-{root.name}"
    with suppress(FileNotFoundError, ValueError):  # there is none yet, or git left a conflict in it
        rows = [json.loads(line) for line in path.read_bytes().splitlines()]
        temp.write_text("".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows))
        temp.replace(path)


SYNCS: dict[str, Callable[[Scribe], object]] = {
    "sync": lambda one: sync(one.project),
    "sync --commit": lambda one: sync(one.project, commit=True),
    "sync --push": lambda one: sync(one.project, commit=True, push=True),
    "git commit": lambda one: run_git(one, "commit", "-q", "--allow-empty", "-m", "work"),
    "git pull": lambda one: run_git(one, "pull", "-q", "--no-rebase", "--no-edit"),
    "git commit in an editor": commit_in_an_editor,
    "jq -c": format_file,
}


def hand(wire: Wire, path: str, rounds: int) -> None:
    """Append lines as `echo >>` does, without the lock, until told to pause."""
    for number in range(rounds):
        if not wire.wait():
            return
        for turn in wire.until_told(HAND_PACE):
            id_, text = f"hand-{number}-{turn}", f"by hand {number} {turn}"
            append_by_hand(path, json.dumps({"content": text, "id": id_}).encode() + b"\n")
            wire.say(did="append", id=id_, text=text)
        wire.say(round=number)


def exporter(wire: Wire, root: str) -> None:
    """Export whenever something is to be exported."""
    with Memsync.open(root) as project:
        for _ in wire.until_told(HAND_PACE):
            export(project)


def vandal(wire: Wire, local: str, what: str) -> None:
    """Damage or delete local state again and again."""
    directory = Path(local)
    for number in wire.until_told(VANDAL_PACE):
        if what == "local":
            shutil.rmtree(directory, ignore_errors=True)
        elif number % 2:
            (directory / "state.db").unlink(missing_ok=True)
        elif directory.is_dir():
            (directory / "state.db").write_bytes(b"this is no database " * 500)


def disturbed(wire: Wire, root: str, deed: str, moment: int, how: str) -> None:
    """Do one deed, and be killed or interrupted, or have a hand in the file, at a moment of it."""
    project = Memsync.open(root, env={})  # no session, so no database: this is about the file
    project.stores.refresh()
    tripwire = happening(how, moment, os.path.join(root, ".gobby", "memories.jsonl"))
    try:
        sys.settrace(tripwire)
        DEEDS[deed](project)
        sys.settrace(None)
    except KeyboardInterrupt:
        pass
    wire.say(happened=tripwire.left <= 0)
    wire.say(shown={entry.id: entry.content for entry in project.memories()})
    wire.say(id=project.remember("life goes on").entry.id)


def cramped(wire: Wire, root: str, ids: list[str]) -> None:
    """Try every kind of write when no file may grow, and say what came of it."""
    import resource

    project = Memsync.open(root)
    path = Path(root, ".gobby", "memories.jsonl")
    size = path.stat().st_size + 10
    attempts: dict[str, Callable[[], object]] = {
        "remember": lambda: project.remember("a text that is too much"),
        "update": lambda: project.update(ids[0], content="a text that is too much"),
        "forget": lambda: project.forget(ids[1]),
        "export": lambda: project.export("project"),
    }
    for kind, attempt in attempts.items():
        limit = 100 if kind == "export" else size
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            attempt()
            wire.say(kind=kind, error=None)
        except MemsyncError as error:
            wire.say(kind=kind, error=type(error).__name__, text=str(error))


def broken(wire: Wire, root: str, deed: str, call: int, error: int, stays: bool) -> None:
    """Do one deed while the disk fails at that call, and say what came of it; broken_disk.c is preloaded."""
    import ctypes

    disk = ctypes.CDLL(None)
    project = Memsync.open(root, env={})
    project.stores.refresh()
    said = None
    disk.break_disk(call, error, stays)
    try:
        DEEDS[deed](project)
    except MemsyncError as refusal:
        said = str(refusal)
    happened = bool(disk.disk_broke())
    disk.break_disk(0, 0, False)
    wire.say(happened=happened, error=said)
    wire.say(shown={entry.id: entry.content for entry in project.memories()})
    wire.say(id=project.remember("life goes on").entry.id)


QUERIES = ("which server restarts the database?", "dpeloy databse", "case3 the tunnel of case7", "whales")


def ask_all(project: Memsync) -> list[Any]:
    """Return what some queries find, with every score, one after the other, and the list."""
    found = [project.search(query, limit=20) for query in QUERIES]
    answers = [[each.gate, *([hit.id, hit.content, hit.score, hit.confidence] for hit in each)] for each in found]
    return [*answers, sorted(entry.content for entry in project.list())]


def drop_index(root: str) -> None:
    """Remove what is made of the memories to find them."""
    for path in Path(root, ".gobby", "local").glob("index*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


READERS: dict[str, Callable[[Memsync], object]] = {
    "search": lambda project: project.search(QUERIES[0]),
    "list": lambda project: project.list(),
    "remember": lambda project: project.remember("The tunnel of case7 is closed at night"),
}


def met(wire: Wire, root: str, reader: str, call: int, what: str, **files: str) -> None:
    """Ask or write while something happens at that call; disk_moments.c is preloaded.

    *what*: killed, or the memories are replaced by the file *other*, or it is appended to them. The file *first* takes
    their place before; who *stays* was asked already when it does.
    """
    import ctypes

    disk, path = ctypes.CDLL(None), os.path.join(root, ".gobby", "memories.jsonl")
    project = Memsync.open(root)
    if "stays" in files:
        ask_all(project)
    if "first" in files:
        os.replace(files["first"], path)
    disk.arrange(call, ord(what[0]), os.fsencode(path), os.fsencode(files.get("other", "")))
    if what == "killed":
        READERS[reader](project)
        project.close()
        wire.say(happened=bool(disk.has_happened()))
        return
    during, happened = ask_all(project), disk.has_happened()
    disk.arrange(0, 0, b"", b"")
    wire.say(happened=happened, during=during, after=ask_all(project))
    project.close()


def tell(wire: Wire, root: str) -> None:
    """Say what a new process is told with the index as it is, of itself once more, and without it."""
    for _ in range(2):
        with Memsync.open(root) as project:
            wire.say(told=ask_all(project))
    drop_index(root)
    with Memsync.open(root) as project:
        wire.say(told=ask_all(project))


JOBS = {
    job.__name__: job
    for job in (
        *(scribe, agent, endless_scribe, endless_syncer, hand, exporter, vandal, disturbed, cramped, broken),
        *(met, tell),
    )
}


def play(end: socket.socket, job: str, home: str, args: dict[str, Any]) -> None:
    """Be the actor, in a process of its own."""
    os.environ |= {"HOME": home, "MEMSYNC_SESSION_ID": "s1"}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    wire = Wire(end)
    try:
        JOBS[job](wire, **args)
        wire.say(end=True)
    except ConnectionError:
        pass
    except BaseException:  # noqa: BLE001 — whatever it is, the test must hear of it
        wire.say(crash=traceback.format_exc())


def warm_up() -> None:
    """Load what a write loads, once here and not in each of the thousands of processes that are forked."""
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / ".gobby").mkdir()
        (Path(root) / "home").mkdir()
        (Path(root) / "home" / "config.yaml").write_text("memory: {author: A. Person}\n")
        with Memsync.open(root, env={"MEMSYNC_HOME": f"{root}/home"}) as project:
            id_ = project.remember("one").entry.id
            project.update(id_, content="two")
            project.export("project")
            project.forget(id_)


def main() -> None:
    warm_up()
    crew = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the actors; the end of the line is their end
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        message, ancillary, _, _ = crew.recvmsg(65536, socket.CMSG_SPACE(4))
        if not message:
            return
        fd = array.array("i", ancillary[0][2])[0]
        pid = os.fork()
        if pid == 0:
            crew.close()
            play(socket.socket(fileno=fd), **json.loads(message))
            os._exit(0)
        os.close(fd)
        crew.send(str(pid).encode())


if __name__ == "__main__":
    main()
