"""A model in the writing path: it may keep a copy out, and never a text that says more or other numbers."""

from __future__ import annotations

import json

import pytest
from llm_server import Model

from memsync import Memsync

STORED = "Run make fmt before every commit; CI rejects unformatted Go code."
NEAR = "Before each commit run make fmt, because CI rejects unformatted Go code."


@pytest.fixture
def opened(home, repo, clock):
    """Return a function that opens the project with a model that gives this answer about a doubtful text."""
    models = []

    def start(answer: str, **dedup: object) -> tuple[Memsync, Model]:
        model = Model(answer)
        models.append(model)
        (home / ".gobby").mkdir(exist_ok=True)
        named = {"provider": "openai", "model": "tiny", "base_url": model.url, "retries": 0}
        settings = {"llm": named, "janitor": {"dedup": {"gray_zone_low": 0.7, **dedup}}}
        (home / ".gobby" / "config.yaml").write_text(json.dumps(settings))
        project = Memsync.open(repo.root, clock=clock)
        project.remember(STORED)
        return project, model

    yield start
    for model in models:
        model.stop()


def said(relation: str) -> str:
    return json.dumps({"pairs": [{"n": 1, "relation": relation, "reason": "as told"}]})


def decisions(project: Memsync) -> list[tuple[str, str]]:
    project.close()
    return [(row.decision, row.reasoning) for row in project.state("project").dedup_log()]


@pytest.mark.parametrize("relation", ["duplicate", "contained"])
def test_what_the_model_takes_for_a_copy_is_not_stored_and_can_be_brought_back(opened, relation):
    project, model = opened(said(relation))
    result = project.remember(NEAR)
    assert (result.status, len(model.asked)) == ("exists", 1)
    assert decisions(project) == [("llm_reject", "as told")]
    assert project.state("project").dedup_log()[0].rejected is not None


@pytest.mark.parametrize("relation", ["contains", "contradicts", "different"])
def test_what_says_more_or_something_else_is_stored(opened, relation):
    project, _ = opened(said(relation))
    assert project.remember(NEAR).status == "created"
    assert decisions(project) == [("llm_keep", "as told")]


@pytest.mark.parametrize("answer", ["no idea", "{}"])
def test_a_model_of_no_use_leaves_the_text_stored(opened, answer):
    project, _ = opened(answer)
    assert project.remember(NEAR).status == "created"
    assert [decision for decision, _ in decisions(project)] == ["fallback_keep"]


def test_the_strict_setting_keeps_a_likely_copy_out_where_no_model_answers(opened):
    project, _ = opened("no idea", strict=True)
    assert project.remember(NEAR).status == "exists"
    assert [decision for decision, _ in decisions(project)] == ["fallback_reject"]


def test_a_number_that_the_stored_text_lacks_is_never_left_out(opened):
    project, _ = opened(said("duplicate"))
    assert project.remember(NEAR.replace("make fmt", "make fmt 2.4")).status == "created"


def test_a_text_that_is_like_nothing_asks_nobody(opened):
    project, model = opened(said("duplicate"))
    assert project.remember("Marta dislikes emojis in commit messages.").status == "created"
    assert model.asked == []
