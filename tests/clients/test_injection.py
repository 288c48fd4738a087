"""What the models of the real clients are sent at the start of a session, by tools, and whatever is wrong with us.

What comes at a prompt, through resumes and after a compaction is in test_long_session.py.
"""

from __future__ import annotations

import json

import pytest
from models import SAYS
from processes.rooms import READ_ONLY, room

pytestmark = pytest.mark.slow  # real clients, in processes of their own

FACT = "CI needs Node 20: the build breaks on 22"
OTHER = "The staging database listens on port 5433"
QUESTION = "Which Node version does CI need for the build?"
HELLO = "Hello there, please introduce yourself."


def remember(client, text: str = FACT, *words: str) -> str:
    done = client.memsync("memory", "remember", text, "--importance", "0.9", "--json", *words)
    assert done.code == 0, done.err
    return done.json["memory"]["id"]


def test_a_session_starts_with_the_most_important_and_goes_on_without_more(anyone):
    remember(anyone, FACT, "--importance", "1")
    for number in range(3):
        remember(anyone, f"Sensor {number} is in hall {number * 31}", "--importance", "0.5")  # else they take turns
    assert anyone.memsync("memory", "config", "memory.injection_limit", "2").code == 0
    for prompt, again in [(HELLO, False), (QUESTION, True), (HELLO, False)]:
        sent = anyone.ask(prompt, again=again)
        assert (sent.count(FACT), sent.count("is in hall")) == (1, 1)


@pytest.mark.parametrize("first", ["claude", "copilot"])
def test_copilot_is_given_a_memory_once_where_the_hooks_of_claude_code_are_installed_too(copilot, first):
    assert copilot.memsync("init", "--agent", "claude", "--no-git-hooks").code == 0
    remember(copilot)
    if first == "claude":
        assert copilot.memsync("uninstall", "--agent", "copilot").code == 0
    assert copilot.ask(HELLO).count(FACT) == 1
    assert copilot.ask(QUESTION).count(FACT) == 1


def test_codex_is_given_again_what_a_compaction_took(codex):
    remember(codex)
    assert codex.ask(QUESTION).count(FACT) == 1
    with codex.server() as server:
        thread = codex.session()
        server.call("thread/resume", {"threadId": thread})
        server.call("thread/compact/start", {"threadId": thread})
        server.wait_for("turn/completed")
        text = [{"type": "text", "text": "Now tell me about the tests."}]
        server.call("turn/start", {"threadId": thread, "input": text})
        server.wait_for("turn/completed")
    sent = str(codex.new_in(codex.model.turns[-1]))
    assert "Now tell me about the tests." in sent
    assert sent.count(FACT) == 1


def use(client, tool: str, arguments: dict, prompt: str, *, allow: bool = True) -> str:
    """Let the model use one of our tools."""
    client.model.tool = (client.tool.format(tool), arguments)
    sent = client.ask(prompt, tools=allow)
    assert client.model.tool is None, "it was never offered"
    return sent


def test_the_model_may_recall_unasked_once_the_user_has_allowed_the_tools(client):
    remember(client)
    assert client.memsync("memory", "config", "memory.injection_limit", "0").code == 0
    assert client.memsync("init", "--agent", client.name, "--allow-tools", "--no-git-hooks").code == 0
    assert use(client, "recall", {"query": "node version of CI"}, "Please look it up.", allow=False).count(FACT) == 1
    assert client.memsync("memory", "show", "mm-", "--json").json["access_count"] == 1


def test_where_no_hook_runs_the_first_answer_of_the_server_has_what_the_session_would_begin_with(client):
    remember(client)
    remember(client, OTHER)
    settings = json.loads(client.hooks_file().read_text())
    del settings["hooks"]
    client.hooks_file().write_text(json.dumps(settings))
    sent = use(client, "recall", {"query": "node version of CI"}, "Please look it up.")
    assert (sent.count(FACT), sent.count(OTHER), sent.count("<project-memory>")) == (1, 1, 1)


def test_where_hooks_run_no_answer_of_the_server_has_more_than_was_asked(client):
    remember(client)
    remember(client, OTHER)
    sent = use(client, "recall", {"query": "node version of CI"}, "Please look it up.")
    assert sent.count(OTHER) == 1


def test_the_model_can_correct_a_memory_by_itself(client):
    id_ = remember(client)
    sent = use(client, "update_memory", {"memory_id": id_, "content": "CI needs Node 24"}, "That is wrong now.")
    assert f"updated (content): {id_}" in sent
    assert f"forgotten {id_}" in use(client, "forget", {"memory_id": id_}, "Forget it.")


# whatever is wrong with us, the turn of the user goes on: each trouble by itself is in tests/cli/test_hook.py


def test_the_turn_goes_on_where_a_hook_complains_and_where_it_dies(anyone):
    remember(anyone)
    (anyone.root / ".gobby" / "memories.jsonl").write_bytes(b"\x00\xff not json\n" * 100)
    anyone.ask(QUESTION)
    shim = anyone.home / "bin" / "memsync"
    shim.write_text(shim.read_text().replace("exec", "ulimit -f 0\nexec"))  # a full disk
    anyone.ask(QUESTION)


def test_no_client_says_a_word_of_a_hook_whose_program_is_dead_or_gone(anyone):
    remember(anyone)
    shim = anyone.home / "bin" / "memsync"
    shim.write_text("#!/no/such/python\n")  # as an environment leaves it that was removed
    _assert_silent(anyone)
    shim.unlink()
    _assert_silent(anyone)


def _assert_silent(client) -> None:
    before = len(client.model.turns)
    done = client.turn(QUESTION, again=False, tools=False)
    assert (done.code, SAYS in done.out) == (0, True)
    said = [line for line in (done.out + done.err).splitlines() if "hook" in line.lower()]
    assert [line for line in said if "memsync" in line or "fail" in line.lower()] == []
    assert QUESTION in str([client.new_in(turn) for turn in client.model.turns[before:]])


def test_where_the_project_is_read_only_each_memory_is_given_once_and_the_home_store_remembers_it(anyone):
    remember(anyone)
    assert anyone.memsync("memory", "config", "memory.injection_limit", "0").code == 0
    before = {path: path.read_bytes() for path in (anyone.root / ".gobby").rglob("*") if path.is_file()}
    with room(anyone.root, READ_ONLY) as place:
        anyone.door = place.door
        assert anyone.ask(QUESTION).count(FACT) == 1
        assert anyone.ask(f"Remind me please: {QUESTION}", again=True).count(FACT) == 1
        anyone.door = ()
    assert {path: path.read_bytes() for path in (anyone.root / ".gobby").rglob("*") if path.is_file()} == before
    assert list((anyone.home / ".gobby" / "projects").glob("*/local/state.db"))
