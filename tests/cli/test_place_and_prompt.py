"""Of many memories that are anchored to one folder, a session is given those that its prompts are about."""

from __future__ import annotations

import json

import pytest
from helpers import GitRepo, memory_line, memsync

RULES = {
    "mm-round": "Amounts are rounded half to even, once, when the invoice is closed",
    "mm-limit": "The provider allows a hundred calls a minute, beyond that it blocks the account",
    "mm-audit": "Each refund needs a line in the audit table, written before the money moves",
    "mm-zones": "Due dates are computed in the zone of the customer, not in UTC",
    "mm-names": "A merchant may have two legal names, the shorter one goes on receipts",
    "mm-cents": "Money is an integer of cents, also in the queue",
}


@pytest.fixture
def pay(repo: GitRepo) -> GitRepo:
    """A project with six rules for one folder, whose prompts are given nothing."""
    (repo.root / "src" / "pay").mkdir(parents=True)
    (repo.root / "src" / "pay" / "core.py").write_text("x = 1\n")
    repo.write_memories("".join(memory_line(id_, text, anchors=["src/pay/"]) for id_, text in RULES.items()))
    memsync("config", "memory.recall_threshold", "1", cwd=repo.root)
    memsync("config", "memory.headlines", "off", cwd=repo.root)
    return repo


def hook(repo: GitRepo, event: str, **payload: object) -> str:
    said = {"session_id": "s1", "cwd": str(repo.root), **payload}
    out = memsync("hook", event, "--client", "claude", cwd=repo.root, stdin=json.dumps(said)).out
    return json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""


def read_core(repo: GitRepo) -> list[str]:
    given = hook(repo, "pre-tool", tool_name="Read", tool_input={"file_path": str(repo.root / "src/pay/core.py")})
    return [row[3:11] for row in given.splitlines() if row.startswith("- [")]


@pytest.mark.parametrize(
    ("prompt", "right"),
    [
        ("customers in Chile get the wrong due date on the last day of a month", "mm-zones"),
        ("a refund was sent twice, find out why nobody noticed", "mm-audit"),
        ("we are blocked by the provider in the nightly batch", "mm-limit"),
        ("receipts show the long name of some merchants", "mm-names"),
    ],
)
def test_the_rule_that_the_prompt_is_about_is_the_first_of_two_lines(pay: GitRepo, prompt: str, right: str):
    assert hook(pay, "prompt", prompt=prompt) == ""
    given = read_core(pay)
    assert (given[0], len(given)) == (right, 2)


def test_a_short_follow_up_does_not_make_the_session_forget_what_it_is_about(pay: GitRepo):
    hook(pay, "prompt", prompt="a refund was sent twice, find out why nobody noticed")
    hook(pay, "prompt", prompt="now look at the other half of that please, as we said")
    assert read_core(pay)[0] == "mm-audit"


def test_no_word_of_a_prompt_is_kept(pay: GitRepo):
    hook(pay, "prompt", prompt="a refund was sent twice, find out why nobody noticed")
    kept = b"".join(path.read_bytes() for path in (pay.root / ".gobby" / "local").glob("state.db*"))
    assert kept
    assert b"noticed" not in kept
    assert b"nobody" not in kept


def test_a_path_with_backslashes_is_that_of_the_file_in_anchors_and_in_a_call(pay: GitRepo):
    (pay.root / "copy.jsonl").write_text(
        json.dumps({"content": "The ledger is never rounded", "anchors": ["src\\pay\\core.py"]}) + "\n"
    )
    assert memsync("import", "copy.jsonl", cwd=pay.root).code == 0
    ran = memsync("remember", "Totals are sums of rounded lines", "--anchor", ".\\src\\pay\\core.py#x", cwd=pay.root)
    assert ran.code == 0, ran.err
    assert '"src/pay/core.py#x@' in pay.memories.read_text()
    assert "out of date" not in memsync("doctor", cwd=pay.root).out
    given = hook(
        pay, "pre-tool", tool_name="Edit", tool_input={"file_path": "src\\pay\\core.py", "old_string": "x = 1"}
    )
    assert "The ledger is never rounded (for src/pay/core.py)" in given
    assert "Totals are sums of rounded lines (for src/pay/core.py#x)" in given
