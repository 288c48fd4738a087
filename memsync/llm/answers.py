"""What an LLM is asked and what it said: prompts with data in them, JSON out of prose, and a check of its shape.

Pure but for reading the prompt files; knows no provider.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

Shape = Mapping[str, Any]  # JSON Schema: type, enum, properties, required and items
TEXT: Final[Shape] = {"type": "string"}
NUMBER: Final[Shape] = {"type": "number"}
WHOLE: Final[Shape] = {"type": "integer"}
PROMPTS: Final = Path(__file__).with_name("prompts")

_TRIES: Final = 100  # brackets in prose, before a text of nothing but brackets is given up
_OPENING: Final = re.compile(r"[\[{]")
_FIELD: Final = re.compile(r"\{\{(\w+)\}\}")
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
}


def list_of(items: Shape) -> Shape:
    """Return the shape of a list of *items*."""
    return {"type": "array", "items": items}


def object_of(*required: str, **properties: Shape) -> Shape:
    """Return the shape of an object with these *properties*, of which it must have the *required* ones."""
    return {"type": "object", "required": required, "properties": properties}


def prompt(name: str, **fields: object) -> str:
    """Return the prompt *name* with each `{{field}}` filled in: text as it is, anything else as JSON.

    Filled in one pass, so that what a memory says is never read as a field.
    """
    text = (PROMPTS / f"{name}.md").read_text(encoding="utf-8")
    spelled = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
        for key, value in fields.items()
    }
    return _FIELD.sub(lambda field: spelled[field[1]], text)


def read(text: str, shape: Shape) -> Any:
    """Return the first JSON value in *text* that fits *shape*; prose and code fences around it are left out.

    Raises:
        ValueError: there is none; the message says what is wrong with the likeliest one.
    """
    wrong = ""
    for value in _find_values(text):
        if not (why := find_misfit(value, shape)):
            return value
        wrong = wrong or why
    raise ValueError(wrong or "there is no JSON in it")


def _find_values(text: str) -> Iterator[Any]:
    """Yield the JSON objects and lists in *text*, outer ones only, and the whole text if it is JSON itself."""
    decoder = json.JSONDecoder()
    try:
        yield decoder.decode(text)
    except (ValueError, RecursionError):
        pass
    else:
        return
    place = 0
    for _ in range(_TRIES):
        if (opening := _OPENING.search(text, place)) is None:
            return
        try:
            value, place = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            place = opening.end()
        else:
            yield value


def find_misfit(value: object, shape: Shape, where: str = "the answer") -> str:
    """Return how *value* breaks *shape*, "" if it fits; other keys of an object are let through."""
    wanted = shape.get("type", "")
    if wanted and (not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted != "boolean")):
        return f"{where} is not of type {wanted}"
    if "enum" in shape and value not in shape["enum"]:
        return f"{where} is none of {', '.join(map(str, shape['enum']))}"
    parts: list[tuple[str, object, Shape]] = []
    if isinstance(value, dict):
        if missing := [name for name in shape.get("required", ()) if name not in value]:
            return f"{where} has no {missing[0]}"
        rules = shape.get("properties", {})
        parts = [(f"{where}.{name}", value[name], rule) for name, rule in rules.items() if name in value]
    elif isinstance(value, list) and "items" in shape:
        parts = [(f"{where}[{number}]", item, shape["items"]) for number, item in enumerate(value)]
    return next(filter(None, (find_misfit(part, rule, at) for at, part, rule in parts)), "")
