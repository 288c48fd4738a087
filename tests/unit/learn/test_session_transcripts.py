"""Transcripts of real sessions: what was done is read, what was injected is not.

The files were recorded with Claude Code 2.1.329, Codex 0.169.0 and Gemini CLI 0.61.0 against models on the same
machine, in a repository where memsync was installed and had a memory to inject; long texts were cut.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
from pathlib import Path

import pytest
from helpers import GitRepo

from memsync.errors import ImportFailed
from memsync.learn import transcripts
from memsync.learn.digest import digest
from memsync.learn.transcripts import Call, Said, read
from memsync.memories.project import Project

RECORDED = sorted(Path(__file__).parent.glob("transcripts/*.jsonl"))
MEMORY = "staging database is read-only"


@pytest.fixture(params=RECORDED, ids=lambda path: path.stem)
def recorded(request) -> Path:
    return request.param


@pytest.fixture
def write(tmp_path):
    def write(*rows: object) -> Path:
        path = tmp_path / "session.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def claude(role: str, content: object, **more: object) -> dict[str, object]:
    kind = "user" if role == "user" else "assistant"
    return {"type": kind, "sessionId": "s", "message": {"role": role, "content": content}, **more}


def bash(id_: str, command: str) -> dict[str, object]:
    return claude("assistant", [{"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": command}}])


def result(id_: str, text: str, *, failed: bool = False) -> dict[str, object]:
    return claude("user", [{"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": failed}])


def test_all_three_clients_tell_the_same_story(recorded):
    steps = read(recorded)
    assert [step.text for step in steps if isinstance(step, Said) and step.by == "user"] == [
        "which port has the staging database, and how do I run the tests?",
        "no, don't use make test, use make check instead",
    ]
    assert [(step.command, step.failed) for step in steps if isinstance(step, Call)] == [
        ("pytest -q missing_dir", True),
        ("make test", False),
        ("make check", False),
        ("sed -i 's/8080/8081/' app.py && git diff --stat", False),
    ]
    assert [step.line for step in steps] == sorted(step.line for step in steps)


def test_the_injected_memory_is_in_the_file_and_not_in_the_steps(recorded):
    assert MEMORY in recorded.read_text(encoding="utf-8")
    assert MEMORY not in str(read(recorded))
    assert "project-memory" not in str(read(recorded))


def test_a_digest_has_what_worked_in_order_and_what_the_user_put_right(recorded):
    lessons = digest(read(recorded))
    assert [(one.command, one.after_failing) for one in lessons.worked] == [
        ("make check", ("pytest -q missing_dir",)),
        ("sed -i 's/8080/8081/' app.py && git diff --stat", ()),
    ]
    assert [one.text for one in lessons.corrections] == ["no, don't use make test, use make check instead"]
    assert lessons.goals == ("which port has the staging database, and how do I run the tests?",)


def test_a_last_line_that_is_cut_off_takes_nothing_else_with_it(recorded, tmp_path):
    data = recorded.read_bytes()
    for cut in (1, 50, 3_000):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(data[:-cut])
        steps = read(path)
        assert steps == read(recorded)[: len(steps)]
        assert len(steps) >= 2


def test_a_call_without_an_answer_is_neither_well_nor_failed(write):
    assert [step.failed for step in read(write(bash("1", "make")))] == [None]


def test_an_id_that_is_used_again_belongs_to_the_last_call(write):
    steps = read(write(bash("1", "one"), result("1", "", failed=True), bash("1", "two"), result("1", "")))
    assert [(step.command, step.failed) for step in steps] == [("one", True), ("two", False)]


@pytest.mark.parametrize(
    "row",
    [
        claude("user", "hello", isSidechain=True),
        claude("user", "hello", isMeta=True),
        claude("user", "hello", isCompactSummary=True),
        claude("user", "This session is being continued from a previous conversation that ran out of context."),
        claude("user", "<command-name>/clear</command-name>"),
        claude("user", "<local-command-stdout>x</local-command-stdout>"),
        claude("user", "<system-reminder>be kind</system-reminder>"),
        claude("user", "<project-memory>\n- a fact\n</project-memory>"),
        claude("user", "&lt;project-memory&gt;\n- a fact\n&lt;/project-memory&gt;"),
        {"type": "attachment", "attachment": {"content": "hello"}, "sessionId": "s"},
        {"type": "api-request-blob", "message": {"role": "user", "content": "hello"}, "sessionId": "s"},
        {"type": "user", "message": "hello", "sessionId": "s"},
    ],
)
def test_what_is_no_part_of_the_work_is_left_out(write, row):
    assert read(write(claude("user", "begin"), row)) == [Said("user", "begin", 1)]


@pytest.mark.parametrize(
    ("name", "given", "kind"),
    [
        ("mcp__memsync__recall", {"query": "x"}, "memory"),
        ("mcp__plugin_memsync_memsync__remember", {}, "memory"),
        ("Bash", {"command": "memsync memory recall x"}, "memory"),
        ("Edit", {"file_path": "a.py"}, "edit"),
        ("Read", {"file_path": "a.py"}, "read"),
        ("WebFetch", {"url": "x"}, "other"),
    ],
)
def test_tools_are_told_apart_and_what_memory_answered_is_not_kept(write, name, given, kind):
    use = claude("assistant", [{"type": "tool_use", "id": "1", "name": name, "input": given}])
    (call,) = read(write(use, result("1", "an answer")))
    assert (call.kind, call.output) == (kind, "" if kind == "memory" else "an answer")


def test_codex_spells_commands_in_several_ways(write):
    def item(**payload: object) -> dict[str, object]:
        return {"type": "response_item", "payload": payload}

    steps = read(
        write(
            item(type="function_call", name="shell", call_id="1", arguments='{"command":["bash","-lc","make a"]}'),
            item(type="function_call_output", call_id="1", output='{"output":"no","metadata":{"exit_code":2}}'),
            item(type="function_call", name="shell", call_id="2", arguments='{"command":["ls","-l"]}'),
            item(type="function_call_output", call_id="2", output="Exit code: 0\nOutput:\nx"),
            item(type="custom_tool_call", name="apply_patch", call_id="3", input="*** Update File: a.py\n@@"),
            item(type="custom_tool_call_output", call_id="3", output='{"output":"Success","metadata":{"exit_code":0}}'),
            item(type="message", role="developer", content=[{"type": "input_text", "text": "instructions"}]),
            item(type="message", role="user", content=[{"type": "input_text", "text": "<environment_context>x"}]),
        )
    )
    assert [(s.command, s.kind, s.files, s.failed) for s in steps] == [
        ("make a", "command", (), True),
        ("ls -l", "command", (), False),
        ("", "edit", ("a.py",), False),
    ]


@pytest.mark.parametrize("data", [b"", b"hello\n", b'{"a": 1}\n', b"\x00\xff" * 100, b"[1]\n"])
def test_a_file_that_is_not_a_transcript_is_refused(tmp_path, data):
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    with pytest.raises(ImportFailed, match=r"not a transcript of Claude Code"):
        read(path)


@pytest.mark.parametrize("path", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_refused(tmp_path, path):
    with pytest.raises(ImportFailed):
        read(tmp_path / path)


def test_a_session_is_found_where_each_client_keeps_it(tmp_path):
    session = "7970d88b-31d1-4d06-b145-c11df6b86bfc"
    for place in (
        f".claude/projects/-home-me-repo/{session}.jsonl",
        f".codex/sessions/2026/11/21/rollout-2026-11-21T13-57-21-{session}.jsonl",
        f".gemini/tmp/repo/chats/session-2026-11-21T13-57-{session[:8]}.jsonl",
    ):
        home = tmp_path / place.split("/")[0]
        (home / place).parent.mkdir(parents=True)
        (home / place).write_text("x")
        assert transcripts.find(session, home, {}) == home / place
        assert transcripts.find("../../" + session, home, {}) is None
        assert transcripts.find("*" * 8, home, {}) is None


def test_the_transcripts_of_a_repository_are_those_that_ran_in_one_of_its_work_trees(tmp_path):
    repo = GitRepo.create(tmp_path / "shop")
    repo.git("commit", "-q", "--allow-empty", "-m", "begin")
    repo.git("worktree", "add", "-q", str(tmp_path / "side"))
    home = tmp_path / "home"
    places = {
        f".claude/projects/-shop/{'a' * 8}.jsonl": repo.root / "src",
        f".claude/projects/-side/{'b' * 8}/subagents/agent-1.jsonl": tmp_path / "side",
        ".codex/sessions/2026/11/21/rollout-1.jsonl": repo.root,
        f".copilot/session-state/{'c' * 8}/events.jsonl": repo.root,
        f".claude/projects/-shop-old/{'d' * 8}.jsonl": tmp_path / "shop-old",
        ".codex/sessions/2026/11/21/rollout-2.jsonl": tmp_path,
    }
    for place, cwd in places.items():
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text(json.dumps({"text": f'"cwd": "{tmp_path}"', "cwd": str(cwd)}) + "\n")
    chats = ".gemini/tmp/{}/chats/session-1.json"
    for name in ("shop", hashlib.sha256(str(repo.root).encode()).hexdigest(), "other"):
        (home / chats.format(name)).parent.mkdir(parents=True)
        (home / chats.format(name)).write_text("{}")
    (home / ".gemini/tmp/shop/.project_root").write_text(str(repo.root))
    (home / ".gemini/tmp/other/.project_root").write_text(str(tmp_path))
    with Project.open(repo.root, env={"HOME": str(home)}) as project:
        found = transcripts.list_here(project)
        old = min(found)
        os.utime(old, (1, 1))
        since = transcripts.list_here(project, dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    assert len(found) == 6
    assert {str(one.relative_to(home)) for one in found} == {
        *list(places)[:4], chats.format("shop"), chats.format(hashlib.sha256(str(repo.root).encode()).hexdigest()),
    }  # fmt: skip
    assert set(found) - set(since) == {old}
