"""What the server says of itself, and how it keeps answering."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest
from helpers import until
from jsonschema import Draft202012Validator
from mcp import MCPError
from mcp.types import ResourceTemplateReference

from memsync import Memsync
from memsync.clients.facts import READ_TOOLS

READS = set(
    "recall list_memories get_memory memory_stats memory_history memory_diff memory_blame dedup_log list_skills search_skills get_skill skill_history skill_stats".split()
)
OVERWRITES = {"validate_skills", "export_skills"}  # the only ones that nothing of ours undoes
# The last one goes on where the call before it ended.
TOGGLES = {"restore_memory", "restore_skill", "dedup_reverse", "apply_skill", "likely_copies"}


def test_every_tool_says_what_it_does_to_the_store(server):
    hints = {name: tool.annotations for name, tool in server.tools().items()}
    assert {name for name, hint in hints.items() if hint.read_only_hint} == READS == set(READ_TOOLS)
    assert {name for name, hint in hints.items() if hint.destructive_hint} == OVERWRITES
    assert {name for name, hint in hints.items() if not (hint.read_only_hint or hint.idempotent_hint)} == TOGGLES
    asking = {name for name, hint in hints.items() if hint.open_world_hint}
    assert asking == {"init_memory", "extract_memories", "learn_skill"}  # a model, where one is configured


def test_only_recall_and_remember_are_always_in_the_models_sight(server):
    loaded = {name for name, tool in server.tools().items() if (tool.meta or {}).get("anthropic/alwaysLoad")}
    assert loaded == {"recall", "remember"}


def test_every_tool_and_prompt_is_documented(server):
    text = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
    named = [*server.tools(), *(prompt.name for prompt in server.ask("list_prompts").prompts)]
    assert [name for name in named if f"`{name}`" not in text] == []


def test_the_schemas_of_parameters_are_valid(server):
    for name, tool in server.tools().items():
        Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["type"] == "object", name
        assert "title" not in json.dumps(tool.input_schema)
        assert tool.description


def test_what_the_model_reads_at_the_start_is_short(server):
    text = server.client.instructions
    assert "recall" in text
    assert len(text.encode()) <= 2048
    shown = [(tool.name, tool.description, tool.input_schema) for tool in server.tools().values()]
    assert len(json.dumps(shown)) < 600 * len(shown)
    assert max(len(description.encode()) for _, description, _ in shown) <= 2048


def test_a_memory_has_an_address(server):
    told = server.call("remember", content="CI needs docker")["memory"]
    content = server.ask("read_resource", f"memsync://memories/{told['id'][:6]}").contents[0]
    assert content.mime_type == "application/json"
    assert json.loads(content.text)["content"] == "CI needs docker"
    listed = server.ask("read_resource", "memsync://memories").contents[0]
    assert [memory["id"] for memory in json.loads(listed.text)["memories"]] == [told["id"]]


def test_an_address_without_a_memory_says_so(server):
    with pytest.raises(MCPError, match="no memory 'zzz'") as caught:
        server.ask("read_resource", "memsync://memories/zzz")
    assert caught.value.error.code == -32602


def test_an_address_in_a_broken_store_says_what_is_broken(server, repo):
    repo.memories.mkdir(parents=True)
    with pytest.raises(MCPError, match="not a regular file; move it away"):
        server.ask("read_resource", "memsync://memories/a")


def test_ids_are_completed(server, repo, line):
    repo.write_memories(line("mm-aaa", "one") + line("mm-aab", "two") + line("mm-b", "three"))
    ref = ResourceTemplateReference(type="ref/resource", uri="memsync://memories/{id}")
    found = server.ask("complete", ref, {"name": "id", "value": "mm-a"}).completion
    assert (found.values, found.total) == (["mm-aaa", "mm-aab"], 2)


def test_a_skill_has_an_address(server, repo):
    server.call("create_skill", name="run-tests", instructions="1. make test", description="How to run the tests")
    content = server.ask("read_resource", "memsync://skills/run-tests").contents[0]
    assert content.mime_type == "text/markdown"
    assert content.text == (repo.root / ".claude" / "skills" / "run-tests" / "SKILL.md").read_text()
    ref = ResourceTemplateReference(type="ref/resource", uri="memsync://skills/{name}")
    assert server.ask("complete", ref, {"name": "name", "value": "run"}).completion.values == ["run-tests"]
    with pytest.raises(MCPError, match="no skill 'zzz'; list_skills shows"):
        server.ask("read_resource", "memsync://skills/zzz")


def test_the_prompts_tell_the_model_which_tools_to_use(server):
    prompts = {prompt.name: prompt for prompt in server.ask("list_prompts").prompts}
    assert "remember_this_session" in prompts
    text = server.ask("get_prompt", "remember_this_session").messages[0].content.text
    assert all(tool in text for tool in ("recall", "update_memory", "remember"))
    text = server.ask("get_prompt", "learn_skill", {"name": "deploy"}).messages[0].content.text
    assert all(word in text for word in ("create_skill with the name deploy", "search_skills"))


def test_the_words_for_the_model_name_only_tools_that_there_are(server):
    known = server.tools().keys()
    texts = [server.client.instructions, *(tool.description for tool in server.tools().values())]
    texts += [
        server.ask("get_prompt", name, arguments).messages[0].content.text
        for name, arguments in (("remember_this_session", {}), ("learn_skill", {"name": "x"}))
    ]
    named = set(re.findall(r"\b(?:[a-z]+_)+(?:memory|memories|skills?|stats)\b", " ".join(texts)))
    assert named
    assert named <= known


def test_a_call_that_waits_for_a_lock_holds_up_nobody_else(server, repo):
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with Memsync.open(repo.root) as other, other.store_to_write("project").writing():
            held.set()
            release.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(60)
    waiting = server.portal.start_task_soon(server.client.call_tool, "remember", {"content": "patience"})
    assert len(server.tools()) >= 10
    assert server.ask("get_prompt", "remember_this_session").messages
    assert not waiting.done()
    release.set()
    holder.join()
    until(waiting.done)
    assert waiting.result().structured_content["status"] == "created"


def test_many_calls_at_once_are_all_answered(server):
    calls = [
        server.portal.start_task_soon(server.client.call_tool, "remember", {"content": f"fact number {n % 20}"})
        for n in range(60)
    ]
    answers = [call.result(60).structured_content for call in calls]
    assert sorted(answer["status"] for answer in answers) == ["created"] * 20 + ["exists"] * 40
    assert server.call("list_memories")["count"] == 20


ODD = ["", "\0", "\ud800", "../../x", "--help", "x" * 20_000, -1, 10**30, 1.5, True, [], [""], ["\0"], {}, {"a": "b"}]
SOME = {"content": "a fact", "instructions": "1. make", "name": "a-skill", "query": "fact", "directory": "out"}


def test_whatever_a_model_sends_no_tool_breaks(server, repo):
    """What breaks reaches the model as the bare name of the tool, which helps nobody."""
    repo.write_memories('{"id":"mm-aaa","content":"one"}\n')
    broken = []
    for name, tool in server.tools().items():
        given = {key: SOME.get(key, "mm-aaa") for key in tool.input_schema.get("required", [])}
        for parameter in tool.input_schema["properties"]:
            for value in ODD:
                result = server.ask("call_tool", name, {**given, parameter: value})
                if result.is_error and result.content[0].text == f"Error executing tool {name}":
                    broken.append((name, parameter, value))
    assert broken == []
    assert not (repo.root.parent / "x").exists()
