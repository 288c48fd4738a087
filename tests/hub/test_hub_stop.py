"""`memsync hub serve` ends when it is told to, and not before it has answered."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import pytest
from filling import bring, make_token
from helpers import memsync, until

DOCKER = "the integration tests need docker"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that a process can wait for")
def test_on_sigterm_what_is_being_answered_is_answered_and_then_it_ends(hub, dsn, make, home):
    bring(hub, make("payments", DOCKER))
    token = make_token(hub, "alice")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "memsync", "hub", "serve", "--port", str(port)]
    answers = []

    def ask(path, body=None):
        headers = {"Authorization": f"Bearer {token}"}
        with urllib.request.urlopen(
            urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, headers), timeout=60
        ) as a:
            return json.load(a)

    def is_up():
        try:
            return ask("/readyz")["ok"]
        except OSError:
            return False

    env = {**os.environ, "MEMSYNC_HUB_DSN": dsn}
    with subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            until(is_up)
            second = memsync("hub", "serve", "--port", str(port), cwd=home, env=env)
            assert (second.code, "cannot be listened on" in second.err) == (1, True)
            body = json.dumps({"query": "docker"}).encode()
            asking = threading.Thread(target=lambda: answers.append(ask("/v1/search", body)))
            with hub.database.writing() as other, hub.database.writing() as look:
                other.execute("lock table repo in access exclusive mode")  # whoever searches waits for us
                asking.start()
                until(lambda: look.execute("select 1 from pg_locks where not granted").fetchone())
                server.send_signal(signal.SIGTERM)
                until(lambda: not is_listening(port))
                assert server.poll() is None
            asking.join()
            assert [one["content"] for one in answers[0]["memories"]] == [DOCKER]
            assert server.wait(60) in (0, -signal.SIGTERM)
        finally:
            server.kill()


def is_listening(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
