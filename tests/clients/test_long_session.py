"""A session of thirteen turns with each real client, of twenty where one explores: what is asked for arrives once, and nothing else does.

Every turn resumes the session in a new process; opencode, whose start costs several turns, keeps one for the turns in
the middle and one for the last. The evidence is what the model was sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from helpers import EXPLORE, until

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

    def say(self, prompt: str, *more: str, tool: tuple[str, Mapping[str, object]] | None = None) -> str:
        """Take a turn after which the context has *more* facts than before; the model calls *tool* first."""
        self.client.model.tool = tool
        sent = self.client.ask(prompt, again=self.turns > 0, tools=tool is not None)
        self.turns += 1
        assert self.client.model.tool is None, "it was never offered"
        self.there.update(more)
        self.check(sent)
        return sent

    def ask(self, name: str, words: str = "") -> None:
        self.say(f"{words}{FACTS[name][1]}", name)

    def check(self, sent: str) -> None:
        """Compare what the model was *sent* with what must be there."""
        counts = {name: sent.count(text) for name, (text, _) in FACTS.items()}
        assert counts == {name: int(name in self.there) for name in FACTS}, f"turn {self.turns}"
        assert "is in hall" not in sent


def live_through_resumes(story: Story) -> None:
    """Take nine turns, or fourteen: questions, the same again, small talk, other matters, and what the model does by itself."""
    story.ask("node")
    with story.client.staying():
        story.say("ok thanks")
        story.ask("port")
        story.ask("node", "Remind me please: ")
        if EXPLORE:
            story.say("Write a haiku about autumn leaves.")
            story.ask("invoice")
        story.say("Please look it up.", "weblate", tool=story.client.call("recall", {"query": "Weblate", "limit": 1}))
        story.ask("weblate")
        new = {"content": FACTS["ticket"][0], "importance": 0.9}
        assert "created mm-" in story.say(
            "Please keep that in mind.", "ticket", tool=story.client.call("remember", new)
        )
        story.ask("ticket")
        if EXPLORE:
            story.say("continue")
            story.ask("grpc")
    if EXPLORE:
        story.ask("port", "Once more: ")
    story.ask("flags")


def live_after_a_compaction(story: Story) -> None:
    """Take four turns, or six, after the context is gone, but for what the last question was about and what the client leaves of it."""
    sent = story.client.ask("Now tell me about the tests.", again=True)
    story.turns += 1
    left = {name for name in story.there if FACTS[name][0] in sent}
    assert left == {"flags"} or story.client.keeps_end
    story.there = left
    story.check(sent)
    if not (story.client.keeps_start or story.client.keeps_end):
        story.there.discard("flags")
    with story.client.staying():
        story.ask("node")
        story.ask("flags", "Again: ")
        story.ask("backup")
        if EXPLORE:
            story.say("lgtm")
            story.ask("ticket")


def test_each_needed_memory_is_given_once_in_a_long_session(anyone):
    story = Story(anyone)
    live_through_resumes(story)
    anyone.compact()
    live_after_a_compaction(story)


def test_a_fork_has_what_its_parent_was_given(forking):
    story = Story(forking)
    story.ask("node")
    story.check(forking.fork(f"Well: {FACTS['node'][1]}"))
    story.ask("port")


def test_a_subagent_is_given_what_the_prompt_was_about_and_its_session_nothing_twice(helped):
    story = Story(helped)
    helped.model.tool = helped.helper
    helped.turn(FACTS["node"][1], again=False, tools=True)
    (sent,) = (
        json.dumps(helped.new_in(turn), ensure_ascii=False)
        for turn in helped.model.turns
        if FACTS["node"][1] not in json.dumps(turn) and helped.helper[1]["prompt"] in json.dumps(turn)
    )
    story.there = {"node"}
    story.check(sent)
    story.turns = 1
    story.say("Remind me please: " + FACTS["node"][1])


def test_a_subagent_of_codex_is_given_what_the_prompt_was_about(codex):
    story = Story(codex)
    codex.model.tool = ("multi_agent_v1/spawn_agent", {"message": "Find out what is needed", "agent_type": "default"})
    with (codex.home / ".codex" / "config.toml").open("a") as file:
        file.write("[features]\nmulti_agent = true\n")

    def sent_to_helper() -> list[str]:
        bodies = (json.dumps(codex.new_in(turn), ensure_ascii=False) for turn in list(codex.model.turns))
        return [body for body in bodies if "spawn_agent" not in body and "Find out what is needed" in body]

    with codex.server() as server:
        thread = server.call("thread/start", {"cwd": str(codex.root)})["thread"]["id"]
        text = [{"type": "text", "text": FACTS["node"][1]}]
        server.call("turn/start", {"threadId": thread, "input": text})
        server.wait_for("turn/completed")
        until(sent_to_helper, 3600)
    story.there = {"node"}
    story.check(sent_to_helper()[0])
