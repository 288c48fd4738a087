"""From what a session taught to the draft of a skill: by rules, or by a model where one is configured."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Final

from memsync.errors import InvalidSkill
from memsync.format.as_json import as_json
from memsync.learn.digest import Digest
from memsync.llm import answers
from memsync.llm.llm import Llm
from memsync.records import clean_tags
from memsync.skills import check, file
from memsync.system.texts import one_line

SHAPE: Final = {
    "type": "object",
    "required": ["description", "instructions"],
    "properties": {
        "description": {"type": "string"},
        "instructions": {"type": "string"},
        "trigger_pattern": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
_GOAL: Final = 160
_SHORT: Final = 60


def by_rules(name: str, digest: Digest, *, source: str | None = None) -> bytes:
    """Return a SKILL.md with what worked, in order, what did not, and what the user put right; a person finishes it."""
    lines = [f"# {name.replace('-', ' ').capitalize()}", ""]
    lines += _format_section("Steps that worked", _list_steps(digest), ordered=True)
    lines += _format_section("What the user put right", [one_line(one.text) for one in digest.corrections])
    lines += _format_section("What did not work", [f"`{one_line(command)}`" for command in digest.failed])
    lines += _format_section("Files that were changed", [f"`{file}`" for file in digest.files])
    return file.make("\n".join(lines).strip(), _make_fields(name, _describe(name, digest), source=source))


def _list_steps(digest: Digest) -> list[str]:
    steps = []
    for one in digest.worked:
        after = ", ".join(f"`{one_line(old)}`" for old in one.after_failing)
        steps.append(f"`{one_line(one.command)}`" + (f" ({after} failed)" if after else ""))
    return steps


def _format_section(title: str, rows: Sequence[str], *, ordered: bool = False) -> list[str]:
    if not rows:
        return []
    marks = (f"{number}." if ordered else "-" for number in range(1, len(rows) + 1))
    return [f"## {title}", "", *(f"{mark} {row}" for mark, row in zip(marks, rows, strict=True)), ""]


def _describe(name: str, digest: Digest) -> str:
    """Return what the skill is for and when it is wanted: a client chooses by this line alone."""
    best = next((one for one in digest.worked if one.after_failing), next(iter(digest.worked), None))
    command = one_line(best.command) if best else ""
    by = f" (`{command}`)" if command and len(command) <= _SHORT else ""
    about = f"How to {name.replace('-', ' ')} in this project{by}."
    goal = textwrap.shorten(one_line(digest.goals[0]), _GOAL, placeholder=" …") if digest.goals else ""
    return f"{about} Use when the task is like: {goal}" if goal else about


def by_model(name: str, digest: Digest, llm: Llm, *, source: str | None = None) -> bytes:
    """Return a SKILL.md that a model wrote from the digest, checked as one by hand would be.

    Raises:
        LlmError: no answer.
        InvalidSkill: the answer is not a valid skill.
    """
    said = llm.ask(answers.prompt("skill_learn", skill=name, session=as_json(digest)), SHAPE)
    trigger = str(said.get("trigger_pattern") or "")
    fields = _make_fields(name, said["description"], source=source)
    fields |= {"trigger_pattern": check.clean_trigger(trigger)} if trigger else {}
    fields |= {"tags": clean_tags(said["tags"])} if said.get("tags") else {}
    if not said["instructions"].strip():
        raise InvalidSkill("the model wrote no instructions")
    return file.make(said["instructions"].strip(), fields)


def _make_fields(name: str, description: str, *, source: str | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": name, "description": check.clean_description(one_line(description)[:1000])}
    return fields | ({"source_session_id": source} if source else {})
