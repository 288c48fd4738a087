"""What is learned of what was said: by sentence, as statements, without guesses, small talk and what was taken back."""

from __future__ import annotations

from pathlib import Path

import pytest
import sessions

from memsync.learn.extract import extract
from memsync.learn.said import lessons
from memsync.learn.transcripts import Call, Said

SESSIONS = sorted((Path(__file__).parent / "sessions").glob("*.txt"))


def said(*texts: str) -> list[str]:
    """Return what is learned where the user says *texts* in turn."""
    return [one.text for one in lessons([Said("user", text, number) for number, text in enumerate(texts, 1)])]


def found_out(text: str, *, worked: bool | None, then: str = "") -> list[str]:
    """Return what is learned where the agent says *text* after a command, and the user *then*."""
    steps = [Call(tool="Bash", kind="command", line=1, command="make test", failed=not worked), Said("agent", text, 2)]
    return [one.text for one in lessons([*steps, *([Said("user", then, 3)] if then else [])])]


def test_of_realistic_sessions_most_is_learned_with_little_noise_and_nothing_wrong(project, tmp_path):
    scores = []
    for path in SESSIONS:
        parts, labels = sessions.read(path)
        transcript = sessions.write(parts, path.suffixes[0][1:], tmp_path / f"{path.stem}.jsonl")
        proposed = extract(project, transcript, use_model=False, dry_run=True).proposed
        scores.append(sessions.judge([one.memory.content for one in proposed], labels))
    assert [one.wrong for one in scores if one.wrong] == []
    assert sum(len(one.missed) for one in scores) <= 0.25 * sum(one.facts for one in scores)
    assert sum(len(one.noise) for one in scores) <= 0.15 * sum(one.proposed for one in scores)


@pytest.mark.parametrize(
    ("message", "statement"),
    [
        ("ok, btw branches are named feature/<ticket>-<slug> 👍", "Branches are named feature/<ticket>-<slug>."),
        ("no, we use pnpm", "We use pnpm."),
        ("We decided to use Postgres because of jsonb, please change that too.", "We decided to use Postgres because of jsonb."),
        ("I'd prefer tabs over spaces pls", "The user would prefer tabs over spaces."),
        ("Anna owns the billing module, I saw you edited it", "Anna owns the billing module."),
        ("No hex codes in components! take them from src/theme.ts", "No hex codes in components. Take them from src/theme.ts."),
        ("Names end with _, as `a. b` does, always", "Names end with _, as `a. b` does, always."),
    ],
)  # fmt: skip
def test_a_sentence_becomes_a_statement(message, statement):
    assert said(message) == [statement]


@pytest.mark.parametrize(
    "message",
    [
        "can you always add a test?",
        "add a retry to the client and make sure it never loops forever",
        "it works now, thanks! have a nice weekend",
        "maybe we should always use uv, not sure",
        "Riley mentioned their editor is set to neovim.",
        'the customer wrote: "we always prefer your old design"',
        "```\nINFO we always restart workers\n```",
        "2026-03-03 11:02:11 INFO we always restart workers on timeout",
        "use port 9000 for now",
        "we need a new node group for the gpu jobs",
    ],
)
def test_what_does_not_last_is_left_out(message):
    assert said(message) == []


def test_what_was_taken_back_is_not_learned():
    assert said("I prefer the darker button", "no, the lighter button was better. revert") == []
    assert said("The port is 8080.", "no, the port is 8081") == ["The port is 8081."]


def test_the_agent_is_believed_what_a_command_proved_and_nothing_that_it_guesses():
    fact = "The J-Link needs `PROBE=jlink`."
    assert found_out(f"Great! {fact} I'll go on.", worked=True) == [fact]
    assert found_out(fact, worked=False) == []
    assert found_out("It might be that the J-Link needs `PROBE=jlink`.", worked=True) == []
    assert found_out("The port must be 8080.", worked=True, then="no, the port must be 8081") == [
        "The port must be 8081."
    ]


def test_the_cause_of_what_was_not_the_cause_is_forgotten():
    ran = Call(tool="Bash", kind="command", line=1, command="make test", failed=False)
    steps = [ran, Said("agent", "The cause is the `cache` key.", 2), ran, Said("agent", "That was not it.", 4)]
    assert lessons(steps) == []


def test_a_correction_is_marked_as_one():
    steps = [Said("agent", "Done.", 1), Said("user", "no, we use pnpm", 2), Said("user", "Anna owns billing", 3)]
    assert [(one.text, one.corrects) for one in lessons(steps)] == [
        ("We use pnpm.", True),
        ("Anna owns billing.", False),
    ]
