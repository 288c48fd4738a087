"""Parameters that several tools have."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from memsync.errors import UsageError
from memsync.memories import events
from memsync.memories.project import Project
from memsync.records import ALLOW_TAG, Scope


def _list_of_tags(given: object) -> object:
    """Take tags as a list or with commas; not the one that lets a secret pass, which a person sets."""
    tags = [tag for tag in given.split(",") if tag.strip()] if isinstance(given, str) else given
    if isinstance(tags, list) and ALLOW_TAG in (str(tag).strip() for tag in tags):
        raise ValueError(f"{ALLOW_TAG} is for the user to set, with `memsync remember --allow-secret TEXT`")
    return tags


Tags = Annotated[list[str] | None, BeforeValidator(_list_of_tags)]
Id = Annotated[str, Field(description="The id or its beginning.")]
At = Annotated[str | None, Field(description="As of this commit.")]
Where = Scope | None
Limit = Annotated[int, Field(ge=1, le=1000)]
# "project" is where a text goes by itself: under stealth that is not the tracked file.
Target = Annotated[
    Literal["private", "global"] | None,
    BeforeValidator(lambda given: None if given == "project" else given),
    Field(description="private: not in git. global: the user's, in every project. Else the project's."),
]


def resolve_inside(project: Project, name: str) -> Path:
    """Return the path of *name* in the project; a model must not be led to other files of the user.

    Raises:
        UsageError: it is outside.
    """
    root = (project.layout.root or project.layout.start).resolve()
    try:
        path = (root / name).resolve()
    except ValueError:
        raise UsageError(f"{name!r} is not a valid path") from None
    if not path.is_relative_to(root):
        raise UsageError(
            f"{name} is outside of {root}; let the user run `memsync` on it, or take it into the project first"
        )
    if ".git" in path.relative_to(root).parts:
        raise UsageError(f"{name} is git's own; nothing of memsync goes there")
    return path


def open_at(project: Project, rev: str | None) -> AbstractContextManager[Project]:
    """Return *project* as it was at *rev*; None: as it is."""
    return nullcontext(project) if rev is None else events.at(project, rev)
