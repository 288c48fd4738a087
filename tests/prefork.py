"""memsync as a command without the price of starting Python each time, for tests that start it often.

They call a `memsync` that passes its arguments, directory, environment and standard files to one process with
memsync loaded, which forks: what runs is the real command, in a process of its own.
"""

from __future__ import annotations

import array
import atexit
import functools
import importlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

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


# What most commands load, so that no call pays for it again.
MODULES = (
    "memsync.cli.app",
    "memsync.cli.drivers",
    "memsync.cli.memory",
    "memsync.cli.project",
    "memsync.format.merge",
    "memsync.git.hooks",
    "memsync.git.install",
    "memsync.agents.hooks",
    "memsync.index.oneshot",
    "memsync.memories.project",
    "memsync.memories.remember",
    "memsync.memories.sync",
    "memsync.store.store",
    "rapidfuzz.fuzz",
    "ruamel.yaml",
)


class Prefork:
    """The process with *modules* loaded, and a directory for PATH whose `memsync` calls it.

    Who calls before it has loaded them waits: the line is there at once.
    """

    def __init__(self, directory: Path, *modules: str, env: Mapping[str, str] | None = None) -> None:
        self.bin = directory / "bin"
        self.bin.mkdir(parents=True)
        self.program = self.bin / "memsync"
        path = directory / "line"
        self.program.write_text(CALLER.format(python=sys.executable, path=str(path)))
        self.program.chmod(0o755)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.bind(str(path))
            line.listen(64)
            number = line.fileno()
            words = [sys.executable, __file__, str(number), *modules]
            self._process = subprocess.Popen(words, pass_fds=(number,), stdin=subprocess.DEVNULL, env=env)

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


def _serve(call: socket.socket) -> None:
    """Answer in a process of its own, which may end without a word, and pass its exit code on."""
    if (child := os.fork()) == 0:
        try:
            _answer(call)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    call.send(bytes([code % 256]))
    os._exit(0)


def main() -> None:
    for module in sys.argv[2:]:
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    server = socket.socket(fileno=int(sys.argv[1]))
    while True:
        call, _ = server.accept()
        if os.fork() == 0:
            server.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _serve(call)
        call.close()


if __name__ == "__main__":
    main()
