"""Copilot CLI, opencode and Qwen Code: what their models are sent, where the programs are installed."""

from __future__ import annotations

import pytest
from models import SAYS

pytestmark = pytest.mark.slow  # real clients, in processes of their own

FACT = "CI needs Node 20: the build breaks on 22"
QUESTION = "Which Node version does CI need for the build?"
OTHER = "The staging database is reset every night at two"


def remember(client, text: str = FACT) -> None:
    done = client.memsync("memory", "remember", text, "--importance", "0.9")
    assert done.code == 0, done.err


def only_on_prompts(client) -> None:
    """Give nothing at the start of a session, so that only prompts count."""
    assert client.memsync("memory", "config", "memory.injection_limit", "0").code == 0


def test_a_fact_is_there_from_the_first_prompt_and_once_when_the_session_goes_on(chatting):
    remember(chatting)
    assert chatting.ask("Hello there, please introduce yourself.").count(FACT) == 1
    assert chatting.ask(QUESTION, again=True).count(FACT) == 1


def test_a_prompt_brings_what_it_is_about_and_nothing_else(chatting):
    remember(chatting)
    remember(chatting, OTHER)
    only_on_prompts(chatting)
    sent = chatting.ask(QUESTION)
    assert (sent.count(FACT), sent.count(OTHER)) == (1, 0)
    again = chatting.ask("And when is the staging database reset?", again=True)
    assert (again.count(FACT), again.count(OTHER)) == (1, 1)


def test_the_turn_goes_on_without_a_word_where_memsync_is_gone(chatting):
    remember(chatting)
    (chatting.home / "bin" / "memsync").unlink()
    done = chatting.turn(QUESTION, again=False, tools=False)
    assert (done.code, SAYS in done.out) == (0, True)
    said = [line for line in (done.out + done.err).splitlines() if "hook" in line.lower()]
    assert [line for line in said if "memsync" in line or "fail" in line.lower()] == []
    assert QUESTION in str([chatting.new_in(turn) for turn in chatting.model.turns])


def test_the_model_can_recall_by_itself(chatting):
    remember(chatting)
    only_on_prompts(chatting)
    chatting.model.tool = chatting.call("recall", {"query": "node version of CI"})
    assert chatting.ask("Please look it up.").count(FACT) == 1
    assert chatting.model.tool is None


@pytest.mark.parametrize("first", ["claude", "copilot"])
def test_copilot_is_given_a_memory_once_where_the_hooks_of_claude_code_are_installed_too(copilot, first):
    assert copilot.memsync("init", "--agent", "claude", "--no-git-hooks").code == 0
    remember(copilot)
    if first == "claude":
        assert copilot.memsync("uninstall", "--agent", "copilot").code == 0
    assert copilot.ask("Hello there, please introduce yourself.").count(FACT) == 1
    assert copilot.ask(QUESTION).count(FACT) == 1
