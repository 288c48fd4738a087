"""Learning with a model, through the real SDKs: what it writes, and that rules do when it does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from llm_server import Model, question_of
from loopback import Reply
from skills_ref import validate as specification_says

from memsync import Memsync
from memsync.learn.candidates import Candidates
from memsync.learn.extract import extract
from memsync.learn.lessons import Learned, learn_skill

CLAUDE = Path(__file__).parent / "transcripts" / "claude.jsonl"
SKILL = {
    "description": "How to check the project. Use when a change is done.",
    "instructions": "# Check\n\n1. Run `make check`.\n",
    "trigger_pattern": "check|test",
    "tags": ["testing"],
}
MEMORIES = [
    {"content": "Always run `make check` before a commit.", "memory_type": "preference", "importance": 0.9, "line": 4}
]
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def model() -> Iterator[Model]:
    with Model(json.dumps(SKILL)) as server:
        yield server


@pytest.fixture(params=["anthropic", "openai"])
def opened(request, model, repo, clock, home) -> Callable[..., Memsync]:
    """Return a function that opens the project with the model of the loopback server, once over each protocol."""

    def open_with(**settings: object) -> Memsync:
        url = model.base if request.param == "anthropic" else model.url
        said = {"provider": request.param, "model": "tiny", "base_url": url, "retries": 0, **settings}
        (home / ".gobby").mkdir(exist_ok=True)
        (home / ".gobby" / "config.yaml").write_text("llm:\n" + "".join(f"  {k}: {v}\n" for k, v in said.items()))
        return Memsync.open(repo.root, clock=clock, env={"HOME": str(home), "MEMSYNC_LLM_KEY": "k"})

    return open_with


def test_a_model_writes_the_skill_and_it_waits_like_any_other(opened, model, repo):
    project = opened()
    done = learn_skill(project, "check", transcript=CLAUDE)
    assert (done.status, done.by, done.note) == ("candidate", "model", "")
    entry = Candidates(project).approve_skill("check")
    assert (entry.skill.description, entry.skill.trigger_pattern, entry.skill.tags) == (
        SKILL["description"],
        "check|test",
        ("testing",),
    )
    assert specification_says(repo.root / ".claude" / "skills" / "check") == []
    assert "make check" in question_of(model.asked[0])


def by_rules(done: Learned) -> None:
    assert (done.status, done.by) == ("candidate", "rules")
    assert done.note.startswith("drafted by rules, because ")
    assert "make check" in done.path.read_text()


def _refuse(body: dict) -> None:
    if "choices" in body:
        body["choices"][0]["message"] |= {"content": None, "refusal": "I cannot help with that."}
    else:
        body |= {"stop_reason": "refusal", "content": []}


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(change=_refuse), "declines"),
        (Reply.error(429, "slow down"), "slow down"),
        (Reply.error(401, "who are you"), "401"),
        (Reply(body=b'{"cho', headers=JSON), ""),
        (Reply(hangs=True), "in time"),
    ],
    ids=["refused", "rate limit", "no key", "malformed", "timeout"],
)
def test_where_the_model_fails_rules_write_the_skill_and_it_is_said(opened, model, reply, why):
    model.replies.append(reply)
    done = learn_skill(opened(timeout=0.5 if reply.hangs else 30), "check", transcript=CLAUDE)
    by_rules(done)
    assert why in done.note


@pytest.mark.parametrize(
    "said",
    [
        "I would rather talk about the weather.",
        json.dumps({**SKILL, "instructions": " "}),
        json.dumps({"description": "no instructions"}),
        json.dumps({**SKILL, "trigger_pattern": "(a+)+$("}),
        json.dumps({**SKILL, "description": ""}),
    ],
)
def test_an_answer_that_is_no_skill_is_not_taken(opened, model, said):
    model.answers[0] = said
    by_rules(learn_skill(opened(), "check", transcript=CLAUDE))


def test_a_spent_budget_asks_nobody(opened, model):
    done = learn_skill(opened(budget_per_run=10), "check", transcript=CLAUDE)
    by_rules(done)
    assert "budget" in done.note
    assert model.asked == []


def test_without_a_wish_for_a_model_none_is_asked(opened, model):
    done = learn_skill(opened(), "check", transcript=CLAUDE, use_model=False)
    assert (done.by, done.note, model.asked) == ("rules", "", [])


def test_a_model_chooses_the_memories_of_a_session(opened, model):
    model.answers[0] = json.dumps(MEMORIES)
    found = extract(opened(), CLAUDE)
    assert (found.by, [one.memory.content for one in found.proposed]) == ("model", [MEMORIES[0]["content"]])
    assert "staging database is read-only" not in question_of(model.asked[0])  # injected, not said


@pytest.mark.parametrize(
    ("reply", "settings", "why"),
    [
        (Reply(change=_refuse), {}, "declines"),
        (Reply.error(429, "slow down"), {}, "slow down"),
        (Reply(hangs=True), {"timeout": 0.5}, "in time"),
        (Reply(), {"budget_per_run": 10}, "budget"),
    ],
    ids=["refused", "rate limit", "timeout", "budget"],
)
def test_where_the_model_fails_rules_choose_the_memories_and_it_is_said(opened, model, reply, settings, why):
    model.replies.append(reply)
    found = extract(opened(**settings), CLAUDE)
    assert (found.by, found.note.startswith("by rules, because ")) == ("rules", True)
    assert why in found.note
