"""What of a prompt is looked for, and which of its parts are."""

from __future__ import annotations

from memsync.agents.prompts import find_gist, split_questions

LOG = "".join(f"10:00:{n % 60:02} INFO worker {n} is idle\n" for n in range(5_000))


def test_a_short_prompt_is_looked_for_as_it_is():
    text = "why does `make up` fail?\n\nValueError: no port"
    assert find_gist(text) == text
    assert split_questions(text) == []


def test_of_a_long_one_both_ends_and_the_errors_are_kept_however_long_it_is():
    text = f"please look at this\n{LOG[:20_000]}KeyError: 'port'\n{LOG}what can I do?"
    found = find_gist(text)
    assert found.startswith("please look at this")
    assert found.endswith("what can I do?")
    assert "KeyError: 'port'" in found
    assert len(found) < 6_000 < len(text)


def test_the_last_error_is_asked_for_by_itself_and_before_the_questions():
    trace = "Traceback:\n  File 'a.py'\nKeyError: 'a'\n\nDuring handling of that:\nOSError: disk is full"
    text = f"The import stops every night since we moved it to the new machine.\n\n{trace}\n\nDo we clean up old files at all?"
    parts = split_questions(text)
    assert parts[:2] == ["OSError: disk is full", "Do we clean up old files at all?"]
    assert len(parts) == 3


def test_what_is_said_around_code_is_asked_for_without_the_code():
    code = "```yaml\nsteps:\n  - run: make wheel\n```"
    text = f"My pipeline has a long condition in it:\n{code}\nand it never matches. I thought that the lines are folded into one, but there is a break."
    part = split_questions(text)[0]
    assert part.startswith("My pipeline")
    assert part.endswith("break.")
    assert "steps" not in part


def test_paragraphs_are_asked_for_one_by_one_where_there_are_few_and_of_a_pasted_plan_only_its_questions():
    steps = [f"Step {n} changes the worker pool and its queue of jobs" for n in range(4)]
    assert split_questions("\n\n".join(steps)) == steps[:3]
    plan = "\n\n".join([*steps, "Which port does the staging database listen on these days?"])
    assert split_questions(plan) == ["Which port does the staging database listen on these days?"]


def test_each_question_of_several_is_a_part_and_small_remarks_are_not():
    text = (
        "Two things before the release.\n\n1. Which port does the staging database listen on these days?\n"
        "2. Who may approve a refund above a thousand euros, and where is that written down?\n\nThanks a lot"
    )
    parts = split_questions(text)
    assert [part.split()[0] for part in parts[:2]] == ["Which", "Who"]
    assert "Thanks a lot" not in parts
