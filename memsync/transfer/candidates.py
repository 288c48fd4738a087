"""What the readers of other tools' memories share: candidates, JSON that is held to limits, statements that are worth it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from memsync.errors import ImportFailed, InvalidMemory
from memsync.memories.imports import Candidate
from memsync.records import Memory, clean_tags
from memsync.system import limits

if TYPE_CHECKING:
    from memsync.learn.statements import Statement

ORIGIN: Final = "imported_from"  # the key of a record for the tool and the place that it came from
TAG: Final = re.compile(r"(?<!\S)#([\w/-]+)")


def make_candidate(where: str, content: object, kind: str = "fact", tags: object = (), **fields: Any) -> Candidate:
    """Return a candidate that says *content*, with *fields* of a memory beside it; why there is none if that is no text."""
    if not isinstance(content, str) or not content.strip():
        return Candidate(where, None, "no text")
    words = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list | tuple) else ()
    memory = Memory("", content.strip(), kind, tags=clean_words(words), source_type="import", **fields)
    return Candidate(where, memory)


def clean_words(words: Iterable[object]) -> tuple[str, ...]:
    """Return *words* as tags; none if one of them cannot be stored."""
    try:
        return clean_tags([str(word).strip().lower() for word in words])
    except InvalidMemory:
        return ()


def read_statements(
    text: str,
    name: str,
    anchors: Sequence[str] = (),
    tags: Sequence[str] = (),
    shape: Callable[[Statement], Iterable[Statement]] = lambda one: (one,),
) -> Iterator[Candidate]:
    """Yield each statement of Markdown that is worth it, as *shape* makes it, with *anchors* and *tags*, and say why the others are not."""
    from memsync.learn.statements import statements
    from memsync.learn.worth import as_memory, why_dropped

    for one in (part for whole in statements(text) for part in shape(whole)):
        where = f"{name}:{one.line}"
        if why := why_dropped(one.text):
            yield Candidate(where, None, why)
            continue
        memory = as_memory(one.text, one.heading)
        words = tuple(dict.fromkeys((*memory.tags, *tags)))
        yield Candidate(where, memory._replace(source_type="import", anchors=tuple(anchors), tags=words))


def read_json(text: str, name: str) -> Any:
    """Return the value of a whole file of JSON.

    Raises:
        ImportFailed
    """
    try:
        return limits.read_json(text, limits.LARGEST_IMPORT)
    except ValueError as error:
        raise ImportFailed(f"{name}: not JSON that can be read ({error})") from None


def get_list(value: Mapping[str, Any], key: str) -> list[Any]:
    """Return the list under *key*; empty if there is none."""
    found = value.get(key)
    return found if isinstance(found, list) else []


def parse_time(value: object) -> datetime | None:
    """Return the time that a text in ISO 8601, or a number of seconds since 1970, says; None if it says none."""
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        found = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        return None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def add_subject(name: str, said: str) -> str:
    """Return *said* so that it makes sense without what it stood under."""
    return said if name.lower() in said.lower() else f"{name}: {said}"
