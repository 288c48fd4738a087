"""What a watcher makes of events, of missing ones, and of directories that come and go. The observer is a fake."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import until
from watchdog import events

from memsync.errors import StoreUnreadable
from memsync.store.watch import Watcher, find_touched

BOUND = 20
NEVER = 1000.0


class Calls:
    """A callback that counts, and lets a test wait for a call."""

    def __init__(self) -> None:
        self.count = 0
        self._news = threading.Condition()

    def __call__(self) -> None:
        with self._news:
            self.count += 1
            self._news.notify_all()

    def wait_for(self, count: int) -> None:
        with self._news:
            assert self._news.wait_for(lambda: self.count >= count, timeout=BOUND)


class Emitter:
    """One watch of the fake observer; a test may let it die, as watchdog's do when their directory is deleted."""

    def __init__(self, handler: Any, path: str) -> None:
        self.handler, self.path, self.watch = handler, path, object()
        self.is_living = True

    def is_alive(self) -> bool:
        return self.is_living

    def should_keep_running(self) -> bool:
        return self.is_living


class Observer:
    """Stands for watchdog's: notes what is watched, and says what a test makes it say."""

    def __init__(self, fail: Callable[[str], None] = lambda path: None) -> None:
        self.emitters: tuple[Emitter, ...] = ()
        self.log: list[str] = []
        self.schedules = Calls()
        self.is_running = False
        self._fail = fail

    def start(self) -> None:
        self.is_running = True

    def stop(self) -> None:
        self.is_running = False

    def is_alive(self) -> bool:
        return self.is_running

    def schedule(self, handler: Any, path: str, *, recursive: bool, event_filter: list[type]) -> object:
        self._fail(path)
        emitter = Emitter(handler, path)
        self.emitters = (*self.emitters, emitter)
        self.log.append(f"{'whole' if recursive else 'watch'} {path}")
        self.schedules()
        return emitter.watch

    def unschedule(self, watch: object) -> None:
        self.log += [f"leave {emitter.path}" for emitter in self.emitters if emitter.watch is watch]
        self.emitters = tuple(emitter for emitter in self.emitters if emitter.watch is not watch)

    def say(self, event: events.FileSystemEvent) -> None:
        for emitter in self.emitters:
            emitter.handler.dispatch(event)


@pytest.fixture
def observer() -> Observer:
    return Observer()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "store" / "memories.jsonl"
    path.parent.mkdir()
    path.write_text("one\n")
    return path


@pytest.fixture
def calls() -> Calls:
    return Calls()


def by_events(callbacks: dict[Path, Callable[[], object]], observer: Observer) -> Watcher:
    """Return a watcher that learns of changes from events only."""
    return Watcher(callbacks, quiet=0.001, look=NEVER, observe=lambda: observer)


def by_looking(callbacks: dict[Path, Callable[[], object]], observer: Observer) -> Watcher:
    """Return a watcher that looks all the time."""
    return Watcher(callbacks, quiet=0.001, look=0.001, observe=lambda: observer)


def replace(file: Path, text: str) -> None:
    """Write *file* in one step, so that nobody sees half of it."""
    file.with_name("new").write_text(text)
    file.with_name("new").replace(file)


# which events matter

REAL = {"link": "/r/.gobby/memories.jsonl", "skills": "/r/skills"}


@pytest.mark.parametrize(
    ("event", "paths"),
    [
        (events.FileCreatedEvent("/r/.gobby/memories.jsonl"), ["link"]),
        (events.FileModifiedEvent("/r/.gobby/memories.jsonl"), ["link"]),
        (events.FileDeletedEvent("/r/.gobby/memories.jsonl"), ["link"]),
        (events.FileMovedEvent("/r/.gobby/tmp1234", "/r/.gobby/memories.jsonl"), ["link"]),
        (events.FileMovedEvent("/r/.gobby/memories.jsonl", "/r/.gobby/memories.jsonl~"), ["link"]),
        (events.FileModifiedEvent(b"/r/.gobby/memories.jsonl"), ["link"]),
        (events.FileCreatedEvent("/r/skills/deploy/SKILL.md"), ["skills"]),
        (events.DirMovedEvent("/r/skills/deploy", "/elsewhere/deploy"), ["skills"]),
        (events.DirDeletedEvent("/r/skills"), ["skills"]),
        (events.FileMovedEvent("/r/skills/a", "/r/.gobby/memories.jsonl"), ["link", "skills"]),
        (events.FileOpenedEvent("/r/.gobby/memories.jsonl"), []),
        (events.FileClosedNoWriteEvent("/r/.gobby/memories.jsonl"), []),
        (events.FileClosedEvent("/r/.gobby/memories.jsonl"), []),
        (events.FileModifiedEvent("/r/.gobby/memories.jsonl.bak"), []),
        (events.FileModifiedEvent("/r/.gobby/memories.json"), []),
        (events.FileModifiedEvent("/r/.gobby/local/memories.jsonl"), []),
        (events.DirModifiedEvent("/r/.gobby"), []),
        (events.FileModifiedEvent("/r/skills2/deploy/SKILL.md"), []),
    ],
    ids=lambda value: f"{value.event_type} {value.src_path!r}" if isinstance(value, events.FileSystemEvent) else None,
)
def test_only_a_change_of_a_watched_path_matters(event, paths):
    assert find_touched(event, REAL) == paths


def test_the_system_is_not_asked_for_what_reading_causes(file, calls, observer):
    asked: list[type] = []
    observer.schedule = lambda handler, path, *, recursive, event_filter: asked.extend(event_filter)
    with by_events({file: calls}, observer):
        assert {kind.event_type for kind in asked} == {"created", "modified", "moved", "deleted"}


def test_two_names_of_one_file_are_both_told(file, tmp_path, observer):
    link, one, two = tmp_path / "link.jsonl", Calls(), Calls()
    link.symlink_to(file)
    with by_events({file: one, link: two}, observer):
        one.wait_for(1), two.wait_for(1)
        file.write_text("one\ntwo\n")
        observer.say(events.FileModifiedEvent(str(file)))
        one.wait_for(2), two.wait_for(2)
    assert observer.log == [f"watch {file.parent}"]


# when a callback runs


def test_each_callback_runs_once_at_the_start_whether_or_not_there_is_a_file(file, tmp_path, observer):
    callbacks = {file: Calls(), tmp_path / "not" / "there" / "memories.jsonl": Calls(), tmp_path: Calls()}
    with by_looking(callbacks, observer):
        for calls in callbacks.values():
            calls.wait_for(1)
    assert [calls.count for calls in callbacks.values()] == [1, 1, 1]


def test_a_change_is_told_after_its_event(file, calls, observer):
    with by_events({file: calls}, observer):
        calls.wait_for(1)
        file.write_text("one\ntwo\n")
        observer.say(events.FileModifiedEvent(str(file)))
        calls.wait_for(2)


def test_a_change_without_an_event_is_found_by_looking(file, calls, observer):
    with by_looking({file: calls}, observer):
        calls.wait_for(1)
        file.write_text("one\ntwo\n")
        calls.wait_for(2)


def test_an_event_without_a_change_calls_nobody(file, calls, observer):
    with by_events({file: calls}, observer):
        calls.wait_for(1)
        observer.say(events.FileModifiedEvent(str(file)))
    assert calls.count == 1


def test_a_change_while_the_callback_runs_is_told_again(file, observer):
    calls = Calls()

    def read_then_change() -> None:
        if calls.count == 1:
            replace(file, "one\ntwo\nthree\n")
        calls()

    with by_looking({file: read_then_change}, observer):
        calls.wait_for(1)
        replace(file, "one\ntwo\n")
        calls.wait_for(3)
    assert calls.count == 3


def test_a_deleted_file_is_told_and_so_is_its_return(file, calls, observer):
    with by_looking({file: calls}, observer):
        calls.wait_for(1)
        file.unlink()
        calls.wait_for(2)
        file.write_text("back\n")
        calls.wait_for(3)


def test_a_change_is_held_back_and_told_at_the_latest_by_stopping(file, tmp_path, calls, observer):
    late = tmp_path / "late" / "memories.jsonl"
    callbacks = {file: calls, late: Calls()}
    with Watcher(callbacks, quiet=NEVER, longest=NEVER, look=0.001, observe=lambda: observer):
        late.parent.mkdir()
        observer.schedules.wait_for(2)  # so it has looked, and could have told
        assert calls.count == 0
    assert calls.count == 1


def test_stopping_tells_what_no_event_has_told_yet(file, tmp_path, observer):
    whole, calls = Calls(), Calls()
    with by_events({file: calls, tmp_path: whole}, observer):
        calls.wait_for(1), whole.wait_for(1)
        file.write_text("one\ntwo\n")
    assert (calls.count, whole.count) == (2, 2)


def test_stopping_twice_or_before_the_start_does_nothing_and_a_watcher_may_start_again(file, calls, observer):
    before = set(threading.enumerate())  # a server of another test may run in this process
    watcher = by_looking({file: calls}, observer)
    watcher.stop()
    with watcher:
        calls.wait_for(1)
    watcher.stop()
    assert (observer.is_running, calls.count) == (False, 1)
    file.write_text("one\ntwo\n")
    with watcher:
        calls.wait_for(2)
        file.write_text("one\ntwo\nthree\n")
        calls.wait_for(3)
        assert observer.is_running
    assert {thread for thread in threading.enumerate() if thread.name == "memsync-watch"} <= before


def test_a_callback_that_fails_is_logged_once_and_watching_goes_on(file, observer, caplog):
    calls = Calls()

    def fail() -> None:
        calls()
        if calls.count < 4:
            raise StoreUnreadable(file, "is UTF-16", "save it as UTF-8")

    with by_looking({file: fail}, observer):
        for count in range(1, 5):
            calls.wait_for(count)
            file.write_text("x" * count)
    assert [record.getMessage() for record in caplog.records] == [f"{file}: is UTF-16; save it as UTF-8"]


# which directories are watched


def test_a_file_is_watched_from_its_directory_and_a_directory_whole(file, tmp_path, observer):
    skills = tmp_path / "skills"
    skills.mkdir()
    with by_events({file: Calls(), skills: Calls()}, observer):
        assert sorted(observer.log) == [f"watch {file.parent}", f"whole {skills}"]


def test_what_does_not_exist_is_watched_as_soon_as_its_directory_does(tmp_path, observer):
    file, calls = tmp_path / "a" / "b" / "memories.jsonl", Calls()
    with by_looking({file: calls}, observer):
        calls.wait_for(1)
        assert observer.log == []
        file.parent.mkdir(parents=True)
        observer.schedules.wait_for(1)
        assert observer.log == [f"watch {file.parent}"]
        file.write_text("one\n")
        calls.wait_for(2)


def test_a_directory_that_appears_is_watched_whole_and_told_with_what_is_in_it(tmp_path, observer):
    skills, calls = tmp_path / "skills", Calls()
    with by_looking({skills: calls}, observer):
        calls.wait_for(1)
        (tmp_path / "new" / "deploy").mkdir(parents=True)
        (tmp_path / "new" / "deploy" / "SKILL.md").write_text("---\n")
        (tmp_path / "new").rename(skills)
        observer.schedules.wait_for(2)
        calls.wait_for(2)
    assert observer.log == [f"watch {tmp_path}", f"leave {tmp_path}", f"whole {skills}"]


def test_a_watch_that_died_with_its_directory_is_set_up_again(file, observer):
    with by_looking({file: Calls()}, observer):
        observer.emitters[0].is_living = False
        observer.schedules.wait_for(2)
    assert observer.log == [f"watch {file.parent}", f"leave {file.parent}", f"watch {file.parent}"]


def test_another_directory_in_the_place_of_the_watched_one_is_watched(file, calls, observer):
    with by_looking({file: calls}, observer):
        calls.wait_for(1)
        new = file.parent.with_name("new")
        new.mkdir()
        file.parent.rename(file.parent.with_name("old"))
        new.rename(file.parent)
        observer.schedules.wait_for(2)
        calls.wait_for(2)
    assert observer.log == [f"watch {file.parent}", f"leave {file.parent}", f"watch {file.parent}"]


def test_a_link_is_watched_where_it_leads_to_and_followed_when_it_leads_elsewhere(file, tmp_path, calls, observer):
    other, link = tmp_path / "other" / "memories.jsonl", tmp_path / "link" / "memories.jsonl"
    other.parent.mkdir(), link.parent.mkdir()
    other.write_text("other\n")
    link.symlink_to(file)
    with by_looking({link: calls}, observer):
        calls.wait_for(1)
        link.with_name("new").symlink_to(other)
        link.with_name("new").replace(link)
        observer.schedules.wait_for(2)
        calls.wait_for(2)
    assert observer.log == [f"watch {file.parent}", f"leave {file.parent}", f"watch {other.parent}"]


def test_a_directory_that_is_watched_whole_is_not_looked_through_all_the_time(file, tmp_path, observer):
    skills, whole, calls = tmp_path / "skills", Calls(), Calls()
    skills.mkdir()
    with by_looking({skills: whole, file: calls}, observer):
        whole.wait_for(1), calls.wait_for(1)
        (skills / "new").write_text("nobody says so\n")
        file.write_text("one\ntwo\n")
        calls.wait_for(2)
        assert whole.count == 1
        observer.say(events.FileCreatedEvent(str(skills / "new")))
        whole.wait_for(2)


# without events


def no_watches_left(path: str) -> None:
    raise OSError(errno.ENOSPC, "inotify watch limit reached")


def no_instance_left() -> Observer:
    raise OSError(errno.EMFILE, "inotify instance limit reached")


def no_watchdog() -> Observer:
    raise ImportError("no module named watchdog")


@pytest.mark.parametrize(
    "observe", [no_instance_left, no_watchdog, lambda: Observer(no_watches_left)], ids=["instance", "watchdog", "watch"]
)
def test_without_events_files_and_directories_are_looked_at_and_the_log_says_so_once(observe, file, tmp_path, caplog):
    skill, one, whole = tmp_path / "skills" / "deploy" / "SKILL.md", Calls(), Calls()
    skill.parent.mkdir(parents=True)
    with Watcher({file: one, tmp_path / "skills": whole}, quiet=0.001, look=0.001, observe=observe):
        one.wait_for(1), whole.wait_for(1)
        file.write_text("one\ntwo\n")
        skill.write_text("---\n")
        one.wait_for(2), whole.wait_for(2)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "no file events" in caplog.text


def test_when_the_watches_run_out_later_the_observer_is_ended(file, tmp_path, calls, caplog):
    observer = Observer(lambda path: no_watches_left(path) if path.endswith("late") else None)
    late = tmp_path / "late" / "memories.jsonl"
    with by_looking({file: calls, late: calls}, observer):
        assert (caplog.text, observer.is_running) == ("", True)
        calls.wait_for(2)
        late.parent.mkdir()
        late.write_text("one\n")
        calls.wait_for(3)
        assert ("no file events" in caplog.text, observer.is_running) == (True, False)


def test_a_directory_that_goes_away_while_it_is_set_up_is_no_failure_and_tried_again(file, calls):
    tries = Calls()

    def vanish(path: str) -> None:
        tries()
        if tries.count < 3:
            raise FileNotFoundError(errno.ENOENT, "no such directory", path)

    observer = Observer(vanish)
    with by_looking({file: calls}, observer):
        observer.schedules.wait_for(1)
        assert observer.is_running
    assert observer.log == [f"watch {file.parent}"]


def test_a_python_without_watchdog_looks(file, calls, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "watchdog.observers", None)
    with Watcher({file: calls}, quiet=0.001, look=0.001):
        assert "no file events" in caplog.text
        calls.wait_for(1)
        file.write_text("one\ntwo\n")
        calls.wait_for(2)


@pytest.mark.skipif(os.name != "posix", reason="links in a circle")
def test_a_path_that_cannot_be_looked_at_is_taken_for_absent(tmp_path, calls, observer):
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with by_looking({circle: calls}, observer):
        calls.wait_for(1)
        circle.unlink()
        circle.write_text("a file at last\n")
        calls.wait_for(2)


def test_nothing_is_watched_where_a_link_leads_out_of_the_tree_until_it_does_not(tmp_path):
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    (tree / "own").mkdir(parents=True)
    outside.mkdir()
    folder, calls, observer = tree / "skills", Calls(), Observer()
    folder.symlink_to(outside)
    with Watcher({folder: calls}, quiet=0.001, look=0.001, observe=lambda: observer, trees={folder: tree}):
        calls.wait_for(1)
        folder.unlink()
        folder.symlink_to(tree / "own")
        until(lambda: f"whole {os.path.realpath(tree / 'own')}" in observer.log)
        seen = calls.count
        folder.unlink()
        folder.symlink_to(outside)
        calls.wait_for(seen + 1)
    assert [line for line in observer.log if "outside" in line] == []
