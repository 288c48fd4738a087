"""A session of twenty turns with each real client: what is asked for arrives once, and nothing else does.

Every turn resumes the session in a new process. The evidence is what the model was sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from app_server import AppServer
from helpers import until

if TYPE_CHECKING:
    from programs import Client

pytestmark = pytest.mark.slow

FACTS: Mapping[str, tuple[str, str]] = {
    "node": ("CI needs Node 20: the build breaks on 22", "Which Node version does CI need for the build?"),
    "port": ("The staging database listens on port 5433", "Which port does the staging database listen on?"),
    "invoice": ("Invoices are rounded half to even, as the tax office demands", "How are invoices rounded?"),
    "weblate": ("Translations are exported from Weblate every Friday", "When are translations exported from Weblate?"),
    "grpc": ("The mobile app talks to the gateway by gRPC only", "How does the mobile app talk to the gateway?"),
    "flags": ("Feature flags live in Unleash and expire after ninety days", "Where do the feature flags live?"),
    "backup": ("Backups of the warehouse are kept in Glacier", "Where are backups of the warehouse kept?"),
    "ticket": ("Tickets are triaged on Monday by whoever is on call", "Who triages tickets on Monday?"),
}
NOISE = "Sensor {} is in hall {}"


class Story:
    """A session with one client: `there` are the facts that its context must have, each once."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.there: set[str] = set()
        self.turns = 0
        for name, (text, _) in FACTS.items():
            if name != "ticket":
                self.remember(text)
        for number in range(6):
            self.remember(NOISE.format(number, number * 31))
        assert client.memsync("memory", "config", "memory.injection_limit", "0").code == 0

    def remember(self, text: str) -> None:
        done = self.client.memsync("memory", "remember", text, "--importance", "0.9")
        assert done.code == 0, done.err

    def say(self, prompt: str, *more: str, tool: tuple[str, Mapping[str, object]] | None = None) -> None:
        """Take a turn after which the context has *more* facts than before; the model calls *tool* first."""
        self.client.model.tool = tool
        sent = self.client.ask(prompt, again=self.turns > 0, tools=tool is not None)
        assert self.client.model.tool is None, "no turn offered the tool"
        self.turns += 1
        self.there.update(more)
        self.check(sent)

    def ask(self, name: str, words: str = "") -> None:
        self.say(f"{words}{FACTS[name][1]}", name)

    def check(self, sent: str) -> None:
        """Compare what the model was *sent* with what must be there."""
        counts = {name: sent.count(text) for name, (text, _) in FACTS.items()}
        assert counts == {name: int(name in self.there) for name in FACTS}, f"turn {self.turns}"
        assert "is in hall" not in sent

    def use(self, name: str, arguments: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
        return self.client.tool.format(name), arguments


def live_through_resumes(story: Story) -> None:
    """Take fourteen turns: questions, the same again, small talk, other matters, and what the model does by itself."""
    story.ask("node")
    story.say("ok thanks")
    story.ask("port")
    story.ask("node", "Remind me please: ")
    story.say("Write a haiku about autumn leaves.")
    story.ask("invoice")
    story.say("Please look it up.", "weblate", tool=story.use("recall", {"query": "Weblate", "limit": 1}))
    story.ask("weblate")
    new = {"content": FACTS["ticket"][0], "importance": 0.9}
    story.say("Please keep that in mind.", "ticket", tool=story.use("remember", new))
    story.ask("ticket")
    story.say("continue")
    story.ask("grpc")
    story.ask("port", "Once more: ")
    story.ask("flags")


def compact_claude(story: Story) -> None:
    story.client.compact()


def compact_codex(story: Story) -> None:
    with AppServer(story.client) as server:
        (listed,) = server.call("hooks/list", {"cwds": [str(story.client.root)]})["data"]
    story.client.trust(listed["hooks"])
    with AppServer(story.client) as server:
        thread = story.client.session()
        server.call("thread/resume", {"threadId": thread})
        server.call("thread/compact/start", {"threadId": thread})
        server.wait_for("turn/completed")


def live_after_a_compaction(story: Story) -> None:
    """Take six turns after the context is gone but for what the last question was about."""
    story.there = {"flags"}
    story.say("Now tell me about the tests.")
    story.ask("node")
    story.ask("flags", "Again: ")
    story.ask("backup")
    story.say("lgtm")
    story.ask("ticket")


@pytest.mark.timeout(1200)
def test_claude_code_is_given_each_needed_memory_once_in_twenty_turns(claude):
    story = Story(claude)
    live_through_resumes(story)
    compact_claude(story)
    live_after_a_compaction(story)


@pytest.mark.timeout(1200)
def test_codex_is_given_each_needed_memory_once_in_twenty_turns(codex):
    story = Story(codex)
    live_through_resumes(story)
    compact_codex(story)
    live_after_a_compaction(story)


# Seen twice, on 0.61.0: what the model recalled by itself is there twice when its session has been resumed.
@pytest.mark.xfail(strict=False, reason="not known yet whether a hook or the resumed chat says it again")
@pytest.mark.timeout(1200)
def test_gemini_cli_is_given_each_needed_memory_once_in_twenty_turns(gemini):
    story = Story(gemini)
    live_through_resumes(story)
    for name in ("backup", "node", "ticket", "backup", "port", "invoice"):
        story.ask(name, "Tell me again: ")


@pytest.mark.timeout(300)
def test_a_fork_of_claude_code_has_what_its_parent_was_given(claude):
    story = Story(claude)
    story.ask("node")
    done = claude.run("-p", f"Well: {FACTS['node'][1]}", "--continue", "--fork-session")
    assert done.code == 0, done.err
    story.check(json.dumps(claude.new_in(claude.model.turns[-1]), ensure_ascii=False))
    story.ask("port")


@pytest.mark.timeout(300)
def test_a_subagent_of_claude_code_is_given_what_the_prompt_was_about_and_its_session_nothing_twice(claude):
    story = Story(claude)
    helper = {"description": "look", "prompt": "Find out what is needed", "subagent_type": "general-purpose"}
    claude.model.tool = ("Agent", helper)
    claude.run("-p", FACTS["node"][1], "--allowedTools", "Agent")
    (sent,) = (
        json.dumps(claude.new_in(turn), ensure_ascii=False)
        for turn in claude.model.turns
        if FACTS["node"][1] not in json.dumps(turn) and helper["prompt"] in json.dumps(turn)
    )
    story.there = {"node"}
    story.check(sent)
    story.turns = 1
    story.say("Remind me please: " + FACTS["node"][1])


@pytest.mark.timeout(300)
def test_a_subagent_of_codex_is_given_what_the_prompt_was_about(codex):
    story = Story(codex)
    codex.model.tool = ("multi_agent_v1/spawn_agent", {"message": "Find out what is needed", "agent_type": "default"})
    with (codex.home / ".codex" / "config.toml").open("a") as file:
        file.write("[features]\nmulti_agent = true\n")
    with AppServer(codex) as server:
        (listed,) = server.call("hooks/list", {"cwds": [str(codex.root)]})["data"]
    codex.trust(listed["hooks"])

    def sent_to_helper() -> list[str]:
        bodies = (json.dumps(codex.new_in(turn), ensure_ascii=False) for turn in list(codex.model.turns))
        return [body for body in bodies if "spawn_agent" not in body and "Find out what is needed" in body]

    with AppServer(codex) as server:
        thread = server.call("thread/start", {"cwd": str(codex.root)})["thread"]["id"]
        text = [{"type": "text", "text": FACTS["node"][1]}]
        server.call("turn/start", {"threadId": thread, "input": text})
        server.wait_for("turn/completed")
        until(sent_to_helper)
    story.there = {"node"}
    story.check(sent_to_helper()[0])
