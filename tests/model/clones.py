"""Clones of one repository as people really have them, and the hosting service that they push to."""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from helpers import FILTERS, Ran
from ledger import Shown

from memsync import Memsync
from memsync.git.install import install
from memsync.memories.syncing import sync
from memsync.setup.doctor import fix_findings
from memsync.setup.installing import init
from memsync.store.local_history import take_over
from memsync.store.places import GitDirs, locate
from memsync.store.store import Store

MEMORIES = ".gobby/memories.jsonl"
MODES = ("worktree", "on-commit", "auto-commit")
# `driver`: memsync's hooks and merge driver; `plain`: neither, as where nobody ran `memsync init`.
KITS = ("driver", "plain")
# What the user of a clone has as a hook and as an editor: it says that it is open, and waits for an answer.
WAIT = """\
#!/bin/sh
if [ -n "$MODEL_SAID" ] && [ "$MODEL_WAITS" = "${0##*/}" ]; then
	echo open > "/dev/fd/$MODEL_SAID"
	read -r _ < "/dev/fd/$MODEL_ANSWER"
fi
[ -z "$1" ] || echo "typed in an editor" >> "$1"
"""
GITCONFIG = """\
[user]
	name = Test User
	email = test@example.org
[init]
	defaultBranch = main
	templateDir =
[gc]
	auto = 0
[maintenance]
	auto = false
[core]
	fsync = none
[advice]
	detachedHead = false
[pull]
	rebase = false
[protocol "file"]
	allow = always
"""


class Time:
    """The time of the whole world: it goes on with each step."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 9, tzinfo=UTC)

    def go_on(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            os.environ[name] = f"{int(self.now.timestamp())} +0000"


class Clone:
    """One clone: its git, its memsync, its clock, and what its user is in the middle of."""

    def __init__(self, root: Path, home: Path, time: Time, *, kit: str, mode: str) -> None:
        self.root, self.homes, self.time, self.kit = root, home, time, kit
        self.name = root.name
        self.skew = 0.0  # seconds by which its clock is wrong
        self.topic = ""  # its branch, while it has one
        self.stashes = 0
        self.server: Memsync | None = None  # a program that goes on, such as an MCP server
        self.is_submodule = False
        self.linked: Clone | None = None  # its other worktree, while it has one
        home.mkdir()
        self.change_user(0, mode)

    def run_above(self, *words: str) -> Ran:
        """Run git in the repository of which this clone is a submodule."""
        done = subprocess.run(["git", *words], cwd=self.root.parent, capture_output=True, text=True, check=False)
        return Ran(done.returncode, done.stdout, done.stderr)

    def change_user(self, number: int, mode: str) -> None:
        """Let another user of this clone go on, who has a home of his own; *mode* is his if he is new."""
        self.home = self.homes / str(number)
        if not self.home.exists():
            self.home.mkdir()
            self.set_mode(mode)

    def link(self, root: Path) -> Clone:
        """Return the worktree *root* of this clone as a clone."""
        other = copy.copy(self)
        other.root, other.name, other.server, other.topic, other.stashes = root, root.name, None, "", 0
        return other

    @property
    def mode(self) -> str:
        return (self.home / "config.yaml").read_text().split()[-1]

    def set_mode(self, mode: str) -> None:
        (self.home / "config.yaml").write_text(
            f"memory:\n  author: {self.name}\n  embedder: none\nmemory_sync:\n  mode: {mode}\n"
        )

    def equip(self) -> None:
        if self.kit == "driver":
            with self.acting():
                install(locate(self.root))

    @property
    def clock(self) -> datetime:
        return self.time.now + timedelta(seconds=self.skew)

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Let this user's settings be in force, for us and for what git starts."""
        os.environ["MEMSYNC_HOME"] = str(self.home)
        yield

    def git(self, *words: str, stdin: bytes = b"") -> Ran:
        with self.acting():
            done = subprocess.run(["git", *words], cwd=self.root, input=stdin, capture_output=True, check=False)
        return Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def do(self, *words: str) -> str:
        done = self.git(*words)
        assert done.code == 0, f"{self.name}: git {' '.join(words)}: {done.out}{done.err}"
        return done.out

    @contextmanager
    def memsync(self) -> Iterator[Memsync]:
        """Yield memsync as a short process has it, or as the server that goes on."""
        if not self.server:
            with self.command() as project:
                yield project
            return
        with self.acting():
            yield self.server

    @contextmanager
    def command(self) -> Iterator[Memsync]:
        """Yield memsync as a command has it, which is a process of its own."""
        with self.acting(), self._open() as project:
            yield project

    def _open(self) -> Memsync:
        return Memsync.open(self.root, clock=lambda: self.clock, env={**os.environ, "MEMSYNC_HOME": str(self.home)})

    def start_server(self) -> None:
        with self.acting():
            self.server = self._open()

    def stop_server(self) -> None:
        if self.server:
            with self.acting():
                self.server.close()
            self.server = None

    def sync(self, **how: bool) -> str:
        """Do what `memsync sync` does; return why something was held back."""
        with self.memsync() as project:
            return sync(project, **how).held or ""

    def start_sync_and_push(self) -> subprocess.Popen[bytes]:
        """Start `memsync sync --push` beside whatever others do."""
        with self.acting():
            words = ["memsync", "sync", "--push"]
            return subprocess.Popen(words, cwd=self.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def shown(self) -> list[Shown]:
        """Return what a reader who comes now is shown, who takes over what an older memsync left elsewhere."""
        take_over(layout := locate(self.root))
        assert layout.project is not None
        store = Store(layout.project)
        store.refresh()
        return [Shown(m.id, m.content, frozenset(m.tags), bool(m.conflict_of)) for m in store.memories().values()]

    @property
    def memories(self) -> Path:
        return self.root / MEMORIES

    @property
    def pending(self) -> bool:
        place = locate(self.root).project
        assert place is not None
        return place.pending.exists() and place.pending.stat().st_size > 0

    @property
    def hides_what_waits(self) -> bool:
        """Whether what waits is where an older memsync does not look."""
        return locate(self.root).instead is not None

    @property
    def git_dirs(self) -> GitDirs:
        found = locate(self.root).git
        assert found is not None
        return found

    @property
    def branch(self) -> str:
        head = (self.git_dirs.git_dir / "HEAD").read_text().strip()
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else ""

    @property
    def under_way(self) -> str:
        """The word for what git is in the middle of."""
        marks = {
            "rebase-merge": "rebase",
            "rebase-apply": "rebase",
            "CHERRY_PICK_HEAD": "cherry-pick",
            "MERGE_HEAD": "merge",
        }
        there = self.git_dirs.git_dir
        return next((word for mark, word in marks.items() if (there / mark).exists()), "")

    @property
    def unmerged(self) -> list[str]:
        return [name for name in self.do("diff", "--name-only", "--diff-filter=U", "-z").split("\0") if name]

    @property
    def is_dirty(self) -> bool:
        return bool(self.do("status", "--porcelain"))


class Host:
    """A hosting service: a bare repository with a merge button, and no memsync."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.git("init", "-q", "--bare", str(path), cwd=path.parent)

    def git(self, *words: str, cwd: Path | None = None) -> Ran:
        done = subprocess.run(["git", *words], cwd=cwd or self.path, capture_output=True, text=True, check=False)
        return Ran(done.returncode, done.stdout, done.stderr)

    def press_button(self, branch: str, *, squash: bool = False) -> bool:
        """Merge *branch* into main as text; False where that leaves a conflict."""
        tried = self.git("merge-tree", "--write-tree", "main", branch)
        if tried.code:
            return False
        tree, main = tried.out.split()[0], self.git("rev-parse", "main").out.strip()
        parents = ["-p", main, *([] if squash else ["-p", branch])]
        made = self.git("commit-tree", tree, *parents, "-m", f"merge {branch}")
        assert made.code == 0, made.err
        assert self.git("update-ref", "refs/heads/main", made.out.strip(), main).code == 0
        return True


def make_clones(
    top: Path, time: Time, dice: random.Random, plans: Sequence[tuple[str, str, bool]], filter_: str
) -> tuple[Host, list[Clone]]:
    """Make a host and a clone of it for each kit and mode of *plans*; the memory file has *filter_*, if that is one."""
    host = Host(top / "host.git")
    clones: list[Clone] = []
    settings = [
        word
        for way, command in zip(("clean", "smudge"), FILTERS.get(filter_, ()), strict=False)
        for word in ("-c", f"filter.{filter_}.{way}={command}")
    ]
    (editor := top / "editor").write_text(WAIT)
    editor.chmod(0o755)
    for number, (kit, mode, is_submodule) in enumerate(plans):
        root = top / f"above{number}" / f"c{number}" if is_submodule else top / f"c{number}"
        words = ["git", "clone", "-q", *settings, str(host.path), str(root)]
        done = subprocess.run(words, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        (root / ".git" / "hooks").mkdir()
        shutil.copy(editor, root / ".git" / "hooks" / "pre-commit")
        clone = Clone(root, top / f"home{number}", time, kit=kit, mode=mode)
        clones.append(clone)
        if number == 0:
            _begin(clone, filter_, dice)
        if is_submodule:
            _make_submodule(clone, host)
        clone.equip()
        clone.skew = dice.uniform(-120, 120)
    return host, clones


def _make_submodule(clone: Clone, host: Host) -> None:
    for words in (
        ["init", "-q"],
        ["submodule", "--quiet", "add", str(host.path), clone.name],
        ["submodule", "absorbgitdirs"],
        ["commit", "-qm", "with a submodule"],
    ):
        done = clone.run_above(*words)
        assert done.code == 0, f"git {' '.join(words)}: {done.err}"
    clone.is_submodule = True


def _begin(clone: Clone, filter_: str, dice: random.Random) -> None:
    """Make the first commit, with our attributes, and share it."""
    line, attributes = f"*.jsonl filter={filter_}\n" if filter_ else "", clone.root / ".gitattributes"
    is_first = dice.random() < 0.5
    if is_first and line:
        attributes.write_text(line)
    with clone.acting(), Memsync.open(clone.root) as project:
        init(project, [], stealth=False, dry_run=False, git_hooks=False)
        if line and not is_first:
            attributes.write_text(attributes.read_text() + line)
            fix_findings(project)  # else git takes a CR before a LF out of what the filter made
    (clone.root / "README").write_text("a project\n")
    clone.do("add", "-A")
    clone.do("commit", "-qm", "begin")
    clone.do("push", "-qu", "origin", "main")


def as_shown(row: dict) -> Shown:
    """Return a row of the file as a reader sees it."""
    return Shown(row["id"], row["content"], frozenset(row.get("tags", ())), "conflict_of" in row)


def read_rows(data: bytes) -> Iterator[tuple[bytes, dict | None]]:
    """Yield each line with what json says of it; None where that is no object."""
    for raw in data.split(b"\n"):
        if raw:
            try:
                row = json.loads(raw)
            except ValueError:
                row = None
            yield raw, row if isinstance(row, dict) else None
