"""Our MCP server in settings that are TOML: put in, take out, look. What is not ours keeps its bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from memsync.clients.facts import SERVER, Entry
from memsync.setup.entries import Look, is_server, look
from memsync.system import limits


class NotToml(ValueError):
    """The text is not TOML that can be edited; the message has the line."""


def read(text: str) -> dict[str, Any]:
    """Return what *text* says.

    Raises:
        NotToml
    """
    try:
        return limits.read_toml(text)
    except ValueError as error:
        raise NotToml(str(error)) from None


def compare(text: str, wanted: Sequence[Entry]) -> Look:
    """Compare *text* with *wanted*."""
    return look(wanted, [one for one in wanted if _has(text, one.keys[0])])


def _has(text: str, tables: str) -> bool:
    servers = read(text).get(tables)
    return isinstance(servers, dict) and is_server(servers.get(SERVER))


def add(text: str, wanted: Sequence[Entry]) -> str:
    """Return *text* with our server, as a table at its end; where the servers are an inline table, in there.

    Raises:
        NotToml: it cannot be done without destroying something.
    """
    for one in wanted:
        text = _add(text, one.keys[0], one.value)
    return text


def _add(text: str, tables: str, value: dict[str, Any]) -> str:
    said = read(text)
    servers = said.get(tables, {})
    if not isinstance(servers, dict):
        raise NotToml(f"{tables} is not a table")
    if SERVER in servers:
        return text
    meant = {**said, tables: {**servers, SERVER: value}}
    new = text + (_newline(text) if text else "") + _spell(text, tables, value)
    return _first_that_says(meant, tables, new, lambda: _add_inline(text, tables, value))


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _spell(text: str, tables: str, value: dict[str, Any]) -> str:
    lines = [f"[{tables}.{SERVER}]", *(f"{key} = {json.dumps(part)}" for key, part in value.items()), ""]
    return _newline(text).join(lines)


def _add_inline(text: str, tables: str, value: dict[str, Any]) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    entry = tomlkit.inline_table()
    entry.update(value)
    document[tables].append(SERVER, entry)
    return tomlkit.dumps(document)


def remove(text: str, wanted: Sequence[Entry]) -> str:
    """Return *text* without our server; a server of that name which is not ours stays."""
    for one in wanted:
        if _has(text, one.keys[0]):
            text = _remove(text, one.keys[0], one.value)
    return text


def _remove(text: str, tables: str, value: dict[str, Any]) -> str:
    meant = read(text)
    del meant[tables][SERVER]
    block = _spell(text, tables, value)
    cut = text.removeprefix(block) if text.startswith(block) else text.replace(_newline(text) + block, "", 1)
    return _first_that_says(meant, tables, cut, lambda: _remove_table(text, tables))


def _remove_table(text: str, tables: str) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    del document[tables][SERVER]
    return tomlkit.dumps(document)


def _first_that_says(meant: dict[str, Any], tables: str, text: str, otherwise: Any) -> str:
    """Return *text* if it is TOML for *meant*, else what *otherwise* returns if that is."""
    for candidate in (lambda: text, otherwise):
        try:
            new: str = candidate()
            if _without_empty(read(new), tables) == _without_empty(meant, tables):
                return new
        except Exception as error:  # noqa: BLE001 - tomlkit raises what it likes; a refusal is the answer to all of it
            why = str(error)
    raise NotToml(f"{tables} cannot be edited safely ({why or 'the text would change'})")


def _without_empty(said: dict[str, Any], tables: str) -> dict[str, Any]:
    """Leave out an empty table of servers: it means the same as none."""
    return {key: value for key, value in said.items() if key != tables or value != {}}
