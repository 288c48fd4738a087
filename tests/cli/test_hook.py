"""`memsync hook` as the clients call it: a process, JSON on its standard input, code 0 whatever happens."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import memsync, until

FACT = "The staging database listens on port 5433"
ASK = "which port does the staging database use?"


@pytest.fixture
def at(repo):
    """Return a function that sends one hook of a session in a repository that holds one fact."""
    memsync("memory", "add", FACT, cwd=repo.root)

    def send(event, client="claude", session="s1", **payload):
        payload = {"session_id": session, "cwd": str(repo.root), "hook_event_name": event, **payload}
        ran = memsync("hook", event, "--client", client, cwd=repo.root, stdin=json.dumps(payload))
        assert (ran.code, ran.err) == (0, "")
        return ran.json["hookSpecificOutput"] if ran.out else None

    return send


@pytest.mark.parametrize(("client", "event"), [("claude", "UserPromptSubmit"), ("codex", "UserPromptSubmit"), ("gemini", "BeforeAgent")])  # fmt: skip
def test_a_prompt_is_answered_once_with_exactly_the_keys_that_every_client_takes(at, client, event):
    found = at("prompt", client, prompt=ASK)
    assert list(found) == ["hookEventName", "additionalContext"]
    assert found["hookEventName"] == event
    assert FACT in found["additionalContext"]
    assert at("prompt", client, prompt=f"{ASK} again") is None


def test_a_session_start_is_answered_and_its_memories_do_not_come_again(at):
    found = at("session-start", source="startup")
    assert found["hookEventName"] == "SessionStart"
    assert "## Facts" in found["additionalContext"]
    assert at("prompt", prompt=ASK) is None
    assert at("session-start", source="resume") is None


def test_what_is_told_to_claude_code_is_there_for_copilot_too_and_no_other_client_gets_another_key(repo):
    memsync("memory", "add", FACT, cwd=repo.root)
    for client in ("claude", "codex", "gemini"):
        said = json.dumps({"session_id": client, "cwd": str(repo.root), "prompt": ASK})
        found = memsync("hook", "prompt", "--client", client, cwd=repo.root, stdin=said).json
        context = found["hookSpecificOutput"]["additionalContext"]
        assert found.get("additionalContext") == (context if client == "claude" else None)
        assert set(found) <= {"hookSpecificOutput", "additionalContext"}


def test_claude_code_itself_is_told_once_and_not_in_the_shape_of_copilot_too(repo):
    memsync("memory", "add", FACT, cwd=repo.root)
    own = {"session_id": "c", "cwd": str(repo.root), "prompt": ASK, "transcript_path": "/nowhere/c.jsonl"}
    out = memsync("hook", "prompt", "--client", "claude", cwd=repo.root, stdin=json.dumps(own)).out
    assert (out.count(FACT), set(json.loads(out))) == (1, {"hookSpecificOutput"})


def add_others(repo, count: int = 12) -> None:
    for number in range(count):
        memsync("memory", "add", f"Sensor {number} is in hall {number * 31}", "--importance", "0.9", cwd=repo.root)


def test_a_session_that_is_resumed_is_given_nothing_that_nobody_asked_for(at, repo):
    add_others(repo)
    memsync("memory", "config", "memory.injection_limit", "9", cwd=repo.root)
    assert at("session-start", source="startup")
    assert at("session-start", source="resume") is None
    assert FACT in at("prompt", prompt=ASK)["additionalContext"]
    assert at("session-start", source="resume") is None


def test_gemini_cli_which_loses_what_came_at_the_start_gets_the_same_again_when_it_resumes(at, repo):
    add_others(repo)
    memsync("memory", "config", "memory.injection_limit", "2", cwd=repo.root)
    first = at("session-start", "gemini", source="startup")["additionalContext"]
    assert FACT in at("prompt", "gemini", prompt=ASK)["additionalContext"]
    again = at("session-start", "gemini", source="resume")["additionalContext"]
    assert sorted(again.splitlines()) == sorted(first.splitlines())  # what is of equal worth stands in any order
    assert at("prompt", "gemini", prompt=f"{ASK} again") is None


def test_a_session_that_began_without_us_is_given_the_most_important_when_it_is_resumed(at):
    assert FACT in at("session-start", source="resume")["additionalContext"]


def test_codex_that_compacted_and_was_left_gets_what_the_last_prompt_needed_when_it_is_resumed(at, repo):
    add_others(repo)
    memsync("memory", "config", "memory.injection_limit", "0", cwd=repo.root)
    assert FACT in at("prompt", "codex", prompt=ASK, turn_id="t1")["additionalContext"]
    at("post-compact", "codex", trigger="manual")
    assert FACT in at("session-start", "codex", source="resume")["additionalContext"]
    assert at("session-start", "codex", source="resume") is None


def test_a_fork_has_what_its_parent_was_given_by_the_transcript(at, tmp_path):
    given = at("session-start", source="startup")["additionalContext"]
    transcript = tmp_path / "parent.jsonl"
    transcript.write_text(json.dumps({"type": "attachment", "content": [given]}) + "\n")
    assert at("session-start", source="fork", session="s2", transcript_path=str(transcript)) is None
    assert at("prompt", session="s2", prompt=ASK) is None


def test_a_fork_in_the_process_of_its_parent_has_what_that_was_given_before_there_is_a_transcript(at):
    at("session-start", source="startup")  # both hooks have this process for the client's
    assert at("session-start", source="fork", session="s2", transcript_path="/no/such") is None
    assert at("prompt", session="s2", prompt=ASK) is None


def test_what_the_prompt_of_a_compaction_needs_comes_first_and_what_came_with_it_not_again(at, repo):
    add_others(repo)
    memsync("memory", "add", "The staging cache listens on port 6380", "--importance", "0.4", cwd=repo.root)
    memsync("memory", "config", "memory.injection_limit", "2", cwd=repo.root)
    assert FACT in at("prompt", prompt=ASK, prompt_id="p1")["additionalContext"]
    # the same turn: what was given with it is still there
    again = at("session-start", source="compact", prompt_id="p1")["additionalContext"]
    assert FACT not in again
    # a later turn that needs it: it was known, and is gone with the context
    assert at("prompt", prompt=f"{ASK} tell me", prompt_id="p2") is None
    again = at("session-start", source="compact", prompt_id="p2")["additionalContext"]
    assert FACT in again
    assert at("prompt", prompt=f"{ASK} please", prompt_id="p3") is None


@pytest.mark.parametrize(
    "prompt",
    [
        f"<task-notification><task-id>1</task-id><result>{ASK}</result></task-notification>",
        f"<local-command-stdout>{ASK}</local-command-stdout>",
        f"<task-notification>\n<result>{ASK}",
    ],
)
@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_what_a_client_puts_into_a_prompt_by_itself_is_no_question(at, client, prompt):
    assert at("prompt", client, prompt=prompt) is None
    assert FACT in at("prompt", client, prompt=f"<system-reminder>x</system-reminder>\n{ASK}")["additionalContext"]


@pytest.mark.parametrize(
    "payload",
    [
        {"tool_name": "Bash"},
        {"tool_name": "Edit", "tool_input": None},
        {"tool_name": 7, "tool_input": [1]},
        {"tool_name": "Edit", "tool_input": {"file_path": "../../etc/passwd"}},
        {"tool_name": "Edit", "tool_input": {"file_path": "gone/\0\udcff.py", "old_string": 3}},
        {"tool_name": "Bash", "tool_input": {"command": "git status"}},
    ],
)
def test_a_tool_that_nothing_is_anchored_to_or_an_odd_one_is_answered_with_nothing(at, payload):
    assert at("pre-tool", **payload) is None
    assert at("post-tool", tool_response={"stdout": "ok"}, **payload) is None


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_subagent_is_given_what_the_prompt_of_its_session_was_about_in_a_ledger_of_its_own(at, client, repo):
    add_others(repo)
    memsync("memory", "config", "memory.injection_limit", "2", cwd=repo.root)
    assert at("prompt", client, prompt=ASK)
    for agent in ("a1", "a2"):
        found = at("subagent-start", client, agent_id=agent, agent_type="Explore")
        assert found["hookEventName"] == "SubagentStart"
        assert FACT in found["additionalContext"]
        assert "Sensor" not in found["additionalContext"]
    assert at("subagent-start", client, agent_id="a1", agent_type="Explore") is None
    assert at("prompt", client, prompt=f"{ASK} please") is None


def test_a_subagent_of_a_prompt_that_was_about_nothing_is_given_the_most_important_few(at, repo):
    add_others(repo)
    at("prompt", prompt="hello")
    found = at("subagent-start", agent_id="a1", agent_type="Explore")["additionalContext"]
    assert found.count("- [mm-") == 5
    assert FACT in at("prompt", prompt=ASK)["additionalContext"]  # the session itself was not given it


def test_the_same_text_from_three_stores_is_given_once(at, repo):
    for option in ("--global", "--private"):
        memsync("memory", "add", FACT, option, cwd=repo.root)
    assert at("session-start", source="startup")["additionalContext"].count(FACT) == 1
    assert at("prompt", prompt=ASK) is None
    assert at("prompt", session="s2", prompt=ASK)["additionalContext"].count(FACT) == 1
    assert at("prompt", session="s2", prompt=f"{ASK} again") is None


@pytest.mark.parametrize(
    ("client", "lost"),
    [
        ("claude", ("session-start", {"source": "compact"})),
        ("claude", ("session-start", {"source": "clear"})),
        ("codex", ("post-compact", {"trigger": "auto"})),
        ("gemini", ("session-start", {"source": "clear"})),
        ("gemini", ("pre-compact", {"trigger": "manual"})),
    ],
)
def test_what_a_client_lost_comes_again(at, client, lost):
    assert at("prompt", client, prompt=ASK)
    again = at(lost[0], client, **lost[1]) or at("prompt", client, prompt=f"{ASK} again")
    assert FACT in again["additionalContext"]


@pytest.mark.parametrize(
    ("client", "before", "at_it"),
    [
        ("claude", 0, ("session-start", {"source": "compact"})),
        ("qwen", 0, ("session-start", {"source": "compact"})),
        ("codex", 0, ("post-compact", {"trigger": "auto"})),
        ("gemini", 1, ("prompt", {"prompt": ASK})),
    ],
)
def test_steps_before_a_compaction_run_once_where_a_client_says_that_it_is_so(at, repo, client, before, at_it):
    folder = repo.root / ".gobby" / "workflows"
    folder.mkdir()
    (folder / "mine.yaml").write_text("on_pre_compact: [{action: save_memory, content: The queue was compacted today}]")
    memsync("trust", "--yes", cwd=repo.root)

    def count() -> int:
        return repo.memories.read_text().count("The queue was compacted today")

    assert at("pre-compact", client, trigger="manual") is None
    assert count() == before
    at(at_it[0], client, **at_it[1])
    assert count() == 1
    at("session-start", client, session="s2", source="clear")
    assert count() == 1


@pytest.mark.parametrize(
    ("client", "kept"),
    [
        ("claude", ("pre-compact", {"trigger": "manual"})),
        ("claude", ("post-compact", {"trigger": "manual"})),
        ("codex", ("pre-compact", {"trigger": "auto"})),
        ("codex", ("session-start", {"source": "compact"})),  # after PostCompact and SessionStart(resume)
        ("gemini", ("pre-compact", {"trigger": "auto"})),
    ],
)
def test_what_a_client_may_still_have_does_not(at, client, kept):
    assert at("prompt", client, prompt=ASK)
    assert at(kept[0], client, **kept[1]) is None
    assert at("prompt", client, prompt=f"{ASK} again") is None


def test_gemini_passes_on_the_context_of_the_start_as_part_of_the_prompt(at):
    prompt = f"<hook_context>&lt;project-memory&gt; {FACT} &lt;/project-memory&gt;</hook_context>\n\nok thanks"
    assert at("prompt", "gemini", prompt=prompt) is None


def test_a_session_without_an_id_is_known_by_the_time_of_its_first_message(at, tmp_path):
    transcript = tmp_path / "t.jsonl"
    transcript.write_text('{"type":"mode"}\nnot json\n{"timestamp":"2026-01-15T12:00:00Z","type":"user"}\n')
    assert at("prompt", session="", transcript_path=str(transcript), prompt=ASK)
    assert at("prompt", session="", transcript_path=str(transcript), prompt=f"{ASK} again") is None


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (["prompt"], ""),
        (["prompt"], "garbage"),
        (["prompt"], "[1, 2]"),
        (["prompt"], b"\xff\xfe\x00"),
        (["prompt", "--client", "emacs"], "{}"),
        (["prompt", "--no-such-flag", "x"], "{}"),
        (["no-such-event"], "{}"),
        ([], "{}"),
        (["--client"], "{}"),
        (["prompt"], '{"prompt": 7, "cwd": [], "session_id": {}}'),
        (["prompt"], json.dumps({"prompt": "x" * 3_000_000})),
    ],
)
def test_whatever_comes_the_turn_goes_on(repo, words, stdin):
    memsync("memory", "add", FACT, cwd=repo.root)
    ran = memsync("hook", *words, cwd=repo.root, stdin=stdin)
    assert (ran.code, ran.out) == (0, "")


@pytest.mark.parametrize(
    "breaking",
    [
        "rm .gobby/memories.jsonl && mkdir .gobby/memories.jsonl",
        "printf '\\377\\376a\\000' > .gobby/memories.jsonl",
        "echo 'memory: [1' > .gobby/config.yaml",
        "rm -rf .gobby/local && ln -s /nowhere .gobby/local",
        "rm -rf .git/HEAD",
        "echo broken > .gobby/local/state.db",
        "mkdir -p .gobby/workflows && echo 'a: [' > .gobby/workflows/session-lifecycle.yaml",
        "rm -rf .gobby",
    ],
)
def test_a_broken_store_costs_no_turn(repo, breaking):
    memsync("memory", "add", FACT, cwd=repo.root)
    subprocess.run(["sh", "-c", breaking], cwd=repo.root, check=True)
    ran = memsync("hook", "prompt", cwd=repo.root, stdin=json.dumps({"session_id": "s", "prompt": ASK}))
    assert ran.code == 0
    assert ran.out == "" or json.loads(ran.out)["hookSpecificOutput"]


def test_a_directory_that_knows_no_memsync_stays_as_it_is(repo, home):
    ran = memsync("hook", "session-start", cwd=repo.root, stdin='{"session_id":"s","source":"startup"}')
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert repo.status() == ""
    assert sorted(path.name for path in home.iterdir()) == [".gitconfig"]


def test_a_full_or_closed_output_costs_no_turn(repo):
    memsync("memory", "add", FACT, cwd=repo.root)
    payload = json.dumps({"session_id": "s", "prompt": ASK}).encode()
    command = [sys.executable, "-m", "memsync", "hook", "prompt"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, cwd=repo.root, input=payload, stdout=full, stderr=full, check=False)
    assert done.returncode == 0
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, cwd=repo.root, input=payload, stdout=write, check=False)
    os.close(write)
    assert done.returncode == 0
    again = memsync("hook", "prompt", cwd=repo.root, stdin=json.dumps({"session_id": "s", "prompt": f"{ASK} again"}))
    assert FACT in again.out  # what nobody saw was not noted


def test_a_standard_input_that_never_ends_is_left_in_time(repo, monkeypatch):
    monkeypatch.setenv("MEMSYNC_HOOK_SECONDS", "0.5")
    with subprocess.Popen(
        [sys.executable, "-m", "memsync", "hook", "prompt"],
        cwd=repo.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.wait(timeout=60) == 0
        assert running.stdout.read() == b""
        assert b"gave nothing in 0.5 seconds; MEMSYNC_HOOK_SECONDS allows more" in running.stderr.read()


def test_a_client_that_reads_no_complaints_is_not_waited_for(repo, monkeypatch):
    monkeypatch.setenv("MEMSYNC_HOOK_SECONDS", "0.5")
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(write, b"x" * 4096):
            pass
    os.set_blocking(write, True)
    with subprocess.Popen(
        [sys.executable, "-m", "memsync", "hook", "prompt"], cwd=repo.root, stdin=subprocess.PIPE, stderr=write
    ) as running:
        assert running.wait(timeout=60) == 0
    os.close(read)
    os.close(write)


def test_an_index_that_takes_too_long_is_made_by_a_process_of_its_own(repo, monkeypatch):
    words = ("alpha", "beta", "gamma", "delta")
    texts = (f"{words[n % 4]} service {n} talks to {words[n // 7 % 4]} {n * 7}" for n in range(20_000))
    repo.write_memories("".join(f'{{"content":"{text}","id":"aa-{n:05d}"}}\n' for n, text in enumerate(texts)))
    monkeypatch.setenv("MEMSYNC_HOOK_SECONDS", "0.4")
    payload = json.dumps({"session_id": "s", "prompt": "which service talks to gamma 777?"})
    ran = memsync("hook", "prompt", cwd=repo.root, stdin=payload)
    assert ran.code == 0
    assert ran.json["systemMessage"].startswith("memsync: memory is unavailable: the hook gave nothing in 0.4 seconds")
    assert ran.json["hookSpecificOutput"]["additionalContext"].startswith("memory is unavailable: ")
    until(lambda: memsync("index", "status", "--json", cwd=repo.root).json["fresh"])


def test_switched_off_nothing_is_given(repo, at):
    memsync("memory", "config", "memory.enabled", "off", cwd=repo.root)
    assert at("prompt", prompt=ASK) is None
    memsync("memory", "config", "memory.enabled", "on", cwd=repo.root)
    payload = json.dumps({"session_id": "s", "prompt": ASK})
    assert memsync("hook", "prompt", cwd=repo.root, stdin=payload, env={"MEMSYNC_HOOKS": "off"}).out == ""


def test_the_end_of_a_session_is_worked_on_when_the_client_is_gone(at, repo):
    canonical = repo.memories.read_bytes()
    repo.memories.write_bytes(canonical + b'{"id": "aa-hand", "content": "by hand"}\n')
    assert at("session-end", reason="exit") is None  # returned, though nothing may be written yet
    log = repo.root / ".gobby" / "local" / "hooks.log"
    until(lambda: log.exists() and b"session-end" in log.read_bytes())
    assert repo.memories.read_text().startswith('{"id": "aa-hand"')


def test_the_end_of_a_session_leaves_candidates_that_status_counts(at, repo, recorded_session):
    at("session-end", reason="exit", transcript_path=str(recorded_session))
    log = repo.root / ".gobby" / "local" / "hooks.log"
    until(lambda: log.exists() and b"session-end" in log.read_bytes())
    assert json.loads(log.read_bytes().splitlines()[-1])["errors"] == []
    waiting = memsync("status", "--json", cwd=repo.root).json["candidates"]
    assert waiting == {"memories": 1, "skills": 0}
    assert "1 memory (`memsync candidates`) to approve or reject" in memsync("status", cwd=repo.root).out
    assert not (repo.root / ".claude").exists()


def test_the_log_says_what_was_given_and_why_nothing_and_never_the_prompt(at, repo):
    at("prompt", prompt=ASK)
    at("prompt", prompt="ok thanks")
    log = (repo.root / ".gobby" / "local" / "hooks.log").read_text()
    first, second = map(json.loads, log.splitlines())
    assert len(first["given"]) == 1
    assert second["reason"] == "small talk"
    assert "staging" not in log


def test_a_subagent_is_given_what_fits_what_it_is_asked_and_not_its_parents_topic(at, repo):
    other = "Invoices are rounded half to even"
    memsync("memory", "add", other, cwd=repo.root)
    at("prompt", prompt=ASK)
    for kind, asked in (("explore", "find out how invoices are rounded"), ("general", ASK)):
        task = {"description": "x", "prompt": asked, "subagent_type": kind}
        assert at("pre-tool", tool_name="Agent", tool_input=task) is None
    found = {
        kind: at("subagent-start", agent_id=f"a-{kind}", agent_type=kind)["additionalContext"]
        for kind in ("general", "explore")
    }
    assert (FACT in found["general"], other in found["general"]) == (True, False)
    assert (FACT in found["explore"], other in found["explore"]) == (False, True)
    assert (
        FACT in at("subagent-start", agent_id="a-3", agent_type="general")["additionalContext"]
    )  # nobody knows its task


def test_of_a_slash_command_what_follows_its_word_is_looked_up_unless_the_client_has_it_itself(at):
    for number, word in enumerate(("/ask", "/team:port-check", "/deploy")):
        assert FACT in at("prompt", session=f"s{number}", prompt=f"{word} {ASK}")["additionalContext"]
    for word in ("/compact", "/Review", "/ask /clear"):
        assert at("prompt", session="other", prompt=f"{word} {ASK}") is None
    assert at("prompt", session="other", prompt="/deploy yes please") is None


@pytest.mark.parametrize("prompt", ["ok thanks", "", "/clear"])
def test_small_talk_is_noted_as_where_a_lifecycle_has_to_look_at_it(at, repo, prompt):
    at("prompt", prompt=prompt)
    workflow = repo.root / ".gobby" / "workflows" / "own.yaml"
    workflow.parent.mkdir()
    workflow.write_text("name: own\n")  # nobody has approved it, so it changes nothing but the way
    at("prompt", prompt=prompt)
    first, second = map(json.loads, (repo.root / ".gobby" / "local" / "hooks.log").read_text().splitlines())
    assert first.pop("at") <= second.pop("at")
    assert first == second


def test_the_log_stays_small(at, repo):
    local = repo.root / ".gobby" / "local"
    at("prompt", prompt=ASK)
    (local / "hooks.log").write_bytes(b"{}\n" * 100_000)
    at("prompt", prompt=ASK)
    assert (local / "hooks.log").stat().st_size < 1_000
    assert (local / "hooks.1.log").stat().st_size == 300_000


def test_a_hook_writes_nothing_that_git_sees(at, repo):
    before = repo.status()
    at("session-start", source="startup")
    at("prompt", prompt=ASK)
    assert repo.status() == before


TWO_STEPS = """
on_session_start:
  - type: inject_memories
on_prompt:
  - type: inject_memories
    query: "{user_prompt}"
    limit: 5
"""


def put_steps(repo, where, steps=TWO_STEPS):
    """Put a workflow that gives memories beside the packaged one, where it is in force."""
    folder = repo.root / ".gobby" if where == "repository" else Path.home() / ".gobby"
    (folder / "workflows").mkdir(parents=True, exist_ok=True)
    (folder / "workflows" / "mine.yaml").write_text(steps)
    if where == "repository":
        assert memsync("trust", "--yes", cwd=repo.root).code == 0


@pytest.mark.parametrize("where", ["home", "repository"])
@pytest.mark.parametrize(
    ("event", "payload"),
    [("prompt", {"prompt": ASK}), ("session-start", {"source": "startup"})],
    ids=["prompt", "start"],
)
def test_two_steps_that_give_for_one_event_give_each_memory_once(at, repo, where, event, payload):
    put_steps(repo, where)
    assert at(event, **payload)["additionalContext"].count(FACT) == 1
    assert at("prompt", prompt=f"{ASK} again") is None


def test_two_giving_steps_of_one_file_give_each_memory_once(at, repo):
    step = '  - type: memory_recall_relevant\n    query: "{user_prompt}"\n    on_exhausted: restart\n'
    put_steps(repo, "home", f"on_prompt:\n{step}{step}")
    assert at("prompt", prompt=ASK)["additionalContext"].count(FACT) == 1


def test_the_copy_of_a_memory_in_the_private_store_is_not_given_by_the_second_step(at, repo):
    memsync("memory", "add", FACT, "--private", cwd=repo.root)
    put_steps(repo, "home")
    assert at("prompt", prompt=ASK)["additionalContext"].count(FACT) == 1


def test_what_is_anchored_to_the_command_and_speaks_of_its_failure_is_given_once(at, repo):
    said = "Run `pytest` only after `make up`, else: connection refused on port 5433"
    memsync("memory", "add", said, "--anchor", "$ pytest", cwd=repo.root)
    failed = "Error: Exit code 2\nE   OperationalError: connection refused on port 5433"
    ran = at("post-tool", "gemini", tool_name="run_shell_command", tool_input={"command": "pytest"}, error=failed)
    assert ran["additionalContext"].count("only after `make up`") == 1


@pytest.mark.parametrize("how", [["recall", ASK], ["search", ASK], ["recall", ASK, "--json"]])
def test_what_an_agent_recalled_in_its_shell_is_not_given_again(at, repo, how):
    add_others(repo)
    memsync("memory", "config", "memory.injection_limit", "2", cwd=repo.root)
    at("session-start", source="startup")
    assert FACT in memsync(*how, cwd=repo.root, env={"CLAUDE_CODE_SESSION_ID": "s1"}).out
    assert at("prompt", prompt=ASK) is None
    assert FACT in at("prompt", session="s2", prompt=ASK)["additionalContext"]


def test_what_an_agent_has_only_the_id_of_is_given(at, repo):
    memsync("recall", ASK, "--ids", cwd=repo.root, env={"CLAUDE_CODE_SESSION_ID": "s1"})
    assert FACT in at("prompt", prompt=ASK)["additionalContext"]
