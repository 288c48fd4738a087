"""Learning a skill from a session: find the transcript, digest it, draft a SKILL.md, and let somebody look at it first."""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from memsync.errors import ImportFailed, InvalidSkill, LlmError, Part, Remedy, UsageError
from memsync.learn import transcripts
from memsync.learn.candidates import Candidates
from memsync.learn.digest import Digest, digest
from memsync.llm.answers import TEXT, list_of, object_of, prompt
from memsync.llm.llm import Llm, is_configured, open_llm
from memsync.memories.project import Project
from memsync.memories.results import as_json
from memsync.records import clean_tags
from memsync.skills import check, file
from memsync.skills.entries import SkillEntry
from memsync.system.home import find_home
from memsync.system.texts import one_line

log = logging.getLogger(__name__)

_NEXT: Final = "look at it, edit it if you like, then `memsync skill approve {name}` or `memsync skill reject {name}`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """A skill that was learned. As a candidate it waits at `path`, and `diff` is what approving it would change.

    `digest` is for an agent that wants to write better instructions; `next` is what a person does now.
    """

    status: Literal["candidate", "created"]
    name: str
    path: Path
    by: Literal["rules", "model", "given"]
    diff: str = ""
    digest: Digest | None = None
    entry: SkillEntry | None = field(default=None, metadata={"json": "skill"})
    note: str = ""
    next: str = ""


def learn_skill(
    project: Project,
    name: str,
    *,
    session: str | None = None,
    transcript: Path | None = None,
    instructions: str | None = None,
    approve: bool = False,
    use_model: bool = True,
    by_rules: bool = True,
) -> Learned:
    """Learn the skill *name* from *instructions*, else from a transcript, else from the session that this runs in.

    It waits as a candidate until somebody approves it, unless *approve*. A model
    writes it where one is configured and answers; else rules make a draft to finish by hand, unless *by_rules* is off.

    Raises:
        UsageError: no session is known.
        ImportFailed: its transcript cannot be read, or teaches nothing.
        LlmError: no model answers, and rules may not draft.
        InvalidSkill, StoreError
    """
    check.clean_name(name)
    found: Digest | None = None
    by: Literal["rules", "model", "given"] = "given"
    note = ""
    if instructions is not None:
        data = check.fix(file.make(instructions.strip(), {"name": name}), name)
    else:
        session = session or project.journal.session_id
        path = transcript or transcript_of(project, session, Remedy("--transcript FILE"))
        found = digest(transcripts.read(path))
        if not found:
            raise ImportFailed(f"{path}: no command worked and nothing was put right, so there is nothing to learn")
        data, by, note = _draft(project, name, found, session, use_model=use_model, by_rules=by_rules)
    candidates = Candidates(project)
    waits = candidates.propose_skill(name, data)
    if approve:
        entry = candidates.approve_skill(name)
        return Learned(status="created", name=name, path=entry.path, by=by, digest=found, entry=entry, note=note)
    diff, then = candidates.skill_diff(name), _NEXT.format(name=name)
    return Learned(status="candidate", name=name, path=waits, by=by, diff=diff, digest=found, note=note, next=then)


def _draft(
    project: Project, name: str, found: Digest, session: str | None, *, use_model: bool, by_rules: bool
) -> tuple[bytes, Literal["rules", "model"], str]:
    note = ""
    if use_model and is_configured(project.settings):
        try:
            llm = open_llm(project, project.settings.learning_model)
            return _draft_by_model(name, found, llm, source=session), "model", ""
        except (LlmError, InvalidSkill) as error:
            if not by_rules:
                raise
            note = f"drafted by rules, because {error}"
            log.info("%s", note)
    return _draft_by_rules(name, found, source=session), "rules", note


def transcript_of(project: Project, session: str | None, instead: Part = "a file") -> Path:
    """Return the transcript of *session* on this machine; *instead* is what else could be given to the caller.

    Raises:
        UsageError: no session is known, or it has no transcript here.
    """
    if not session:
        raise UsageError("no session is known here; give ", instead, " or ", Remedy("--from-session ID"))
    home = find_home(project.env)
    found = transcripts.find(session, Path(home), project.env) if home else None
    if found is None:
        raise UsageError(f"no transcript of session {session!r} on this machine; give ", instead)
    return found


SHAPE: Final = object_of(
    "description", "instructions", description=TEXT, instructions=TEXT, trigger_pattern=TEXT, tags=list_of(TEXT)
)
_GOAL: Final = 160
_SHORT: Final = 60


def _draft_by_rules(name: str, digest: Digest, *, source: str | None = None) -> bytes:
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


def _draft_by_model(name: str, digest: Digest, llm: Llm, *, source: str | None = None) -> bytes:
    """Return a SKILL.md that a model wrote from the digest, checked as one by hand would be.

    Raises:
        LlmError: no answer.
        InvalidSkill: the answer is not a valid skill.
    """
    said = llm.ask(prompt("skill_learn", skill=name, session=as_json(digest)), SHAPE)
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
