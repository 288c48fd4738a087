"""What git knows of one skill: which commits changed its SKILL.md, and how."""

from __future__ import annotations

from typing import Any, NamedTuple

from memsync.errors import SkillNotFound, StoreError
from memsync.git import history
from memsync.git.history import Commit
from memsync.git.rows import compare_lines
from memsync.history.events import describe_commit
from memsync.history.lines import files_of
from memsync.memories.project import Project
from memsync.skills import check
from memsync.skills.store import SKILL_FILE
from memsync.store.files import read, resolve_inside


class SkillEvent(NamedTuple):
    """What one commit, or the work tree since then (no commit), did to the lines of a SKILL.md."""

    commit: Commit | None
    path: str
    added: tuple[bytes, ...]
    removed: tuple[bytes, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        rows = {"added": self.added, "removed": self.removed}
        return {
            **describe_commit(self.commit),
            "subject": self.commit and self.commit.subject,
            "path": self.path,
            **{name: [row.decode("utf-8", "replace") for row in some] for name, some in rows.items()},
        }


def skill_events(project: Project, name: str) -> list[SkillEvent]:
    """Return what happened to the skill *name* of the project, newest first; also under its earlier names.

    Raises:
        NoHistory: the project is not in a checkout, or git failed.
        InvalidSkill: *name* is not the name of a skill.
        SkillNotFound: neither git nor the work tree has it.
    """
    files = files_of(project)
    path = f"{files.skills}/{check.clean_name(name)}/{SKILL_FILE}"
    has_commits = bool(history.head(files.root))
    names = history.names_of(files.root, path) if has_commits else []
    found = [
        SkillEvent(step.commit, step.path, step.added, step.replaced)
        for step in (history.steps(files.root, names) if names else ())
    ]
    (committed,) = history.read(files.root, [("HEAD", path)]) if has_commits else (None,)
    try:
        now = read(resolve_inside(files.root / path, files.root))[0].replace(b"\r\n", b"\n")
    except StoreError:
        now = committed or b""
    added, removed, _ = compare_lines(now, committed or b"")
    if added or removed:
        found.insert(0, SkillEvent(None, path, added, removed))
    if not found:
        raise SkillNotFound(name, " that git has ever had, or that is here now")
    return found
