"""Lifecycles: the three spellings of the seeds, overrides by name, what is not understood."""

from __future__ import annotations

import json

import pytest

from memsync.errors import ConfigError
from memsync.store import config, workflow
from memsync.store.places import Layout, Place, locate
from memsync.store.trust import Approvals


@pytest.fixture
def layout(tmp_path, home) -> Layout:
    (tmp_path / ".gobby" / "workflows").mkdir(parents=True)
    return locate(tmp_path, {})


@pytest.fixture
def place(layout) -> Place:
    return layout.place("project")


def write(place: Place, text: str, name: str = "session-lifecycle"):
    path = place.directory / "workflows" / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def load(place: Place):
    """Return the lifecycles of a user who approves all that there is."""
    layout = locate(place.directory.parent, {})
    Approvals(layout).add(workflow.find_instructions(layout, config.load(layout)))
    return workflow.load(layout)


def cache(place: Place):
    (found,) = locate(place.directory.parent, {}).private.local.glob("workflows.json")
    return found


def names(found, trigger):
    return [(step.action, step.source) for step in found.steps[trigger]]


def test_without_files_of_the_project_ours_are_in_force(place):
    found = load(place)
    assert names(found, "prompt") == [("memory_recall_relevant", "session-lifecycle")]
    assert names(found, "compact") == [("reset_memory_injection_tracking", "session-lifecycle")]
    assert found.problems == ()


SEED_000 = """
on_pre_compact:
  # Reset memory injection tracking before compaction
  - action: reset_memory_injection_tracking
  - action: memory_inject
    limit: 3
"""
SEED_002 = """
name: skill-learning
triggers:
  - event: pre_compact
    actions:
      - type: reset_memory_injection_tracking
      - type: memory_inject
        limit: 3
"""
GOBBY = """
name: session-lifecycle
type: lifecycle
triggers:
  on_pre_compact:
    - action: reset_memory_injection_tracking
    - {action: memory_inject, limit: 3}
"""


@pytest.mark.parametrize("text", [SEED_000, SEED_002, GOBBY])
def test_every_spelling_of_the_seeds_is_read(place, text):
    write(place, text)
    found = load(place)
    assert [step[:2] for step in found.steps["pre_compact"]] == [
        ("reset_memory_injection_tracking", {}),
        ("memory_inject", {"limit": 3}),
    ]
    assert found.steps["prompt"] == []
    assert found.problems == ()


def test_actions_without_a_trigger_give_at_each_prompt_and_save_at_the_end(place):
    steps = [("inject_memories", {"query": "{user_prompt}"}), ("save_memory", {"memory_type": "context"})]
    spelled = "".join(f"  - {json.dumps({'type': name, **params})}\n" for name, params in steps)
    write(place, f"actions:\n{spelled}", "zz")
    found = load(place)
    assert found.steps["prompt"][-1][:2] == steps[0]
    assert found.steps["session_end"][-1][:2] == steps[1]
    assert found.problems == ()


def test_the_user_s_own_hold_in_every_project_until_that_has_a_file_of_the_name(place):
    home = locate(place.directory.parent, {}).place("global")
    (home.directory / "workflows" / "lifecycle").mkdir(parents=True)
    write(home, "on_prompt: [{action: save_memory, content: '{user_prompt}'}]", "lifecycle/session-lifecycle")
    write(home, "on_prompt: [{action: memory_inject}]", "mine")
    ours = workflow.load(locate(place.directory.parent, {}))
    assert [(step.action, step.source) for step in ours.steps["prompt"]] == [
        ("memory_inject", "mine"),
        ("save_memory", "session-lifecycle"),
    ]
    write(place, "on_prompt: []", "mine")
    write(place, "on_prompt: []")
    assert names(load(place), "prompt") == []


def test_a_file_of_another_name_is_added_in_the_order_of_the_names(place):
    write(place, "on_prompt: [{action: save_memory}]", "zz")
    write(place, "on_prompt: [{action: save_memory}]", "aa")
    assert [source for _, source in names(load(place), "prompt")] == ["aa", "session-lifecycle", "zz"]


def test_an_override_may_switch_ours_off(place):
    write(place, "enabled: false\non_prompt: [{action: save_memory}]")
    assert names(load(place), "prompt") == []


def test_what_clients_call_a_prompt_is_one(place):
    write(place, "on_before_agent: [{action: memory_inject}]\non_user_prompt_submit: [{action: save_memory}]")
    assert [action for action, _ in names(load(place), "prompt")] == ["memory_inject", "save_memory"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("on_moon: []", "unknown trigger 'on_moon'"),
        ("on_prompt: 7", "not a list of actions"),
        ("on_prompt: [7]", "step 1: no action"),
        ("on_prompt: [{limit: 3}]", "step 1: no action"),
        ("on_prompt: [{action: memory_inject, when: 'x > 1'}]", "`when` is not supported"),
        ("a: [", "session-lifecycle.yaml:1: not YAML"),
        ("- a", "not a mapping"),
    ],
)
def test_what_is_not_understood_is_said_and_the_rest_goes_on(place, text, problem):
    write(place, text)
    for _ in range(2):  # parsed, and from the cache
        found = load(place)
        assert len(found.problems) == 1
        assert problem in found.problems[0]


def test_a_broken_override_leaves_ours_in_force(place):
    write(place, "on_prompt: [")
    assert names(load(place), "prompt") == [("memory_recall_relevant", "session-lifecycle")]


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbfon_prompt:\r\n- action: save_memory\r\n", b"# only words"])
def test_empty_files_and_those_of_other_systems_are_read(place, data):
    path = write(place, "")
    path.write_bytes(data)
    assert load(place).problems == ()


def test_bytes_that_are_no_text_are_refused(place):
    with pytest.raises(ConfigError, match="not YAML"):
        workflow.parse(b"\xff\xfe\x00", write(place, ""), [])


def test_a_parsed_file_is_kept_and_read_again_when_it_changes(place):
    write(place, "on_prompt: [{action: save_memory}]")
    assert names(load(place), "prompt")[0][0] == "save_memory"
    kept = json.loads(cache(place).read_text())
    kept["steps"]["session-lifecycle"][0][1] = "from_the_cache"
    cache(place).write_text(json.dumps(kept))
    assert names(load(place), "prompt")[0][0] == "from_the_cache"
    write(place, "on_prompt: [{action: memory_inject}]")
    assert names(load(place), "prompt")[0][0] == "memory_inject"


def test_a_damaged_cache_is_passed_over(place):
    write(place, "on_prompt: [{action: save_memory}]")
    load(place)
    cache(place).write_text("{")
    assert names(load(place), "prompt")[0][0] == "save_memory"


def test_a_file_that_leads_out_of_the_repository_is_not_read(place, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "w.yaml"
    outside.write_text("on_prompt: [{action: save_memory}]")
    (place.directory / "workflows" / "session-lifecycle.yaml").symlink_to(outside)
    found = load(place)
    assert "leads out of the repository" in found.problems[0]
    assert names(found, "prompt")[0][0] == "memory_recall_relevant"
