"""Asking a model: through the real SDKs against servers on this machine, and through real programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping

import pytest
from llm_server import Model, question_of
from loopback import Reply

from memsync import Memsync
from memsync.errors import (
    BudgetSpent,
    LlmBadAnswer,
    LlmError,
    LlmNotConfigured,
    LlmRefused,
    LlmUnavailable,
)
from memsync.llm.llm import Budget, Llm, choose_provider, open_llm
from memsync.store.settings import Settings
from memsync.store.state import State

SHAPE = {"type": "object", "required": ["same"], "properties": {"same": {"type": "boolean"}}}
GOOD = '{"same": true}'
KEY = "sk-secret-0123456789"


@pytest.fixture
def model() -> Iterator[Model]:
    with Model(GOOD) as server:
        yield server


@pytest.fixture
def waits() -> list[float]:
    """Return the seconds that were waited between two questions."""
    return []


Ask = Callable[..., Llm]


@pytest.fixture
def llm(waits, clock, tmp_path) -> Ask:
    """Return a function that makes a model from settings."""

    def make(provider: str, *, env: Mapping[str, str] | None = None, **settings: object) -> Llm:
        chosen = Settings(llm_provider=provider, llm_model="tiny", **settings)
        state = State(tmp_path / "local" / "state.db", private=False)
        budget = Budget(state, clock, a_run=chosen.llm_budget_per_run, a_day=chosen.llm_budget_per_day)
        env = {"MEMSYNC_LLM_KEY": KEY} if env is None else env
        return Llm(
            provider=choose_provider(chosen, env),
            budget=budget,
            seconds=chosen.llm_timeout,
            retries=chosen.llm_retries,
            sleep=waits.append,
        )

    return make


@pytest.fixture(params=["anthropic", "openai"])
def served(request, llm, model) -> Callable[..., Llm]:
    """Return a function that makes the model of the loopback server, once over each protocol."""
    url = model.base if request.param == "anthropic" else model.url
    return lambda **settings: llm(request.param, llm_base_url=url, **settings)


def test_an_answer_is_json_of_the_shape_that_was_asked_for(served, model):
    assert served().ask("Are they the same?", SHAPE) == {"same": True}
    (asked,) = model.asked
    assert question_of(asked) == "Are they the same?"
    assert asked.body["model"] == "tiny"
    assert KEY in str(asked.headers)


def test_an_answer_that_does_not_fit_is_asked_for_once_more_with_the_reason(served, model):
    model.answers.appendleft('{"same": "perhaps"}')
    assert served().ask("Same?", SHAPE) == {"same": True}
    assert "the answer.same is not of type boolean" in question_of(model.asked[1])


def test_two_answers_that_do_not_fit_are_an_error(served, model):
    model.answers[0] = "I would rather talk about the weather."
    with pytest.raises(LlmBadAnswer, match="there is no JSON in it"):
        served().ask("Same?", SHAPE)
    assert len(model.asked) == 2


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(body=b"<html>gateway</html>", headers={"Content-Type": "text/html"}), LlmBadAnswer),
        (Reply(body=b"{}", headers={"Content-Type": "application/json"}), LlmBadAnswer),
        (Reply(body=b'{"choices": [], "content": 3}', headers={"Content-Type": "application/json"}), LlmBadAnswer),
        (Reply(body=b'{"cho', headers={"Content-Type": "application/json"}), LlmBadAnswer),
        (Reply.error(400, "prompt is too long"), LlmRefused),
        (Reply.error(401, f"invalid x-api-key {KEY}"), LlmNotConfigured),
        (Reply.error(403, "no access"), LlmNotConfigured),
        (Reply.error(404, "model: tiny"), LlmNotConfigured),
        (Reply(301, b"", {"Location": "http://127.0.0.1:1/elsewhere"}), LlmError),
    ],
)
def test_what_will_not_get_better_is_not_asked_again(served, model, waits, reply, error):
    model.replies.extend([reply])
    with pytest.raises(error) as raised:
        served().ask("Same?", SHAPE)
    assert (len(model.asked), waits) == (1, [])
    assert KEY not in str(raised.value)


def test_a_refusal_is_told_apart_from_a_bad_answer(served, model):
    model.replies.append(Reply(change=_refuse))
    with pytest.raises(LlmRefused, match="declines"):
        served().ask("Same?", SHAPE)


def _refuse(body: dict) -> None:
    if "choices" in body:
        body["choices"][0]["message"] |= {"content": None, "refusal": "I cannot help with that."}
    else:
        body |= {"stop_reason": "refusal", "content": []}


def test_an_answer_that_was_cut_off_is_not_used(served, model):
    model.replies.append(Reply(change=_cut))
    with pytest.raises(LlmBadAnswer, match="did not finish"):
        served().ask("Same?", SHAPE)


def _cut(body: dict) -> None:
    if "choices" in body:
        body["choices"][0]["finish_reason"] = "length"
    else:
        body["stop_reason"] = "max_tokens"


def test_a_busy_server_is_asked_again_after_the_wait_it_names(served, model, waits):
    model.replies.extend([Reply.error(429, "slow down", retry_after="3"), Reply.error(529, "overloaded")])
    assert served().ask("Same?", SHAPE) == {"same": True}
    assert waits == [3.0, 1.0]


def test_a_wait_longer_than_the_time_for_the_question_is_not_begun(served, model, waits):
    model.replies.append(Reply.error(429, "come back tomorrow", retry_after="86400"))
    with pytest.raises(LlmUnavailable, match="come back tomorrow"):
        served().ask("Same?", SHAPE)
    assert (waits, len(model.asked)) == ([], 1)


def test_retries_end(served, model, waits):
    model.replies.extend([Reply.error(503, "down")] * 9)
    with pytest.raises(LlmUnavailable, match="down"):
        served(llm_retries=3).ask("Same?", SHAPE)
    assert (len(model.asked), waits) == (4, [0.5, 1.0, 2.0])


def test_a_server_that_hangs_costs_no_more_than_the_timeout(served, model):
    model.replies.append(Reply(hangs=True))
    with pytest.raises(LlmUnavailable, match="in time"):
        served(llm_timeout=0.3).ask("Same?", SHAPE)


def test_a_connection_that_breaks_is_tried_again(served, model, waits):
    model.replies.append(Reply(resets=True))
    assert served().ask("Same?", SHAPE) == {"same": True}
    assert waits == [0.5]


def test_a_server_that_is_not_there_is_an_error_without_the_key(served, model):
    model.stop()
    try:
        with pytest.raises(LlmUnavailable, match="cannot be reached") as raised:
            served(llm_retries=0).ask("Same?", SHAPE)
        assert KEY not in str(raised.value)
    finally:
        model.start()


# the budget


def test_what_a_model_says_it_used_is_what_counts(served):
    asked = served()
    asked.ask("Same?", SHAPE)
    assert asked.budget.used == 42


def test_nothing_is_asked_once_the_budget_of_the_run_is_spent(served, model):
    asked = served(llm_budget_per_run=1_300)
    asked.ask("Same?", SHAPE)
    asked.ask("Same?", SHAPE)
    with pytest.raises(BudgetSpent, match="the run's budget of 1,300 tokens is spent \\(84 used\\)"):
        asked.ask("Same? " * 100, SHAPE)
    assert len(model.asked) == 2


def test_the_budget_of_the_day_outlives_the_process_and_ends_with_the_day(served, model, clock):
    served(llm_budget_per_day=1_110).ask("Same?", SHAPE)
    with pytest.raises(BudgetSpent, match="the day's budget"):
        served(llm_budget_per_day=1_110).ask("Same?", SHAPE)
    assert len(model.asked) == 1
    assert served(llm_budget_per_day=1_160).ask("Same?", SHAPE) == {"same": True}  # what was refused is not counted
    clock.move(days=1)
    assert served(llm_budget_per_day=1_110).ask("Same?", SHAPE) == {"same": True}


def test_a_question_that_reached_no_model_costs_nothing(served, model):
    model.replies.extend([Reply.error(429, "slow down")] * 3)
    asked = served()
    with pytest.raises(LlmUnavailable):
        asked.ask("Same?", SHAPE)
    assert asked.budget.used == 0


# keys and addresses


@pytest.mark.parametrize(("provider", "vendor"), [("anthropic", "ANTHROPIC"), ("openai", "OPENAI")])
def test_the_key_for_a_vendor_goes_to_no_other_server(llm, provider, vendor):
    with pytest.raises(LlmNotConfigured, match="MEMSYNC_LLM_KEY"):
        llm(provider, env={f"{vendor}_API_KEY": KEY}, llm_base_url="https://llm.example.org/v1")


@pytest.mark.parametrize(("provider", "vendor"), [("anthropic", "ANTHROPIC"), ("openai", "OPENAI")])
def test_the_key_for_a_vendor_goes_where_its_user_points_it(llm, provider, vendor, model):
    base = model.base if provider == "anthropic" else model.url
    asked = llm(provider, env={f"{vendor}_API_KEY": KEY, f"{vendor}_BASE_URL": base})
    assert asked.ask("Same?", SHAPE) == {"same": True}


@pytest.mark.parametrize("url", ["ftp://x/v1", "not a url", "https://user:secret@x/v1", "http://[::1"])
def test_an_address_that_is_none_is_refused_without_repeating_it(llm, url):
    with pytest.raises(LlmNotConfigured) as raised:
        llm("openai", llm_base_url=url)
    assert "secret" not in str(raised.value)


def test_without_a_key_the_message_says_which_variable_to_set(llm):
    with pytest.raises(LlmNotConfigured, match="set ANTHROPIC_API_KEY"):
        llm("anthropic", env={})


@pytest.mark.parametrize("provider", ["", "chatgpt"])
def test_a_provider_that_is_none_is_named_with_what_to_do(llm, provider):
    with pytest.raises(LlmNotConfigured, match=r"memsync config|anthropic, openai or command"):
        llm(provider)


def test_a_local_server_needs_no_key(llm, model):
    assert llm("openai", env={}, llm_base_url=model.url).ask("Same?", SHAPE) == {"same": True}


# a program


def program(code: str) -> str:
    """Spell a command line that runs Python *code*."""
    return f'"{sys.executable}" -c "{code}"'


def test_a_program_gets_the_question_on_its_input_and_answers_on_its_output(llm):
    echo = program(
        "import sys, json; print('Here:', json.dumps({'same': 'Straße?' in sys.stdin.buffer.read().decode()}))"
    )
    asked = llm("command", llm_command=echo)
    assert asked.ask("Straße?", SHAPE) == {"same": True}
    assert asked.budget.used > 0


@pytest.mark.parametrize(
    ("line", "error", "why"),
    [
        ("", LlmNotConfigured, "llm.command is empty"),
        ("'unbalanced", LlmNotConfigured, "cannot be read"),
        ("/no/such/program --json", LlmNotConfigured, "cannot be run"),
        (program("import sys; sys.exit('Not logged in')"), LlmUnavailable, "ended with 1: Not logged in"),
        (program("print('done')"), LlmBadAnswer, "there is no JSON in it"),
        (program("import os; os.write(1, bytes([255, 254]))"), LlmBadAnswer, "no JSON"),
    ],
)
def test_a_program_of_no_use_says_why(llm, line, error, why):
    with pytest.raises(error, match=why):
        llm("command", llm_command=line).ask("Same?", SHAPE)


def test_a_program_that_hangs_is_ended_with_all_that_it_started(llm, tmp_path):
    pids = tmp_path / "pids"
    line = f"sh -c 'sleep 600 & echo $! > {pids}; wait'"
    with pytest.raises(LlmUnavailable, match="in time"):
        llm("command", llm_command=line, llm_timeout=4.0).ask("Same?", SHAPE)
    pid, until = int(pids.read_text()), time.monotonic() + 60
    while runs(pid) and time.monotonic() < until:
        pass
    was_running = runs(pid)
    if was_running:
        os.kill(pid, signal.SIGKILL)
    assert not was_running


def runs(pid: int) -> bool:
    """Tell whether the process still does anything; one that nobody has buried does not."""
    asked = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return asked.stdout.strip()[:1] not in ("", "Z")


def test_a_program_runs_in_an_empty_directory_and_knows_that_memsync_asks(llm):
    code = (
        "import os, json; print(json.dumps({'same': os.listdir() == [] and os.environ['MEMSYNC_INSIDE_LLM'] == '1'"
        " and os.environ['MEMSYNC_HOOKS'] == 'off'"
        " and 'CLAUDECODE' not in os.environ}))"
    )
    env = {**os.environ, "CLAUDECODE": "1"}
    assert llm("command", env=env, llm_command=program(code)).ask("Same?", SHAPE) == {"same": True}


# from the settings of a project


def test_a_repository_cannot_choose_who_is_asked(repo, clock):
    (repo.root / ".gobby").mkdir()
    (repo.root / ".gobby" / "config.yaml").write_text('llm: {provider: command, command: "touch owned"}\n')
    project = Memsync.open(repo.root, clock=clock)
    with pytest.raises(LlmNotConfigured, match="no LLM is configured"):
        open_llm(project)
    assert any("llm.command is not taken from a repository" in text for text in project.loaded.warnings)


def test_the_day_is_counted_over_all_projects_of_a_user(repo, home, model, clock):
    (home / ".gobby").mkdir()
    (home / ".gobby" / "config.yaml").write_text(
        json.dumps({"llm": {"provider": "openai", "model": "tiny", "base_url": model.url, "budget_per_day": 1_110}})
    )
    open_llm(Memsync.open(repo.root, clock=clock)).ask("Same?", SHAPE)
    with pytest.raises(BudgetSpent):
        open_llm(Memsync.open(home, clock=clock)).ask("Same?", SHAPE)


def test_what_a_model_started_asks_no_model(repo, home, model, clock):
    (home / ".gobby").mkdir()
    (home / ".gobby" / "config.yaml").write_text(
        json.dumps({"llm": {"provider": "openai", "model": "tiny", "base_url": model.url}})
    )
    env = {**os.environ, "MEMSYNC_INSIDE_LLM": "1"}
    with pytest.raises(LlmNotConfigured, match="asks no model itself"):
        open_llm(Memsync.open(repo.root, clock=clock, env=env))
