"""Where things are: the project root, the home store, and the files of each scope.

Reads `.git` as files, because starting git costs more than a whole recall.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from memsync.errors import NoStore, Part, Remedy, StoreError
from memsync.records import Scope, as_scope
from memsync.store.identity import PrivateStore, find_private
from memsync.system import local
from memsync.system.home import (
    find_foreign,
    find_foreign_part,
    find_home,
    find_own,
    foreign_text,
    is_of_own_group,
    is_open_to_all,
    is_safe_directory,
    owner_of,
)

STORE_DIR: Final = ".gobby"
MEMORIES: Final = "memories.jsonl"
MIRRORS: Final = "mirrors.json"  # in the local directory: what the mirrors of a project said (transfer/mirrors.py)
CONFIG: Final = "config.yaml"
WORKFLOWS: Final = "workflows"  # the folder of lifecycles beside the memories
# What no secret may be in, for git.
GATED: Final = tuple(f":(top,glob)**/{name}/**" for name in (".gobby", ".claude/skills", ".agents/skills"))
WORKTREES: Final = "worktrees"  # of git's directory, and of ours in it: a folder for each linked worktree
SKILLS: Final = ".claude/skills"  # of a project: where Claude Code looks

FOREIGN: Final = "belongs to another user"
_SHARED: Final = r"(?im)^\s*sharedrepository\s*=\s*\"?(\w+)"
_FOR_THE_GROUP: Final = frozenset("1 2 true yes on group all world everybody".split())


class _Place(NamedTuple):
    scope: Scope
    directory: Path
    tree: Path | None
    private: bool
    instead: Path | None = None
    folder: tuple[int, int] | None = None


class Place(_Place):
    """The directory of one store. Links must resolve inside `tree`; private: 0700/0600.

    `instead` is where its local files are if its own `local` is not to be trusted. `folder` is the number of the
    tree's folder when it was found, if it is known.
    """

    @cached_property
    def memories(self) -> Path:
        """The file of memories: the truth."""
        return self.directory / MEMORIES

    @cached_property
    def pending(self) -> Path:
        """The changes that wait for a commit, when they may not be in the file of memories yet."""
        return self.local / "pending.jsonl"

    @cached_property
    def local(self) -> Path:
        """What is never tracked: lock, state.db, index, logs."""
        return self.instead or self.directory / "local"

    def refuse_another_tree(self) -> None:
        """Refuse to write where the folder of the project is not any more: what is made there anew is nobody's.

        Raises:
            StoreError: it was moved or removed, or another folder is in its place.
        """
        if self.tree and self.folder and _number(self.tree) != self.folder:
            why = "was moved, removed or replaced since this process opened it"
            raise StoreError(self.tree, why, "start that again where the project is now")

    @property
    def skills(self) -> Path:
        """The folders of skills: where Claude Code looks in a project, else beside the memories."""
        return self.directory / "skills" if self.private else self.directory.parent / SKILLS

    @property
    def config(self) -> Path:
        """The settings beside the memories."""
        return self.directory / CONFIG


def _number(folder: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class GitDirs(NamedTuple):
    """The directories of a checkout; `common` is shared by all worktrees of a clone."""

    root: Path
    git_dir: Path
    common: Path


_UNDER_WAY: Final = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisect",
}


def under_way(git: GitDirs | None) -> str:
    """Return what git is in the middle of in this checkout, such as "a merge"; "" if nothing."""
    if git is None:
        return ""
    return next((what for name, what in _UNDER_WAY.items() if (git.git_dir / name).exists()), "")


class _Layout(NamedTuple):
    start: Path
    root: Path | None
    git: GitDirs | None
    home: Path | None
    instead: Path | None = None
    former: Path | None = None
    refused: str = ""
    notes: tuple[str, ...] = ()


class Layout(_Layout):
    """Where a command finds its stores, as it was when it was asked. `root` is None in a bare repository, and where another user's is `refused`.

    `notes` say what was found and is not used. `instead` takes the local files of the project then, and always where git
    may remove the work tree without asking; `former` is where an older memsync has those of such a one.
    """

    @cached_property
    def project(self) -> Place | None:
        """The store in the work tree."""
        if self.root is None or _is_same(self.root / STORE_DIR, self.home):
            return None
        directory, folder = self.root / STORE_DIR, _number(self.root)
        return Place("project", directory, self.root, private=False, instead=self.instead, folder=folder)

    @property
    def places(self) -> tuple[Place, ...]:
        """The stores in reach: the project's, its private one and the user's, as far as they are."""
        return tuple(place for place in (self.project, self.private, self.global_) if place)

    @property
    def global_(self) -> Place | None:
        """The store of every project of this user."""
        return Place("global", self.home, None, private=True) if self.home else None

    @cached_property
    def private(self) -> Place | None:
        """The store of this project outside the work tree, the same for all its worktrees."""
        if self.private_store is None or self.private_store.refused:
            return None
        return Place("private", self.private_store.directory, None, private=True)

    @cached_property
    def private_store(self) -> PrivateStore | None:
        """Whose `private` is; None where no home is known."""
        return find_private(self.home, self.git, self.root or self.start) if self.home else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The `notes`, and why the private store is not used."""
        return (*self.notes, *filter(None, [self.private_store and self.private_store.refused]))

    def place(self, scope: Scope) -> Place:
        """Return the place of *scope*.

        Raises:
            InvalidMemory: there is no such scope.
            NoStore: there is none here; the message says why.
        """
        scope = as_scope(scope)
        found = {"project": self.project, "private": self.private, "global": self.global_}[scope]
        if found is None:
            raise NoStore(*self._why_none(scope))
        return found

    def _why_none(self, scope: Scope) -> tuple[Part, ...]:
        if scope == "project" and self.refused:
            return (self.refused,)
        if scope == "private" and self.private_store:
            return (self.private_store.refused,)
        if scope == "project" and self.root:
            return f"{self.root / STORE_DIR} is your home store, not a project's; use ", Remedy("--global")
        if scope == "project":
            bare = f"{self.start} is a bare repository and has no work tree; use "
            return bare, Remedy("--global"), ", or run in a checkout"
        return (_explain_home() or "no home directory is known; set HOME, or MEMSYNC_HOME to a directory of yours",)


def list_workflows(layout: Layout) -> Iterator[tuple[Path, Place]]:
    """Yield the workflow files of the user, of the project, and the user's own for it; also of Gobby's `lifecycle/`."""
    for place in (layout.global_, layout.project, layout.private):
        folder = place.directory / WORKFLOWS if place else None
        if place and folder and folder.is_dir():
            for inner in (folder / "lifecycle", folder):
                yield from ((path, place) for path in sorted(inner.glob("*.y*ml")))


def locate(start: Path, env: Mapping[str, str] = os.environ) -> Layout:
    """Find the project that *start* is in, and the user's home store.

    The root is the nearest directory upwards with a `.gobby`, within the git
    work tree if there is one; else the top of the work tree; else *start*.
    What is another user's is not used, unless git's safe.directory has it.
    """
    try:
        start = Path(os.path.abspath(start))
    except FileNotFoundError:
        raise NoStore("the current directory is gone; change to one that exists") from None
    home = home_dir(env)
    about_home = tuple(filter(None, [_explain_home(env)]))
    git = find_git(start)
    if git and (foreign := find_foreign((git.root, git.git_dir), env)) and not is_safe_directory(git.root):
        refused = foreign_text(foreign, git.root)
        return Layout(start, None, None, home, refused=refused, notes=(refused, *about_home))
    unused: dict[Path, str] = {}  # stores, and why
    root = _find_nearest_store(start, git, home, env, unused)
    if root is None:
        is_bare = all((start / part).exists() for part in ("HEAD", "objects", "refs"))
        root = git.root if git else (None if is_bare else start)
        if root and (refused := unused.get(root / STORE_DIR, "")):
            return Layout(start, None, None, home, refused=refused, notes=(*unused.values(), *about_home))
    notes = (*unused.values(), *about_home)
    if root is None:
        return Layout(start, root, git, home, notes=notes)
    path = root / STORE_DIR / "local"
    instead = find_git_local(git, root) if git and git.git_dir != git.root / ".git" else None
    if not (why := _distrust_local(path, git, env)):
        former = path if instead and path.is_dir() else None
        return Layout(start, root, git, home, instead=instead, former=former, notes=notes)
    own = _find_remedy(path, why)
    if git is None:
        refused = f"{path} {why}; {own or 'remove it, and memsync makes its own'}"
        return Layout(start, None, None, home, refused=refused, notes=(*notes, refused))
    instead = find_git_local(git, root)
    remedy = own or f"`git rm -r --cached {path}` if git tracks it, then remove it"
    note = f"{path} {why}, so nothing in it is used; {remedy}"
    return Layout(start, root, git, home, instead=instead, notes=(*notes, note))


def _find_remedy(path: Path, why: str) -> str:
    """Return what to do about the local files at *path* where they may hold memories of the user's; "" if to remove them."""
    if why.startswith("holds ") and why.endswith(FOREIGN):
        return "remove that one alone"
    return f'make it yours: sudo chown -R "$(id -un)" {path}' if why.endswith(local.UNREADABLE) else ""


def _distrust_local(path: Path, git: GitDirs | None, env: Mapping[str, str]) -> str:
    """Return why the project's directory of local files is not used; "" if it is."""
    if why := local.explain_distrust(path):
        return why
    if _is_foreign(path, git, env):
        return FOREIGN
    names = os.listdir(path) if path.is_dir() else ()
    if foreign := next((name for name in names if _is_foreign(path / name, git, env, path)), ""):
        return f"holds {foreign}, which {FOREIGN}"
    # The store may be a submodule, or reached by a link in the tree: what counts is who keeps it where it is.
    keeper = find_git(Path(os.path.realpath(path.parent))) if git else None
    return "is tracked by git" if keeper and local.is_tracked(path, keeper.root, keeper.git_dir) else ""


def _explain_home(env: Mapping[str, str] = os.environ) -> str:
    """Return why the home store is not used though there is one; "" if it is, or there is none."""
    part = find_foreign_part(env)
    return (
        part and f"{part} {FOREIGN}, so the home store is not used; set HOME, or MEMSYNC_HOME to a directory of yours"
    )


def _is_foreign(path: Path, git: GitDirs | None, env: Mapping[str, str], holder: Path | None = None) -> bool:
    """Tell whether *path* is another user's; in a checkout that is used, its owner and git's group are not.

    In a directory of ours, the *holder*, root's files are no stranger's either: a container may have written them.
    """
    if find_foreign((path,), env) is None:
        return False
    owner = owner_of(path)
    if (git and owner == os.lstat(git.root).st_uid) or (holder and owner in (0, None)):
        return False
    is_open = holder is not None and is_open_to_all(holder)
    if git and is_shared(git) and is_of_own_group(holder or path) and not is_open:
        return False
    return not is_safe_directory(git.root if git else (holder or path).parent)


def home_dir(env: Mapping[str, str] = os.environ) -> Path | None:
    """Return `MEMSYNC_HOME`, else `~/.gobby`, else None where no home is known."""
    own = find_own(env)
    return Path(own) if own else None


def _find_nearest_store(
    start: Path, git: GitDirs | None, home: Path | None, env: Mapping[str, str], unused: dict[Path, str]
) -> Path | None:
    # ~/.gobby is the home store (and Gobby's own home), never the store of a project that is the home directory.
    user = find_home(env)
    above = ""
    for directory in (start, *start.parents):
        if git is None and not above and is_open_to_all(directory):
            above = str(directory)
        store = directory / STORE_DIR
        if store.is_dir() and not _is_same(store, home) and not (user and _is_same(directory, Path(user))):
            if foreign := _find_foreign(store, git, env):
                unused[store] = foreign_text(foreign, git.root if git else directory)
            elif above and directory != start:
                unused[store] = f"{store} is not used, because anyone can write to {above}; cd there to use it"
            else:
                return directory
        if git and directory == git.root:
            return None
    return None


def _find_foreign(store: Path, git: GitDirs | None, env: Mapping[str, str]) -> Path | None:
    """Return the directory *store*, or the file in it, that is another user's; None if all are the user's."""
    if _is_foreign(store, git, env):
        return store
    return next((store / name for name in (MEMORIES, CONFIG) if _is_foreign(store / name, git, env, store)), None)


def _is_same(path: Path, other: Path | None) -> bool:
    return other is not None and (path == other or os.path.realpath(path) == os.path.realpath(other))


def find_git(start: Path) -> GitDirs | None:
    """Return the checkout that *start* is in; None outside git and in a bare repository."""
    for directory in (start, *start.parents):
        dot_git = directory / ".git"
        if dot_git.is_dir() and (dot_git / "HEAD").exists():
            return GitDirs(directory, dot_git, _find_common(dot_git))
        if dot_git.is_file() and (git_dir := _follow_link(dot_git)):
            return GitDirs(directory, git_dir, _find_common(git_dir))
    return None


def find_git_local(git: GitDirs, root: Path) -> Path:
    """Return where git's own directory has the local files of the project at *root*: it stays when a worktree is removed."""
    own = (WORKTREES, git.git_dir.name) if git.git_dir != git.common else ()
    return git.common.joinpath("memsync", *own, root.relative_to(git.root), local.LOCAL)


def _follow_link(dot_git: Path) -> Path | None:
    text = dot_git.read_text(encoding="utf-8", errors="surrogateescape").strip()
    if not text.startswith("gitdir:"):
        return None
    git_dir = dot_git.parent / text.removeprefix("gitdir:").strip()
    return Path(os.path.realpath(git_dir)) if git_dir.is_dir() else None


def _find_common(git_dir: Path) -> Path:
    pointer = git_dir / "commondir"
    if not pointer.is_file():
        return git_dir
    return Path(os.path.realpath(git_dir / pointer.read_text(encoding="utf-8", errors="surrogateescape").strip()))


def is_shared(git: GitDirs) -> bool:
    """Tell whether the repository is its group's (git's core.sharedRepository)."""
    found = re.findall(_SHARED, _read_text(git.common / "config"))
    value = found[-1].lower() if found else "0"
    is_mode = len(value) > 2 and value.startswith("0") and value.isdecimal()
    return bool(int(value, 8) & 0o020) if is_mode else value in _FOR_THE_GROUP


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
