"""What the models of the real clients are sent: each memory once, when it fits, and again when it was lost."""

from __future__ import annotations

import pytest
from models import SAYS
from processes.rooms import READ_ONLY, room

pytestmark = pytest.mark.slow  # real clients, in processes of their own

FACT = "CI needs Node 20: the build breaks on 22"
QUESTION = "Which Node version does CI need for the build?"


def remember(client, text: str = FACT, *words: str) -> str:
    done = client.memsync("memory", "remember", text, "--importance", "0.9", "--json", *words)
    assert done.code == 0, done.err
    return done.json["memory"]["id"]


def only_on_prompts(client) -> None:
    """Give nothing at the start of a session, so that only prompts count."""
    done = client.memsync("memory", "config", "memory.injection_limit", "0")
    assert done.code == 0, done.err


def test_a_remembered_fact_is_there_at_the_first_prompt_and_not_again_at_the_second(client):
    remember(client)
    assert client.ask("Hello there, please introduce yourself.").count(FACT) == 1
    assert client.ask(QUESTION, again=True).count(FACT) <= 1
    log = client.memsync("status").out.splitlines()[-1]
    assert "gave nothing: all given before" in log


def test_a_prompt_brings_what_it_is_about_and_nothing_else(client):
    remember(client)
    remember(client, "The staging database is reset every night at two")
    only_on_prompts(client)
    sent = client.ask(QUESTION)
    assert sent.count(FACT) == 1
    assert "staging database" not in sent


def test_small_talk_brings_nothing(client):
    remember(client, "ok thanks means that the user is content")
    only_on_prompts(client)
    assert "the user is content" not in client.ask("ok thanks")
    assert "the user is content" in client.ask("What does it mean when the user says ok thanks?", again=True)


def test_an_edited_memory_comes_again(client):
    id_ = remember(client)
    client.ask(QUESTION)
    assert client.memsync("memory", "update", id_, "--content", "CI needs Node 24 now").code == 0
    assert client.ask(QUESTION, again=True).count("CI needs Node 24 now") == 1


def test_a_new_session_gets_everything_anew(client):
    remember(client)
    for _ in range(2):
        assert client.ask(QUESTION).count(FACT) == 1


def test_a_session_that_is_resumed_is_given_nothing_that_nobody_asked_for(client):
    for number in range(6):
        remember(client, f"Sensor {number} is in hall {number * 31}")
    assert client.memsync("memory", "config", "memory.injection_limit", "2").code == 0
    before = client.ask("Hello there, please introduce yourself.").count("is in hall")
    assert before == 2
    assert client.ask("Tell me something about yourself.", again=True).count("is in hall") == before


def test_claude_code_is_given_again_what_a_compaction_took(claude):
    remember(claude)
    assert claude.ask(QUESTION).count(FACT) == 1
    claude.compact()
    assert claude.ask("Now tell me about the tests.", again=True).count(FACT) == 1


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


def test_the_model_can_recall_by_itself(client):
    remember(client)
    only_on_prompts(client)
    sent = use(client, "recall", {"query": "node version of CI"}, "Please look it up.")
    assert sent.count(FACT) == 1
    assert client.memsync("memory", "show", "mm-", "--json").json["access_count"] == 1


def test_the_model_may_recall_unasked_once_the_user_has_allowed_the_tools(client):
    remember(client)
    only_on_prompts(client)
    assert client.memsync("init", "--agent", client.name, "--allow-tools", "--no-git-hooks").code == 0
    assert use(client, "recall", {"query": "node version of CI"}, "Please look it up.", allow=False).count(FACT) == 1


def test_the_model_can_correct_a_memory_by_itself(client):
    id_ = remember(client)
    sent = use(client, "update_memory", {"memory_id": id_, "content": "CI needs Node 24"}, "That is wrong now.")
    assert f"updated (content): {id_}" in sent
    assert f"forgotten {id_}" in use(client, "forget", {"memory_id": id_}, "Forget it.")


def test_the_model_can_remember_by_itself_and_the_next_session_knows(client):
    sent = use(client, "remember", {"content": FACT, "importance": 0.9}, "Please keep that in mind.")
    assert "created mm-" in sent
    assert client.ask(QUESTION).count(FACT) == 1


# whatever is wrong with us, the turn of the user goes on


def broken_line(client) -> None:
    (client.root / ".gobby" / "memories.jsonl").write_bytes(b"\x00\xff not json\n" * 100)


def no_file(client) -> None:
    path = client.root / ".gobby" / "memories.jsonl"
    path.unlink()
    path.mkdir()


def broken_settings(client) -> None:
    (client.root / ".gobby" / "config.yaml").write_text("memory: [\n")


def broken_state(client) -> None:
    client.ask("hello")
    for path in (client.root / ".gobby" / "local").glob("state.db*"):
        path.write_bytes(b"no database" * 1000)


def full_disk(client) -> None:
    shim = client.home / "bin" / "memsync"
    shim.write_text(shim.read_text().replace("exec", "ulimit -f 0\nexec"))


def unknown_event(client) -> None:
    path = client.hooks_file()
    path.write_text(path.read_text().replace("memsync hook prompt ", "memsync hook what-is-that --loudly "))


def unknown_client(client) -> None:
    path = client.hooks_file()
    path.write_text(path.read_text().replace(f"--client {client.name}", "--client vim"))


def garbage_on_stdin(client) -> None:
    shim = client.home / "bin" / "memsync"
    shim.write_text(shim.read_text().replace("exec", 'if [ "$1" = hook ]; then exec < /bin/sh; fi\nexec'))


TROUBLE = [
    broken_line,
    no_file,
    broken_settings,
    broken_state,
    full_disk,
    unknown_event,
    unknown_client,
    garbage_on_stdin,
]


@pytest.mark.parametrize("trouble", TROUBLE, ids=lambda trouble: trouble.__name__)
def test_the_turn_goes_on_whatever_is_wrong(client, trouble):
    remember(client)
    trouble(client)
    assert QUESTION in client.ask(QUESTION)


def gone(shim) -> None:
    shim.unlink()


def dead(shim) -> None:
    """Leave the program where its interpreter is gone, as an environment does that was removed."""
    shim.write_text("#!/no/such/python\n")


@pytest.mark.parametrize("way", [gone, dead], ids=lambda way: way.__name__)
def test_no_client_says_a_word_of_a_hook_whose_program_is_gone(client, way):
    remember(client)
    way(client.home / "bin" / "memsync")
    done = client.turn(QUESTION, again=False, tools=False)
    assert (done.code, SAYS in done.out) == (0, True)
    said = [line for line in (done.out + done.err).splitlines() if "hook" in line.lower()]
    assert [line for line in said if "memsync" in line or "fail" in line.lower()] == []
    assert QUESTION in str([client.new_in(turn) for turn in client.model.turns])


def test_where_the_project_is_read_only_each_memory_is_given_once_and_the_home_store_remembers_it(client):
    remember(client)
    only_on_prompts(client)
    before = {path: path.read_bytes() for path in (client.root / ".gobby").rglob("*") if path.is_file()}
    with room(client.root, READ_ONLY) as place:
        client.door = place.door
        assert client.ask(QUESTION).count(FACT) == 1
        assert client.ask(f"Remind me please: {QUESTION}", again=True).count(FACT) == 1
        client.door = ()
    assert {path: path.read_bytes() for path in (client.root / ".gobby").rglob("*") if path.is_file()} == before
    assert list((client.home / ".gobby" / "projects").glob("*/local/state.db"))


def test_a_memory_of_ten_thousand_letters_is_given_whole_or_not_at_all(client):
    remember(client, "The story of CI and Node: " + "it breaks and breaks; " * 450)
    remember(client)
    sent = client.ask(QUESTION)
    assert sent.count(FACT) == 1
    assert "it breaks and breaks" not in sent


def test_codex_is_given_again_what_a_compaction_took_when_the_user_leaves_before_the_next_turn(codex):
    remember(codex)
    codex.ask(QUESTION)
    codex.compact()
    assert codex.ask("Now tell me about the tests.", again=True).count(FACT) == 1
