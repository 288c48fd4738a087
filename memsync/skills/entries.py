"""What the calls about skills return, and what a skill would have its client do unasked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memsync.errors import MemsyncError
from memsync.format.jsonl import Problem
from memsync.records import Scope, Skill
from memsync.skills import file
from memsync.skills.file import as_tags
from memsync.store import files


def version_of(skill: Skill) -> str:
    """Return the version of *skill*: twelve digits of a hash of all that it says."""
    from memsync.system.digests import sha256

    said = (skill.name, skill.description, skill.trigger_pattern, *skill.tags, "", skill.instructions)
    return sha256("\0".join(said).encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillEntry:
    """A skill where it lives, and how it was used on this machine. `score` compares only within one search."""

    skill: Skill
    scope: Scope
    path: Path
    problems: tuple[Problem, ...] = ()
    use_count: int = 0
    success_rate: float | None = None
    score: float | None = None

    @property
    def name(self) -> str:
        """The name of the skill."""
        return self.skill.name

    @property
    def version(self) -> str:
        """What changes with every change of the skill: `update` can insist on the version that somebody has read."""
        return version_of(self.skill)

    @property
    def flagged(self) -> str:
        """Why it reads like an order to an agent to ignore or betray its user, or would act unasked; "" if neither."""
        from memsync.safety.screen import suspicious

        skill = self.skill
        texts = (skill.name, skill.description, skill.trigger_pattern, *skill.tags, skill.instructions)
        return next(filter(None, map(suspicious, texts)), "") or find_danger(self.path)

    def as_dict(self, *, whole: bool = True) -> dict[str, Any]:
        """Return the skill by the seeds' names; without the instructions unless *whole*."""
        skill = self.skill
        more = {"flagged": self.flagged, "source_session_id": skill.source_session_id}
        return {
            "id": skill.id,
            "name": skill.name,
            "description": skill.description,
            "trigger_pattern": skill.trigger_pattern or None,
            "tags": list(skill.tags),
            "version": self.version,
            "scope": self.scope,
            "path": str(self.path),
            "use_count": self.use_count,
            "success_rate": self.success_rate,
            "problems": [{"line": p.number, "what": p.why} for p in self.problems],
            **{name: value for name, value in more.items() if value},
            **({} if self.score is None else {"score": round(self.score, 4)}),
            **({"instructions": skill.instructions} if whole else {}),
        }


def list_skill_entries(found: Sequence[SkillEntry]) -> dict[str, Any]:
    """Return *found* as a list answers, without the instructions."""
    return {"count": len(found), "skills": [entry.as_dict(whole=False) for entry in found]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the check of one skill found. `mended`: its file was changed; `unfixed`: why it, or the rest, was not."""

    name: str
    path: Path
    problems: tuple[Problem, ...]
    mended: bool = False
    unfixed: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether every client loads it and the specification's validator accepts it."""
        return all(problem.harmless for problem in self.problems)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, each problem with its line."""
        problems = [{"line": p.number, "what": p.why, "harmless": p.harmless} for p in self.problems]
        return {
            "name": self.name,
            "path": str(self.path),
            "valid": self.is_valid,
            "mended": self.mended,
            "unfixed": self.unfixed,
            "problems": problems,
        }


_NAMED: Final = (b"hooks", b"allowed-tools")
_MOST: Final = 64  # files beside a skill that are read
_LARGEST: Final = 256 * 1024  # bytes of one


def find_danger(path: Path) -> str:
    """Return what the skill in the file *path*, and what lies beside it, would do unasked; "" if nothing is known."""
    data = b""
    with suppress(MemsyncError, OSError):
        data = files.read(path)[0]
    front = file.read(data, path.parent.name).front if any(name in data for name in _NAMED) else {}
    return _read_front(front) or next(_read_beside(path.parent), "")


def _read_front(front: Mapping[str, Any]) -> str:
    if front.get("hooks"):
        return "brings hooks, which a client runs"
    allowed = front.get("allowed-tools")
    tools = as_tags(allowed) if isinstance(allowed, list) else str(allowed or "").replace(",", " ").split()
    is_open = any(str(tool).strip() in ("*", "Bash(*)", "Bash(*:*)", "Bash(:*)") for tool in tools)
    return "lets its agent use every tool without a question" if is_open else ""


def _read_beside(folder: Path) -> Iterator[str]:
    """Yield what the first files beside a skill would do; no link is followed."""
    from memsync.safety.screen import find_sending

    number = 0
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(root, name)
            number += name != "SKILL.md"
            if number > _MOST:
                return
            if name == "SKILL.md" or path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
                continue
            with suppress(OSError):
                text = path.read_bytes().decode("utf-8", "replace")
                if why := find_sending(text):
                    yield f"{path.relative_to(folder).as_posix()}: {why}"
