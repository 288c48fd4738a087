"""`memsync serve` as processes: one a project, told to end, idle, killed, stopped, and started by a hook where the user wants that."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from helpers import memsync, until

from memsync.agents import wire
from memsync.agents.wire import list_servers
from memsync.store.places import locate

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no local sockets here")
FACT = "The staging database listens on port 5433"
ASK = "which port does the staging database use?"
PATIENCE = 60


def start(root: Path, *words: str) -> subprocess.Popen:
    command = [sys.executable, "-P", "-m", "memsync", "serve", "--json", *words]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextmanager
def serving(root: Path, *words: str) -> Iterator[tuple[subprocess.Popen, dict]]:
    """Run the server of *root*, and give out the process and what it says of itself."""
    with start(root, *words) as process:
        try:
            said = ""
            while not said.endswith("}\n"):
                said += process.stdout.readline() or "}\n"
            yield process, json.loads(said)
        finally:
            process.kill()


def hook(root: Path, session: str, event: str = "prompt", **env: str) -> str:
    asked = json.dumps({"session_id": session, "prompt": ASK})
    ran = memsync("hook", event, cwd=root, stdin=asked, env=env)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def pids(root: Path) -> list[int]:
    """Return the processes of `memsync serve` that say they answer for *root*."""
    return [one["pid"] for one in list_servers(locate(root)) if one["kind"] == "serve"]


@pytest.fixture
def root(repo) -> Iterator[Path]:
    assert memsync("remember", FACT, cwd=repo.root).code == 0
    yield repo.root
    for pid in pids(repo.root):  # what a hook has started is nobody's child
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    until(lambda: not pids(repo.root))


def test_it_says_where_it_listens_answers_as_a_hook_does_and_ends_when_told(root):
    alone = hook(root, "alone")
    with serving(root) as (process, said):
        assert said == {"idle": 900.0, "path": said["path"], "pid": process.pid}
        assert Path(said["path"]).is_socket()
        assert hook(root, "served") == alone != ""
        assert f"hooks are answered by memsync serve (pid {process.pid})" in memsync("status", cwd=root).out
        assert f"memsync serve (pid {process.pid}): answers the hooks" in memsync("doctor", cwd=root).out
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""
    assert not Path(said["path"]).parent.exists()


def test_it_ends_by_itself_when_nobody_asks(root):
    with serving(root, "--idle", "0.1") as (process, said):
        assert process.wait(PATIENCE) == 0
    assert not Path(said["path"]).exists()


def test_of_two_that_start_at_once_one_stays(root):
    both = [start(root), start(root)]
    until(lambda: any(one.poll() is not None for one in both))
    (over,), (at_work,) = ([one for one in both if (one.poll() is not None) is ended] for ended in (True, False))
    assert over.returncode == 1
    assert json.loads(over.stdout.read())["error"].startswith("another process answers for this project already (pid ")
    until(lambda: pids(root) == [at_work.pid])
    at_work.kill()
    for one in both:
        one.communicate()


def test_after_one_was_killed_hooks_answer_and_another_one_can_be_started(root):
    with serving(root) as (process, said):
        process.kill()
        process.wait(PATIENCE)
        assert Path(said["path"]).exists()
        assert FACT in hook(root, "s1")
        assert not Path(said["path"]).exists()
    with serving(root) as (process, _):
        assert pids(root) == [process.pid]


def test_one_that_hangs_is_not_waited_for_and_doctor_names_it(root):
    with serving(root) as (process, _):
        process.send_signal(signal.SIGSTOP)
        assert FACT in hook(root, "s1", MEMSYNC_HOOK_SECONDS="8")
        assert f"pid {process.pid}: does not say what it is" in memsync("doctor", cwd=root).out
        assert f"pid {process.pid}, which is silent" in memsync("status", cwd=root).out


def test_all_that_hang_together_have_one_share_of_the_time(root):
    directory = Path(wire.run_dir(os.path.realpath(root), os.environ))
    directory.mkdir(parents=True)
    deaf = [socket.socket(socket.AF_UNIX) for _ in range(3)]
    for number, one in enumerate(deaf):
        one.bind(str(directory / f"{number}"))
        one.listen()
        one.setblocking(False)
    assert not wire.ask({}, str(root), os.environ, 0.2, print)
    deaf[0].accept()[0].close()
    for one in deaf[1:]:
        with pytest.raises(BlockingIOError):
            one.accept()
    for one in deaf:
        one.close()


def test_a_hook_starts_one_where_the_user_wants_that_and_it_answers_the_next(root, home):
    assert memsync("config", "--global", "memory.resident", "on", cwd=root).code == 0
    given = hook(root, "s1")
    assert FACT in given
    until(lambda: pids(root))
    (pid,) = pids(root)
    hook(root, "s2", "session-start")
    assert hook(root, "s3") == given
    assert pids(root) == [pid]


def test_hooks_at_once_start_one(root):
    memsync("config", "--global", "memory.resident", "on", cwd=root)
    crowd = [
        subprocess.Popen(
            [sys.executable, "-P", "-m", "memsync", "hook", "prompt"],
            cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    for number, one in enumerate(crowd):
        assert FACT in one.communicate(json.dumps({"session_id": f"s{number}", "prompt": ASK}))[0]
    until(lambda: len(pids(root)) == 1)
    again = memsync("serve", cwd=root)
    assert (again.code, len(pids(root))) == (1, 1)


@pytest.mark.parametrize("where", ["repository", "nowhere"])
def test_a_repository_cannot_have_one_started(root, where):
    if where == "repository":
        (root / ".gobby" / "config.yaml").write_text("memory:\n  resident: true\n")
    assert FACT in hook(root, "s1")
    assert memsync("config", "memory.resident", cwd=root).out == "false\n"
    assert not list((Path(wire.run_dir("", os.environ)).parent).glob("*.serve"))


def test_where_nothing_can_be_written_in_the_home_hooks_answer_and_serve_says_why(root, home):
    memsync("config", "--global", "memory.resident", "on", cwd=root)
    run = home / ".gobby" / "run"
    for path in run.iterdir() if run.is_dir() else ():
        path.unlink()
    if run.is_dir():
        run.rmdir()
    run.write_text("in the way\n")
    assert FACT in hook(root, "s1")
    failed = memsync("serve", cwd=root)
    assert failed.code == 1
    assert str(run) in failed.err
    assert run.read_text() == "in the way\n"
    run.unlink()


def test_a_folder_that_others_may_enter_is_not_listened_in(root):
    directory = Path(wire.run_dir(os.path.realpath(root), os.environ))
    directory.mkdir(parents=True)
    directory.chmod(0o755)
    failed = memsync("serve", cwd=root)
    assert failed.code == 1
    assert f"{directory} is not this user's alone" in failed.err
