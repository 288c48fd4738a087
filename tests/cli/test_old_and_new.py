"""Facts that changed: whatever a prompt or a query names, the newer one stands first, and the old one is never told alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import memsync
from loopback import Loopback

from memsync import Memsync
from memsync.agents.session import RecallSession
from memsync.index.dedup import decide

# Language, the old fact, the new one, and a prompt that names the old value.
PAIRS = [tuple(row.split("|")) for row in Path(__file__).with_name("old_and_new.txt").read_text("utf-8").splitlines()]
SOME = [pair[1:] for pair in (PAIRS[0], PAIRS[3], PAIRS[5], PAIRS[55], PAIRS[105], PAIRS[127])]
OTHERS = [f"Service s{n} listens on port 80{n}{n}" for n in range(1, 11)]
MARK = "of 2026-11-01, replaces? [mm-bbbbbb] of 2025-06-01"


def fill(repo, old: str, new: str) -> None:
    rows = [("mm-bbbbbb", old, "2025-06-01"), ("mm-aaaaaa", new, "2026-11-01")]
    rows += [(f"mm-cccc{n:02}", text, "2026-10-01") for n, text in enumerate(OTHERS)]
    lines = [{"id": id_, "content": text, "created_at": f"{day}T10:00:00Z"} for id_, text, day in rows]
    repo.write_memories("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(("old", "new", "ask"), SOME)
def test_a_prompt_that_names_the_old_value_is_given_the_newer_one_first_and_both_dates(repo, old, new, ask):
    fill(repo, old, new)
    said = json.dumps({"session_id": "s1", "cwd": str(repo.root), "prompt": ask, "hook_event_name": "UserPromptSubmit"})
    hook = memsync("hook", "prompt", "--client", "claude", cwd=repo.root, stdin=said).json
    inject = memsync("inject", "--prompt", ask, "--json", cwd=repo.root).json
    for text in (hook["hookSpecificOutput"]["additionalContext"], inject["inject_context"]):
        assert -1 < text.index(new) < text.index(old)
        assert MARK in text
        assert "alike" not in text
    found = memsync("recall", ask, "--json", cwd=repo.root).json["memories"]
    assert [one["content"] for one in found[:2]] == [new, old]
    assert [one["against"] for one in found[:2]] == [
        [{"id": "mm-bbbbbb", "says": MARK}],
        [{"id": "mm-aaaaaa", "says": "of 2025-06-01, replaced? by [mm-aaaaaa] of 2026-11-01"}],
    ]


def test_a_model_that_embeds_is_asked_about_the_query_alone_and_not_about_what_may_be_newer(repo):
    old, new, ask = SOME[1]
    fill(repo, old, new)
    with Loopback() as server:
        memsync("config", "--global", "memory.embedder", server.spec, cwd=repo.root)
        memsync("index", "rebuild", cwd=repo.root)
        server.asked.clear()
        found = memsync("recall", ask, "--json", cwd=repo.root).json["memories"]
        assert [one["content"] for one in found[:2]] == [new, old]
        assert [asked.texts for asked in server.asked] == [[ask]]


@pytest.mark.parametrize(("old", "new", "ask"), SOME)
def test_a_correction_is_stored_and_told_by_what_it_differs_in_and_never_as_a_copy(repo, old, new, ask):
    memsync("remember", old, cwd=repo.root)
    done = memsync("remember", new, "--json", cwd=repo.root).json
    assert done["status"] == "created"
    assert done["similar"][0]["relation"] in ("differs", "contradicts")
    assert memsync("review", "--kind", "copies", "--json", cwd=repo.root).json["cards"] == []


def test_what_differs_is_named_and_how_to_say_that_it_replaces_the_old_one(repo):
    old = memsync("remember", "We use yarn for the frontend", "--json", cwd=repo.root).json["memory"]["id"]
    done = memsync("remember", "We use pnpm for the frontend", cwd=repo.root)
    assert f"not the same as (differs in: yarn / pnpm): {old}" in done.out
    assert f"--supersedes {old}" in done.out


def test_the_newer_one_comes_with_the_old_one_even_where_it_shares_no_word_with_the_prompt(repo):
    fill(repo, "Parser tests are written with unittest", "Parser tests are written with pytest")
    found = memsync("inject", "--prompt", "how do we use unittest here", "--json", cwd=repo.root).json
    assert found["inject_context"].index("pytest") < found["inject_context"].index("unittest")


def test_a_newer_fact_that_the_session_has_is_named_beside_the_old_one(repo):
    fill(repo, *SOME[0][:2])
    session = RecallSession(Memsync.open(repo.root), "s1")
    session.adopt(["mm-aaaaaa"])
    given = session.on_turn(SOME[0][2])
    assert "of 2025-06-01, replaced? by [mm-aaaaaa] of 2026-11-01" in given.text


def test_facts_about_different_things_are_not_told_as_replacing_each_other(repo):
    fill(repo, "Bob is on call", "Releases are cut on Mondays")
    given = memsync("inject", "--prompt", "on which port does service s3 listen", "--json", cwd=repo.root).json
    assert "Service s3 listens on port 8033" in given["inject_context"]
    assert "replace" not in given["inject_context"]


@pytest.mark.slow
def test_no_fact_is_told_alone_or_folded_where_a_newer_one_has_another_word_number_unit_or_name(repo):
    wrong = []
    for _, old, new, ask in PAIRS:
        fill(repo, old, new)
        with Memsync.open(repo.root) as project:
            given = RecallSession(project, "").at_prompt(ask)
            found = [hit.id for hit in project.search(ask)]
        ids = [entry.id for entry in given.entries]
        is_apart = all(decide(*pair, 1.0).relation in ("differs", "contradicts") for pair in ((new, old), (old, new)))
        if not is_apart or given.folded or ids[:1] != ["mm-aaaaaa"] or found[:1] != ["mm-aaaaaa"]:
            wrong.append((old, new, ids, found))
    assert len(PAIRS) == 150
    assert wrong == []
