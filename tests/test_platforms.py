"""What Linux and macOS have and Windows has not is never needed: it is hidden here, and memsync works all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memsync import __version__

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "memsync").rglob("*.py")
    if path.name != "__main__.py"
)

# Only from our own modules: what the standard library and the libraries that we use do on Windows is theirs.
HIDDEN = """
import builtins, json, os, signal, socket, sys, types

MODULES = frozenset("fcntl grp pwd resource termios tty pty syslog crypt spwd readline curses".split())
NAMES = {
    os: "fork forkpty getuid geteuid getgid getegid getgroups setsid setuid setgid getpgid setpgid killpg posix_spawn"
    " posix_spawnp POSIX_SPAWN_OPEN mkfifo mknod chown fchown lchown chroot nice getloadavg uname sysconf ttyname"
    " pread pwrite readv writev sendfile register_at_fork sched_yield sched_getaffinity wait3 wait4 WNOHANG set_blocking"
    " fchmod O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK O_SYNC O_DSYNC O_NOCTTY O_ASYNC O_PATH",
    signal: "SIGKILL SIGHUP SIGALRM SIGUSR1 SIGUSR2 SIGQUIT SIGCHLD SIGPIPE SIGSTOP SIGCONT SIGWINCH alarm setitimer"
    " pause pthread_kill pthread_sigmask sigwait siginterrupt",
    socket: "AF_UNIX",
    sys: "",
}
SAID = {(sys, "platform"): "win32", (os, "name"): "nt"}
hidden = {(module.__name__, name) for module, names in NAMES.items() for name in names.split()}
said = {(module.__name__, name): value for (module, name), value in SAID.items()}
really_import = builtins.__import__


def is_ours(name):
    return name == "__main__" or str(name).partition(".")[0] == "memsync"


class Seen(types.ModuleType):
    def __getattribute__(self, name):
        own = super().__getattribute__("__name__"), name
        if (own in hidden or own in said) and is_ours(frame_of(1).f_globals.get("__name__")):
            if own in hidden:
                raise AttributeError(f"there is no {own[0]}.{name} on Windows")
            return said[own]
        return super().__getattribute__(name)


def seen_import(name, globals=None, locals=None, fromlist=(), level=0):
    if name.partition(".")[0] in MODULES and is_ours((globals or {}).get("__name__")):
        raise ImportError(f"there is no {name} on Windows", name=name)
    return really_import(name, globals, locals, fromlist, level)


frame_of = sys._getframe
builtins.__import__ = seen_import
for module in NAMES:
    module.__class__ = Seen
"""
EVERY_MODULE = f"""{HIDDEN}
import importlib
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
print(sum(name.partition(".")[0] == "memsync" for name in sys.modules))
"""
COMMAND = f"""{HIDDEN}
sys.argv = ["memsync", *json.loads(sys.argv[1])]
from memsync.cli import main
main()
"""


def run(code: str, words: list[str], cwd: Path, *, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, json.dumps(words)]
    env = {**os.environ, "COLUMNS": "100", "PATHEXT": ""}  # programs are found by their plain names, as they are here
    return subprocess.run(command, cwd=cwd, env=env, input=stdin, capture_output=True, text=True, check=False)


def test_every_module_can_be_imported_where_nothing_is_posix():
    done = run(EVERY_MODULE, MODULES, ROOT)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(MODULES)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import termios", "there is no termios on Windows"),
        ("os.fork()", "there is no os.fork on Windows"),
        ("from signal import SIGHUP", "cannot import name 'SIGHUP'"),
        ("raise SystemExit(sys.platform + os.name)", "win32nt"),
    ],
)
def test_what_is_hidden_is_really_gone(tmp_path, code, why):
    assert why in run(HIDDEN + code, [], tmp_path).stderr


def test_a_memory_is_written_found_and_given_to_an_agent_where_nothing_is_posix(repo):
    assert run(COMMAND, ["--version"], repo.root).stdout.strip().endswith(__version__)
    fact = "The staging database listens on port 5433"
    done = run(COMMAND, ["memory", "add", fact], repo.root)
    assert (done.returncode, fact in done.stdout) == (0, True), done.stderr
    found = run(COMMAND, ["memory", "recall", "which port has the staging database?"], repo.root)
    assert (found.returncode, fact in found.stdout) == (0, True), found.stderr
    assert run(COMMAND, ["sync"], repo.root).returncode == 0
    assert run(COMMAND, ["doctor"], repo.root).returncode == 0
    prompt = json.dumps({"session_id": "s", "prompt": "which port does the staging database use?"})
    for event in ("prompt", "session-end"):
        hook = run(COMMAND, ["hook", event], repo.root, stdin=prompt)
        assert (hook.returncode, hook.stderr) == (0, "")
        assert (fact in hook.stdout) == (event == "prompt")
