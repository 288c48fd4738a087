"""Walks every command of ours in the working directory, each in a process of its own, and writes what was tried.

    python -P walker.py REPORT START STEP FORBIDDEN...

Of all command lines every STEP-th is run, from the START-th on. REPORT gets a JSON object: `ran`, the command lines with their exit codes, and `touched`, what Python was asked to open,
list, connect to or run of what is FORBIDDEN. A command that is added to the tree is walked without a word here.
"""

from __future__ import annotations

import json
import os
import pkgutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module

import click

import memsync
from memsync.cli import app

SECONDS = 30
SERVERS, SERVED = {"ui", "serve"}, 4  # what goes on until it is told to end, and the seconds after which it is
# What git runs with files of its own making: base, ours and theirs of a merge, and a text to show.
APART = {("git", "merge-driver"), ("git", "merge-skill"), ("git", "textconv")}
VALUES = {
    "ref": "mm-aaaaaa",
    "refs": "mm-aaaaaa",
    "id": "mm-aaaaaa",
    "path": "docs/rc",
    "paths": "notes.jsonl",
    "source": "notes.jsonl",
    "file": "notes.jsonl",
    "output": "notes.jsonl",
    "directory": "docs",
    "name": "two",
    "out": "notes.jsonl",
    "plan_to": "notes.jsonl",
    "plan_from": "notes.jsonl",
    "transcript": "notes.jsonl",
    "rev": "HEAD",
    "revision": "HEAD",
    "event": "prompt",
    "content": "the cache moved to memcached in May",
    "query": "staging deploys",
}


def leaves(group: click.Group, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, (*names, name))
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield (*names, name), command


def value_of(param: click.Parameter) -> str:
    if isinstance(param.type, click.Choice):
        return str(param.type.choices[0])
    if isinstance(param.type, click.types.IntParamType | click.types.FloatParamType):
        return "1"
    return VALUES.get(
        param.name or "", "notes.jsonl" if isinstance(param.type, click.Path | click.File) else "mm-aaaaaa"
    )


def lines(names: tuple[str, ...], command: click.Command) -> Iterator[list[str]]:
    """Yield *command* with what it needs, and then with each file or directory that it may be told."""
    needed: list[str] = []
    for param in command.params:
        if isinstance(param, click.Argument):
            needed.append(value_of(param))
        elif param.required:
            needed += [param.opts[0], value_of(param)]
    yield [*names, *needed]
    for param in command.params:
        if (
            isinstance(param, click.Option)
            and not param.required
            and (isinstance(param.type, click.Path | click.File) or param.name in VALUES)
        ):
            yield [*names, param.opts[0], value_of(param), *needed]


def load_all() -> None:
    """Import every module of ours now, so that no child does."""
    for found in pkgutil.walk_packages(memsync.__path__, "memsync."):
        with suppress(ImportError):
            if not found.name.endswith("__main__"):
                import_module(found.name)


def watch(forbidden: list[str], report: int) -> None:
    """Note in *report* whatever Python is asked for that is *forbidden*: paths, and every address."""

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir", "os.rename", "os.remove", "os.mkdir", "sqlite3.connect"):
            told = [os.path.realpath(os.fsdecode(arg)) for arg in args[:2] if isinstance(arg, str | bytes)]
            bad = [path for path in told for prefix in forbidden if path.startswith(prefix)]
        elif event in ("socket.connect", "socket.getaddrinfo"):
            bad = [] if "family=1" in str(args[0]) or "AF_UNIX" in str(args[0]) else [str(args)]
        elif event in ("subprocess.Popen", "os.posix_spawn", "os.exec"):
            bad = [str(args[0])] if os.path.realpath(str(args[0])).startswith(os.getcwd()) else []
        else:
            return
        for one in bad:
            os.write(report, f"{' '.join(sys.argv[1:])}: {event} {one}\n".encode())

    sys.addaudithook(hook)


def run(words: list[str], out: int) -> int:
    """Run one command line in a child, and return its exit code; -1 if it never ends."""
    child = os.fork()
    if not child:
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        if words[0] in SERVERS:
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        signal.alarm(SECONDS if words[0] not in SERVERS else SERVED)
        code = 99
        try:
            sys.argv = ["memsync", *words]
            code = app.run(words)
            sys.stdout.flush()
        except SystemExit as done:
            code = done.code if isinstance(done.code, int) else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def main() -> None:
    path, start, step, *forbidden = sys.argv[1:]
    known = [line for names, command in leaves(app.cli) if names not in APART for line in lines(names, command)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as report:
        load_all()
        watch(forbidden, report.fileno())
        ran = [(words, run(words, out.fileno())) for words in known[int(start) :: int(step)]]
        out.seek(0)
        report.seek(0)
        said, touched = out.read().decode(errors="replace"), report.read().decode().splitlines()
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"ran": ran, "touched": sorted(set(touched)), "said": said}, file)


if __name__ == "__main__":
    main()
