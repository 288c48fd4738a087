"""Prompts that need no memories."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.agents.prompts import small_talk


@pytest.mark.parametrize("prompt", ["", "  \n\t", "\u3000"])
def test_an_empty_prompt_needs_none(prompt):
    assert small_talk(prompt) == "empty"


@pytest.mark.parametrize(
    "prompt", ["/clear", "/compact keep the build facts", "  /model", "/our-own:deploy", "/Help me with ports"]
)
def test_a_slash_command_needs_none(prompt):
    assert small_talk(prompt) == "command"


@pytest.mark.parametrize(
    "prompt",
    ["ok", "ok thanks", "Thanks!", "continue", "Yes, please go ahead.", "y", "LGTM 👍", "👍", "...", "try it again",
     "that works, thank you", "danke", "let's keep going", "Perfect, do it", "why?", "run it again please",
     "undo the last change", "what did you change?", "and now the other file", "looks good to me", "please commit", "great, merge it", "add and push this", "use that one"],
)  # fmt: skip
def test_small_talk_needs_none(prompt):
    assert small_talk(prompt) == "small talk"


@pytest.mark.parametrize(
    "prompt",
    ["how do I run the tests?", "/etc/hosts is wrong", "deploy", "ok, now fix the login test", "which port", "tests?",
     "continue with the migration", "why uv?", "run the migrations", "undo the release", "commit the translations",
     "how do we merge?", "日本語", "5433", "no, use uv instead"],
)  # fmt: skip
def test_a_prompt_with_anything_to_look_up_may_need_some(prompt):
    assert small_talk(prompt) == ""


@given(st.text())
def test_any_text_is_judged(prompt):
    assert small_talk(prompt) in ("", "empty", "command", "small talk")
