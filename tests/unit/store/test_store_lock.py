from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memsync.errors import LockTimeout, StoreNotWritable
from memsync.store.lock import lock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def test_a_lock_that_another_holds_is_waited_for_only_so_long(path):
    seen = []

    def second() -> None:
        with (
            pytest.raises(LockTimeout, match=rf"another process [(]pid {os.getpid()}[)] held the lock for 0[.]01 s"),
            lock(path, wait=0.01),
        ):
            pass
        seen.append("refused")

    with lock(path):
        other = threading.Thread(target=second)
        other.start()
        other.join()
    with lock(path, wait=0.01):
        seen.append("free again")
    assert seen == ["refused", "free again"]


def test_a_lock_of_a_process_that_died_is_free(path):
    code = f"from memsync.store.lock import lock; import os\nwith lock({str(path)!r}): os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    with lock(path, wait=0.01):
        assert path.exists()


def test_a_lock_in_a_place_that_cannot_be_written_gives_a_clear_error(path):
    path.write_bytes(b"")
    with pytest.raises(StoreNotWritable), lock(path / "lock"):
        pass


HOLDER = "import sys; from pathlib import Path; from memsync.store.lock import lock\nwith lock(Path({!r})): print(flush=True); sys.stdin.read()"


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the lock until its standard input ends."""
    words = [sys.executable, "-c", HOLDER.format(str(path))]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"\n"
        yield running


@pytest.mark.skipif(sys.platform == "win32", reason="a locked file cannot be read there")
def test_who_waits_for_a_lock_is_told_for_whom_and_gets_it(path, holder, caplog):
    threading.Timer(2.1, holder.stdin.close).start()
    with lock(path):
        assert [record.getMessage() for record in caplog.records] == [
            f"waiting for another memsync that is writing (pid {holder.pid})"
        ]


def test_whoever_gave_up_waiting_does_not_get_the_lock_later(path, holder):
    with pytest.raises(LockTimeout), lock(path, wait=0.01):
        pass
    holder.stdin.close()
    holder.wait()
    for _ in range(3):
        with lock(path, wait=5.0):
            pass


FORKING = """
import os, sys
from pathlib import Path
from memsync.errors import LockTimeout
from memsync.store.lock import lock
try:
    with lock(Path({!r}), wait=0.0): pass
except LockTimeout: os.fork()
print(flush=True), sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_whoever_gave_up_waiting_leaves_no_lock_to_a_child(path, holder):
    words = [sys.executable, "-W", "ignore", "-c", FORKING.format(str(path))]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() + running.stdout.readline() == b"\n\n"
        holder.stdin.close()
        holder.wait()
        for _ in range(3):
            with lock(path, wait=5.0):
                pass
        running.communicate()


GREEDY = """
import sys, time
from pathlib import Path
from memsync.store.lock import lock
print(flush=True), sys.stdin.readline()
for _ in range(30):
    with lock(Path({path!r})), open({log!r}, "a") as log:
        log.write("{name}")
        time.sleep(0.01)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="NOT PROMISED: who waits there asks again and again")
def test_a_process_that_takes_the_lock_again_and_again_starves_nobody(path, tmp_path):
    log = tmp_path / "log"
    crew = [
        subprocess.Popen(
            [sys.executable, "-c", GREEDY.format(path=str(path), log=str(log), name=name)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name in "abc"
    ]
    for each in crew:
        each.stdout.readline()  # all have begun
    for each in crew:
        each.stdin.close()
    for each in crew:
        with each:
            pass  # until it has ended
    turns = log.read_text()
    assert sorted(turns) == sorted("abc" * 30)
    assert max(map(turns.index, "abc")) < min(map(turns.rindex, "abc"))  # nobody was done before all had begun


@pytest.mark.skipif(sys.platform == "win32", reason="the lock is another there")
@pytest.mark.parametrize(("wait", "most"), [(60, 100), (0.05, 4)])
def test_where_files_have_another_number_each_time_the_lock_is_given_up(path, monkeypatch, wait, most):
    asked = []
    monkeypatch.setattr(os.path, "samestat", lambda *_: bool(asked.append(1)))
    with pytest.raises(LockTimeout, match="another file is there each time"), lock(path, wait=wait):
        pass
    assert 1 <= len(asked) <= most
    monkeypatch.undo()
    with lock(path, wait=0.01):
        assert path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the lock is another there")
def test_a_lock_that_was_removed_while_somebody_took_it_is_taken_again(path, monkeypatch):
    same, asked = os.path.samestat, []

    def samestat(one, other):
        asked.append(1)
        if len(asked) == 1:
            path.unlink()
            return False
        return same(one, other)

    monkeypatch.setattr(os.path, "samestat", samestat)
    with lock(path, wait=1):
        assert path.exists()
    assert len(asked) == 2
