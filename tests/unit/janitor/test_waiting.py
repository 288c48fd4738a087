"""What waits is kept between one look and the next."""

from __future__ import annotations

from helpers import until

from memsync import Memsync
from memsync.janitor.queue import COPIES
from memsync.janitor.waiting import Waiting
from memsync.system.beside import Beside


def test_a_search_for_copies_that_fails_takes_away_none_and_is_begun_again(repo, monkeypatch):
    failing = Beside(repo.root, "review", "--approve", "candidate:mm-aaaaaa")
    waiting = Waiting(failing)
    with Memsync.open(repo.root) as project:
        project.remember("Run make fmt before each commit; CI rejects unformatted Go.")
        project.remember("Before every commit run make fmt, since CI rejects unformatted Go files.")
        known = waiting.names(project, COPIES)
        assert len(known) == 1
        monkeypatch.setattr("memsync.system.beside._MUCH", 0)
        project.remember("the linter is strict")
        waiting.names(project, COPIES)
        until(lambda: not failing.is_going)
        assert waiting.names(project, COPIES) == known
        monkeypatch.setattr("memsync.janitor.waiting._PAUSES", 0)
        waiting.names(project, COPIES)
        until(lambda: not failing.is_going)
        assert failing.count == 2
