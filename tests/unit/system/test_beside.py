"""A command of ours beside a process that stays."""

from __future__ import annotations

from helpers import until

from memsync.system.beside import Beside, is_much


def test_the_answer_is_there_when_the_command_has_ended_and_not_before(repo, line):
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20"))
    beside = Beside(repo.root, "status")
    assert not beside.is_going
    beside.begin()
    assert beside.count == 0
    until(lambda: not beside.is_going)
    assert [one["memories"] for one in beside.answer["stores"] if one["scope"] == "project"] == [1]
    assert beside.count == 1
    assert beside.seconds > 0


def test_a_command_that_fails_has_no_answer_to_use(repo):
    beside = Beside(repo.root, "review", "--approve", "candidate:mm-aaaaaa")
    beside.begin()
    until(lambda: not beside.is_going)
    assert beside.answer is None or "cards" not in beside.answer
    assert "candidate:mm-aaaaaa" in beside.failure


def test_one_that_dies_is_said_to_have_and_the_next_that_answers_is_not(repo, monkeypatch):
    beside = Beside(repo.root, "status")
    with monkeypatch.context() as broken:
        broken.setenv("PYTHONHOME", "/nowhere")
        beside.begin()
        until(lambda: not beside.is_going)
    assert beside.failure == "it ended without an answer, with exit code 1"
    beside.begin()
    until(lambda: not beside.is_going)
    assert beside.failure == ""


def test_one_that_runs_is_ended_with_us_and_leaves_none_behind(repo):
    beside = Beside(repo.root, "doctor")
    beside.begin()
    beside.end()
    assert not beside.is_going
    assert beside.count == 0


def test_files_that_are_not_there_are_not_much():
    assert not is_much([-1, 2_500_000])
    assert is_much([1, 2_500_000])
