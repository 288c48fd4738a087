"""What a janitor would do, as steps, and as a file that a person reads and edits. Pure.

A plan is JSON lines with comments. A line that is deleted or commented out is not done.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from memsync.errors import InvalidMemory, PlanUnreadable
from memsync.format.codec import encode
from memsync.records import SCOPES, Memory, Scope, clean_content, clean_cues, clean_triggers, format_time
from memsync.store.state import DECISION_ALIASES, DECISIONS, Decision
from memsync.system.limits import read_json
from memsync.system.texts import one_line, read_utf8

Task = Literal["dedup", "decay", "stale", "review"]
TASKS: Final[tuple[Task, ...]] = ("dedup", "decay", "stale", "review")

_SHOWN: Final = 1_000
_HEAD: Final = """\
# What the memsync janitor would do, made {at}. Nothing is done yet.
# Delete a line, or put # before it, and it is not done. A line that begins with #? is only proposed:
# take the #? away and it is done. In a merge, another id may be kept, an id taken out of drop, and
# "content" may say what the kept record shall say. Then: memsync janitor run --apply {name}
"""


_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Merge(NamedTuple):
    """Remove each of *drop*, which say what *keep* says.

    With *content*, which becomes the text of *keep*, they are its sources: archived, and named in what it supersedes.

    *scope* is where *keep* lies. What is dropped lies there too, or is private.
    """

    scope: Scope
    keep: str
    drop: tuple[str, ...]
    saw: Mapping[str, str] = _NOTHING
    why: str = ""
    decision: Decision = "subsumed"
    similarity: float | None = None
    content: str | None = None


class Archive(NamedTuple):
    """Set *id* aside: it stays in the file and is not recalled. *worth* is what its importance was worth."""

    scope: Scope
    id: str
    saw: Mapping[str, str] = _NOTHING
    why: str = ""
    worth: float | None = None


class Enrich(NamedTuple):
    """Have *id* found by *cues*, if there are any, instead of those it had, and by *anchors* and *triggers* beside its own."""

    scope: Scope
    id: str
    cues: tuple[str, ...] = ()
    saw: Mapping[str, str] = _NOTHING
    why: str = ""
    anchors: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()


class Confirm(NamedTuple):
    """Mark *rows* of the dedup log as correct."""

    scope: Scope
    rows: tuple[int, ...]
    why: str = ""


class Reverse(NamedTuple):
    """Bring back what *row* of the dedup log rejected."""

    scope: Scope
    row: int
    why: str = ""


Step = Merge | Archive | Enrich | Confirm | Reverse
_KINDS: Final[Mapping[str, type[Step]]] = {
    "merge": Merge,
    "archive": Archive,
    "enrich": Enrich,
    "confirm": Confirm,
    "reverse": Reverse,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The steps, with what a person should see of each; *guesses* are not done; *notes* say what was left out and why."""

    steps: list[Step] = field(default_factory=list)
    guesses: list[Merge | Archive] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        steps, guesses = ([as_dict(step) for step in some] for some in (self.steps, self.guesses))
        return {"steps": steps, "guesses": guesses, "notes": self.notes}


def seal(memory: Memory) -> str:
    """Return a fingerprint that shows whether a record is still what the plan saw."""
    return sha256(encode(memory)).hexdigest()[:12]


def as_dict(step: Step) -> dict[str, Any]:
    """Return *step* as a line of a plan says it."""
    said = {name: value for name, value in step._asdict().items() if value not in (None, "", _NOTHING)}
    said = {name: value for name, value in said.items() if value or name not in ("cues", "anchors", "triggers")}
    return {"do": _NAMES[type(step)], **said}


def spell(plan: Plan, shown: Callable[[Step], Iterable[str]], now: datetime, name: str) -> str:
    """Return *plan* as the text of a file; *shown* gives the lines that explain a step."""
    lines = [_HEAD.format(at=format_time(now), name=name)]
    lines += [f"# {note}\n" for note in (one_line(note, _SHOWN) for note in plan.notes)]
    for mark, steps in (("", plan.steps), ("#? ", plan.guesses)):
        for step in steps:
            about = "".join(f"# {one_line(line, _SHOWN)}\n" for line in shown(step))
            lines.append(f"\n{about}{mark}{json.dumps(as_dict(step), ensure_ascii=False)}\n")
    return "".join(lines)


def parse(data: bytes, name: str) -> list[Step]:
    """Read the steps of the plan file *name*.

    Raises:
        PlanUnreadable: with file and line; nothing of a plan is done that has such a line.
    """
    steps: list[Step] = []
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            line = read_utf8(raw, f"{name}:{number}", PlanUnreadable).strip()
            if line and not line.startswith("#"):
                steps.append(_read_step(read_json(line)))
        except (ValueError, InvalidMemory) as error:
            raise PlanUnreadable(f"{name}:{number}: {error}; fix the line, or put # before it") from None
    _check_twice(steps, name)
    return steps


def _check_twice(steps: Iterable[Step], name: str) -> None:
    """Raise if a record is dropped and used as well: one run merges nothing into what it merges away."""
    steps = list(steps)
    gone = Counter(id_ for step in steps if isinstance(step, Merge) for id_ in step.drop)
    used = {step.keep for step in steps if isinstance(step, Merge)}
    used |= {step.id for step in steps if isinstance(step, Archive | Enrich)}
    for id_, times in gone.items():
        if id_ in used or times > 1:
            raise PlanUnreadable(f"{name}: {id_} is dropped by one line and used by another; take one of them out")


def _read_step(value: Any) -> Step:
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - the line is wrong, not our call
    name = value.pop("do", None)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f'"do" is not one of {", ".join(_KINDS)}')
    if unknown := value.keys() - set(kind._fields):
        raise ValueError(f"{min(unknown)!r} does not belong to this step")
    if missing := set(kind._fields) - value.keys() - kind._field_defaults.keys():
        raise ValueError(f"{min(missing)!r} is missing")
    return kind(**{name: _read_field(name, item) for name, item in value.items()})


def _read_field(name: str, value: Any) -> Any:
    value = DECISION_ALIASES.get(str(value), value) if name == "decision" else value
    is_right, otherwise = _FIELDS[name]
    if not is_right(value):
        raise ValueError(f"{name} {otherwise}")
    make = _MADE.get(name)
    return make(value) if make else value


def _is_row(value: object) -> bool:
    return type(value) is int and 0 < value < 2**62


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_list_of(value: object, is_one: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and all(map(is_one, value))


_MADE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "content": clean_content,
    "rows": tuple,
    "cues": clean_cues,
    "anchors": tuple,
    "triggers": clean_triggers,
    "drop": lambda value: (value,) if isinstance(value, str) else tuple(value),
}

# What the value of each field must be, and what is said of another one.
_Field = tuple[Callable[[Any], bool], str]
_TEXT: Final[_Field] = (_is_text, "is not a text")
_NUMBER: Final[_Field] = (lambda value: type(value) in (int, float), "is not a number")
_FIELDS: Final[Mapping[str, _Field]] = {
    **dict.fromkeys(("keep", "id", "why", "content"), _TEXT),
    "drop": (lambda value: _is_text(value) or _is_list_of(value, _is_text), "is not an id, or a list of them"),
    **dict.fromkeys(("similarity", "worth"), _NUMBER),
    "scope": (SCOPES.__contains__, f"is not one of {', '.join(SCOPES)}"),
    "decision": (DECISIONS.__contains__, f"is not one of {', '.join(DECISIONS)}"),
    "saw": (
        lambda value: isinstance(value, dict) and all(isinstance(item, str) for item in value.values()),
        "does not say what was seen",
    ),
    **dict.fromkeys(
        ("cues", "anchors", "triggers"),
        (
            lambda value: isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value),
            "is not a list of texts",
        ),
    ),
    "row": (_is_row, "is not the number of a row"),
    "rows": (lambda value: _is_list_of(value, _is_row), "is not a list of numbers of rows"),
}
