"""Secrets and what is private in what is shared: in the files as they are, and in all that git ever had of them. Only reads."""

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
from memsync.memories.events import Files, describe_commit, files_of
from memsync.memories.project import Project
from memsync.safety.secrets import Allow, Secret, describe, redact, scan
from memsync.store import files
from memsync.store.checkout import Checkout
from memsync.store.places import GATED, SKILLS, GitDirs

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
SHARED: Final = ("project", "global")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """One place that looks like it shows what nobody may see: a line of a file, or the commit that brought it in."""

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
    allowed: dict[Path, Allow] = dict.fromkeys(paths, project.vetting.allowed)
    found: list[Exposure] = []
    if root := project.layout.root:
        top = project.layout.git.root if project.layout.git else root
        lists = check.AllowLists(top)
        gated = _list_gated(root, project.layout.git)
        found = [Exposure(where=where, what=what) for where, what in check.find_local(gated).items()]
        allowed |= {top / name: lists.find(name) for name in gated}
    inside = [path for path in allowed if path.is_file() and not _leads_out(path, project.layout.root)]
    return found + [exposure for path in inside for exposure in _search_file(path, allowed[path])]


def _list_gated(root: Path, git: GitDirs | None) -> list[str]:
    """Return the files of every store and skill of git's work tree, or without git the skills of the project at *root*."""
    if git is None:
        return sorted(path.relative_to(root).as_posix() for path in (root / SKILLS).glob("*/SKILL.md"))
    return sorted(
        Checkout(git.root).run("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *GATED).paths
    )


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
        if trouble.stops:
            id_ = jsonl.read_line(lines[trouble.line - 1]).id if path.suffix == ".jsonl" else None
            yield Exposure(where=f"{name}:{trouble.line}", what=trouble.what, id=id_)


def past(project: Project) -> list[Exposure]:
    """Return what commits brought in, of every branch, tag and stash, the oldest first; each secret once."""
    where = files_of(project)
    found: dict[tuple[str, str | None], Exposure] = {}
    for exposure, name in _search_history(where, check.AllowLists(where.root)):
        found[name, exposure.id] = exposure  # newest first, so the oldest stays
    return sorted(found.values(), key=lambda exposure: exposure.commit.when if exposure.commit else _NEVER)


def _search_history(where: Files, lists: check.AllowLists) -> Iterator[tuple[Exposure, str]]:
    """Yield what commits brought in, with a name that is the same for the same."""
    head = history.head(where.root)
    revs = [*([head] if head else []), *history.EVERYWHERE]
    names = [*history.names_of(where.root, where.path, revs), *GATED]
    for step in history.steps(where.root, names, revs=revs):
        allow = lists.find(step.path)
        path, named = redact(step.path, allow), scan(step.path, allow)
        for folder, what in check.find_local([step.path]).items():
            yield Exposure(where=f"{step.commit.short} {folder}", what=what, commit=step.commit), folder
        yield from _describe_secrets(step.commit, f"{path} (its name)", named, None)
        if not step.path.endswith(".jsonl"):
            text = b"\n".join(step.added).decode("utf-8", "replace")
            yield from _describe_secrets(step.commit, path, scan(text, allow), None)
            continue
        for raw in step.added:
            line = jsonl.read_line(raw)
            yield from _describe_secrets(step.commit, path, check.find_secrets(line, allow), line.id)
            if what := check.explain_scope(line):
                yield Exposure(where=f"{step.commit.short} {path}", what=what, id=line.id, commit=step.commit), what


def _describe_secrets(
    commit: Commit, path: str, secrets: Iterable[Secret], id_: str | None
) -> Iterator[tuple[Exposure, str]]:
    for secret in secrets:
        what = f"looks like a secret: {describe([secret])}"
        yield Exposure(where=f"{commit.short} {path}", what=what, id=id_, commit=commit), secret.fingerprint
