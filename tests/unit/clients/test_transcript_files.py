"""Recorded sessions of each client become one stream of events, whatever is odd in the files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.clients import transcript_formats
from memsync.clients.transcript_events import KEPT, Call, Event, Prompt, Recorder, Result, Session, Words
from memsync.clients.transcript_files import read_all
from memsync.clients.transcript_formats import FORMATS
from memsync.errors import ImportFailed
from memsync.learn.failures import program_of


def write(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def read(*paths: Path) -> Session:
    (session,) = read_all(paths).sessions
    return session


def told(session: Session) -> list[str]:
    """Spell the events of *session* shortly."""

    def spell(event: Event) -> str:
        side = f"{event.thread}: " if event.thread else ""
        match event:
            case Prompt(text=text):
                return f"{side}> {text}"
            case Words(text=text):
                return f"{side}{text}"
            case Call(tool=tool, given=given):
                return f"{side}{tool} {' '.join(map(str, given.values()))}"
            case Result(text=text, failed=failed, refusal=refusal):
                return f"{side}{'refused ' + refusal if refusal else 'failed' if failed else 'ok'}: {text}"
            case _:
                return "lost"

    return [spell(event) for event in session.events]


def claude(kind: str, content: object, n: int, **more: object) -> dict[str, object]:
    return {
        "type": kind,
        "uuid": f"u{n}",
        "sessionId": "s1",
        "cwd": "/home/ann/shop",
        "timestamp": f"2026-11-20T10:{n:02d}:00.000Z",
        "message": {"role": kind, "content": content},
        **more,
    }


def use(n: int, tool: str, **given: object) -> list[dict[str, object]]:
    return [{"type": "tool_use", "id": f"t{n}", "name": tool, "input": given}]


def ended(n: int, text: str, *, failed: bool = False) -> list[dict[str, object]]:
    return [{"type": "tool_result", "tool_use_id": f"t{n}", "content": text, "is_error": failed}]


def test_claude_code_with_a_subagent_a_refusal_a_command_and_a_compaction(tmp_path):
    asked = {"agentId": "a9", "type": "agent_progress", "message": claude("user", "look for it", 3)}
    refused = (
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse pnpm"
    )
    path = write(
        tmp_path / "s1.jsonl",
        claude("user", "build it", 1),
        claude("assistant", use(1, "Bash", command="make"), 2),
        {"type": "progress", "data": asked},
        claude("user", ended(1, "no rule", failed=True), 4),
        claude("assistant", use(2, "Bash", command="npm i"), 5),
        claude("user", ended(2, refused, failed=True), 6),
        {"type": "system", "subtype": "compact_boundary", "timestamp": "2026-11-20T10:07:00Z"},
        claude("user", "summary of before", 8, isCompactSummary=True),
        claude("user", "<command-name>/review</command-name>\n<command-args>the diff</command-args>", 9),
        claude("assistant", [{"type": "text", "text": "done"}], 10),
    )
    session = read(path)
    assert told(session) == [
        "> build it",
        "Bash make",
        "a9: > look for it",
        "failed: no rule",
        "Bash npm i",
        f"refused use pnpm: {refused}",
        "lost",
        "> /review the diff",
        "done",
    ]
    assert (session.client, session.id, session.cwd) == ("claude", "s1", "/home/ann/shop")
    assert str(session.start) == "2026-11-20 10:01:00+00:00"


def test_what_a_resumed_session_repeats_counts_once(tmp_path):
    first = [claude("user", "one", 1), claude("assistant", use(1, "Read", file_path="a"), 2)]
    write(tmp_path / "a.jsonl", *first)
    resumed = [{**row, "sessionId": "s2"} for row in (*first, claude("user", "two", 3))]
    write(tmp_path / "b.jsonl", *resumed)
    assert [told(one) for one in read_all([tmp_path]).sessions] == [["> one", "Read a"], ["> two"]]


def test_codex(tmp_path):
    def item(**payload: object) -> dict[str, object]:
        return {"timestamp": "2026-11-20T10:00:00Z", "type": "response_item", "payload": payload}

    path = write(
        tmp_path / "rollout.jsonl",
        {"timestamp": "2026-11-20T09:59:00Z", "type": "session_meta", "payload": {"id": "c1", "cwd": "/w"}},
        item(type="message", role="user", content=[{"type": "input_text", "text": "go"}]),
        item(type="function_call", name="exec_command", call_id="1", arguments='{"cmd": "ls nowhere"}'),
        item(type="function_call_output", call_id="1", output="ls: nowhere\nProcess exited with code 2\n"),
        item(type="function_call", name="exec_command", call_id="2", arguments='{"cmd": "true"}'),
        item(type="function_call_output", call_id="2", output="Process exited with code 0\n"),
        {"timestamp": "2026-11-20T10:01:00Z", "type": "compacted", "payload": {}},
    )
    assert told(read(path)) == [
        "> go",
        "exec_command ls nowhere",
        "failed: ls: nowhere\nProcess exited with code 2\n",
        "exec_command true",
        "ok: Process exited with code 0\n",
        "lost",
    ]


def test_the_shell_that_codex_starts_is_no_part_of_the_command():
    call = Call(1, id="1", tool="shell", given={"command": ["bash", "-lc", "git push --fast"]})
    assert (call.command, program_of(call)) == ("git push --fast", "git")
    assert program_of(Call(1, id="2", tool="Read", given={"file_path": "a"})) == ""


def test_gemini_cli_writes_a_message_again_when_its_tools_have_answered(tmp_path):
    call = {"id": "g1", "name": "run_shell_command", "args": {"command": "make"}}
    answered = {**call, "status": "error", "result": [{"functionResponse": {"response": {"error": "boom"}}}]}
    path = write(
        tmp_path / "session-1.jsonl",
        {"sessionId": "g", "projectHash": "h", "startTime": "2026-11-20T10:00:00Z"},
        {"id": "1", "type": "user", "content": [{"text": "go"}]},
        {"id": "2", "type": "gemini", "content": "I run it", "toolCalls": [call]},
        {"id": "2", "type": "gemini", "content": "I run it", "toolCalls": [answered]},
    )
    assert told(read(path)) == ["> go", "I run it", "run_shell_command make", "failed: boom"]


def test_copilot_cli(tmp_path):
    def event(kind: str, n: int, **data: object) -> dict[str, object]:
        return {"type": kind, "id": str(n), "parentId": None, "timestamp": "2026-11-20T10:00:00Z", "data": data}

    path = write(
        tmp_path / "events.jsonl",
        event("session.start", 1, sessionId="p1", context={"cwd": "/w"}),
        event("user.message", 2, content="go"),
        event("tool.execution_start", 3, toolCallId="x", toolName="bash", arguments={"command": "make"}),
        event("tool.execution_complete", 4, toolCallId="x", success=False, error={"message": "no rule"}),
        event("assistant.message", 5, content="it failed"),
    )
    assert told(read(path)) == ["> go", "bash make", "failed: no rule", "it failed"]


def test_what_opencode_exports(tmp_path):
    state = {"status": "error", "input": {"command": "make"}, "error": "no rule"}
    messages = [
        {"info": {"role": "user", "time": {"created": 1763632800000}}, "parts": [{"type": "text", "text": "go"}]},
        {"info": {"role": "assistant"}, "parts": [{"type": "tool", "callID": "1", "tool": "bash", "state": state}]},
    ]
    exported = {"info": {"id": "o1", "directory": "/w"}, "messages": messages}
    session = read(write(tmp_path / "export.json", exported))
    assert told(session) == ["> go", "bash make", "failed: no rule"]
    assert str(session.start) == "2025-11-20 10:00:00+00:00"
    (tmp_path / "as-entire-keeps-it.jsonl").write_text(json.dumps(exported, indent=2))
    assert told(read(tmp_path / "as-entire-keeps-it.jsonl")) == told(session)


def test_what_opencode_tells_a_subagent_nobody_typed(tmp_path):
    messages = [{"info": {"role": "user"}, "parts": [{"type": "text", "text": "review the change"}]}]
    exported = {"info": {"id": "o2", "parentID": "o1"}, "messages": messages}
    (event,) = read(write(tmp_path / "export.json", exported)).events
    assert event.thread


SPECSTORY = """\
<!-- Generated by SpecStory, Markdown v2.1.0 -->

<!-- Claude Code Session 11111111-2222-3333-4444-555555555555 (2026-01-23 17:24:15Z) -->

_**User (2026-01-23T17:24:15.996Z)**_

go

---

_**Agent (claude 2026-01-23T17:24:23.746Z)**_

<tool-use data-tool-type="shell" data-tool-name="Bash"><details>
<summary>Tool use: **Bash**</summary>

`make`

```text
Exit code 2
no rule
```
</details></tool-use>

_**Agent (claude 2026-01-23T17:25:00.000Z)**_

it failed
"""


def test_specstory(tmp_path):
    (tmp_path / "s.md").write_text(SPECSTORY)
    (tmp_path / "README.md").write_text("# Not a session\n")
    found = read_all([tmp_path])
    assert [told(one) for one in found.sessions] == [
        ["> go", "Bash make", "failed: Exit code 2\nno rule\n", "it failed"]
    ]
    assert found.others == 1


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, who: str) -> None:
    git(folder, "add", "-A")
    git(folder, "-c", f"user.email={who}@example.org", "-c", f"user.name={who}", "commit", "-qm", "checkpoint")


def checkpoint(folder: Path, place: str, session: str, *rows: object) -> None:
    write(folder / place / "full.jsonl", *rows)
    write(folder / place / "metadata.json", {"session_id": session, "created_at": f"2026-11-20T1{place[-1]}:00:00Z"})


@pytest.fixture
def archive(tmp_path):
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "entire/checkpoints/v1")
    checkpoint(folder, "aa/0123456789/0", "s1", claude("user", "one", 1))
    commit(folder, "ann")
    checkpoint(folder, "bb/0123456789/1", "s1", claude("user", "one", 1), claude("user", "two", 2))
    checkpoint(folder, "cc/0123456789/2", "s3", claude("user", "three", 3))
    commit(folder, "bob")
    return folder


def test_entire_keeps_the_longest_checkpoint_of_a_session_and_says_whose_it_is_without_a_name(archive, tmp_path):
    found = read_all([archive]).sessions
    assert [told(one) for one in found] == [["> one", "> two"], ["> three"]]
    assert len({one.person for one in found}) == 1
    assert "bob" not in found[0].person
    git(tmp_path, "clone", "-q", "--bare", str(archive), "bare")
    assert [told(one) for one in read_all([tmp_path / "bare"]).sessions] == [told(one) for one in found]


def test_an_absent_transcript_is_counted(archive):
    git(archive, "checkout", "-q", "--orphan", "other")
    blob = subprocess.run(
        ["git", "rev-parse", "entire/checkpoints/v1:cc/0123456789/2/full.jsonl"],
        cwd=archive, check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    (archive / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    found = read_all([archive])
    assert (len(found.sessions), found.absent) == (1, 1)


def test_odd_lines_are_counted_and_never_fatal(tmp_path):
    path = write(
        tmp_path / "s.jsonl",
        claude("user", "one", 1),
        "{ torn",
        "[1, 2]",
        '"text"',
        "[" * 5_000,
        "",
        claude("user", {"not": "a list"}, 2),
        claude("assistant", [{"type": "tool_use", "id": 7, "name": None, "input": "text"}, 3, None], 3),
        {"type": "user", "message": 5},
        {"type": "progress", "data": {"type": "agent_progress", "message": "?"}},
        claude("user", "two", 4, timestamp="yesterday"),
    )
    session = read(path)
    assert told(session) == ["> one", "None text", "> two"]
    assert session.odd == 4


def test_long_texts_are_cut_and_deep_inputs_end(tmp_path):
    deep: object = "x"
    for _ in range(50):
        deep = {"a": deep}
    path = write(
        tmp_path / "s.jsonl",
        claude("user", "x" * 3_000_000, 1),
        claude("assistant", use(1, "Write", content="y" * 3_000_000, deep=deep), 2),
        claude("user", ended(1, "z" * 3_000_000 + "the end"), 3),
    )
    prompt, call, result = read(path).events
    assert isinstance(prompt, Prompt)
    assert isinstance(call, Call)
    assert isinstance(result, Result)
    assert (len(prompt.text), len(call.given["content"]), len(result.text)) == (KEPT, KEPT, KEPT)
    assert result.text.endswith("the end")
    assert call.given["deep"] == {"a": {"a": {"a": None}}}


def test_links_are_not_followed_and_a_missing_path_is_an_error(tmp_path):
    write(tmp_path / "elsewhere" / "s.jsonl", claude("user", "one", 1))
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "s.jsonl").symlink_to(tmp_path / "elsewhere" / "s.jsonl")
    assert read_all([folder]).sessions == []
    with pytest.raises(ImportFailed, match="nowhere is not there"):
        read_all([tmp_path / "nowhere"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "type message role content text payload id name input arguments output call_id $set toolCalls data info messages"
                " parts state timestamp time subtype agentId isSidechain".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


KINDS = (
    "user",
    "assistant",
    "gemini",
    "response_item",
    "progress",
    "system",
    "tool.execution_complete",
    "session.start",
)


@given(st.sampled_from(FORMATS), st.lists(JSON, max_size=6))
def test_no_row_stops_the_reading(form, rows):
    to = Recorder(form.client, set())
    for number, row in enumerate(rows):
        for kind in KINDS:
            if isinstance(row, dict):
                form.read_row(to, {"type": kind, "message": row, "payload": row, "data": row, **row}, number)
    assert all(isinstance(event, Event) for event in to.session.events)


@given(st.lists(st.sampled_from([*SPECSTORY.splitlines(keepends=True), "```\n", "_**User**_\n"])))
def test_no_order_of_lines_stops_the_reading_of_markdown(rows):
    to = Recorder("specstory", set())
    transcript_formats.read_markdown(to, rows)
    assert all(isinstance(event, Event) for event in to.session.events)
