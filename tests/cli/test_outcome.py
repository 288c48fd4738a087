"""What became of the lines that a session was given, told from its transcript when it ends."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from helpers import memsync, until

from memsync.agents.outcome import Given, judge, list_done
from memsync.clients.transcript_events import Call, Result
from memsync.records import Memory

TEXT = "The config is `.golangci.yaml`, not `.golangci.yml`"
AT = dt.datetime(2026, 1, 15, 12, tzinfo=dt.UTC)
DUE = Given(AT, "pre-tool", "it is due at not: .golangci.yml")
START = Given(AT, "session-start", "")
FAILED = Given(AT, "post-tool", "a command failed with what it speaks of")


def call(minute, tool="Bash", *, failed=False, said="", **given):
    when = AT + dt.timedelta(minutes=minute)
    return [
        Call(10 + minute, when, id=f"c{minute}", tool=tool, given=given),
        Result(10 + minute, when, id=f"c{minute}", text=said, failed=failed),
    ]


def memory(text=TEXT, **fields):
    return Memory(id="mm-aaaaaa", content=text, **fields)


WRONG = memory(triggers=("not: .golangci.yml",), anchors=(".golangci.yaml",))
LINT = memory("Strings are constants", triggers=("fails: (goconst)",))


@pytest.mark.parametrize(
    ("about", "given", "events", "verdict", "why"),
    [
        (WRONG, DUE, call(1, command="cat .golangci.yaml"), "heeded", "none of the 1 calls after it used .golangci.yml"),
        (WRONG, DUE, call(1, command="cat .golangci.yml", failed=True), "ignored", "Bash used .golangci.yml all the same (line 11"),
        (WRONG, DUE, call(1, "Read", file_path="/r/.golangci.yml"), "contradicted", "Read found .golangci.yml (line 11"),
        (WRONG, DUE, call(-1, command="cat .golangci.yml"), "not applicable", "no call came after it"),
        (WRONG, START, call(1, command="ls"), "not applicable", "no later call shows"),
        (WRONG, START, call(1, "Edit", file_path="/r/.golangci.yaml", old_string="a", new_string="b"), "heeded", "used .golangci.yaml"),
        (WRONG._replace(archived_at=AT + dt.timedelta(1)), DUE, call(1, command="ls"), "contradicted", "archived"),
        (None, DUE, call(1, command="ls"), "contradicted", "it was forgotten"),
        (LINT, FAILED, [*call(-1, command="make lint", failed=True), *call(1, command="make lint", failed=True, said="a (goconst)")], "ignored", "it failed again with (goconst)"),
        (LINT, FAILED, [*call(-1, command="make lint", failed=True), *call(1, command="timeout 9 make lint")], "heeded", "`make lint` went well afterwards"),
        (LINT, FAILED, [*call(-1, command="make lint", failed=True), *call(1, command="ls")], "not applicable", "`make lint` was not run again"),
        (memory("Tabs here"), FAILED, [*call(-1, command="make lint", failed=True), *call(1, command="make lint", failed=True)], "ignored", "`make lint` failed again"),
        (memory("Tabs here"), START, call(1, command="ls"), "not applicable", "no later call shows"),
        (memory("`gh pr diff` has no `--stat`", anchors=("$ gh pr diff --stat",)), START, call(1, command="gh pr diff 1 --stat"), "ignored", "gh pr diff --stat"),
    ],
)  # fmt: skip
def test_each_line_is_judged_by_what_was_called_after_it(about, given, events, verdict, why):
    found = judge(about, given, list(list_done(events)))
    assert found.verdict == verdict
    assert why in found.reason


@pytest.fixture
def run(repo):
    return lambda *words, stdin="": memsync(*words, cwd=repo.root, stdin=stdin)


@pytest.fixture
def live(repo, run, tmp_path):
    """Return a function that lives through a session: it is given a memory before a command, runs others, and ends."""

    def do(session, *lines):
        about = {"session_id": session, "cwd": str(repo.root)}
        asked = {**about, "tool_name": "Bash", "tool_input": {"command": "cat .golangci.yml"}}
        assert TEXT in run("hook", "pre-tool", "--client", "claude", stdin=json.dumps(asked)).out
        when = (dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1)).isoformat()
        rows = [
            {"type": "user", "sessionId": session, "timestamp": when, "message": {"role": "user", "content": "go on"}}
        ]
        for number, line in enumerate(lines):
            use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": line}}
            end = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "x", "is_error": True}
            rows.append({"type": "assistant", "timestamp": when, "message": {"role": "assistant", "content": [use]}})
            rows.append({"type": "user", "timestamp": when, "message": {"role": "user", "content": [end]}})
        path = tmp_path / f"{session}.jsonl"
        path.write_text("".join(json.dumps({"sessionId": session, **row}) + "\n" for row in rows))
        ended = {**about, "transcript_path": str(path), "reason": "other"}
        assert run("hook", "session-end", "--client", "claude", stdin=json.dumps(ended)).code == 0
        log = repo.root / ".gobby/local/hooks.log"
        until(lambda: '"session-end"' in log.read_text() and '"outcomes"' in log.read_text().splitlines()[-1])
        return run("sessions", "show", session).out

    return do


def test_the_end_of_a_session_tells_what_was_heeded_and_what_was_not_and_why(repo, run, live):
    id_ = json.loads(run("remember", TEXT, "--json").out)["memory"]["id"]
    shown = live("one", "ls", "cat .golangci.yaml")
    assert f"heeded {id_}: none of the 2 calls after it used .golangci.yml" in shown
    assert f"ignored {id_}: Bash used .golangci.yml all the same" in live("two", "cat .golangci.yml")


def test_what_was_ignored_in_three_sessions_is_offered_in_review_to_be_said_otherwise_or_dropped(run, live):
    id_ = json.loads(run("remember", TEXT, "--json").out)["memory"]["id"]
    for session in ("one", "two"):
        live(session, "cat .golangci.yml")
    assert run("review", "--json").json["cards"] == []
    live("three", "cat .golangci.yml")
    (card,) = run("review", "--json").json["cards"]
    assert (card["kind"], card["why"][:19]) == ("ignored", "given in 3 sessions")
    assert run("update", id_, "--content", "The config of the linter is called `.golangci.yaml`").code == 0
    assert run("review", "--json").json["cards"] == []
