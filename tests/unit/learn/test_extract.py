"""Memories out of texts: what will still be true, and nothing of the noise."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm_server import Model, question_of
from loopback import Reply

from memsync import Memsync
from memsync.errors import ImportFailed
from memsync.format.as_json import as_json
from memsync.learn.candidates import Candidates
from memsync.learn.extract import extract
from memsync.learn.statements import statements
from memsync.learn.worth import as_memory, why_dropped

SUMMARY = """\
# Session

The user asked to fix the login page.

We ran the tests and 3 failed.

- Always run migrations with `make migrate`, never with the ORM's own command.
- The staging database listens on port 5433.
- Currently the CI is red because of a flaky test.
- Should we move to Postgres 16?
- Let me look at the config next.
- It went well and everybody was happy.
- The function `parse` is defined in src/parse.py.

```sh
- not a bullet, but code that must never be read as one
```

> quoted text that must always be left alone

| a table | must never be read |
"""


def test_a_summary_gives_what_lasts_and_says_why_the_rest_does_not(project, tmp_path):
    path = tmp_path / "summary.md"
    path.write_text(SUMMARY)
    found = extract(project, path)
    assert [(one.memory.content, one.where) for one in found.proposed] == [
        ("Always run migrations with `make migrate`, never with the ORM's own command.", f"{path}:7"),
        ("The staging database listens on port 5433.", f"{path}:8"),
    ]
    assert {one.line: one.why for one in found.dropped} == {
        3: "what was asked for",
        5: "what a tool printed",
        9: "true for a while only",
        10: "a question",
        11: "what the agent was doing",
        12: "said in passing",
        13: "what the code says itself",
    }


@pytest.mark.parametrize(
    ("text", "kind", "importance"),
    [
        ("Never push to main.", "preference", 0.8),
        ("Prefer composition over inheritance.", "preference", 0.7),
        ("This project is a web service for billing.", "context", 0.6),
        ("Every handler follows the pattern in base.py.", "pattern", 0.6),
        ("The cache lives in Redis 7.", "fact", 0.6),
    ],
)
def test_wording_gives_type_and_importance(text, kind, importance):
    memory = as_memory(text)
    assert (memory.memory_type, memory.importance, memory.source_type) == (kind, importance, "inferred")


def test_markup_and_links_are_taken_off_and_lines_joined():
    text = "- **Always** see [the guide](https://x.y)\n  before *touching* `a_b_c`.\n\n1. Then do\nthis thing.\n"
    assert [one.text for one in statements(text)] == [
        "Always see the guide before touching `a_b_c`.",
        "Then do this thing.",
    ]


@given(st.text(max_size=300))
def test_any_text_is_taken_apart_without_failing_and_lines_exist(text):
    for one in statements(text):
        assert 1 <= one.line <= text.count("\n") + 1
        why_dropped(one.text)


def test_a_secret_is_not_proposed_and_not_shown(project, tmp_path):
    path = tmp_path / "notes.md"
    token = "ghp_" + "a1B2c3D4e5" * 4
    path.write_text(f"- Always use the token {token[:40]} for releases.\n")
    found = extract(project, path)
    assert found.proposed == ()
    assert "looks like a secret" in found.dropped[0].why


def test_a_transcript_gives_the_corrections_and_never_what_was_injected(project, recorded_session):
    found = extract(project, recorded_session)
    assert [one.memory.content for one in found.proposed] == ["Don't use make test, use make check instead."]
    assert "staging" not in json.dumps(as_json(found.proposed))


@pytest.mark.parametrize("data", [b"\xff\xfe", None])
def test_a_file_that_cannot_be_read_is_refused(project, tmp_path, data):
    path = tmp_path / "x.md"
    if data:
        path.write_bytes(data)
    with pytest.raises(ImportFailed):
        extract(project, path)


# with a model

SAID = json.dumps(
    [
        {
            "content": "Run migrations with `make migrate`.",
            "memory_type": "pattern",
            "importance": 0.9,
            "tags": ["db"],
            "line": 6,
        },
        {"content": "Currently everything is broken.", "line": 8},
        {
            "content": "The staging database listens on port 5433.",
            "memory_type": "nonsense",
            "importance": 7,
            "line": 7,
        },
    ]
)


@pytest.fixture
def summary(tmp_path):
    path = tmp_path / "summary.md"
    path.write_text(SUMMARY)
    return path


@pytest.fixture
def with_model(repo, clock, home):
    def open_with(model: Model) -> Memsync:
        (home / ".gobby").mkdir(exist_ok=True)
        (home / ".gobby" / "config.yaml").write_text(
            f"llm:\n  provider: openai\n  model: tiny\n  base_url: {model.url}\n  retries: 0\n"
        )
        return Memsync.open(repo.root, clock=clock, env={"HOME": str(home), "MEMSYNC_LLM_KEY": "k"})

    return open_with


def test_a_model_writes_them_and_the_same_filter_looks_at_it(with_model, summary):
    with Model(SAID) as model:
        found = extract(with_model(model), summary)
    assert found.by == "model"
    assert [(one.memory.content, one.memory.memory_type, one.memory.importance) for one in found.proposed] == [
        ("Run migrations with `make migrate`.", "pattern", 0.9),
        ("The staging database listens on port 5433.", "fact", 1.0),
    ]
    assert "7: Always run migrations" in question_of(model.asked[0])


@pytest.mark.parametrize(
    "reply", [Reply.error(400, "no"), Reply(body=b"{}", headers={"Content-Type": "application/json"})]
)
def test_a_model_that_fails_is_replaced_by_rules_and_it_is_said(with_model, summary, reply):
    with Model("never given") as model:
        model.replies.append(reply)
        model.replies.append(reply)
        found = extract(with_model(model), summary)
    assert (found.by, len(found.proposed)) == ("rules", 2)
    assert found.note.startswith("by rules, because")


def test_a_secret_does_not_reach_the_model(with_model, tmp_path):
    path = tmp_path / "notes.md"
    token = ("ghp_" + "a1B2c3D4e5" * 4)[:40]
    path.write_text(f"- Always use the token {token} for releases.\n- Always run the tests before a release.\n")
    with Model("[]") as model:
        extract(with_model(model), path)
    assert token not in json.dumps(model.asked[0].body)


def test_what_waits_is_approved_like_what_a_person_says(project, summary):
    extract(project, summary)
    waiting = Candidates(project)
    done = waiting.approve([one.memory.id for one in waiting.memories()])
    assert [one.status for one in done] == ["created", "created"]
    assert {entry.memory.source_type for entry in project.memories()} == {"inferred"}
