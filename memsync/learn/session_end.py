"""Learning from a session when it ends: candidates that wait for approval, never more than a person would read."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any, Final

from memsync.errors import InvalidSkill, LlmError
from memsync.learn import transcripts
from memsync.learn.candidates import Candidates
from memsync.learn.digest import Digest, digest
from memsync.learn.extract import extract
from memsync.learn.lessons import learn_skill
from memsync.llm.llm import is_configured
from memsync.memories.project import Project
from memsync.system.texts import count

# What nobody has looked at after so many is not going to be looked at; more would only bury it.
MOST_MEMORIES: Final = 50
MOST_OF_ONE: Final = 5  # memories of one session, the best: what can be judged in a minute
LEAST_OF_ONE: Final = 0.65  # their importance: without strong evidence, what is said or fails is mostly of the hour
MOST_SKILLS: Final = 5
_FEWEST_COMMANDS: Final = 2
_NAME_WORDS: Final = 4
_SMALL: Final = frozenset(
    "a an the and or of in on at to for from with by is are be do does did can could would should please how what which"
    " why when where who i you we me my our your it this that these those there run use make get need want let help"
    " add fix have has had was were not no so then now just also tell show".split()
)


def why_not(project: Project, transcript: str) -> str:
    """Return why nothing is to be learned from *transcript* now; empty if something may be."""
    if not project.settings.auto_extract:
        return "memory.auto_extract is off"
    if not project.layout.place(project.default_scope).directory.is_dir():
        return "this project has no store"
    path = Path(transcript)
    return "" if path.suffix == ".jsonl" and path.is_file() else "the session has no transcript"


def memories_of(project: Project, transcript: Path, *, use_model: bool = True) -> dict[str, Any]:
    """Propose memories from the session that has ended, and return what became of it.

    Raises:
        ImportFailed, StoreError
    """
    waiting = len(Candidates(project).memories())
    if waiting >= MOST_MEMORIES:
        return {
            "extracted": 0,
            "reason": f"{count(waiting, 'candidate')} {'waits' if waiting == 1 else 'wait'}; `memsync candidates` shows them",
        }
    most = min(MOST_OF_ONE, MOST_MEMORIES - waiting)
    found = extract(project, transcript, use_model=use_model, most=most, least=LEAST_OF_ONE)
    return {"extracted": len(found.proposed), "by": found.by, **({"note": found.note} if found.note else {})}


def skill_of(project: Project, transcript: Path, *, session: str, use_model: bool = True) -> dict[str, Any]:
    """Let a model draft a skill if the session that has ended found a way, named after what was asked for.

    Without one nothing is drafted: commands in a row are no skill. The agent that
    was there can write it (skill `learn` of the plugin).

    Raises:
        ImportFailed, StoreError
    """
    if not (use_model and is_configured(project.settings)):
        return {
            "status": "nothing",
            "reason": "no model is configured to draft a skill; the agent can, by its skill learn",
        }
    found = digest(transcripts.read(transcript))
    name = name_of(found) if is_lesson(found) else ""
    if not name:
        return {"status": "nothing", "reason": "the session found no way that is worth a skill"}
    candidates = Candidates(project)
    known = {*candidates.skills(), *(entry.name for entry in project.skills.list())}
    if name in known or len(candidates.skills()) >= MOST_SKILLS:
        return {"status": "nothing", "reason": f"{name} is known, or {MOST_SKILLS} skills wait for approval already"}
    try:
        done = learn_skill(project, name, session=session, transcript=transcript, by_rules=False)
    except (InvalidSkill, LlmError) as error:
        return {"status": "nothing", "reason": str(error)}
    return {"status": done.status, "name": done.name, "by": done.by}


def is_lesson(found: Digest) -> bool:
    """Tell whether a session found something out: a command worked where others had failed, or the user put one right."""
    has_recovered = any(one.after_failing for one in found.worked)
    return len(found.worked) >= _FEWEST_COMMANDS and (has_recovered or bool(found.corrections))


def name_of(found: Digest) -> str:
    """Return a name for what was asked for first; empty if it has too few words of its own."""
    goal = found.goals[0] if found.goals else ""
    first = re.split(r"[.?!\n]", goal.strip(), maxsplit=1)[0]
    plain = unicodedata.normalize("NFKD", first.lower()).encode("ascii", "ignore").decode()
    words = [word for word in re.findall(r"[a-z0-9]+", plain) if word not in _SMALL]
    return "-".join(words[:_NAME_WORDS])[:60] if len(words) > 1 else ""
