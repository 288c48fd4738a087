"""memsync as a command without the price of starting Python each time, for tests that start it often.

They call a `memsync` that passes its arguments, directory, environment and standard files to one process with
memsync loaded, which forks: what runs is the real command, in a process of its own.
"""

from __future__ import annotations

import array
import importlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

CALLER = """\
#!{python} -IS
import _socket, os, struct, sys
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


class Prefork:
    """The process with *modules* loaded, and a directory for PATH whose `memsync` calls it."""

    def __init__(self, directory: Path, *modules: str) -> None:
        self.bin = directory / "bin"
        self.bin.mkdir(parents=True)
        path = directory / "line"
        caller = self.bin / "memsync"
        caller.write_text(CALLER.format(python=sys.executable, path=str(path)))
        caller.chmod(0o755)
        self._process = subprocess.Popen([sys.executable, __file__, str(path), *modules], stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=10)


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
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(sys.argv[1])
    server.listen(16)
    print("ready", flush=True)
    while True:
        call, _ = server.accept()
        if os.fork() == 0:
            server.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _serve(call)
        call.close()


if __name__ == "__main__":
    main()
