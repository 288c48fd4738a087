"""What names a memory follows it where the janitor merges it into another, and leads back when that is undone."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from helpers import GitRepo, memsync

REASON = "Uvicorn 0.23 drops connections behind the Lisbon proxy"
PROMPT = "to which version is the gunicorn worker pinned?"
SPELLED: dict[str, dict[str, object]] = {
    "in its text": {"content": "The gunicorn worker is pinned to version 21, [[because:mm-reasn2]]"},
    "in its links": {
        "content": "The gunicorn worker is pinned to version 21 on every host",
        "links": ["because:mm-reasn2"],
    },
}


def ask(repo: GitRepo, session: str) -> str:
    payload = {"session_id": session, "cwd": str(repo.root), "prompt": PROMPT}
    return memsync("hook", "prompt", "--client", "claude", cwd=repo.root, stdin=json.dumps(payload)).out


def write(repo: GitRepo, *records: Mapping[str, object]) -> None:
    repo.write_memories("".join(json.dumps({"created_at": "2026-01-02T00:00:00Z", **one}) + "\n" for one in records))


@pytest.mark.parametrize("where", SPELLED)
def test_the_reason_is_given_beside_a_memory_before_a_merge_after_it_and_when_it_is_undone(where: str, repo: GitRepo):
    pin = {"id": "mm-pinpin", **SPELLED[where]}
    write(repo, {"id": "mm-reasn1", "content": f"{REASON}."}, {"id": "mm-reasn2", "content": REASON}, pin)
    before = json.loads(memsync("list", "--json", cwd=repo.root).out)
    assert "(the reason for mm-pinpin)" in ask(repo, "s1")
    assert "1 merged" in memsync("janitor", "run", cwd=repo.root).out
    given = ask(repo, "s2")
    assert "(the reason for mm-pinpin)" in given
    assert "mm-reasn2" not in given
    assert "dangling" not in memsync("doctor", cwd=repo.root).out
    assert memsync("janitor", "undo", cwd=repo.root).code == 0
    after = json.loads(memsync("list", "--json", cwd=repo.root).out)
    texts = [{one["id"]: (one["content"], one.get("links")) for one in told["memories"]} for told in (before, after)]
    assert texts[0] == texts[1]
    assert "(the reason for mm-pinpin)" in ask(repo, "s3")


@pytest.mark.parametrize("store", ["--private", "--global"])
def test_what_only_the_user_has_names_what_a_merge_kept_until_that_is_undone(store: str, repo: GitRepo):
    write(repo, {"id": "mm-reasn1", "content": f"{REASON}."}, {"id": "mm-reasn2", "content": REASON})
    text = "The gunicorn worker is pinned to version 21"
    assert memsync("remember", store, f"{text}, [[because:mm-reasn2]]", cwd=repo.root).code == 0
    assert "1 merged" in memsync("janitor", "run", cwd=repo.root).out
    assert f"{text}, [[because:mm-reasn1]]" in memsync("list", cwd=repo.root).out
    assert "(the reason for mm-" in ask(repo, "s1")
    assert "dangling" not in memsync("doctor", cwd=repo.root).out
    assert memsync("janitor", "undo", cwd=repo.root).code == 0
    assert f"{text}, [[because:mm-reasn2]]" in memsync("list", cwd=repo.root).out


def test_a_text_that_lost_in_a_merge_of_git_names_what_stands_for_the_winner(repo: GitRepo):
    lost = {"id": "mm-lostin", "content": "Releases are cut on Mondays", "conflict_of": "mm-reasn2"}
    write(repo, {"id": "mm-reasn1", "content": f"{REASON}."}, {"id": "mm-reasn2", "content": REASON}, lost)
    memsync("janitor", "run", cwd=repo.root)
    live = json.loads(memsync("list", "--json", cwd=repo.root).out)["memories"]
    (kept,) = (one["id"] for one in live if REASON in one["content"])
    (copy,) = (one for one in live if one["id"] == "mm-lostin")
    assert (kept, copy["conflict_of"]) == ("mm-reasn1", "mm-reasn1")
    memsync("janitor", "undo", cwd=repo.root)
    assert json.loads(memsync("show", "mm-lostin", "--json", cwd=repo.root).out)["conflict_of"] == "mm-reasn2"
