"""Links: a reason comes with what it is the reason for, and no more than two lines."""

from __future__ import annotations

import pytest

from memsync.agents.session import RecallSession
from memsync.errors import InvalidMemory, MemoryNotFound, SkillNotFound
from memsync.setup.doctor import examine

PIN = "We pin uvicorn to 0.23 in production"
ASK = "why is uvicorn pinned in production?"
WHY = "Websocket upgrades fail behind the old Envoy of the Berlin office"


@pytest.fixture
def session(project):
    return RecallSession(project, "s1")


@pytest.fixture
def add(project):
    """Return a function that stores a text and returns its id."""
    return lambda text, **fields: project.remember(text, **fields).entry.id


def texts(found):
    return [entry.content for entry in found.entries]


def test_a_reason_is_given_beside_what_was_asked_for_and_once(session, project, add):
    reason = add(WHY)
    pin = add(PIN, links=[f"because:{reason[:6]}"])
    assert project.get(pin).memory.links == (f"because:{reason}",)
    found = session.on_turn(ASK)
    assert texts(found) == [PIN, WHY]
    assert found.text.splitlines()[2].endswith(f"{WHY} (by Test User) (the reason for {pin})")
    project.update(pin, content=f"{PIN} and staging")
    assert texts(session.on_turn(ASK)) == [f"{PIN} and staging"]  # the session has the reason


def test_links_in_a_text_are_read_and_reasons_come_first_and_two_lines_are_the_most(session, project, add):
    first, second, third = add("The canary ring is Frankfurt"), add("Envoy is owned by Dana"), add(WHY)
    project.skills.create("roll-back", "1. Revert the tag.", description="How to roll back")
    text = f"{PIN}, see [[{first}]] and [[needs:{second}]] [[a.b]] [[skill/roll-back]]"
    add(text, links=[f"because:{third}"])
    found = session.at_prompt(ASK)
    assert texts(found)[1:] == [WHY, "Envoy is owned by Dana"]
    assert "see the skill roll-back" in found.text.splitlines()[1]


def test_links_lead_one_hop_and_to_nothing_that_may_not_be_given(session, project, add):
    far = add("The Berlin office closes in June")
    archived = add("Uvicorn 0.22 was fine")
    add("Gunicorn replaced it on the workers", supersedes=[archived])
    add(PIN, links=[f"because:{add(WHY, links=[f'see:{far}'])}", f"see:{archived}"])
    assert texts(session.at_prompt(ASK)) == [PIN, WHY]


def test_what_is_below_the_gate_opens_it_to_nothing(session, add):
    add(PIN, links=[f"because:{add(WHY)}"])
    assert session.at_prompt("how tall is the tower of Pisa?").entries == ()


def test_a_link_comes_only_where_there_is_room(session, add):
    add(PIN, links=[f"because:{add(WHY)}"])
    assert texts(session.at_prompt(ASK, budget=140)) == [PIN]


@pytest.mark.parametrize(
    ("link", "error"),
    [("why:mm-abc", InvalidMemory), ("because:mm-nowhere", MemoryNotFound), ("see:skill/nothing", SkillNotFound)],
)
def test_a_link_that_leads_nowhere_is_refused_when_it_is_set(project, link, error):
    with pytest.raises(error):
        project.remember(PIN, links=[link])
    assert project.memories() == []


def test_links_are_united_where_a_text_comes_again_and_replaced_by_an_update(project, add):
    one, two = add(WHY), add("Envoy is owned by Dana")
    pin = add(PIN, links=[f"because:{one}"])
    assert project.remember(PIN, links=[two]).entry.memory.links == (f"because:{one}", f"see:{two}")
    assert project.update(pin, links=[f"needs:{two}"]).entry.memory.links == (f"needs:{two}",)
    with pytest.raises(InvalidMemory, match="itself"):
        project.update(pin, links=[two, f"because:{pin}"])
    assert project.remember(PIN, links=[pin]).entry.memory.links == (f"needs:{two}",)
    assert project.update(pin, links=[""]).entry.memory.links == ()


def test_doctor_names_links_that_lead_nowhere_and_those_that_only_the_user_can_follow(project, add):
    gone, private = add(WHY), add("The client is Acme", scope="private")
    add(PIN, links=[f"because:{gone}", f"see:{private}"])
    project.forget(gone)
    named = [finding.what for finding in examine(project) if "dangling" in finding.what]
    assert [what.partition(":mm-")[0] for what in named] == ["dangling link because", "dangling link see"]
    assert "there is no such memory" in named[0]
    assert "leads nowhere for others" in named[1]


def test_links_of_another_program_keep_their_bytes_and_mean_nothing(project, repo, session, add):
    theirs = f'{{"content":"{PIN}","id":"mm-theirs","links":[{{"to":"x","kind":1}}]}}'
    repo.write_memories(theirs + "\n")
    assert texts(session.at_prompt(ASK)) == [PIN]
    project.update("mm-theirs", importance=0.9)
    assert '"links":[{"to":"x","kind":1}]' in repo.memories.read_text()
    assert project.get("mm-theirs").as_dict()["links"] == [{"to": "x", "kind": 1}]
