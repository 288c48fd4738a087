"""What a client is offered that asks for nothing else: few tools, in few words, with short answers."""

from __future__ import annotations

import json

import pytest

from memsync.errors import UsageError
from memsync.mcp.early import GROUPS, choose
from memsync.mcp.server import OFFERS

CORE = "remember recall update_memory forget get_memory restore_memory search_skills apply_skill create_skill".split()
TEXT = "Fact number {0} about subject {1}, in a sentence of some length"


def said(caller, name: str, /, **arguments: object) -> str:
    result = caller.ask("call_tool", name, arguments)
    assert (result.is_error, result.structured_content) == (False, None)
    (part,) = result.content
    return part.text


def test_nine_tools_are_listed_in_6500_characters_with_all_that_a_client_receives(default):
    tools = default.tools()
    assert set(tools) == set(CORE)
    shown = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools.values()]
    assert sum(len(json.dumps(one, ensure_ascii=False, separators=(",", ":"))) for one in shown) <= 6500
    assert [tool.output_schema for tool in tools.values()] == [None] * 9


def test_the_first_line_of_the_instructions_says_when_to_recall_and_what_to_remember(default):
    first, _, rest = default.client.instructions.partition("\n")
    assert len(first) <= 250
    assert "recall before" in first
    assert "remember decisions" in first
    assert rest


def test_no_tool_says_that_it_destroys_or_reaches_out_because_codex_refuses_that_headless(default):
    hints = [tool.annotations for tool in default.tools().values()]
    assert {(hint.destructive_hint or False, hint.open_world_hint) for hint in hints} == {(False, False)}


def test_a_recall_takes_sixty_characters_a_memory_beside_the_texts(default, repo, line):
    texts = [TEXT.format(number, number * 31) for number in range(1, 11)]
    repo.write_memories("".join(line(f"mm-{n:06d}", text, importance=0.55) for n, text in enumerate(texts)))
    lines = said(default, "recall").splitlines()
    assert sorted(one.split(") ", 1)[1] for one in lines) == sorted(texts)
    assert max(len(one.split(") ", 1)[0]) + 2 for one in lines) <= 60


def test_an_answer_has_id_type_importance_age_and_text(default, repo, line, clock):
    repo.write_memories(line("mm-abcdef", "CI needs\nNode 20", importance=0.9, created_at="2026-01-01T12:00:00Z"))
    assert said(default, "recall", query="node of CI") == "mm-abcdef (fact, 0.9, 2 weeks ago) CI needs Node 20"
    assert json.loads(said(default, "get_memory", memory_id="mm-abc"))["content"] == "CI needs\nNode 20"


@pytest.mark.parametrize("scope", ["private", "global"])
def test_a_line_says_its_scope_unless_it_is_the_project_s(default, scope):
    id_ = said(default, "remember", content="Bob is hard to work with", scope=scope).split()[1]
    assert said(default, "recall", query="bob") == f"{id_} (fact, 0.7, today, {scope}) Bob is hard to work with"
    said(default, "create_skill", name="vet-bob", instructions="1. Ask him", description="How to vet Bob", scope=scope)
    assert said(default, "search_skills", query="vet bob").split("): ")[0].endswith(f", {scope}")


def test_nothing_found_is_said_in_words(default):
    assert said(default, "recall", query="the port of staging") == "nothing is known about that"
    assert said(default, "search_skills", query="deploy") == "no skill fits"


def test_lines_that_cannot_be_read_are_told_where_nothing_is_found(default, repo, line):
    repo.write_memories("broken\n" + line("mm-abcdef", "CI needs Node 20"))
    nothing, why = said(default, "recall", query="the port of staging").splitlines()
    assert nothing == "nothing is known about that"
    assert why.startswith(f"1 line of {repo.memories} cannot be used (line 1: ")
    assert len(said(default, "recall", query="node of CI").splitlines()) == 1


def test_what_became_of_a_text_is_said_in_a_line_and_only_real_relations_are_named(default):
    first = said(default, "remember", content="The sandbox needs bubblewrap")
    assert first.startswith("created mm-")
    id_ = first.split()[1]
    assert said(default, "remember", content="Integration tests need docker compose up db first").count("\n") == 0
    assert said(default, "remember", content="the sandbox needs  bubblewrap").startswith("exists (")
    other = said(default, "remember", content="The sandbox does not need bubblewrap").splitlines()
    assert other[1].startswith(f"contradicts {id_} (fact, ")
    new = other[0].split()[1]
    assert other[2] == f'  if that is no longer true: update_memory(memory_id="{new}", supersedes=["{id_}"])'
    assert said(default, "update_memory", memory_id=id_, importance=0.9).startswith(
        f"updated (importance): {id_} (fact, 0.9, "
    )
    assert said(default, "forget", memory_id=id_) == f"forgotten {id_} (fact, 0.9, today) The sandbox needs bubblewrap"
    assert id_ in said(default, "restore_memory", memory_id=id_)


def test_a_skill_is_a_line_and_to_work_by_it_its_instructions(default):
    made = said(default, "create_skill", name="run-tests", instructions="1. make test", description="How to test")
    assert made.startswith("created run-tests (sk-")
    assert said(default, "search_skills", query="how to run the tests").startswith("run-tests (sk-")
    head, _, text = said(default, "apply_skill", skill_id="run-tests").partition("\n\n")
    assert (head.endswith(": How to test"), text.strip()) == (True, "1. make test")


def test_a_weak_match_is_called_one(default, repo, line):
    repo.write_memories(line("mm-aaaaaa", "The deployment of the billing service runs on Tuesdays"))
    found = said(default, "recall", query="billing of parking tickets in Oslo by phone")
    assert found.startswith(("weak matches", "nothing is known"))


@pytest.mark.parametrize(
    ("name", "ref", "instead"),
    [("forget", {"memory_id": "zzzz"}, "recall shows the ids"), ("apply_skill", {"skill_id": "nope"}, "search_skills")],
)
def test_what_is_not_found_names_a_tool_that_is_offered(default, name, ref, instead):
    told = default.ask("call_tool", name, ref)
    assert told.is_error
    assert instead in told.content[0].text
    assert "`memsync" not in told.content[0].text


def test_a_new_type_is_stored_and_called_one(default):
    assert "(type" not in said(default, "remember", content="Ask before a wipe", memory_type="rule")
    told = said(default, "remember", content="The queue is drained at night", memory_type="prefrence")
    assert "('prefrence' is a new type; did you mean preference?)" in told
    told = said(default, "remember", content="Ids are Crockford base32", memory_type="Weird Type")
    assert "('Weird Type' is a new type, shown as other: not one short word)" in told


def test_every_tool_is_in_a_group(default):
    assert choose("all") == {offer.name for offer in OFFERS}
    assert choose("core, history") == {*CORE, *GROUPS["history"]}
    assert set(GROUPS["core"]) == set(CORE)
    with pytest.raises(UsageError, match="no group of tools 'everything'; there are core, memories"):
        choose("everything")
