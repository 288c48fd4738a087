"""memsync as a command without the price of starting Python each time, for tests that start it often.

They call a `memsync` that passes its arguments, directory, environment and standard files to one process with
memsync loaded, which forks: what runs is the real command, in a process of its own.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import functools
import importlib
import os
import pkgutil
import select
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

CALLER = """\
#!{python} -IS
import _socket, os, struct, sys
try:
    [os.fstat(number) for number in (0, 1, 2)]
except OSError:  # one is closed, and would be the line's
    os.execv(sys.executable, [sys.executable, "-m", "memsync", *sys.argv[1:]])
line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
line.connect({path!r})
said = chr(0).join([str(len(sys.argv) - 1), *sys.argv[1:], os.getcwd(), *(f"{{k}}={{v}}" for k, v in os.environ.items())])
data = os.fsencode(said)
line.sendmsg([struct.pack("I", len(data))], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("3i", 0, 1, 2))])
sent = 0
while sent < len(data):
    sent += line.send(data[sent:])
code = line.recv(1)
os._exit(code[0] if code else 1)
"""


# What no call is to pay for again: all rooms but those of the servers, which double what a fork has to copy.
MODULES = (
    *(f"memsync.{room}" for room in (
        "agents", "cli", "clients", "format", "git", "index", "janitor", "learn", "llm",
        "memories", "safety", "setup", "skills", "store", "system", "transfer",
    )),
    "git",
    "orjson",
    "rapidfuzz.fuzz",
    "ruamel.yaml",
)  # fmt: skip


class Prefork:
    """The process with *modules* loaded, and a directory for PATH whose `memsync` calls it.

    Who calls before it has loaded them waits: the line is there at once.
    """

    def __init__(self, directory: Path, *modules: str, env: Mapping[str, str] | None = None) -> None:
        self.bin = directory / "bin"
        self.bin.mkdir(parents=True)
        self.program = self.bin / "memsync"
        self._line = directory / "line"
        self.program.write_text(CALLER.format(python=sys.executable, path=str(self._line)))
        self.program.chmod(0o755)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.bind(str(self._line))
            line.listen(64)
            number = line.fileno()
            words = [sys.executable, __file__, str(number), *modules]
            env = {**(os.environ if env is None else env), "OPENBLAS_NUM_THREADS": "1"}  # who forks has no threads
            self._process = subprocess.Popen(words, pass_fds=(number,), stdin=subprocess.DEVNULL, env=env)

    def run(
        self, words: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes, timeout: float
    ) -> tuple[int, bytes, bytes]:
        """Run a command as *program* does, without the process between: return its code, and what it wrote."""
        told = [str(len(words)), *words, os.path.realpath(cwd), *(f"{name}={value}" for name, value in env.items())]
        data = os.fsencode("\0".join(told))
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(timeout)
            line.connect(str(self._line))
            pipes = [os.pipe() for _ in range(3)]
            theirs = (pipes[0][0], pipes[1][1], pipes[2][1])
            socket.send_fds(line, [len(data).to_bytes(4, sys.byteorder)], theirs)
            for number in theirs:
                os.close(number)
            line.sendall(data)
            out, err = _exchange(pipes[0][1], pipes[1][0], pipes[2][0], stdin, timeout)
            code = line.recv(1)
        return code[0] if code else 1, out, err

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=10)


@functools.cache
def shared() -> Prefork:
    """Return the one of this run, which ends with it."""
    directory = tempfile.mkdtemp(prefix="prefork-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    made = Prefork(Path(directory), *MODULES)
    atexit.register(made.close)
    return made


def command() -> list[str]:
    """Return how the real command is started: at once where PATH has it so, else as users do."""
    return [str(shared().program)] if is_on_path() else [sys.executable, "-m", "memsync"]


def is_on_path() -> bool:
    """Say whether PATH has the quick one; Windows can neither fork nor pass files."""
    return sys.platform != "win32" and str(shared().bin) in os.environ["PATH"].split(os.pathsep)


def _exchange(to: int, out: int, err: int, stdin: bytes, timeout: float) -> tuple[bytes, bytes]:
    """Write *stdin* to *to* and read the others to their ends, in whatever order they are ready; close all three."""
    read = {out: b"", err: b""}
    with selectors.DefaultSelector() as selector:
        for number in (to, out, err):
            selector.register(number, selectors.EVENT_WRITE if number == to else selectors.EVENT_READ)
        os.set_blocking(to, False)
        while selector.get_map():
            if not (ready := selector.select(timeout)):
                raise subprocess.TimeoutExpired("memsync", timeout, *read.values())
            for number in [key.fd for key, _ in ready]:
                if number == to:
                    more = stdin = _write_some(to, stdin)
                else:
                    more = os.read(number, 1 << 16)
                    read[number] += more
                if not more:
                    selector.unregister(number)
                    os.close(number)
    return read[out], read[err]


def _write_some(to: int, data: bytes) -> bytes:
    """Return what is left; nothing if nobody reads any more."""
    try:
        return data[os.write(to, data) :]
    except BrokenPipeError:
        return b""


def _take_call(call: socket.socket) -> tuple[list[str], str, dict[str, str]]:
    head, ancillary, _, _ = call.recvmsg(4, socket.CMSG_SPACE(12))
    for number, fd in enumerate(array.array("i", ancillary[0][2])):
        os.dup2(fd, number)
        os.close(fd)
    left, parts = int.from_bytes(head, sys.byteorder), b""
    while len(parts) < left:
        parts += call.recv(left - len(parts))
    count, *rest = os.fsdecode(parts).split("\0")
    words, cwd, env = rest[: int(count)], rest[int(count)], rest[int(count) + 1 :]
    return words, cwd, dict(pair.split("=", 1) for pair in env)


def _answer(call: socket.socket) -> None:
    words, cwd, env = _take_call(call)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["memsync", *words]
    from memsync.cli import main

    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _load(name: str) -> None:
    """Import a module, and with a room of ours all that is in it."""
    module = importlib.import_module(name)
    if name.startswith("memsync."):
        for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
            _load(found.name)


def main() -> None:
    for module in sys.argv[2:]:
        _load(module)
    atexit._clear()  # a command ends as if it had loaded all of that itself: nobody waits for its end
    _serve(socket.socket(fileno=int(sys.argv[1])))


def _serve(server: socket.socket) -> NoReturn:
    """Answer each call in a process of its own, which may end without a word, and pass its exit code on."""
    calls: dict[int, socket.socket] = {}
    ended, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([server, ended], [], [])
        if ended in ready:
            ended.recv(1 << 12)
            _pass_codes(calls)
        if server in ready:
            call, _ = server.accept()
            if (child := os.fork()) == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for other in (server, ended, wake, *calls.values()):
                    other.close()
                try:
                    _answer(call)
                finally:
                    os._exit(1)
            calls[child] = call


def _pass_codes(calls: dict[int, socket.socket]) -> None:
    while calls:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        with calls.pop(child) as call, contextlib.suppress(OSError):  # who called may be gone
            call.send(bytes([os.waitstatus_to_exitcode(status) % 256]))


if __name__ == "__main__":
    main()
