"""What became of a path, as git knows it: when the last commit took it away, and what it is called now."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from memsync.store.checkout import Checkout

_PATIENCE: Final = 30.0  # seconds for one question; without an answer there is no history, and less is sure
_MOVES: Final = 5  # of one file, one after the other
_FILES: Final = 20  # in which a word is looked for
_LARGEST: Final = 64_000_000  # bytes of names that were deleted


class Gone(NamedTuple):
    """A file or folder that was there: its whole path, the commit that took it away, and where it is now ("" if nobody knows)."""

    path: str
    since: str
    now: str = ""


class Past:
    """The history of the checkout at the top, below the folder *prefix* ("" or with a slash), read when it is first asked."""

    def __init__(self, git: Checkout | None, prefix: str = "") -> None:
        self._git = git
        self._prefix = prefix
        self._follow = lru_cache(maxsize=256)(self.list_renames)
        self._changes = lru_cache(maxsize=2)(self._list_changes)

    @cached_property
    def deleted(self) -> dict[str, str]:
        """Each path that a commit took away, and the last commit that did."""
        if self._git is None:
            return {}
        words = ("log", "--no-renames", "--diff-filter=D", "--name-only", "--format=%x01%h", "--")
        within = [self._prefix] if self._prefix else []  # without a path git need not simplify the history
        done = self._git.run("-c", "core.quotePath=false", *words, *within, patience=_PATIENCE)
        found: dict[str, str] = {}
        commit = ""
        for row in done.text.split("\n") if not done.code and len(done.out) < _LARGEST else ():
            if row.startswith("\x01"):
                commit = row[1:]
            elif row:
                found.setdefault(row.removeprefix(self._prefix), commit)
        return found

    @cached_property
    def _places(self) -> dict[str, str]:
        """Each path and folder that went, and the path that went last of it."""
        found: dict[str, str] = {}
        for path in self.deleted:
            place = path
            while place and place not in found:
                found[place] = path
                place = place.rpartition("/")[0]
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found = defaultdict(list)
        for place in self._places:
            found[place.rpartition("/")[2]].append(place)
        return dict(found)

    def find(self, path: str, *, is_suffix: bool) -> Gone | None:
        """Return what *path* was, a file or a folder; of the end of a path with *is_suffix* the one that went last."""
        path = path.strip("/")
        if path not in self._places and is_suffix:
            ends = self._by_name.get(path.rpartition("/")[2], ())
            path = next((one for one in ends if one.endswith(f"/{path}")), "")
        last = self._places.get(path, "")
        return Gone(path, self.deleted[last]) if last else None

    def follow(self, gone: Gone, names: Collection[str], folders: Collection[str]) -> str:
        """Return what *gone* is called now: a path of *names* or *folders*; "" if it was not moved."""
        path, since = gone.path, gone.since
        for _ in range(_MOVES):
            renames = self._follow(since)
            new = renames.get(path) or _find_folder(path, renames)
            if not new:
                return ""
            if new in names or new in folders:
                return new
            if (later := self.find(new, is_suffix=False)) is None:
                return ""
            path, since = new, later.since
        return ""

    def list_renames(self, commit: str) -> dict[str, str]:
        """Return what *commit* renamed, and to what."""
        assert self._git
        how = "show -M -l1000 -m --first-parent -z --name-status --diff-filter=R --format="
        done = self._git.run(*how.split(), commit, patience=_PATIENCE)
        parts = [part.strip("\n") for part in done.paths] if done.code == 0 else []
        cut = len(self._prefix)
        return {old[cut:]: new[cut:] for old, new in zip(parts[1::3], parts[2::3], strict=False)}

    def find_loss(self, pattern: str, files: Sequence[str]) -> str:
        """Return the last commit that took a line with *pattern* out of *files*, which have none of it now; "" if there is none."""
        return self.find_losses([pattern], files).get(pattern, "")

    def find_losses(self, patterns: Collection[str], files: Sequence[str]) -> dict[str, str]:
        """Return the same for each of *patterns* that was lost, by one question for all."""
        if self._git is None or not patterns or not files:
            return {}
        asked = {one: re.compile(rf"(?<!\w){one}(?![\w-])") for one in patterns}
        found: dict[str, str] = {}
        commit = ""
        for row in self._changes(*files[:_FILES]):
            commit = row[1:] if row[:1] == "\x01" else commit
            for one in [one for one, word in asked.items() if word.search(row[1:])] if row[:1] == "-" else ():
                found[one] = commit
                del asked[one]
        return found

    def _list_changes(self, *files: str) -> list[str]:
        """Return the lines that commits changed in *files*, the newest first."""
        assert self._git
        follow = " --follow" if len(files) == 1 else ""  # the name may be lost in the commit that renames the file
        how = f"--literal-pathspecs log{follow} -p -U0 --no-color --no-ext-diff --no-textconv --format=%x01%h --"
        done = self._git.run(*how.split(), *(self._prefix + file for file in files), patience=_PATIENCE)
        return done.text.split("\n") if not done.code and len(done.out) < _LARGEST else []

    def find_ignored(self, paths: Collection[str]) -> set[str]:
        """Return those of *paths* that git is told to ignore."""
        if self._git is None:
            return set()
        asked = "\0".join(self._prefix + path + end for path in paths for end in ("", "/", "/x"))
        stdin = asked.encode("utf-8", "surrogateescape")
        done = self._git.run("check-ignore", "--no-index", "-z", "--stdin", stdin=stdin, patience=_PATIENCE)
        return {path.removeprefix(self._prefix).removesuffix("/x").rstrip("/") for path in done.paths}


def _find_folder(path: str, renames: dict[str, str]) -> str:
    """Return where most of what was in the folder *path* went, with the same names below it."""
    inside = {old: new for old, new in renames.items() if old.startswith(f"{path}/")}
    moved = [new.removesuffix(old[len(path) :]) for old, new in inside.items() if new.endswith(old[len(path) :])]
    most = Counter(moved).most_common(1)
    return most[0][0] if most and most[0][1] * 2 > len(inside) else ""
