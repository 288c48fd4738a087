"""Hooks answered by a running server: the same answer, or none and then the hook's own."""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers import GitRepo, memsync, until

from memsync import Memsync
from memsync.agents import wire
from memsync.agents.endpoint import Endpoint
from memsync.agents.live import Live
from memsync.store.places import home_dir, locate

FACT = "The staging database listens on port 5433"
ASK = "which port does the staging database use?"


@pytest.fixture
def live(repo):
    with Memsync.open(repo.root) as project:
        project.remember(FACT)
        project.remember("Use tabs in Makefiles", memory_type="preference")
    live = Live(repo.root)
    yield live
    live.close()


def hook(repo: GitRepo, event="prompt", session="s1", cwd=None, client="claude", **payload):
    cwd = cwd or repo.root
    ran = memsync("hook", event, "--client", client, cwd=cwd, stdin=json.dumps({"session_id": session, **payload}))
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def answers(endpoint: Endpoint) -> list:
    """Count what *endpoint* answers from now on."""
    seen: list = []
    original = endpoint._answer

    def counted(project, request):
        reply = original(project, request)
        seen.append(reply)
        return reply

    endpoint._answer = counted
    return seen


@pytest.mark.parametrize("event", ["prompt", "session-start"])
@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_a_server_answers_as_the_hook_itself_does(repo, live, event, client):
    alone = hook(repo, event, "alone", client=client, prompt=ASK, source="startup")
    with Endpoint(live) as endpoint:
        seen = answers(endpoint)
        served = hook(repo, event, "served", client=client, prompt=ASK, source="startup")
        again = hook(repo, event, "served", client=client, prompt=f"{ASK} again", source="resume")
    drops_it = client == "gemini" and event == "session-start"  # a session that Gemini resumes has lost its first block
    assert again == (served if drops_it else "")
    assert served == alone != ""
    assert len(seen) == 2


def test_what_a_server_gave_is_not_given_by_a_hook_alone_and_the_other_way_round(repo, live):
    with Endpoint(live):
        assert hook(repo, prompt=ASK)
    assert hook(repo, prompt=f"{ASK} again") == ""
    assert hook(repo, session="s2", prompt=ASK)
    with Endpoint(live):
        assert hook(repo, session="s2", prompt=f"{ASK} again") == ""


def test_a_server_that_answers_too_late_does_not_take_the_event_from_the_hook(repo, live, monkeypatch):
    monkeypatch.setenv("MEMSYNC_HOOK_SECONDS", "12")
    with Endpoint(live) as endpoint:
        answer_now, gone = endpoint._answer, threading.Event()

        def answer_late(project, request):
            reply = answer_now(project, request)
            assert gone.wait(60)
            return reply

        endpoint._answer = answer_late
        given = hook(repo, prompt=ASK)
        gone.set()
    assert FACT in given
    assert hook(repo, prompt=f"{ASK} again") == ""


def test_a_server_begins_nothing_for_a_hook_that_waits_no_more(repo, live, monkeypatch):
    monkeypatch.setenv("MEMSYNC_HOOK_SECONDS", "12")
    with Endpoint(live) as endpoint:
        seen, gone, busy = answers(endpoint), threading.Event(), threading.Event()

        def work(_):
            busy.set()
            assert gone.wait(60)

        call = threading.Thread(target=live.call, args=(work,))
        call.start()
        assert busy.wait(60)
        assert FACT in hook(repo, prompt=ASK)
        gone.set()
        call.join()
        until(lambda: seen)
    assert seen == [None]


def test_a_change_of_the_settings_counts_at_once(repo, live):
    with Endpoint(live) as endpoint:
        seen = answers(endpoint)
        memsync("memory", "config", "memory.enabled", "off", cwd=repo.root)
        assert hook(repo, prompt=ASK) == ""
        memsync("memory", "config", "memory.enabled", "on", cwd=repo.root)
        assert FACT in hook(repo, prompt=f"{ASK} again")
    assert len(seen) == 2


def test_a_repository_within_the_project_is_not_answered_for(repo, live):
    inner = GitRepo.create(repo.root / "inner")
    (inner.root / ".gobby").mkdir()
    with Endpoint(live) as endpoint:
        seen = answers(endpoint)
        assert hook(repo, cwd=inner.root, prompt=ASK) == ""
        below = repo.root / "src"
        below.mkdir()
        assert FACT in hook(repo, cwd=below, prompt=ASK)
    assert [reply is None for reply in seen] == [True, False]


def test_another_version_is_not_answered(repo, live):
    with Endpoint(live) as endpoint:
        there = wire.connect(str(endpoint.path), 60)
        assert there is not None
        with there:
            there.sendall(json.dumps({"version": "0.0.0"}).encode() + b"\n")
            assert wire.read_line(there) == b"{}"


def test_an_answer_that_nobody_used_is_not_noted(repo, live):
    from memsync import __version__

    payload = {"session_id": "s1", "prompt": ASK}
    about = {"version": __version__, "event": "prompt", "client": "claude", "cwd": str(repo.root)}
    request = {**about, "payload": payload, "by": "1", "is": wire.identify(str(repo.root)), "until": math.inf}
    with Endpoint(live) as endpoint:
        there = wire.connect(str(endpoint.path), 60)
        assert there is not None
        with there:
            there.sendall(json.dumps(request).encode() + b"\n")
            assert FACT in json.loads(wire.read_line(there))["out"]
        assert FACT in hook(repo, prompt=f"{ASK} again")


def test_who_has_another_directory_behind_the_path_is_not_answered(repo, live, tmp_path):
    from memsync import __version__

    about = {"version": __version__, "event": "prompt", "client": "claude", "cwd": str(repo.root)}
    asked = {**about, "payload": {"session_id": "s1", "prompt": ASK}, "by": "1", "until": math.inf}
    with Endpoint(live) as endpoint:
        for place, is_answered in ((tmp_path, False), (repo.root, True)):  # as in a container with the same home
            there = wire.connect(str(endpoint.path), 60)
            assert there is not None
            with there:
                there.sendall(json.dumps({**asked, "is": wire.identify(str(place))}).encode() + b"\n")
                assert (wire.read_line(there) != b"{}") == is_answered


@pytest.mark.parametrize("sent", [b"garbage\n", b"[]\n", b"{}\n", b"", b'{"version": 1', b"\xff\xfe\n"])
def test_nonsense_on_the_socket_ends_no_server(repo, live, sent):
    with Endpoint(live) as endpoint:
        there = wire.connect(str(endpoint.path), 60)
        assert there is not None
        with there:
            there.sendall(sent)
            there.shutdown(socket.SHUT_WR)
            wire.read_line(there)
        assert FACT in hook(repo, prompt=ASK)


def test_servers_come_and_go_and_leave_nothing(repo, live):
    first, second = Endpoint(live), Endpoint(live)
    first.start()
    second.start()
    assert first.path is not None
    directory = first.path.parent
    assert len(list(directory.iterdir())) == 2
    assert directory.stat().st_mode & 0o777 == 0o700
    assert first.path.stat().st_mode & 0o777 == 0o600
    first.close()
    assert FACT in hook(repo, prompt=ASK)
    second.close()
    assert not directory.exists()


def test_the_socket_of_a_dead_server_is_passed_over_and_removed(repo, live):
    directory = Path(wire.run_dir(os.path.realpath(repo.root), os.environ))
    directory.mkdir(parents=True)
    code = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()"
    subprocess.run([sys.executable, "-c", code, str(directory / "1")], check=True)
    assert (directory / "1").exists()
    assert FACT in hook(repo, prompt=ASK)
    assert not (directory / "1").exists()


def test_a_server_that_does_not_answer_in_time_is_not_waited_for(repo, live, monkeypatch):
    monkeypatch.setenv("MEMSYNC_HOOK_SECONDS", "8")
    directory = Path(wire.run_dir(os.path.realpath(repo.root), os.environ))
    directory.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(directory / "1"))
        deaf.listen()
        assert FACT in hook(repo, prompt=ASK)


def test_a_server_that_dies_amid_its_answer_costs_no_memory(repo, live):
    directory = Path(wire.run_dir(os.path.realpath(repo.root), os.environ))
    directory.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as dying:
        dying.bind(str(directory / "1"))
        dying.listen()

        def die() -> None:
            caller, _ = dying.accept()
            with caller:
                wire.read_line(caller)
                caller.sendall(b'{"out": "{\\"hookSpec')

        thread = threading.Thread(target=die)
        thread.start()
        assert FACT in hook(repo, prompt=ASK)
        thread.join()


def test_where_the_path_is_too_long_for_a_socket_hooks_answer_themselves(repo, live, monkeypatch, tmp_path):
    monkeypatch.setenv("MEMSYNC_HOME", str(tmp_path / ("long" * 30)))
    with Endpoint(live) as endpoint:
        assert endpoint.path is None
        assert FACT in hook(repo, prompt=ASK)


@pytest.mark.parametrize("chosen", [None, "~/elsewhere", "relative"])
def test_the_home_of_the_sockets_is_the_home_of_the_stores(chosen, monkeypatch):
    if chosen:
        monkeypatch.setenv("MEMSYNC_HOME", chosen)
    assert Path(wire.run_dir("/r", os.environ)).parents[1] == home_dir(os.environ)


@pytest.mark.parametrize(("prompt", "given"), [(ASK, FACT), ("ok thanks", "")])
def test_a_hook_that_a_server_answers_loads_next_to_nothing(repo, live, prompt, given):
    code = (
        "import os, sys; end = os._exit\n"
        "def told(code):\n"
        "    os.write(2, ' '.join(name for name, one in sys.modules.items() if one.__spec__).encode()); end(code)\n"
        "os._exit = told; sys.argv = ['memsync', 'hook', 'prompt']\n"
        "from memsync.cli import main; main()"
    )
    with Endpoint(live):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=repo.root,
            input=json.dumps({"session_id": "s", "prompt": prompt}).encode(),
            capture_output=True,
            check=False,
        )
    loaded = set(done.stderr.decode().split())
    assert given in done.stdout.decode()
    assert bool(given) == bool(done.stdout)
    assert {"memsync.memories.project", "memsync.store.config", "click", "orjson", "numpy"} & loaded == set()


def test_the_mcp_server_answers_hooks_while_it_runs(repo, live):
    pytest.importorskip("mcp")
    live.close()
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    command = [sys.executable, "-m", "memsync", "mcp"]
    with subprocess.Popen(command, cwd=repo.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(hello).encode() + b"\n")
        server.stdin.flush()
        assert b'"id":1' in server.stdout.readline().replace(b" ", b"")
        directory = Path(wire.run_dir(os.path.realpath(repo.root), os.environ))
        until(lambda: directory.is_dir() and len(list(directory.iterdir())) == 1)
        assert FACT in hook(repo, prompt=ASK)
        server.stdin.close()
        assert server.wait(timeout=60) == 0
    assert not directory.exists()


def test_what_a_hook_saves_is_of_its_own_session_whoever_answers(repo, live, monkeypatch):
    folder = locate(repo.root).place("private").directory / "workflows"  # the user's own, which may store a prompt
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text('on_prompt:\n  - action: save_memory\n    content: "asked: {user_prompt}"\n')
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "the-one-of-the-server")
    with Endpoint(live) as endpoint:
        seen = answers(endpoint)
        hook(repo, session="s7", prompt="which port is free?")
    assert len(seen) == 1
    hook(repo, session="s8", prompt="who owns the release notes?")
    with Memsync.open(repo.root) as project:
        by = {e.content: e.memory.source_session_id for e in project.memories() if e.content.startswith("asked")}
    assert by == {"asked: which port is free?": "s7", "asked: who owns the release notes?": "s8"}
