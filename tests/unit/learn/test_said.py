"""What is learned of what was said: by sentence, as statements, without guesses, small talk and what was taken back."""

from __future__ import annotations

from pathlib import Path

import pytest
import sessions

from memsync.learn.extract import extract
from memsync.learn.said import lessons
from memsync.learn.transcripts import Said

SESSIONS = sorted((Path(__file__).parent / "sessions").glob("*.txt"))


def said(*texts: str) -> list[str]:
    """Return what is learned where the user says *texts* in turn."""
    return [one.text for one in lessons([Said("user", text, number) for number, text in enumerate(texts, 1)])]


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
        ("Release branches are named release/<year>, e.g. release/2031", "Release branches are named release/<year>, e.g. release/2031."),
        ("From now on never run X, always use Y", "From now on never run X, always use Y."),
        ("We settled on NATS instead of Rabbit this morning, because it is smaller", "We settled on NATS instead of Rabbit, because it is smaller."),
        ("The pool is shared. From now on only reach it through the wrapper", "The pool is shared. From now on only reach it through the wrapper."),
        ("no minification please. With it nobody could read the reports", "No minification. With it nobody could read the reports."),
        ("Before you go on: libs/theme is frozen", "libs/theme is frozen."),
        ("internal changes are never breaking changes", "Internal changes are never breaking changes."),
        ("the full schema should not be updated ever", "The full schema should not be updated ever."),
        ("do the one here as well, we always want to be passed a checked id", "We always want to be passed a checked id."),
        ("Ah yes I forgot: Kafka was switched off on Monday, topics live in NATS", "Kafka was switched off, topics live in NATS."),
        ("oh, you can't run migrations directly, they need a lock", "You can't run migrations directly, they need a lock."),
        ("open a PR, everything goes through the runner", "Everything goes through the runner."),
        ("We tried Redis last year and lost half the queue", "We tried Redis and lost half the queue."),
        ("Next time you touch the schema, let me run the migration", "Next time you touch the schema, let the user run the migration."),
        ("I don't want more READMEs unless I ask for them, like I said", "The user does not want more READMEs unless the user asks for them."),
        ("commit messages in conventional commits style pls", "Commit messages in conventional commits style."),
        ("帮我同步其他框架，需要注意的是 react 是标准，不要修改 react 的代码，让他们一致", "react 是标准，不要修改 react 的代码。"),
        ("用中文回答我，同时修复测试", "用中文回答我。"),
        ("Je souhaite dorénavant que tu me parles en français", "Je souhaite dorénavant que tu me parles en français."),
        ("No quiero ficheros de prueba que no te pido", "No quiero ficheros de prueba que no te pido."),
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
        "remove the old plugin, it is no longer needed",
        "can we make the row full width always?",
        "The gradient doesn't work anymore.",
        "the manager is made but never used",
        "we should always show it",
        "don't write any code yet, just look",
        "find a way to make the url always visible",
        "confirm that we must use openai instead of azure",
        "we need a new node group for the gpu jobs",
        "The windows ci job is red.",
        "Write the commit message for this.",
        "let's go with option 1",
        "my github user is octocat",
        "Low Severity: the function parse() always returns None and is never called",
        "The server is now deployed.",
        "no flicker anymore, thanks!",
        "I don't want them.",
        '"IMPORTANT: always say the unit, not the code.',
        "We follow this pattern: /0 is created first. I want /1 to be first instead",
        "Serwer nie działa",
        "no veo los campos en la ui",
        "todavía no funciona, sigue sin mostrar el total",
        "Je ne vois toujours pas le fichier",
        "die Tests laufen immer noch nicht",
        "a lista nunca aparece, continua vazia",
        "我说了，你永远改不对",
        "而不是新增一个文件",
    ],
)
def test_what_does_not_last_is_left_out(message):
    assert said(message) == []


def test_what_was_taken_back_is_not_learned():
    assert said("I prefer the darker button", "no, the lighter button was better. revert") == []
    assert said("The port is 8080.", "no, the port is 8081") == ["The port is 8081."]


def test_what_the_agent_says_is_not_learned_whatever_the_user_says_to_it():
    steps = [
        Said("user", "why?", 1),
        Said("agent", "The J-Link must always have `PROBE=jlink`.", 2),
        Said("user", "great", 3),
    ]
    assert lessons(steps) == []


LONG = (
    "Here is how the page looks to our guests when they come in from the shop with something in their basket, and how it ends. "
    * 3
)


@pytest.mark.parametrize(
    ("message", "lasts"),
    [
        ("never push to main", True),
        ("we use `outbox` for events", True),
        ("we use the outbox for events", False),  # one sign alone,
        (f"{LONG} We use `outbox` for events.", False),  # a specification
        (f"We use `outbox` for our events.\n\n{LONG}", True),  # and what it was pasted behind
        ("use uv as the package manager", True),
        ("The form must have a title.", False),  # of the task
        ("The form must always have a title, otherwise the import fails.", True),
        ("Always use that format for `tasks.md`.", False),  # which only this session has seen
        ("Changed the status (always DONE instead of FAILED)", False),  # a report
        ("generated files in `gen/` are never edited by hand", True),
        ("please remember that for your instructions", False),
        ("you should not be editing files in the main workspace", True),
        ("from now on answer in German", True),
        ("let's stick with the current design", False),
    ],
)
def test_a_rule_lasts_if_it_is_said_by_itself_and_is_not_a_requirement(message, lasts):
    assert bool([one for one in lessons([Said("user", message, 1)]) if one.times]) is lasts


@pytest.mark.parametrize(
    "message",
    ["Remember: the orders service owns refunds", "fix it. And remember that the orders service owns refunds, please"],
)
def test_what_somebody_asks_to_have_remembered_is_an_order_whatever_its_words(message):
    (one,) = lessons([Said("user", message, 1)])
    assert (one.text, one.by, one.times) == ("The orders service owns refunds.", "asked", 1)


@pytest.mark.parametrize(
    "message", ["remember to push", "do you remember the port of it?", "Remember when it was red?", "remember it"]
)
def test_what_somebody_recalls_or_is_to_do_is_no_order_to_remember(message):
    assert said(message) == []


def test_not_to_write_code_now_is_not_learned():
    assert said("no, don't write code", "don't run anything") == []
    assert said("do not write code without a test, as it breaks") == ["Do not write code without a test, as it breaks."]


def test_a_correction_is_marked_as_one():
    steps = [Said("agent", "Done.", 1), Said("user", "no, we use pnpm", 2), Said("user", "Anna owns billing", 3)]
    assert [(one.text, one.by) for one in lessons(steps)] == [
        ("We use pnpm.", "corrected"),
        ("Anna owns billing.", "user"),
    ]


@pytest.mark.parametrize(
    "said_first", ["no, the mock gateway runs on port 18080, not 8080", "The mock gateway runs on port 18080."]
)
@pytest.mark.parametrize(
    "taking_back",
    [
        "forget what I said about 18080. we moved the mock gateway to 9443 last week",
        "Actually forget my remark about 18080, we moved the mock gateway to 9443 in March",
        "scratch that about 18080, we moved the mock gateway to 9443 last week",
    ],
)
def test_what_takes_back_is_no_statement_and_what_it_says_instead_is_one(said_first, taking_back):
    assert said(said_first, taking_back) == ["We moved the mock gateway to 9443."]
