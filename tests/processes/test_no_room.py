"""A full disk, a read-only one and a limit on file size: a clear error, and not one byte changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import memory_line
from rooms import READ_ONLY, Room, room

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mounts of our own need Linux")

BIG = "a text that has no room " * 400
MANY = "".join(memory_line(f"n{number}", f"new text {number} " * 20) for number in range(200)).encode()
WRITES = {
    "remember": ("memory", "remember", BIG),
    "update": ("memory", "update", "mm-aaaaaa", "--content", BIG),
    "forget": ("memory", "forget", "mm-aaaaaa"),
    "import of many": ("memory", "import", "-", "--format", "jsonl"),
    "export": ("memory", "export"),
    "config": ("memory", "config", "memory.recall_limit", "7"),
}
NEEDS_A_BLOCK = ("remember", "update", "import of many", "export")


def fill_store(directory: Path) -> None:
    """Make a store in log form, so that an export has work to do."""
    store = directory / ".gobby"
    (store / "local").mkdir(parents=True)
    (store / "local" / "index.db").touch()
    (store / "local" / ".gitignore").write_text("*\n")
    for name in ("lock", "lock.queue", "lock.database", "lock.database.queue"):
        (store / "local" / name).touch()
    (store / "config.yaml").write_text("memory:\n  recall_limit: 5\n")
    (store / "memories.jsonl").write_text(
        memory_line("mm-bbbbbb", "two " * 800)
        + memory_line("mm-aaaaaa", "one " * 800)
        + '{"content":"two again","id":"mm-bbbbbb"}\n'
        + memory_line("mm-cccccc", "three " * 800)
        + memory_line("mm-dddddd", "The port of the staging database is 5433")
    )


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Room]:
    with room(tmp_path, 'mount -t tmpfs -o size=128k tmpfs "$1"') as found:
        fill_store(found.outside)
        found.fill()
        yield found


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Room]:
    fill_store(tmp_path)
    with room(tmp_path, READ_ONLY) as found:
        yield found


def check_refusal(place: Room, words: tuple[str, ...], why: str, remedy: str) -> None:
    """Run a command, and check the exit code, the message and that nothing is different."""
    before = place.snapshot()
    ran = place.memsync(*words, "--json", stdin=MANY)
    error = json.loads(ran.out)["error"]
    assert (ran.code, json.loads(ran.out)["exit_code"]) == (1, 1)
    assert error.startswith(f"{place.directory}/.gobby/")
    assert why in error
    assert "nothing was changed" in error
    assert error.endswith(remedy)
    assert place.snapshot() == before


@pytest.mark.parametrize("deed", NEEDS_A_BLOCK)
def test_a_full_disk_is_a_clear_error_and_changes_nothing(full, deed):
    check_refusal(full, WRITES[deed], "No space left on device", "free some space and try again")


def test_a_full_disk_takes_what_fits_or_changes_nothing(full):
    for words in (("memory", "remember", "short"), WRITES["forget"], WRITES["config"]):
        before = full.snapshot()
        ran = full.memsync(*words)
        assert ran.code in (0, 1)
        if ran.code == 1:
            assert "free some space" in ran.err
            assert full.snapshot() == before


def test_on_a_full_disk_everything_can_still_be_read(full):
    ran = full.memsync("memory", "recall", "three", "--json")
    assert (ran.code, [memory["id"] for memory in ran.json["memories"]]) == (0, ["mm-cccccc"])


def test_a_full_disk_without_a_store_is_a_clear_error_and_a_store_once_there_is_room(tmp_path):
    with room(tmp_path, 'mount -t tmpfs -o size=64k tmpfs "$1"') as empty:
        empty.fill()
        ran = empty.memsync("init", "--agent", "none")
        assert (ran.code, "free some space and try again" in ran.err) == (1, True)
        assert not any(empty.outside.rglob("memories.jsonl"))
        (empty.outside / "filler").unlink()
        assert empty.memsync("init", "--agent", "none").code == 0
        assert empty.memsync("memory", "remember", "there is room").code == 0
        assert (empty.outside / ".gobby" / "local" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("deed", WRITES)
def test_a_read_only_disk_is_a_clear_error_and_changes_nothing(read_only, deed):
    check_refusal(
        read_only, WRITES[deed], "Read-only file system", "check the owner, the mode and the mount, then try again"
    )


def test_on_a_read_only_disk_everything_can_still_be_read(read_only):
    for words in (("memory", "recall", "three"), ("memory", "list"), ("status",), ("doctor",), ("memory", "stats")):
        ran = read_only.memsync(*words, "--json")
        assert (ran.code, ran.err) == (0, "")


def test_on_a_read_only_disk_a_session_is_given_each_memory_once(read_only):
    """What was given is noted in the home store."""

    def ask(session: str) -> str:
        said = json.dumps(
            {"session_id": session, "prompt": "which port has the staging database?", "cwd": str(read_only.directory)}
        )
        ran = read_only.memsync("hook", "prompt", "--client", "claude", stdin=said.encode())
        assert (ran.code, ran.err) == (0, "")
        return ran.out

    assert "mm-dddddd" in ask("s1")
    assert ask("s1") == ""
    assert "mm-dddddd" in ask("s2")
    assert "gave" in read_only.memsync("status").out


def test_a_read_only_disk_without_a_store_is_a_clear_error(tmp_path):
    with room(tmp_path, READ_ONLY) as bare:
        ran = bare.memsync("init", "--agent", "none")
        assert ran.code == 1
        assert f"{tmp_path}/.gobby" in ran.err
        assert "check the owner, the mode and the mount" in ran.err
        assert bare.snapshot() == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="permission bits do not bind root; the read-only disk covers it")
def test_a_directory_without_write_permission_is_a_clear_error(tmp_path):
    fill_store(tmp_path)
    for path in (tmp_path / ".gobby" / "local", tmp_path / ".gobby"):
        path.chmod(0o555)
    ran = subprocess.run(
        [sys.executable, "-m", "memsync", "-C", tmp_path, "init"], capture_output=True, check=False, timeout=60
    )
    assert (ran.returncode, b"check the owner" in ran.stderr) == (1, True)


def test_a_limit_on_file_size_is_a_clear_error_and_changes_nothing(crew, root):
    fill_store(root)
    path = root / ".gobby" / "memories.jsonl"
    before = path.read_bytes()
    said = crew.start("cramped", root=str(root), ids=["mm-aaaaaa", "mm-bbbbbb"]).to_the_end()
    assert [(what["kind"], what["error"]) for what in said[:-1]] == [
        (kind, "StoreFull") for kind in ("remember", "update", "forget", "export")
    ]
    for what in said[:-1]:
        assert what["text"].startswith(str(root))
        assert what["text"].endswith("File too large, nothing was changed; free some space and try again")
    assert path.read_bytes() == before
    assert sorted(path.parent.iterdir()) == [path.parent / "config.yaml", path.parent / "local", path]
    assert not (path.parent / "local" / "export.tmp").exists()
