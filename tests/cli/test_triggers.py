"""When a memory is due: what its triggers say, and what is found in its text."""

from __future__ import annotations

import json

import pytest
from helpers import memsync

from memsync import Memsync


@pytest.fixture
def run(repo):
    return lambda *words, stdin="": memsync(*words, cwd=repo.root, stdin=stdin)


def remember(run, *words):
    made = run("remember", *words, "--json")
    assert made.code == 0, made.err
    return made.json["memory"]


def test_a_trigger_is_stored_shown_found_and_united_and_can_be_changed(repo, run):
    memory = remember(run, "PyYAML is what we import", "--trigger", "Not:yaml_parser")
    assert memory["triggers"] == ["not: yaml_parser"]
    assert "triggers: not: yaml_parser" in run("show", memory["id"]).out
    assert run("list", "--json").json["memories"][0]["triggers"] == ["not: yaml_parser"]
    assert memory["id"] in run("recall", "yaml_parser", "--ids").out
    run("remember", "PyYAML is what we import", "--trigger", "fails: No module named yaml")
    stored = json.loads(repo.memories.read_text().splitlines()[-1])
    assert stored["triggers"] == ["not: yaml_parser", "fails: No module named yaml"]
    changed = run("update", memory["id"], "--trigger", "fails: KeyError")
    assert changed.code == 0, changed.err
    assert run("list", "--format", "{triggers}").out == "fails: KeyError\n"
    with Memsync.open(repo.root) as project:
        assert [hit.id for hit in project.search("KeyError")] == [memory["id"]]


@pytest.mark.parametrize("trigger", ["yaml_parser", "$ git push", "sometimes: x", "not:", "fails: "])
def test_what_is_no_trigger_is_refused_and_the_message_says_what_to_give(run, repo, trigger):
    made = run("remember", "PyYAML is what we import", "--trigger", trigger)
    assert made.code == 1
    assert "'not: NAME'" in made.err
    assert not repo.memories.exists()


def test_a_trigger_is_looked_at_for_secrets(run):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = run("remember", "PyYAML is what we import", "--trigger", f"fails: {token}")
    assert made.code == 1
    assert "a secret" in made.err


def test_the_triggers_of_another_program_are_kept_as_they_are(repo, run, line):
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20", triggers={"on": "push"}))
    assert run("update", "mm-aaaaaa", "--content", "CI needs Node 22").code == 0
    assert json.loads(repo.memories.read_text().splitlines()[-1])["triggers"] == {"on": "push"}
