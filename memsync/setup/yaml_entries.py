"""Our MCP server in settings that are YAML: put in, take out, look. What is not ours keeps its bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from memsync.clients.facts import SERVER, Entry
from memsync.setup.entries import Look, is_server, look
from memsync.store import yamltext
from memsync.store.yamltext import NotYaml

_STEP = "  "


def compare(text: str, wanted: Sequence[Entry]) -> Look:
    """Compare *text* with *wanted*."""
    return look(wanted, [one for one in wanted if is_server(_read_servers(text, one).get(SERVER))])


def add(text: str, wanted: Sequence[Entry]) -> str:
    """Return *text* with our server as the first of its object, or with that at the end.

    Raises:
        NotYaml: it cannot be done without destroying something.
    """
    for one in wanted:
        servers = _read_servers(text, one)
        if SERVER not in servers:
            text = _check(text, _put(text, one, is_first=not servers), one, {**servers, SERVER: one.value})
    return text


def remove(text: str, wanted: Sequence[Entry]) -> str:
    """Return *text* without our server; a server of that name which is not ours stays.

    Raises:
        NotYaml: it is not written as we wrote it.
    """
    for one in wanted:
        servers = _read_servers(text, one)
        if is_server(servers.pop(SERVER, None)):
            head, rows = _spell(text, one)
            cut = text.removesuffix(head + rows) if text.endswith(head + rows) else text.replace(rows, "", 1)
            text = _check(text, cut, one, servers)
    return text


def _read(text: str) -> dict[str, Any]:
    said = yamltext.read(text)
    if said is not None and not isinstance(said, dict):
        raise NotYaml("it is not a mapping", 1)
    return dict(said or {})


def _read_servers(text: str, one: Entry) -> dict[str, Any]:
    servers = _read(text).get(one.keys[0])
    if servers is not None and not isinstance(servers, dict):
        raise NotYaml(f"{one.keys[0]} is not a mapping")
    return dict(servers or {})


def _spell(text: str, one: Entry) -> tuple[str, str]:
    """Return the line of the object that our server is in, and the lines of our server."""
    newline = "\r\n" if "\r\n" in text else "\n"
    rows = [f"{_STEP}{SERVER}:", *(f"{_STEP * 2}{key}: {json.dumps(part)}" for key, part in one.value.items())]
    return f"{one.keys[0]}:{newline}", "".join(f"{row}{newline}" for row in rows)


def _put(text: str, one: Entry, *, is_first: bool) -> str:
    head, rows = _spell(text, one)
    if is_first:
        return text + (head[len(one.keys[0]) + 1 :] if text and not text.endswith("\n") else "") + head + rows
    at = text.find(head, 0 if text.startswith(head) else text.find(f"\n{head}") + 1) + len(head)
    return text[:at] + rows + text[at:]


def _check(before: str, after: str, one: Entry, servers: Mapping[str, Any]) -> str:
    """Return *after* if it says what *before* did, but for the *servers*."""
    said = {key: value for key, value in _read(after).items() if key != one.keys[0]}
    if said != {key: value for key, value in _read(before).items() if key != one.keys[0]} or (
        _read_servers(after, one) != servers
    ):
        raise NotYaml(f"{one.keys[0]} is not written in a way that can be edited safely")
    return after
