"""What the short way says nothing to is what nothing is given for on the long one, and leaves the same behind."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.agents import hooks, silence
from memsync.agents.matched import HELPED, MATCHED, may_have_notes
from memsync.clients import known
from memsync.memories.project import Project
from memsync.records import utc_now
from memsync.store.state import State

CLAUDE = known.find("claude")
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
        ground = silence.find_ground(CLAUDE, payload, str(repo.root), {"MEMSYNC_HOME": str(home / ".gobby")})
        assert ground
        out = ""
        if is_short and silence.is_unanswered(ground, CLAUDE, payload):
            silence.note_down(ground, CLAUDE, payload)
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
    assert silence.find_ground(CLAUDE, payload, str(repo.root), {"MEMSYNC_HOME": str(home / ".gobby")}) is None


def test_in_a_folder_with_a_store_of_its_own_the_one_above_may_answer(repo, home):
    inner = repo.root / "part"
    (inner / ".gobby").mkdir(parents=True)
    payload = {"session_id": "one", "prompt": FOREIGN}
    assert silence.find_ground(CLAUDE, payload, str(inner), {"MEMSYNC_HOME": str(home / ".gobby")}) is None


def test_without_an_index_the_long_way_is_taken(repo, home):
    repo.write_memories('{"id":"mm-a","content":"the tests need docker"}\n')
    payload = {"session_id": "one", "prompt": FOREIGN}
    ground = silence.find_ground(CLAUDE, payload, str(repo.root), {"MEMSYNC_HOME": str(home / ".gobby")})
    assert ground
    assert not silence.is_unanswered(ground, CLAUDE, payload)


@given(st.text(min_size=1, max_size=60).filter(lambda id_: "\0" not in id_), st.integers(0, 20_000))
def test_a_session_with_notes_is_always_seen_in_the_bytes_of_its_database(tmp_path_factory, session, size):
    state = State(tmp_path_factory.mktemp("state") / "local" / "state.db", private=False)
    assert not may_have_notes(state.path, session)
    try:
        session.encode()
    except UnicodeEncodeError:
        return  # SQLite refuses it
    state.change_variables(session, utc_now(), lambda _: {"x": "y" * size})
    assert may_have_notes(state.path, session)
    state.change_variables("another", utc_now(), lambda _: {"x": "z" * size})
    state.change_variables(session, utc_now(), lambda known: {**known, "more": "y" * 500})
    assert may_have_notes(state.path, session)
