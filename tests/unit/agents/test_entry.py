"""Which client a hook of the plugin speaks for."""

from __future__ import annotations

import pytest

from memsync.agents.entry import find_sender

CODEX = "/home/me/.codex/sessions/2026/11/21/rollout-2026-11-21T13-44-24-01a1.jsonl"
CLAUDE = "/home/me/.claude/projects/-home-me-repo/0e1e39e3.jsonl"


@pytest.mark.parametrize(
    ("payload", "client"),
    [
        ({"hook_event_name": "SessionStart", "transcript_path": CODEX, "source": "startup"}, "codex"),
        ({"hook_event_name": "SessionStart", "transcript_path": None, "permission_mode": "default"}, "codex"),
        ({"hook_event_name": "UserPromptSubmit", "turn_id": "01a1", "permission_mode": "default"}, "codex"),
        ({"hook_event_name": "SessionStart", "transcript_path": CLAUDE, "source": "startup"}, "claude"),
        ({"hook_event_name": "SessionStart", "source": "compact", "model": "m", "prompt_id": "p"}, "claude"),
        ({"hook_event_name": "UserPromptSubmit", "prompt_id": "p", "permission_mode": "default"}, "claude"),
        ({"hook_event_name": "BeforeAgent", "timestamp": "2026-11-21T13:44:11.214Z"}, "gemini"),
        ({}, "claude"),
        ({"transcript_path": 7}, "claude"),
    ],
)
def test_the_event_says_which_client_it_comes_from(payload, client):
    assert find_sender(payload) == client
