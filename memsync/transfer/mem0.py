"""Memories of mem0 and of OpenMemory, its server: what `get_all` returned, what an export or the API gave."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from memsync.errors import ImportFailed
from memsync.memories.imports import Candidate
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
