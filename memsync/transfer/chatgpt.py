"""What ChatGPT has saved of its user: of an export of the account, or copied from "Manage memories"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from memsync.errors import ImportFailed
from memsync.memories.imports import Candidate
from memsync.transfer.candidates import get_list, make_candidate, parse_time, read_json

_TEXTS: Final = ("content", "memory", "text", "value")
_NUMBER: Final = re.compile(r"^\s*(?:[-*•]|\d+[.)])?\s*(?:\[(\d{4}-\d{2}-\d{2})\]\.?\s*)?(?:-\s+)?(.*\S)\s*$")
_FORGET: Final = re.compile(r"\b(?:forget|no longer)\b", re.IGNORECASE)
_WAYS: Final = "give memory.json or conversations.json of an export, or a text with one memory a line"


def read_saved(text: str, name: str) -> Iterator[Candidate]:
    """Yield what was saved: entries of `memory.json`, what conversations told the memory tool, or the lines of a copy."""
    if text.lstrip()[:1] not in ("[", "{"):
        yield from _read_lines(text, name, None)
        return
    tree = read_json(text, name)
    if isinstance(tree, dict):
        tree = next((tree[key] for key in ("memories", "items", "data") if isinstance(tree.get(key), list)), [tree])
    if not isinstance(tree, list):
        raise ImportFailed(f"{name}: nothing that ChatGPT saved; {_WAYS}")
    for number, one in enumerate(tree, 1):
        if isinstance(one, dict) and isinstance(one.get("mapping"), dict):
            yield from _read_conversation(one, f"{name}[{number}]")
        else:
            yield _read_entry(one, f"{name}[{number}]")


def _read_entry(one: Any, where: str) -> Candidate:
    if isinstance(one, str):
        return make_candidate(where, one, "preference")
    if not isinstance(one, dict):
        return Candidate(where, None, "not a JSON object")
    if one.get("enabled") is False:
        return Candidate(where, None, "turned off in ChatGPT")
    said = next((one[key] for key in _TEXTS if isinstance(one.get(key), str)), None)
    times = {key: parse_time(one.get(key)) for key in ("created_at", "updated_at")}
    return make_candidate(where, said, "preference", **times)


def _read_conversation(one: dict[str, Any], where: str) -> Iterator[Candidate]:
    """Yield what the model told its memory tool, `bio`."""
    for node in one["mapping"].values():
        message = node.get("message") if isinstance(node, dict) else None
        if not isinstance(message, dict) or message.get("recipient") != "bio":
            continue
        content = message.get("content")
        parts = get_list(content, "parts") if isinstance(content, dict) else []
        said = "\n".join(part for part in parts if isinstance(part, str))
        yield from _read_lines(said, where, message.get("create_time"))


def _read_lines(text: str, where: str, time: object) -> Iterator[Candidate]:
    for number, row in enumerate(text.split("\n"), 1):
        if not (found := _NUMBER.match(row)):
            continue
        if _FORGET.search(found[2]):
            yield Candidate(f"{where}:{number}", None, "takes back what was saved before")
        else:
            made = parse_time(found[1] or time)
            yield make_candidate(f"{where}:{number}", found[2], "preference", created_at=made, updated_at=made)
