"""Our entries in a client's settings: what the user had comes back byte for byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsync.clients import facts
from memsync.clients.facts import READ_TOOLS
from memsync.setup import json_entries, jsonedit
from memsync.setup.json_entries import Misfit

CLAUDE = facts.find("claude")
HOOKS, (SERVER,), ALLOWED = (file.entries for file in CLAUDE.files[:3])
EVERYTHING = (*HOOKS, SERVER)
WITH_TOOLS = (*EVERYTHING, *ALLOWED)
FOREIGN = st.sampled_from(["lint", "memsync doctor", "prettier --write", 'echo "memsync"'])
HANDLERS = st.fixed_dictionaries({"type": st.just("command"), "command": FOREIGN}, optional={"timeout": st.integers()})
GROUPS = st.fixed_dictionaries({"hooks": st.lists(HANDLERS, max_size=2)}, optional={"matcher": st.text(max_size=3)})
EVENTS = st.sampled_from(["SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd", "Stop"])
ODD = st.none() | st.integers() | st.text(max_size=5) | st.lists(st.none() | st.integers(), max_size=2)
USERS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(max_size=5),
        "permissions": st.dictionaries(st.text(max_size=5), ODD, max_size=3),
        "hooks": st.dictionaries(EVENTS, st.lists(GROUPS | ODD, max_size=2), max_size=3),
        "mcpServers": st.dictionaries(st.sampled_from(["memory", "github"]), ODD, max_size=2),
        "z": ODD,
    },
)
LAYOUTS = st.sampled_from([{}, {"indent": 2}, {"indent": 4}, {"indent": "\t"}, {"separators": (",", ":")}])


@st.composite
def texts(draw):
    text = json.dumps(draw(USERS), ensure_ascii=draw(st.booleans()), **draw(LAYOUTS))
    text = draw(st.sampled_from(["", "\n", " ", "\ufeff"])) + text + draw(st.sampled_from(["", "\n", "\n\n"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(texts())
def test_taking_our_entries_out_gives_back_what_the_user_had(text):
    kept = json_entries.empty_containers(text, EVERYTHING)
    added = json_entries.add(text, EVERYTHING)
    assert json_entries.remove(added, EVERYTHING, kept) == text


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, // why\n}\n',
        '{"a": 1, /* why */}',
        '{"a": 1 /* why */,}',
        '{"mcpServers": {"other": {}, // why\n}}',
        '{\r\n  "a": [1, 2,],\r\n  "b": 2, // why\r\n  // and how\r\n}\r\n',
    ],
)
def test_a_comma_before_the_end_and_what_is_said_behind_it_stay(text):
    wanted = facts.find("zed").files[0].entries + facts.find("cursor").files[0].entries
    added = json_entries.add(text, wanted)
    assert "memsync" in jsonedit.parse(added).value["mcpServers"]
    assert json_entries.add(added, wanted) == added
    assert json_entries.remove(added, wanted) == text


@settings(max_examples=25)
@given(texts(), st.lists(st.sampled_from(["Bash(ls)", "mcp__github__*"]), max_size=2))
def test_what_the_user_allowed_stays_when_our_tools_are_no_longer_allowed(text, theirs):
    said = jsonedit.parse(text or "{}").value if text.strip(json_entries.BLANK) else {}
    text = json.dumps({**said, "permissions": {"deny": [], "allow": theirs}})
    kept = json_entries.empty_containers(text, WITH_TOOLS)
    added = json_entries.add(text, WITH_TOOLS)
    allowed = json.loads(added)["permissions"]["allow"]
    assert allowed == [*theirs, *(f"mcp__memsync__{tool}" for tool in READ_TOOLS)]
    assert json_entries.add(added, WITH_TOOLS) == added
    assert json_entries.add(added, EVERYTHING) == added  # an `init` without the option takes nothing back
    assert json_entries.remove(added, WITH_TOOLS, kept) == text


@given(texts())
def test_putting_our_entries_in_keeps_everything_and_does_nothing_the_second_time(text):
    added = json_entries.add(text, EVERYTHING)
    assert json_entries.add(added, EVERYTHING) == added
    before, after = jsonedit.parse(text).value, jsonedit.parse(added).value
    assert {key: after[key] for key in before if key not in ("hooks", "mcpServers")} == {
        key: before[key] for key in before if key not in ("hooks", "mcpServers")
    }
    for event, groups in before.get("hooks", {}).items():
        assert after["hooks"][event][: len(groups)] == groups
    assert before.get("mcpServers", {}).items() <= after["mcpServers"].items()
    assert json_entries.compare(added, EVERYTHING) == ([*(one.keys[-1] for one in EVERYTHING)], [], [])


@given(texts(), st.text(max_size=5))
def test_what_the_user_adds_between_install_and_removal_stays(text, new):
    added = json_entries.add(text, EVERYTHING)
    edited = jsonedit.add(added, jsonedit.parse(added), "added later", new)
    left = jsonedit.parse(
        json_entries.remove(edited, EVERYTHING, json_entries.empty_containers(text, EVERYTHING))
    ).value
    assert left == {**jsonedit.parse(text).value, "added later": new}


def test_an_empty_file_gets_a_readable_one():
    assert json.loads(json_entries.add("", [SERVER])) == {
        "mcpServers": {"memsync": {"type": "stdio", "command": "memsync", "args": ["mcp"], "alwaysLoad": True}}
    }
    assert json_entries.add("", [SERVER]).endswith("  }\n}\n")


def test_a_hook_that_somebody_gave_a_path_and_more_time_stays_as_it_is():
    prompt = {"type": "command", "command": "/opt/bin/memsync hook prompt --client claude", "timeout": 20}
    text = json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "mine"}, prompt]}]}})
    added = json.loads(json_entries.add(text, EVERYTHING))
    assert added["hooks"]["UserPromptSubmit"] == [{"hooks": [{"type": "command", "command": "mine"}, prompt]}]
    assert json.loads(json_entries.remove(json.dumps(added), EVERYTHING)) == {
        "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "mine"}]}]}
    }


def test_a_hook_that_is_not_wanted_any_more_is_replaced():
    old = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "memsync hook stop --client claude"}]}]}}
    text = json.dumps(old)
    assert json_entries.compare(text, EVERYTHING).stale == ["Stop"]
    wanted = dict.fromkeys(hook.event for hook in CLAUDE.hooks)  # before a tool there are two
    assert list(json.loads(json_entries.add(text, EVERYTHING))["hooks"]) == list(wanted)


def test_a_server_named_memsync_that_is_not_ours_is_left_alone():
    text = json.dumps({"mcpServers": {"memsync": {"command": "uvx", "args": ["memsync", "mcp"]}}})
    assert json_entries.add(text, [SERVER]) == text
    assert json_entries.remove(text, EVERYTHING) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "the file is not an object"),
        ('{"hooks": []}', "hooks is not an object"),
        ('{"hooks": {\n"SessionStart": {}}}', "hooks.SessionStart is not a list"),
        ('{"mcpServers": null}', "mcpServers is not an object"),
    ],
)
def test_settings_of_another_shape_are_refused(text, why):
    with pytest.raises(Misfit, match=why) as caught:
        json_entries.add(text, EVERYTHING)
    assert caught.value.line == text.count("\n") + 1
