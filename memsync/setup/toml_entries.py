"""Our MCP server in Codex's `config.toml`: put in, take out, look. What is not ours keeps its bytes."""

from __future__ import annotations

import json
from typing import Any, Final

from memsync.setup.entries import SERVER, is_server
from memsync.system import limits

_TABLES: Final = "mcp_servers"
# Codex gives up on a server after 10 seconds by itself, which a busy machine needs for the imports.
_VALUE: Final = {"command": "memsync", "args": ["mcp"], "startup_timeout_sec": 30}
_BLOCK: Final = f"[{_TABLES}.{SERVER}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in _VALUE.items())


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


def has(text: str) -> bool:
    """Tell whether our server is in *text*.

    Raises:
        NotToml
    """
    servers = read(text).get(_TABLES)
    return isinstance(servers, dict) and is_server(servers.get(SERVER))


def add(text: str) -> str:
    """Return *text* with our server, as a table at its end; where the servers are an inline table, in there.

    Raises:
        NotToml: it cannot be done without destroying something.
    """
    said = read(text)
    servers = said.get(_TABLES, {})
    if not isinstance(servers, dict):
        raise NotToml(f"{_TABLES} is not a table")
    if SERVER in servers:
        return text
    wanted = {**said, _TABLES: {**servers, SERVER: _VALUE}}
    newline = "\r\n" if "\r\n" in text else "\n"
    block = _BLOCK.replace("\n", newline)
    return _first_that_says(wanted, text + (newline if text else "") + block, lambda: _add_inline(text))


def _add_inline(text: str) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    entry = tomlkit.inline_table()
    entry.update(_VALUE)
    document[_TABLES].append(SERVER, entry)
    return tomlkit.dumps(document)


def remove(text: str) -> str:
    """Return *text* without our server; a server of that name which is not ours stays.

    Raises:
        NotToml
    """
    if not has(text):
        return text
    wanted = read(text)
    del wanted[_TABLES][SERVER]
    newline = "\r\n" if "\r\n" in text else "\n"
    block = _BLOCK.replace("\n", newline)
    cut = text.removeprefix(block) if text.startswith(block) else text.replace(newline + block, "", 1)
    return _first_that_says(_without_empty(wanted), cut, lambda: _remove_table(text))


def _remove_table(text: str) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    del document[_TABLES][SERVER]
    return tomlkit.dumps(document)


def _first_that_says(wanted: dict[str, Any], text: str, otherwise: Any) -> str:
    """Return *text* if it is TOML for *wanted*, else what *otherwise* returns if that is."""
    for candidate in (lambda: text, otherwise):
        try:
            new: str = candidate()
            if _without_empty(read(new)) == _without_empty(wanted):
                return new
        except Exception as error:  # noqa: BLE001 - tomlkit raises what it likes; a refusal is the answer to all of it
            why = str(error)
    raise NotToml(f"{_TABLES} cannot be edited safely ({why or 'the text would change'})")


def _without_empty(said: dict[str, Any]) -> dict[str, Any]:
    """Leave out an empty table of servers: it means the same as none."""
    return {key: value for key, value in said.items() if key != _TABLES or value != {}}
