"""The first answers of the server, from a file: to `initialize` and the lists, for which a client waits.

The SDK takes longer to load than clients wait, so that a model's first request
had no tools. `make docs` asks the SDK itself what is in the file.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from memsync.errors import UsageError

STARTED: Final = time.time()  # as far as any client could notice
ANSWERS: Final = os.path.join(os.path.dirname(__file__), "answers.json")
_CHUNK: Final = 65536
_LONGEST: Final = 1024 * 1024  # bytes of a message that is looked at here
# Seconds without a word, and the SDK is loaded: not while the client and its model are at their first turn, which it would
# take the machine from, and which often needs no tool. A call does not wait for that.
_REST: Final = 5.0
_META: Final = "io.modelcontextprotocol/"
SUBSCRIPTION: Final = f"{_META}subscriptionId"
_LISTEN: Final = "subscriptions/listen"  # Claude Code asks for the tools only when it is heard
_LISTENS: Final = "notifications/subscriptions/acknowledged"
_TOLD: Final = {"toolsListChanged", "promptsListChanged", "resourcesListChanged"}
_NEEDED: Final = {f"{_META}{name}" for name in ("protocolVersion", "clientInfo", "clientCapabilities")}


class Heard(NamedTuple):
    """What the client said before the SDK was there: lines that the SDK has to know of, and bytes to go on with."""

    lines: tuple[bytes, ...] = ()
    rest: bytes = b""


_heard = [Heard()]


def get_heard() -> Heard:
    """Return what the client has said to `greet`."""
    return _heard[0]


def greet(words: Sequence[str]) -> bool:
    """Answer what can be answered at once to `memsync mcp` with *words*; True when the client has hung up.

    Whatever is not plain is left to the SDK, and to the command line.
    """
    tools = _read_options(words)
    if tools is None or sys.platform == "win32" or find_spec("mcp") is None:
        return False
    try:
        return not os.isatty(0) and _Talk(tools).go_on()
    except OSError:  # an end is closed: the command line says so
        return False


def _read_options(words: Sequence[str]) -> frozenset[str] | None:
    """Return the tools that *words* choose; None where they say anything else."""
    try:
        if not words:
            return choose("core")
        return choose(words[1]) if len(words) == 2 and words[0] == "--tools" else None
    except UsageError:
        return None


class _Talk:
    """The conversation until something comes that only the SDK can answer."""

    def __init__(self, tools: frozenset[str]) -> None:
        self._tools = tools
        with open(ANSWERS, "rb") as file:
            self._answers: dict[str, Any] = json.load(file)
        self._lines: list[bytes] = []
        self._rest = b""
        self._patience: float | None = None
        self._has_cards = False

    def go_on(self) -> bool:
        """Answer until the client rests, asks for more than lists, or hangs up: then return True."""
        try:
            while True:
                line, newline, rest = self._rest.partition(b"\n")
                if newline and not self._answer(line):
                    return False
                if newline:
                    self._rest = rest
                    continue
                if len(self._rest) > _LONGEST or not select.select([0], [], [], self._patience)[0]:
                    return False
                if not (chunk := os.read(0, _CHUNK)):
                    return not self._rest
                self._rest += chunk
        finally:
            _heard[0] = Heard(tuple(self._lines), self._rest)

    def _answer(self, line: bytes) -> bool:
        """Answer *line*, or return False."""
        try:
            message = json.loads(line)
            method, params = message["method"], message.get("params") or {}
            if method == _LISTEN and self._is_stateless(params["_meta"]) and params["notifications"].keys() <= _TOLD:
                self._lines.append(line)
                self._patience = _REST
                _write_message(
                    method=_LISTENS,
                    params={"_meta": {SUBSCRIPTION: message["id"]}, "notifications": params["notifications"]},
                )
                return True
            result = self._find_result(method, params) if "id" in message else None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return False
        is_known = result is not None or (method == "notifications/initialized" and "id" not in message)
        if method in ("initialize", "notifications/initialized") and is_known:
            self._lines.append(line)
        if result is not None:
            _write_message(id=message["id"], result=result)
            self._patience = _REST
        return is_known

    def _find_result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the result of *method*; None where the SDK has to look."""
        if method == "initialize":
            version = params["protocolVersion"]
            is_plain = version in self._answers["versions"] and {"capabilities", "clientInfo"} <= params.keys()
            self._has_cards = shows_cards(params["capabilities"].get("extensions"))
            return {**self._answers["initialize"], "protocolVersion": version} if is_plain else None
        if params.keys() - {"_meta"}:
            return None
        meta, lists = params.get("_meta") or {}, self._answers["lists"]
        if self._is_stateless(meta):
            found = self._answers["stateless"].get(method)
            self._has_cards = shows_cards(meta[f"{_META}clientCapabilities"].get("extensions"))
            return self._choose({**lists.get(method, {}), **found}) if found else None
        has_begun = self._lines and not any(key.startswith(_META) for key in meta)
        return self._choose(lists[method]) if has_begun and method in lists else None

    def _is_stateless(self, meta: Mapping[str, Any]) -> bool:
        return meta.get(f"{_META}protocolVersion") == self._answers["stateless version"] and meta.keys() >= _NEEDED

    def _choose(self, result: dict[str, Any]) -> dict[str, Any]:
        if "tools" not in result:
            return result
        wanted = self._tools | FOR_CARD if self._has_cards else self._tools
        return {**result, "tools": [tool for tool in result["tools"] if tool["name"] in wanted]}


def _write_message(**parts: Any) -> None:
    message = {"jsonrpc": "2.0", **parts}
    data = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


# The card of clients that show one (MCP Apps): its page, and the tools that are for it alone.
CARD: Final = "ui://memsync/card"
FOR_CARD: Final = frozenset({"review_card", "session_card"})
_APPS, _PAGE = "io.modelcontextprotocol/ui", "text/html;profile=mcp-app"
SHOWS_CARDS: Final = {_APPS: {"mimeTypes": [_PAGE]}}  # what a client says
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(tools.split())
    for name, tools in {
        "core": "remember recall update_memory forget get_memory restore_memory search_skills apply_skill create_skill",
        "memories": "remember recall forget list_memories get_memory update_memory restore_memory memory_stats"
        " import_memories export_memories",
        "history": "memory_history memory_diff memory_blame",
        "dedup": "dedup_log dedup_confirm dedup_reverse",
        "learning": "init_memory extract_memories enrich_memories",
        "tidy": "likely_copies merge_memories keep_both",
        "skills": "list_skills search_skills get_skill apply_skill create_skill learn_skill update_skill delete_skill"
        " restore_skill validate_skills export_skills skill_history skill_stats",
    }.items()
}


def choose(words: str) -> frozenset[str]:
    """Return the names of the tools that *words*, groups with commas between them or `all`, mean.

    Raises:
        UsageError: there is no such group.
    """
    names = [word.strip() for word in words.split(",") if word.strip()]
    if unknown := [name for name in names if name not in (*GROUPS, "all")]:
        raise UsageError(f"there is no group of tools {unknown[0]!r}; there are {', '.join(GROUPS)} and all")
    return frozenset(tool for group in GROUPS if group in names or "all" in names for tool in GROUPS[group])


def shows_cards(extensions: object) -> bool:
    """Tell whether a client that says to have these *extensions* shows cards: else nobody would keep their tools from the model."""
    said = extensions.get(_APPS) if isinstance(extensions, Mapping) else None
    kinds = said.get("mimeTypes") if isinstance(said, Mapping) else None
    return isinstance(kinds, list | tuple) and _PAGE in kinds
