"""What the short way says nothing to is what nothing is given for on the long one, and leaves the same behind."""

from __future__ import annotations

import json

import pytest

from memsync.agents import hooks, notes
from memsync.agents.notes import HELPED, MATCHED
from memsync.clients import facts
from memsync.memories.project import Project
from memsync.store.state import State

CLAUDE = facts.find("claude")
TEXTS = (
    "The staging database listens on port 5433",
    "Deploys are frozen on Fridays unless the release manager agrees",
    "The parser keeps comments because users diff their files",
)
FOREIGN = "how do whales sleep under the arctic ice in winter"
PROMPTS = (
    FOREIGN,
    "which port does the staging database use?",
    "could you bake a chocolate cake?\n\n- and a lemon tart with cream for my grandmother's birthday on Sunday, please\n- which tea?",
    "why is deploying frozen",
    "database",
    "keep users",
    "what is the weather on Fridays in Madrid",
)


@pytest.fixture
def ask(repo, home):
    with Project.open(repo.root) as project:
        for text in TEXTS:
            project.remember(text)
        project.recall("anything")  # makes the index

    def ask(prompt: str, session: str = "one", *, is_short: bool) -> tuple[object, dict[str, object]]:
        """Return what is printed for *prompt* on the short way, where that can be taken, or on the long one, and what is noted."""
        payload = {"session_id": session, "cwd": str(repo.root), "prompt": prompt}
        ground = notes.find_ground(CLAUDE, payload, str(repo.root), {"MEMSYNC_HOME": str(home / ".gobby")})
        assert ground
        out = ""
        if is_short and notes.is_unanswered(ground, CLAUDE, payload):
            notes.note_unanswered(ground, CLAUDE, payload)
        else:
            with Project(ground.layout, loaded=ground.loaded, index=ground.file) as project:
                project.be_brief()
                reply = hooks.answer(project, CLAUDE, "prompt", payload)
                out = reply.out
                reply.used()
        note = json.loads((repo.root / ".gobby/local/hooks.log").read_text().splitlines()[-1])
        return out, {name: value for name, value in note.items() if name not in ("at", "session")}

    return ask


@pytest.fixture
def state(repo):
    return State(repo.root / ".gobby/local/state.db", private=False)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_short_way_prints_and_notes_what_the_long_one_does(ask, prompt):
    assert ask(prompt, "short", is_short=True) == ask(prompt, "long", is_short=False)


def test_a_prompt_that_nothing_answers_takes_the_short_way(ask, monkeypatch):
    monkeypatch.delattr(hooks, "answer")
    out, note = ask(FOREIGN, is_short=True)
    assert (out, note["reason"]) == ("", "nothing that fits")
    with pytest.raises(AttributeError):
        ask(PROMPTS[1], is_short=True)


@pytest.mark.parametrize("is_short", [True, False])
def test_what_the_prompt_before_was_about_is_forgotten_on_either_way(ask, state, is_short):
    ask(PROMPTS[1], is_short=is_short)
    assert state.variables("one")[MATCHED][1]
    ask(FOREIGN, is_short=is_short)
    assert state.variables("one")[MATCHED] == ["", [], []]
    assert state.variables("one")[HELPED] is False


def test_a_session_of_which_nothing_is_noted_stays_so(ask, state):
    ask(FOREIGN, is_short=True)
    assert state.variables("one") == {}


@pytest.mark.parametrize("setting", ["memory:\n  enabled: false\n", "memory: [\n"])
def test_where_more_counts_than_memories_the_long_way_is_taken(repo, home, setting):
    (repo.root / ".gobby").mkdir(exist_ok=True)
    (repo.root / ".gobby/config.yaml").write_text(setting)
    payload = {"session_id": "one", "prompt": FOREIGN}
    assert notes.find_ground(CLAUDE, payload, str(repo.root), {"MEMSYNC_HOME": str(home / ".gobby")}) is None


def test_in_a_folder_with_a_store_of_its_own_the_one_above_may_answer(repo, home):
    inner = repo.root / "part"
    (inner / ".gobby").mkdir(parents=True)
    payload = {"session_id": "one", "prompt": FOREIGN}
    assert notes.find_ground(CLAUDE, payload, str(inner), {"MEMSYNC_HOME": str(home / ".gobby")}) is None


def test_without_an_index_the_long_way_is_taken(repo, home):
    repo.write_memories('{"id":"mm-a","content":"the tests need docker"}\n')
    payload = {"session_id": "one", "prompt": FOREIGN}
    ground = notes.find_ground(CLAUDE, payload, str(repo.root), {"MEMSYNC_HOME": str(home / ".gobby")})
    assert ground
    assert not notes.is_unanswered(ground, CLAUDE, payload)
