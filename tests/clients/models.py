"""Models on this machine, one for each client's protocol: they say little, call a tool when told, and keep every request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from loopback import Asked, Loopback, Reply

SAYS = "This is what the model says."
_USAGE = {"input_tokens": 10, "output_tokens": 5}


_MOST_IDLE = 500  # calls


class Model(Loopback):
    """Answers each turn with the same words; `tool` (its name and arguments) is called once before, when it is offered.

    A client may ask before its servers are up. It is then given something to do, `idle`, until a request offers the
    tool; "{}" in what that is told counts, as a client stops who does the very same again and again.
    """

    def __init__(self) -> None:
        self.tool: tuple[str, Mapping[str, Any]] | None = None
        self.idle: tuple[str, Mapping[str, str]] = ("", {})
        self._idled = 0
        super().__init__()

    @property
    def base(self) -> str:
        """The address without a version."""
        return self.url.removesuffix("/v1")

    def reply_to(self, asked: Asked) -> Reply:
        """Return the answer of this protocol; anything else that is asked gets an empty object."""
        self.asked.append(asked)
        if not self.is_turn(asked):
            return _json({})
        return self.answer(asked, self._choose(asked))

    def _choose(self, asked: Asked) -> tuple[str, Mapping[str, Any]] | None:
        """Return which tool is called."""
        if self.tool is None:
            return None
        if _is_offered(*self.tool, asked.body):
            call, self.tool = self.tool, None
            return call
        name, given = self.idle
        if not name or f'"{name}"' not in json.dumps(asked.body.get("tools")) or self._idled >= _MOST_IDLE:
            return None
        self._idled += 1
        return name, {key: value.format(self._idled) for key, value in given.items()}

    @property
    def turns(self) -> list[Mapping[str, Any]]:
        """The bodies of the requests in which the model is asked to speak, in order."""
        return [asked.body for asked in self.asked if self.is_turn(asked)]

    def is_turn(self, asked: Asked) -> bool:
        """Tell whether *asked* wants the model to speak."""
        raise NotImplementedError

    def answer(self, asked: Asked, call: tuple[str, Mapping[str, Any]] | None) -> Reply:
        """Return words, or the *call* of a tool."""
        raise NotImplementedError


def _is_offered(name: str, arguments: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """Tell whether a request offers the tool now; that an earlier turn spoke of it says nothing.

    Codex and Qwen Code load tools when they are asked for, and only list them: Qwen Code calls one by another.
    """
    namespace, _, inner = name.rpartition("/")
    listed = namespace or (str(arguments["name"]) if inner == "tool_call" else "")
    return listed in json.dumps(body) if listed else name in json.dumps(body.get("tools"))


def _json(value: Any) -> Reply:
    return Reply(200, json.dumps(value).encode(), {"Content-Type": "application/json"})


def _events(events: list[dict[str, Any]]) -> Reply:
    text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return Reply(200, text.encode(), {"Content-Type": "text/event-stream"})


class Anthropic(Model):
    """`POST /v1/messages`, as Claude Code asks it."""

    def is_turn(self, asked: Asked) -> bool:
        # Without tools it is a title, a quota or a summary that is wanted.
        return asked.path.startswith("/v1/messages") and "count_tokens" not in asked.path

    def answer(self, asked: Asked, call: tuple[str, Mapping[str, Any]] | None) -> Reply:
        if call:
            block: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{len(self.asked)}", "name": call[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
            whole, why = {**block, "input": call[1]}, "tool_use"
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": SAYS}
            whole, why = {"type": "text", "text": SAYS}, "end_turn"
        message = {
            "id": f"msg_{len(self.asked)}",
            "type": "message",
            "role": "assistant",
            "model": asked.body["model"],
            "usage": _USAGE,
        }
        if not asked.body.get("stream"):
            return _json({**message, "content": [whole], "stop_reason": why, "stop_sequence": None})
        return _events(
            [
                {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None}, "usage": _USAGE},
                {"type": "message_stop"},
            ]
        )


class OpenAI(Model):
    """`POST /v1/responses`, as Codex asks it."""

    def is_turn(self, asked: Asked) -> bool:
        return asked.path.endswith("/responses")

    def answer(self, asked: Asked, call: tuple[str, Mapping[str, Any]] | None) -> Reply:
        item: dict[str, Any] = {"id": "item_1", "status": "completed"}
        if call:
            namespace, _, name = call[0].rpartition("/")
            where = {"namespace": namespace} if namespace else {}
            item |= {
                "type": "function_call",
                "call_id": f"call_{len(self.asked)}",
                "name": name,
                "arguments": json.dumps(call[1]),
                **where,
            }
        else:
            content = [{"type": "output_text", "text": SAYS, "annotations": []}]
            item |= {"type": "message", "role": "assistant", "content": content}
        usage = {**_USAGE, "input_tokens_details": None, "output_tokens_details": None, "total_tokens": 15}
        return _events(
            [
                {"type": "response.created", "response": {"id": "resp_1"}},
                {"type": "response.output_item.added", "output_index": 0, "item": item},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
            ]
        )


class Google(Model):
    """`POST …:streamGenerateContent`, as Gemini CLI asks it."""

    def is_turn(self, asked: Asked) -> bool:
        is_routing = "responseJsonSchema" in asked.body.get("generationConfig", {})
        return "enerateContent" in asked.path and not is_routing

    def answer(self, asked: Asked, call: tuple[str, Mapping[str, Any]] | None) -> Reply:
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": SAYS}
        said = {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        }
        if "stream" not in asked.path:
            return _json(said)
        return Reply(200, f"data: {json.dumps(said)}\n\n".encode(), {"Content-Type": "text/event-stream"})


class Chat(Model):
    """`POST …/chat/completions`, as clients ask it that take any model."""

    def is_turn(self, asked: Asked) -> bool:
        # Without tools it is a title that is wanted; Qwen Code makes notes of its own beside each turn.
        begins = str(asked.body.get("messages", ""))[:400]
        is_chat = asked.path.endswith("/chat/completions") and bool(asked.body.get("tools"))
        return is_chat and "memory extraction subagent" not in begins

    def reply_to(self, asked: Asked) -> Reply:
        """Answer what is no turn as well: a title is waited for."""
        if asked.path.endswith("/chat/completions") and not self.is_turn(asked):
            self.asked.append(asked)
            return self.answer(asked, None)
        return super().reply_to(asked)

    def answer(self, asked: Asked, call: tuple[str, Mapping[str, Any]] | None) -> Reply:
        message: dict[str, Any] = {"role": "assistant", "content": SAYS}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            calls = [{"index": 0, "id": f"call_{len(self.asked)}", "type": "function", "function": function}]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        why = "tool_calls" if call else "stop"
        size = len(json.dumps(asked.body)) // 4  # tokens: a client compacts only what becomes shorter by it
        usage = {"prompt_tokens": size, "completion_tokens": 5, "total_tokens": size + 5}
        base = {"id": "c1", "created": 1, "model": asked.body.get("model"), "usage": usage}
        if not asked.body.get("stream"):
            whole = {"index": 0, "message": message, "finish_reason": why}
            return _json({**base, "object": "chat.completion", "choices": [whole]})
        parts = [{"delta": message, "finish_reason": None}, {"delta": {}, "finish_reason": why}]
        chunks = [{**base, "object": "chat.completion.chunk", "choices": [{"index": 0, **part}]} for part in parts]
        text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        return Reply(200, text.encode(), {"Content-Type": "text/event-stream"})
