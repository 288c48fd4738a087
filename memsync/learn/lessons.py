"""Learning a skill from a session: find the transcript, digest it, draft a SKILL.md, and let somebody look at it first."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from memsync.errors import ImportFailed, InvalidSkill, LlmError, Part, Remedy, UsageError
from memsync.learn import drafts, transcripts
from memsync.learn.candidates import Candidates
from memsync.learn.digest import Digest, digest
from memsync.llm.llm import is_configured, open_llm
from memsync.memories.project import Project
from memsync.skills import check, file
from memsync.skills.entries import SkillEntry
from memsync.system.home import find_home

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
            return drafts.by_model(name, found, llm, source=session), "model", ""
        except (LlmError, InvalidSkill) as error:
            if not by_rules:
                raise
            note = f"drafted by rules, because {error}"
            log.info("%s", note)
    return drafts.by_rules(name, found, source=session), "rules", note


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
