"""What services hand out to their users: memories of mem0 and OpenMemory, what ChatGPT has saved, and the ZIP files of both."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from zipfile import BadZipFile, ZipFile

from memsync.errors import ImportFailed
from memsync.memories.imports import Candidate
from memsync.system import limits
from memsync.transfer import readers
from memsync.transfer.candidates import get_list, make_candidate, parse_time, read_json

_MEM0: Final = re.compile(r'\s*(?:\{[^\[\]]*"(?:results|memories)"\s*:\s*)?\[\s*\{[^{}]*"memory"\s*:\s*"')
_STATES: Final = {"archived", "deleted", "paused"}


def detect(text: str, first: Mapping[str, Any]) -> str | None:
    """Return "mem0" or "openmemory" if *text* begins as theirs; *first* is its first line as an object."""
    if _MEM0.match(text):
        return "mem0"
    is_row = {"content", "state"} <= first.keys() and ("app" in first or "app_id" in first)
    is_export = re.search(r'"(?:status_history|memory_categories|access_controls|category_ids|app_name)"\s*:', text)
    return "openmemory" if is_row or (is_export and '"content"' in text) else None


def read_mem0(text: str, name: str) -> Iterator[Candidate]:
    """Read what get_all or an export of mem0 returned; its ids stay, so that a later export updates."""
    tree = read_json(text, name)
    if isinstance(tree, dict):
        tree = next((tree[key] for key in ("results", "memories") if isinstance(tree.get(key), list)), None)
    if not isinstance(tree, list):
        raise ImportFailed(f"{name}: has no list of memories, as mem0's get_all returns it")
    keys = {"content": "memory", "tags": "categories", **{key: key for key in ("id", "created_at", "updated_at")}}
    yield from readers.read_bytes(json.dumps(tree).encode(), name, "json", keys)


def read_openmemory(text: str, name: str) -> Iterator[Candidate]:
    """Read OpenMemory's export (`memories.json`, or its lines) or a page of its API; what is not active there is left out."""
    if "\n{" in text.strip() and not text.lstrip().startswith("["):
        rows = [read_json(row, f"{name}:{number}") for number, row in enumerate(text.split("\n"), 1) if row.strip()]
        tree: Any = {"memories": rows}
    else:
        tree = read_json(text, name)
    if isinstance(tree, list):
        tree = {"memories": tree}
    if not isinstance(tree, dict) or not any(isinstance(tree.get(key), list) for key in ("memories", "items")):
        raise ImportFailed(f"{name}: has no list of memories, as OpenMemory exports it")
    names = {one.get("id"): one.get("name") for one in get_list(tree, "categories") if isinstance(one, dict)}
    for number, one in enumerate([*get_list(tree, "memories"), *get_list(tree, "items")], 1):
        yield _read_row(f"{name}[{number}]", one, names)


def _read_row(where: str, one: Any, names: Mapping[Any, Any]) -> Candidate:
    if not isinstance(one, dict):
        return Candidate(where, None, "not a JSON object")
    if one.get("state") in _STATES:
        return Candidate(where, None, f"{one['state']} in OpenMemory")
    tags = [str(tag) for tag in get_list(one, "categories")]
    tags += [str(names[id_]) for id_ in get_list(one, "category_ids") if isinstance(id_, str) and names.get(id_)]
    times = {key: parse_time(one.get(key)) for key in ("created_at", "updated_at")}
    found = make_candidate(where, one.get("content") or one.get("memory"), "fact", tags, **times)
    id_ = one.get("id")
    return Candidate(where, found.memory._replace(id=id_)) if found.memory and isinstance(id_, str) else found


# ChatGPT: of an export of the account, or copied from "Manage memories"


_TEXTS: Final = ("content", "memory", "text", "value")
_NUMBER: Final = re.compile(r"^\s*(?:[-*•]|\d+[.)])?\s*(?:\[(\d{4}-\d{2}-\d{2})\]\.?\s*)?(?:-\s+)?(.*\S)\s*$")
_FORGET: Final = re.compile(r"\b(?:forget|no longer)\b", re.IGNORECASE)
_WAYS: Final = "give memory.json or conversations.json of an export, or a text with one memory a line"


def read_chatgpt(text: str, name: str) -> Iterator[Candidate]:
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


# the ZIP files


ZIP: Final = b"PK\x03\x04"
_MEMBER: Final = re.compile(r"(?:^|/)(?:memory|memories|conversations(?:-\d+)?)\.json$")


def unpack(data: bytes, name: str) -> Iterator[tuple[bytes, str]]:
    """Yield each file of the archive that may hold memories, and its name.

    Raises:
        ImportFailed: it is damaged, encrypted or too large, or holds none.
    """
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            found = [one for one in archive.infolist() if _MEMBER.search(one.filename)]
            if sum(one.file_size for one in found) > limits.LARGEST_IMPORT:
                raise ImportFailed(
                    f"{name}: unpacks to more than {limits.LARGEST_IMPORT:,} bytes; unpack it, and name a file"
                )
            files = [(archive.read(one), f"{name}/{one.filename}") for one in found]
    except (BadZipFile, NotImplementedError, EOFError, OSError) as error:
        raise ImportFailed(f"{name}: is damaged ({error}); download it again") from None
    except RuntimeError:
        raise ImportFailed(f"{name}: is encrypted; unpack it, and name a file of it") from None
    if not files:
        raise ImportFailed(f"{name}: has neither memory.json, memories.json nor conversations.json")
    yield from files
