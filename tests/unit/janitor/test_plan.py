"""The plan file: what is written is read again, and what cannot be read is named with its line."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.errors import PlanUnreadable
from memsync.janitor.plan import Archive, Confirm, Merge, Plan, Reverse, parse, spell

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
WHY = st.text(min_size=1, max_size=20).filter(lambda text: text.encode("utf-8", "ignore").decode() == text)
SCOPE = st.sampled_from(["project", "global", "private"])
SEALS = st.dictionaries(st.sampled_from(["a", "b"]), st.just("0123456789ab"), max_size=2)
MERGES = st.builds(
    Merge,
    SCOPE,
    st.just("keep"),
    st.lists(st.uuids().map(str), min_size=1).map(tuple),
    SEALS,
    WHY,
    st.just("auto_reject"),
    st.floats(0, 1),
    st.none(),
)
STEPS = st.one_of(
    MERGES,
    st.builds(Archive, SCOPE, st.just("other"), SEALS, WHY, st.floats(0, 1)),
    st.builds(Confirm, SCOPE, st.lists(st.integers(1, 99), min_size=1).map(tuple), WHY),
    st.builds(Reverse, SCOPE, st.integers(1, 99), WHY),
)


def written(plan: Plan, told: str = "a text\nof two lines") -> str:
    return spell(plan, lambda step: [told], NOON, "plan.jsonl")


@given(st.lists(STEPS, max_size=5), st.lists(MERGES, max_size=3), st.text())
def test_a_plan_is_read_as_it_was_written_and_guesses_are_left_out(steps, guesses, told):
    text = written(Plan(steps=steps, guesses=guesses, notes=[told]), told)
    assert parse(text.encode("utf-8", "replace"), "plan.jsonl") == steps


def test_a_guess_is_done_once_its_mark_is_taken_away():
    guess = Merge("project", "mm-a", ("mm-b",), {}, "may be the same")
    text = written(Plan(guesses=[guess])).replace("#? {", "{")
    assert parse(text.encode(), "plan.jsonl") == [guess]


def test_an_editor_may_leave_a_bom_and_crlf():
    step = Archive("project", "mm-a", {}, "old")
    data = written(Plan(steps=[step])).replace("\n", "\r\n").encode("utf-8-sig")
    assert parse(data, "plan.jsonl") == [step]


def test_a_text_cannot_break_out_of_its_comment():
    told = 'x\r{"do": "archive"}\u2028\x85\x0b{"do": "archive"}\x1b[2J'
    text = written(Plan(steps=[Reverse("project", 1)]), told)
    assert parse(text.encode(), "plan.jsonl") == [Reverse("project", 1)]
    assert "\x1b" not in text


MERGE = {"do": "merge", "scope": "project", "keep": "mm-a", "drop": "mm-b"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "Expecting property name"),
        ("[" * 50_000, "nested more than 64 levels deep"),
        ("[]", "not a JSON object"),
        ('{"do": "delete", "id": "x"}', '"do" is not one of merge, archive, enrich, confirm, reverse'),
        (json.dumps({**MERGE, "scope": "everywhere"}), "scope is not one of"),
        (json.dumps({**MERGE, "drop": ""}), "drop is not an id, or a list of them"),
        (json.dumps({**MERGE, "kepe": "x"}), "'kepe' does not belong to this step"),
        (json.dumps({"do": "merge", "scope": "project", "keep": "x"}), "'drop' is missing"),
        (json.dumps({**MERGE, "saw": ["mm-a"]}), "saw does not say what was seen"),
        (json.dumps({**MERGE, "similarity": True}), "similarity is not a number"),
        (json.dumps({**MERGE, "decision": "guess"}), "decision is not one of"),
        (json.dumps({**MERGE, "content": " "}), "the content is empty"),
        ('{"do": "confirm", "scope": "project", "rows": 3}', "rows is not a list"),
        ('{"do": "reverse", "scope": "project", "row": -1}', "row is not the number of a row"),
        (b"\xff\xfe", "not UTF-8 at byte 1"),
    ],
)
def test_an_invalid_line_is_named_with_file_and_number(line, why):
    raw = line if isinstance(line, bytes) else line.encode()
    with pytest.raises(PlanUnreadable) as error:
        parse(b"# a comment\n\n" + raw + b"\n", "some/plan.jsonl")
    assert str(error.value).startswith("some/plan.jsonl:3: ")
    assert why in str(error.value)


@pytest.mark.parametrize(
    "other",
    [
        {**MERGE, "keep": "mm-c"},
        {**MERGE, "keep": "mm-b", "drop": "mm-c"},
        {"do": "archive", "scope": "project", "id": "mm-b"},
    ],
)
def test_a_plan_that_uses_what_it_drops_is_refused(other):
    with pytest.raises(PlanUnreadable, match="mm-b is dropped by one line and used by another"):
        parse(f"{json.dumps(MERGE)}\n{json.dumps(other)}\n".encode(), "plan.jsonl")


def test_the_seeds_names_of_decisions_are_read():
    (step,) = parse(json.dumps({**MERGE, "decision": "haiku_reject"}).encode(), "plan.jsonl")
    assert step.decision == "llm_reject"
