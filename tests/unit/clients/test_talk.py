"""What each client sends to a hook, in its own names, and what it is answered."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from memsync import Memsync
from memsync.agents import toolcall
from memsync.agents.entry import find_place
from memsync.agents.hooks import answer
from memsync.clients import facts
from memsync.clients.opencode import OPENCODE

FACT = "The staging database listens on port 5433"
ASK = "Which port does the staging database use?"


@pytest.fixture
def project(repo):
    with Memsync.open(repo.root) as project:
        project.remember(FACT, importance=0.9)
        yield project


def hook(project, client: str, event: str, **payload) -> dict:
    """Answer as a hook does, the output included that a client reads."""
    reply = answer(project, facts.find(client), event, {"cwd": str(project.layout.start), **payload})
    reply.used()
    return json.loads(reply.out or "{}")


# Copilot CLI 1.0.102, as it sent them


def copilot(project, event: str, session: str = "c1", **payload) -> dict:
    return hook(project, "copilot", event, sessionId=session, timestamp=1795315081376, **payload)


def test_copilot_gets_the_context_at_the_top_and_each_memory_once(project):
    out = copilot(project, "session-start", source="new", initialPrompt=ASK)
    assert set(out) == {"additionalContext"}
    assert FACT in out["additionalContext"]
    assert copilot(project, "prompt", prompt=ASK) == {}


def test_copilot_gets_again_what_a_resume_or_a_compaction_took(project):
    copilot(project, "session-start", source="new")
    assert FACT in str(copilot(project, "session-start", source="resume"))
    assert copilot(project, "prompt", prompt=ASK) == {}
    copilot(project, "pre-compact", trigger="auto")
    assert FACT in str(copilot(project, "prompt", prompt=ASK))


@pytest.mark.parametrize("is_first", [False, True], ids=["start first", "prompt first"])
def test_copilot_that_is_left_after_a_compaction_gets_what_was_needed_when_it_is_resumed(repo, is_first):
    (repo.root / ".gobby").mkdir(exist_ok=True)
    (repo.root / ".gobby" / "config.yaml").write_text("memory:\n  injection_limit: 0\n")
    with Memsync.open(repo.root) as project:
        project.remember(FACT, importance=0.9)
        copilot(project, "session-start", source="new")
        copilot(project, "prompt", prompt=ASK)
        copilot(project, "pre-compact", trigger="manual")
        if is_first:  # it runs the hooks of a resumed session at once
            assert copilot(project, "prompt", prompt="Now paint the barn.") == {}
        assert FACT in str(copilot(project, "session-start", source="resume"))


@pytest.mark.parametrize("left", [False, True], ids=["at once", "when it is resumed"])
def test_gemini_is_given_again_what_a_compression_took_and_nothing_that_it_left(project, tmp_path, left):
    taken = project.remember(FACT).entry.id  # it is there
    other = project.remember("Invoices are rounded half to even", importance=0.9).entry.id
    first, later = (tmp_path / f"session-2026-11-22T08-{minute}-0a1b2c3d.jsonl" for minute in (42, 48))

    def gemini(event, transcript=first, **more):
        return hook(project, "gemini", event, session_id="g1", transcript_path=str(transcript), **more)

    assert FACT in str(gemini("prompt", prompt=ASK, timestamp="1"))
    assert "rounded" in str(gemini("prompt", prompt="How are invoices rounded?", timestamp="2"))
    gemini("pre-compact", trigger="manual")
    gone = f"- [{taken}] (fact, importance 0.9, today) {FACT}"
    kept = f"- [{other}] (fact, importance 0.9, today) Invoices are rounded half to even"
    answer, start = {"type": "gemini", "content": "So be it."}, {"type": "user", "content": "<session_context>"}
    rows = [
        {"type": "user", "content": f"{gone}\n{kept}"},
        {"$set": {"messages": [start, {"type": "user", "content": kept}, answer]}},
    ]
    if left:  # a process says its own start, and then what it resumes: the hook may come between
        rows.append({"$set": {"messages": [start]}})
    first.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    if left:
        later.write_text("{}\n")
        begun = str(gemini("session-start", later, source="resume", timestamp="3"))
        assert (begun.count(FACT), "rounded" in begun) == (1, False)
    assert "rounded" not in str(gemini("prompt", prompt="How are invoices rounded?", timestamp="4"))
    assert (FACT in str(gemini("prompt", prompt=ASK, timestamp="5"))) is not left


def test_a_subagent_of_copilot_is_given_what_the_prompt_was_about_once(project):
    project.remember("Sensor 1 is in hall 31", importance=0.95)
    copilot(project, "session-start", source="new")
    copilot(project, "prompt", prompt=ASK)
    about = {"agentId": "a1", "parentAgentId": "c1"}
    given = str(copilot(project, "subagent-start", agentName="explore", **about))
    assert (given.count(FACT), "Sensor" in given) == (1, False)
    assert copilot(project, "prompt", "a1", prompt=ASK, **about) == {}


@pytest.mark.parametrize("way", ["named", "in the transcript"])
def test_a_fork_that_its_client_calls_a_resumed_session_has_what_its_conversation_says(project, tmp_path, way):
    (given,) = (entry.id for entry in project.list())
    (tmp_path / "q2.jsonl").write_text(json.dumps({"text": f"&lt;project-memory&gt;\n- [{given}] (fact, today) x"}))
    about = {"given": [given]} if way == "named" else {"transcript_path": str(tmp_path / "q2.jsonl")}
    assert hook(project, "qwen", "session-start", session_id="q2", source="resume", **about) == {}
    assert hook(project, "qwen", "prompt", session_id="q2", prompt=ASK) == {}


def test_copilot_that_runs_the_hooks_of_claude_code_as_well_is_given_a_memory_once(project):
    # as 1.0.102 sends them: to those of .claude/settings.json with other names
    claude = {"session_id": "c1", "timestamp": "2026-11-22T02:38:32.035Z"}
    first = hook(project, "claude", "prompt", hook_event_name="UserPromptSubmit", prompt=ASK, **claude)
    second = copilot(project, "prompt", prompt=ASK)
    assert (json.dumps(first) + json.dumps(second)).count(FACT) == 2  # one answer, which says it in both shapes
    assert first["additionalContext"] == first["hookSpecificOutput"]["additionalContext"]
    assert second == {}


@pytest.mark.parametrize("given", [{"command": "git push"}, '{"command": "git push"}'])
def test_copilot_is_told_after_a_tool_what_is_anchored_to_it_because_it_takes_nothing_before(project, given):
    project.remember("Ask first, the deploy follows", anchors=["$ git push"])
    claude = {"session_id": "c1", "timestamp": "2026-11-22T02:38:32.035Z", "tool_name": "Bash"}
    before = {**claude, "tool_input": {"command": "git push"}}  # of the hooks of Claude Code, which it runs as well
    assert toolcall.is_quiet("pre-tool", "claude", before, str(project.layout.start), project.env)
    about = {"toolName": "bash", "toolArgs": given}
    out = copilot(project, "post-tool", toolResult={"resultType": "success", "textResultForLlm": "x"}, **about)
    assert set(out) == {"additionalContext"}
    assert "the deploy follows" in out["additionalContext"]
    assert (
        copilot(project, "post-tool", toolResult={"textResultForLlm": "pushed\n<exited with exit code 0>"}, **about)
        == {}
    )
    again = {
        "sessionId": "c1",
        **about,
        "toolResult": {"textResultForLlm": "Error: no remote\n<exited with exit code 1>"},
    }
    assert not toolcall.is_quiet("post-tool", "copilot", again, str(project.layout.start), project.env)


def test_codex_is_never_answered_with_a_key_that_it_does_not_know(project):
    out = hook(project, "codex", "prompt", session_id="s1", turn_id="t1", prompt=ASK)
    assert set(out) == {"hookSpecificOutput"}
    assert set(out["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}


# Qwen Code 0.24.4, as it sent them


def test_qwen_is_answered_as_claude_code_and_gets_again_what_a_resume_took(project):
    about = {"session_id": "q1", "permission_mode": "auto", "timestamp": "2026-11-22T02:38:45.105Z"}
    out = hook(project, "qwen", "session-start", source="startup", **about)
    assert FACT in out["hookSpecificOutput"]["additionalContext"]
    assert set(out) == {"hookSpecificOutput"}
    asked = {**about, "prompt": ASK, "submitted_prompt": ASK, "prompt_id": "q1########0"}
    assert hook(project, "qwen", "prompt", **asked) == {}
    assert FACT in str(hook(project, "qwen", "session-start", source="resume", **about))
    assert hook(project, "qwen", "prompt", **{**about, "prompt": ""}) == {}  # as it fires after tools


def test_qwen_is_told_nothing_before_a_command_because_that_reaches_nobody_and_all_of_it_after(project):
    project.remember("Ask first, the deploy follows", anchors=["$ git push"])
    about = {"session_id": "q1", "tool_name": "run_shell_command", "tool_input": {"command": "git push"}}
    assert hook(project, "qwen", "pre-tool", **about) == {}
    assert "the deploy follows" in str(hook(project, "qwen", "post-tool", tool_response="pushed", **about))


# Antigravity CLI, by its documents


def agy(project, tmp_path, step: int, *said: str) -> dict:
    transcript = tmp_path / "transcript.jsonl"
    steps = [{"type": "USER_INPUT", "content": f"<USER_REQUEST>{text}</USER_REQUEST><META>x</META>"} for text in said]
    rows = [row for one in steps for row in (one, {"type": "PLANNER_RESPONSE", "content": "USER_INPUT"})]
    transcript.write_text("".join(f"{json.dumps(row)}\n" for row in rows) + '{"type": "USER_INPUT", "con')
    about = {"conversationId": "a1", "transcriptPath": str(transcript), "invocationNum": 0, "initialNumSteps": step}
    return hook(project, "antigravity", "prompt", workspacePaths=[str(project.layout.start)], **about)


def test_antigravity_is_given_what_the_last_prompt_is_about_with_each_request_of_the_turn(project, tmp_path):
    for step in (1, 4):
        (injected,) = agy(project, tmp_path, step, "hello there", ASK)["injectSteps"]
        assert FACT in injected["ephemeralMessage"]
    (memory,) = project.list()
    assert memory.access_count == 1  # the requests of one turn are one use
    assert agy(project, tmp_path, 9, ASK, "Write a haiku about leaves") == {}
    assert FACT in str(agy(project, tmp_path, 12, ASK))


def test_antigravity_without_a_transcript_gets_nothing(project, tmp_path):
    assert hook(project, "antigravity", "prompt", conversationId="a1", transcriptPath=str(tmp_path / "none")) == {}


def test_a_hook_finds_the_project_by_whatever_the_client_says(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path / "here")
    assert find_place({"cwd": here}) == here
    assert find_place({"cwd": "/no/such", "workspacePaths": [5, here]}) == here
    assert find_place({"cwd": 3, "workspacePaths": "x"}) == str(tmp_path)


# opencode 1.18, whose plugin asks for it


@pytest.mark.skipif(not shutil.which("node"), reason="node runs the plugin of opencode")
@pytest.mark.parametrize("is_there", [True, False])
def test_the_plugin_of_opencode_adds_each_memory_once_and_is_quiet_without_memsync(repo, project, tmp_path, is_there):
    project.remember("Ask first, the deploy follows", anchors=["$ git push"])
    (tmp_path / "memsync.mjs").write_text(OPENCODE.files[0].entries[0].value)
    (tmp_path / "bin").mkdir()
    if is_there:
        (tmp_path / "bin" / "memsync").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memsync "$@"\n')
        (tmp_path / "bin" / "memsync").chmod(0o755)
    (tmp_path / "run.mjs").write_text(
        'import { Memsync } from "./memsync.mjs"\n'
        "const none = async () => ({ data: undefined })\n"
        'const messages = async ({ path }) => ({ data: path.id === "fork of o1" ? all.slice(0, 1) : undefined })\n'
        "const client = { session: { get: none, messages } }\n"
        f"const hooks = await Memsync({{ client, directory: {json.dumps(str(repo.root))} }})\n"
        "const all = []\n"
        'for (const [sessionID, id] of [["o1", "m1"], ["o1", "m2"], ["fork of o1", "m3"]]) {\n'
        f'  const parts = [{{ type: "text", id: "p" + id, text: {json.dumps(ASK)} }}]\n'
        '  await hooks["chat.message"]({ sessionID }, { message: { id }, parts })\n'
        "  all.push(parts)\n"
        "}\n"
        "for (const callID of ['t1', 't2']) {\n"
        "  const result = { title: '', output: 'pushed', metadata: { exit: 0 } }\n"
        "  const call = { tool: 'bash', sessionID: 'o2', callID, args: { command: 'git push -f' } }\n"
        '  await hooks["tool.execute.after"](call, result)\n'
        "  all.push(result.output)\n"
        "}\n"
        'await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "o1" } } })\n'
        "console.log(JSON.stringify(all))\n"
    )
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    done = subprocess.run(
        [shutil.which("node"), "run.mjs"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, second, forked, told, again = json.loads(done.stdout)
    assert again == "pushed"
    assert ("the deploy follows" in told) is is_there
    assert len(second) == len(forked) == 1
    assert len(first) == (2 if is_there else 1)
    if is_there:
        assert FACT in first[1]["text"]
        assert (first[1]["id"], first[1]["messageID"], first[1]["synthetic"]) == ("pm1m", "m1", True)
