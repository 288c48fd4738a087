"""Real files under the real watchdog: what others write becomes searchable, whatever they do to the folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers import GitRepo, memory_line

from memsync import Memsync
from memsync.memories.project import Project
from memsync.store.places import locate
from memsync.store.watch import QUIET, Watcher
from memsync.web.desk import make_watcher

BOUND = 20
NEVER = 1000.0


class Room:
    """A project whose index only a watcher brings up to date."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / ".gobby" / "memories.jsonl"
        self.refreshes = 0
        self._project = Memsync.open(root)
        self._store = self._project.stores["project"]
        self._index = self._project.finder.index
        self._news = threading.Condition()

    def watcher(self, **settings: float) -> Watcher:
        return Watcher({self.file: self._refresh}, **settings)

    def _refresh(self) -> None:
        self._store.refresh()
        with self._news:
            self.refreshes += 1
            self._news.notify_all()

    def found(self, text: str) -> set[str]:
        """Return what the index has for *text*, without a look at the files."""
        ranking = self._index.search(text, limit=10, allow=lambda scope, memory: memory.importance)
        return {match.memory.content for match in ranking.matches}

    def texts(self) -> set[str]:
        """Return what all memories say that the store knows of, without a look at the files."""
        return {memory.content for memory in self._store.memories().values()}

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for a refresh after which *condition* holds."""
        with self._news:
            assert self._news.wait_for(condition, timeout=BOUND)


@pytest.fixture
def room(repo: GitRepo) -> Room:
    repo.write_memories(memory_line("mm-a", "old zebra"))
    return Room(repo.root)


@pytest.fixture
def watched(room: Room) -> Iterator[Room]:
    """Return a room where events are all there is, after the first look."""
    with room.watcher(look=NEVER):
        room.wait_until(lambda: room.refreshes == 1)
        yield room


NEW = memory_line("mm-b", "new quagga")


def append(room: Room) -> None:
    with open(room.file, "a") as file:
        file.write(NEW)


def write_in_place(room: Room) -> None:
    room.file.write_text(NEW)


def replace_from_beside(room: Room) -> None:
    room.file.with_name("memories.jsonl~").write_text(NEW)
    room.file.with_name("memories.jsonl~").replace(room.file)


def replace_from_elsewhere(room: Room) -> None:
    (room.root / "temp").write_text(NEW)
    (room.root / "temp").replace(room.file)


def back_up_and_write(room: Room) -> None:
    room.file.replace(room.file.with_name("memories.jsonl.bak"))
    room.file.write_text(NEW)


def delete_and_write(room: Room) -> None:
    room.file.unlink()
    room.file.write_text(NEW)


def write_from_another_process(room: Room) -> None:
    Memsync.open(room.root).remember("new quagga")


EDITS = [
    append,
    write_in_place,
    replace_from_beside,
    replace_from_elsewhere,
    back_up_and_write,
    delete_and_write,
    write_from_another_process,
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_an_edit_is_searchable_after_its_event(edit, watched):
    edit(watched)
    watched.wait_until(lambda: watched.found("quagga") == {"new quagga"})


def test_reading_the_file_causes_nothing(watched):
    append(watched)
    watched.wait_until(lambda: watched.refreshes == 2)
    for _ in range(100):
        watched.file.read_bytes()
    append(watched)
    watched.wait_until(lambda: watched.refreshes == 3)


def test_four_thousand_appends_cause_few_refreshes(watched):
    begun = time.monotonic()
    for number in range(4000):
        with open(watched.file, "a") as file:
            file.write(memory_line(f"mm-{number:04}", f"text {number}"))
    watched.wait_until(lambda: len(watched.texts()) == 4001)
    # A refresh needs a gap of QUIET before it, or takes part in a stream for longer than that.
    assert watched.refreshes <= 3 + (time.monotonic() - begun) / QUIET


def test_the_checkout_of_a_branch_with_hundreds_of_changed_files_is_taken_in_whole(repo, room):
    skills = repo.root / ".claude" / "skills"
    told = threading.Semaphore(0)
    texts: set[str] = set()

    def write_skills(text: str) -> None:
        for number in range(300):
            (skills / f"skill{number}").mkdir(parents=True, exist_ok=True)
            (skills / f"skill{number}" / "SKILL.md").write_text(text)

    def read_skills() -> None:
        texts.clear()
        texts.update(path.read_text() for path in skills.rglob("SKILL.md"))
        told.release()

    for branch in ("one", "two"):
        repo.git("checkout", "-q", "-b", branch)
        write_skills(branch)
        repo.write_memories("".join(memory_line(f"mm-{n:03}", f"{branch} {n}") for n in range(300)))
        repo.git("add", "-A")
        repo.git("commit", "-q", "-m", branch)
    with Watcher({room.file: room._refresh, skills: read_skills}, look=NEVER):
        room.wait_until(lambda: room.texts() == {f"two {number}" for number in range(300)})
        assert told.acquire(timeout=BOUND)
        repo.git("checkout", "-q", "one")
        room.wait_until(lambda: room.texts() == {f"one {number}" for number in range(300)})
        while texts != {"one"}:
            assert told.acquire(timeout=BOUND)
        repo.git("checkout", "-q", "main")
        room.wait_until(lambda: room.texts() == set())
        while texts:
            assert told.acquire(timeout=BOUND)


def delete_and_recreate(directory: Path) -> None:
    shutil.rmtree(directory)
    directory.mkdir()


def rename_away_and_back(directory: Path) -> None:
    directory.rename(directory.with_name("away"))
    directory.with_name("away").rename(directory)


def replace_by_another(directory: Path) -> None:
    directory.rename(directory.with_name(f"away{time.monotonic_ns()}"))
    directory.mkdir()


@pytest.mark.parametrize("change", [delete_and_recreate, rename_away_and_back, replace_by_another])
def test_a_folder_that_went_away_is_watched_again_when_it_is_back(change, room):
    with room.watcher():
        for round_ in range(5):
            change(room.file.parent)
            room.file.write_text(memory_line("mm-b", f"new quagga{round_}"))
            room.wait_until(lambda text=f"quagga{round_}": room.found(text) == {f"new {text}"})


@pytest.mark.parametrize("change", [delete_and_recreate, rename_away_and_back, replace_by_another])
def test_so_is_a_folder_of_skills_of_which_only_events_tell(change, tmp_path):
    skills = tmp_path / "claude" / "skills"
    skills.mkdir(parents=True)
    seen: list[set[str]] = []
    news = threading.Condition()

    def look() -> None:
        with news:
            seen.append({path.parent.name for path in skills.glob("*/SKILL.md")})
            news.notify_all()

    def wait_for(names: set[str]) -> None:
        with news:
            assert news.wait_for(lambda: bool(seen) and seen[-1] == names, timeout=BOUND)

    def add(name: str) -> None:
        (skills / name).mkdir(parents=True)
        (skills / name / "SKILL.md").write_text("---\n")

    with Watcher({skills: look}):
        wait_for(set())
        add("before")
        wait_for({"before"})
        change(skills)
        after = {path.name for path in skills.iterdir()}
        for name in ("one", "two", "three"):
            add(name)
            after.add(name)
            wait_for(after)


def test_a_store_that_does_not_exist_yet_is_found_when_it_does(repo):
    room = Room(repo.root)
    with room.watcher():
        room.wait_until(lambda: room.refreshes == 1)
        Memsync.open(repo.root).remember("new quagga")
        room.wait_until(lambda: room.found("quagga") == {"new quagga"})


def test_a_link_leads_to_the_file_that_is_watched(repo, room):
    real = repo.root / "docs" / "memories.jsonl"
    real.parent.mkdir()
    room.file.replace(real)
    room.file.symlink_to(real)
    with room.watcher(look=NEVER):
        room.wait_until(lambda: room.refreshes == 1)
        real.write_text(NEW)
        room.wait_until(lambda: room.found("quagga") == {"new quagga"})


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files in /proc")
def test_stopping_leaves_neither_threads_nor_open_files(room):
    with room.watcher(look=NEVER):
        room.wait_until(lambda: room.refreshes == 1)  # and everything is imported
    threads, opened = set(threading.enumerate()), len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with room.watcher(look=NEVER):
            pass
    assert set(threading.enumerate()) - threads == set()
    assert len(os.listdir("/proc/self/fd")) <= opened


EXHAUSTED = """
import sys, threading
from pathlib import Path
from memsync.store.watch import Watcher

path, calls = Path(sys.argv[1]), threading.Semaphore(0)
with Watcher({path: calls.release}):
    assert calls.acquire(timeout=20)
    path.write_text("new")
    assert calls.acquire(timeout=20)
    print("told")
"""


@pytest.mark.parametrize("limit", ["max_inotify_instances", "max_inotify_watches"])
def test_a_system_that_is_out_of_inotify_is_watched_by_looking(limit, tmp_path):
    isolated = ["unshare", "--user", "--map-root-user", "sh", "-c"]
    none_left = f"echo 0 > /proc/sys/user/{limit}"
    try:
        allowed = subprocess.run([*isolated, none_left], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if allowed.returncode:
        pytest.skip(f"this system allows no limits of our own: {allowed.stderr.strip()}")
    script = f'{none_left}; exec "$@"'
    words = [*isolated, script, "sh", sys.executable, "-c", EXHAUSTED, str(tmp_path / "memories.jsonl")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr
    assert done.stderr.count("no file events") == 1


def count_watched() -> int:
    """Return how many directories the system watches for this process."""
    return sum(path.read_text().count("inotify wd") for path in Path("/proc/self/fdinfo").iterdir() if path.exists())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not say what it watches")
@pytest.mark.parametrize("link", [".claude/skills", ".gobby/memories.jsonl", ".gobby/config.yaml"])
def test_a_repository_cannot_have_the_disk_watched_by_a_link(repo, tmp_path, link):
    for number in range(50):
        (tmp_path / "outside" / str(number)).mkdir(parents=True)
    (repo.root / link).parent.mkdir(exist_ok=True)
    (repo.root / link).symlink_to(tmp_path / "outside")
    with make_watcher(locate(repo.root), lambda: None):
        assert count_watched() < 50
    with Project.open(repo.root) as project, project.watcher():
        assert count_watched() < 50
