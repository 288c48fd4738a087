"""A model on this machine: Anthropic's Messages and OpenAI's chat completions over real sockets, failing as told."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import Any

from loopback import Asked, Loopback, Reply

Answer = str | Callable[[str], str]


class Model(Loopback):
    """Answers each question with the next of *answers*, the last one for ever; a function gets the question.

    `replies` (see loopback.py) are used up first.
    """

    def __init__(self, *answers: Answer) -> None:
        self.answers: deque[Answer] = deque(answers)
        super().__init__()

    @property
    def base(self) -> str:
        """The address without the version, as Anthropic's SDK wants it."""
        return self.url.removesuffix("/v1")

    def reply_to(self, asked: Asked) -> Reply:
        """Return the proper answer, or the failure that is due."""
        self.asked.append(asked)
        planned = self.replies.popleft() if self.replies else Reply()
        if planned.body is not None or planned.hangs or planned.resets:
            return planned
        said = self.answers.popleft() if len(self.answers) > 1 else self.answers[0]
        question = question_of(asked)
        text = said if isinstance(said, str) else said(question)
        body = {"/v1/messages": _message, "/v1/chat/completions": _completion}[asked.path](asked.body["model"], text)
        if planned.change:
            planned.change(body)
        return Reply(200, json.dumps(body).encode(), {"Content-Type": "application/json", **planned.headers})


def question_of(asked: Asked) -> str:
    """Return what the user's message of a request says."""
    return asked.body["messages"][-1]["content"]


def _message(model: str, text: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 40, "output_tokens": 2},
    }


def _completion(model: str, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42},
    }
