"""Secrets in what is shared: in the files as they are, and in all that git ever had of them. Only reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memsync.errors import OutsideTree
from memsync.format import jsonl
from memsync.git import check, history
from memsync.git.history import Commit
from memsync.history.events import describe_commit
from memsync.history.lines import Files, files_of
from memsync.memories.project import Project
from memsync.secrets import Allow, Secret, describe, redact, scan
from memsync.store import files
from memsync.store.checkout import Checkout
from memsync.store.places import GATED, SKILLS

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
SHARED: Final = ("project", "global")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """One place that looks like it shows a secret: a line of a file, or the commit that brought it in."""

    where: str
    what: str
    id: str | None = None
    commit: Commit | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return where it is, what it looks like, and who brought it in."""
        return {"where": self.where, "what": self.what, "id": self.id, **describe_commit(self.commit)}


def current(project: Project) -> list[Exposure]:
    """Return what the shared memory files, and every store and skill of the work tree, show as they are now."""
    places = [project.stores[scope].place for scope in SHARED if scope in project.stores]
    paths = [path for place in places for path in (place.memories, place.pending)]
    if project.layout.root:
        paths += _list_gated(project.layout.root, project.layout.git.root if project.layout.git else None)
    inside = [path for path in dict.fromkeys(paths) if path.is_file() and not _leads_out(path, project.layout.root)]
    return [exposure for path in inside for exposure in _search_file(path, project.vetting.allowed)]


def _list_gated(root: Path, top: Path | None) -> list[Path]:
    """Return the files of every store and skill of git's work tree at *top*, or without git the skills of the project at *root*."""
    if top is None:
        return sorted((root / SKILLS).glob("*/SKILL.md"))
    known = Checkout(top).run("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *GATED).paths
    return [top / name for name in sorted(known)]


def _leads_out(path: Path, tree: Path | None) -> bool:
    """Tell whether a link makes *path* a file that is not of the repository: what that shows, the repository does not."""
    try:
        files.resolve_named(path, tree)
    except OutsideTree:
        return True
    return False


def _search_file(path: Path, allow: Allow) -> Iterator[Exposure]:
    name = redact(str(path), allow)
    if name != str(path):
        yield Exposure(where=name, what="its name looks like a secret")
    data, _ = files.read(path)
    lines = data.split(b"\n")
    for trouble in check.find_trouble(name, data, allow=allow):
        if trouble.kind == "secret":
            id_ = jsonl.read_line(lines[trouble.line - 1]).id if path.suffix == ".jsonl" else None
            yield Exposure(where=f"{name}:{trouble.line}", what=trouble.what, id=id_)


def past(project: Project) -> list[Exposure]:
    """Return what commits brought in, of every branch, tag and stash, the oldest first; each secret once.

    Raises:
        NoHistory: not in git, or git failed.
    """
    where = files_of(project)
    found: dict[tuple[str, str | None], Exposure] = {}
    for exposure, secret in _search_history(where, project.vetting.allowed):
        found[secret.fingerprint, exposure.id] = exposure  # newest first, so the oldest stays
    return sorted(found.values(), key=lambda exposure: exposure.commit.when if exposure.commit else _NEVER)


def _search_history(where: Files, allow: Allow) -> Iterator[tuple[Exposure, Secret]]:
    head = history.head(where.root)
    revs = [*([head] if head else []), *history.EVERYWHERE]
    names = [*history.names_of(where.root, where.path, revs), *GATED]
    for step in history.steps(where.root, names, revs=revs):
        path, named = redact(step.path, allow), scan(step.path, allow)
        yield from _describe_secrets(step.commit, f"{path} (its name)", named, None)
        if not step.path.endswith(".jsonl"):
            text = b"\n".join(step.added).decode("utf-8", "replace")
            yield from _describe_secrets(step.commit, path, scan(text, allow), None)
            continue
        for raw in step.added:
            line = jsonl.read_line(raw)
            yield from _describe_secrets(step.commit, path, check.find_secrets(line, allow), line.id)


def _describe_secrets(
    commit: Commit, path: str, secrets: Iterable[Secret], id_: str | None
) -> Iterator[tuple[Exposure, Secret]]:
    for secret in secrets:
        what = f"looks like a secret: {describe([secret])}"
        yield Exposure(where=f"{commit.short} {path}", what=what, id=id_, commit=commit), secret
