"""Where the time of cold commands goes: `make profile ARGS="recall list --records 4219"`, or `--file memories.jsonl`.

Of each command: the parts of its CPU time, each beside the least that it could take, its memory, and with --more the
slowest modules and calls. All in CPU time of whole processes; the ratio is of medians, interleaved with `python -c pass`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import marshal
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import write

SCRIPT = str(Path(sys.executable).with_name("memsync"))
ASKED = "which record writes the lock"
HOOK = ("hook", "prompt", "--client", "claude")
COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "prompt": (HOOK, ASKED),
    "foreign": (HOOK, "how do whales sleep under the arctic ice in winter"),
    "small-talk": (HOOK, "ok thanks"),
    "recall": (("recall", ASKED), ""),
    "list": (("list", "--limit", "5"), ""),
    "remember": (("remember", "Ticket {}: stage {} waits for the queue of the worker"), ""),
    "statusline": (("statusline",), ""),
}
_TIME = re.compile(r"^imported (\S+) ([\d.]+)$", re.MULTILINE)
_OWN = "memsync"
_MS = 1000


class Ran(NamedTuple):
    """What one process took: seconds of CPU, MiB at the most, what it wrote to standard error, and to standard output."""

    seconds: float
    mib: float
    said: str
    out: str


class Place:
    """A project of its own with its own home, in which commands run."""

    def __init__(self, directory: str) -> None:
        self.directory = f"{directory}/project"
        leaks = ("MEMSYNC", "GIT", "XDG", "PYTHON", "CLAUDE")
        home = {"HOME": f"{directory}/home", "MEMSYNC_HOME": f"{directory}/home/.gobby"}
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(leaks)} | home
        self.numbers = itertools.count(1)
        os.makedirs(self.directory)
        os.makedirs(f"{directory}/home/.gobby")
        Path(directory, "home", ".gitconfig").write_text("[user]\n\tname = Ann Example\n\temail = ann@example.com\n")

    @property
    def memories(self) -> Path:
        """The file of memories."""
        return Path(self.directory, ".gobby", "memories.jsonl")

    def run(self, name: str, *python: str) -> Ran:
        """Run the command *name*, by Python with the options *python* if there are any."""
        words, prompt = COMMANDS[name]
        number = next(self.numbers)
        payload = {"session_id": f"s{number}", "cwd": self.directory, "prompt": prompt}
        words = tuple(word.format(number * 7_919, number) for word in words)
        start = (sys.executable, *python, SCRIPT) if python else (SCRIPT,)
        return self.time((*start, *words), json.dumps(payload) if prompt else "{}")

    def time(self, words: Sequence[str], given: str = "") -> Ran:
        """Run *words* with *given* on standard input."""
        if sys.platform == "win32":
            raise SystemExit("what a process has used is asked of POSIX systems only")
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as asked:
            asked.write(given.encode())
            asked.seek(0)
            with subprocess.Popen(
                words, cwd=self.directory, env=self.env, stdin=asked, stdout=out, stderr=said
            ) as process:
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            out.seek(0)
            text, answer = said.read().decode(), out.read().decode()
        if process.returncode:
            raise SystemExit(f"{' '.join(words)} ended with {process.returncode}: {text}")
        return Ran(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, text, answer)


def _imports(place: Place, name: str, runs: int) -> dict[str, float]:
    """Return the milliseconds of CPU that each module took itself, the least of *runs*."""
    found: dict[str, float] = {}
    for _ in range(runs):
        said = place.run(name, "-c", _IMPORTING + _RUNNING).said
        last = {module: float(ms) for module, ms in _TIME.findall(said)}
        found = {module: min(ms, found.get(module, ms)) for module, ms in last.items()}
    return found


def _time_bytecode(modules: Sequence[str]) -> float:
    """Return the milliseconds that reading and unmarshalling the code of *modules* takes, with nothing executed."""
    paths = [spec.cached for module in modules if (spec := find_spec(module)) and spec.cached]
    took = []
    for _ in range(5):
        start = time.process_time()
        for path in paths:
            if os.path.exists(path):
                with open(path, "rb") as file:
                    marshal.loads(file.read()[16:])
        took.append((time.process_time() - start) * _MS)
    return min(took)


def parts(place: Place, name: str, runs: int) -> Iterator[tuple[str, ...]]:
    """Yield the rows of one command: what takes the time, how much, and the least that it could take."""
    for once in ("remember", name):  # makes the index and the local state, and screens what will be given
        place.run(once)
    bare, ours, peaks = [], [], []
    for _ in range(runs):
        bare.append(place.time((sys.executable, "-c", "pass")).seconds * _MS)
        ran = place.run(name)
        ours.append(ran.seconds * _MS)
        peaks.append(ran.mib)
    ratio = statistics.median(ours) / statistics.median(bare)
    base, whole = min(bare), min(ours)  # of the parts the least counts: what others do on the machine is none of them
    modules = _imports(place, name, runs)
    own = [module for module in modules if module.split(".")[0] == _OWN]
    others = [module for module in modules if module.split(".")[0] != _OWN]
    needed = [module for module in others if "." not in module and find_spec(module)]
    alone = [
        place.time((sys.executable, "-c", f"import {', '.join(needed or ['sys'])}")).seconds * _MS for _ in range(runs)
    ]
    of_own, of_others = (sum(modules[module] for module in some) for some in (own, others))
    yield (name, f"{whole:.0f}", f"{ratio:.1f}", "", f"{max(peaks):.0f} MiB")
    yield _row("the interpreter", base, base, "itself", base)
    yield _row(f"{len(others)} modules of others", of_others, min(alone) - base, "importing them alone", base)
    yield _row(f"{len(own)} modules of ours", of_own, _time_bytecode(own), "reading their bytecode", base)
    work = max(whole - base - of_own - of_others, 0.0)
    yield _row("the work itself", work, _time_reading(place), "reading the index, or a file without one", base)


def _row(what: str, ms: float, floor: float, floor_is: str, base: float) -> tuple[str, ...]:
    return (f"– {what}", f"{ms:.1f}", f"{ms / base:.2f}", f"{max(floor, 0.0):.1f}", floor_is)


def _time_reading(place: Place) -> float:
    cache = place.memories.parent / "local" / "index.db"
    start = time.process_time()
    (cache if cache.exists() else place.memories).read_bytes()
    return (time.process_time() - start) * _MS


def _tell_more(place: Place, name: str) -> None:
    """Print the slowest modules, and the calls as cProfile has them."""
    modules = _imports(place, name, 3)
    print(
        *(f"{ms:7.1f} ms  {module}" for module, ms in sorted(modules.items(), key=lambda one: -one[1])[:15]), sep="\n"
    )
    file = f"{place.directory}/profile"
    place.run(name, "-c", _PROFILING.format(file=file) + _RUNNING)
    code = f"import pstats; pstats.Stats({file!r}).sort_stats('cumtime').print_stats('memsync/', 25)"
    print(subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True).stdout)


# A hook ends its process without a word; `sys.argv[0]` is the script that would have run.
_RUNNING = """
import os, sys
sys.argv, end = sys.argv[1:], os._exit
def leave(code=0):
    tell()
    end(code)
os._exit = leave
from memsync.cli import main
try:
    main()
except SystemExit as done:
    leave(int(done.code or 0))
"""
_PROFILING = """
import cProfile
profile = cProfile.Profile()
def tell():
    profile.disable()
    profile.dump_stats({file!r})
profile.enable()
"""
# In CPU time: `-X importtime` goes by the clock, which others move.
_IMPORTING = """
import _frozen_importlib as importing, os, time
find, inner, took = importing._find_and_load, [0.0], {}
def load(name, import_):
    start = time.process_time()
    inner.append(0.0)
    try:
        return find(name, import_)
    finally:
        whole = time.process_time() - start
        took[name] = took.get(name, 0.0) + whole - inner.pop()
        inner[-1] += whole
importing._find_and_load = load
def tell():
    os.write(2, "".join(f"\\nimported {name} {1000 * took[name]:.3f}" for name in took).encode())
"""


def main() -> None:
    """Profile the commands named, or all."""
    options = argparse.ArgumentParser(prog="make profile ARGS=…", description=(__doc__ or "").splitlines()[0])
    options.add_argument("commands", nargs="*", metavar="COMMAND", help=f"of {', '.join(COMMANDS)}; all without")
    options.add_argument("--records", type=int, default=4_219, help="made-up records (4,219)")
    options.add_argument("--file", help="a memories.jsonl instead, which is copied")
    options.add_argument("--runs", type=int, default=7)
    options.add_argument("--more", action="store_true", help="the slowest modules and calls, too")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        place = Place(directory)
        if chosen.file:
            place.memories.parent.mkdir()
            shutil.copyfile(chosen.file, place.memories)
        else:
            write(place.memories, chosen.records)
        print(
            "| what, cold | ms of CPU | ÷ `python -c pass` | floor, ms | what the floor is; memory |\n|---|---|---|---|---|"
        )
        for name in chosen.commands or COMMANDS:
            for row in parts(place, name, chosen.runs):
                print(f"| {' | '.join(row)} |", flush=True)
            if chosen.more:
                _tell_more(place, name)


if __name__ == "__main__":
    main()
