"""What has become of what an anchor names, with the help of git: since which commit it is different, and where it was moved to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from memsync.memories import anchors
from memsync.memories.anchors import Anchor
from memsync.store.checkout import Checkout
from memsync.store.places import find_git

_PATIENCE: Final = 0.4  # seconds that git may take for one question: a hook waits for the answer
_COMMITS: Final = 20  # in which the one that made the difference is looked for
_ASKED: Final = 3  # anchors of one memory for which git is asked where they went, or since when they differ
_MOVES: Final = 4  # one after the other


def explain(anchor: Anchor, root: Path) -> str:
    """Return what is different from what *anchor* says, since which commit, or where it went; "" if nothing is."""
    why = anchors.explain_change(anchor, root)
    if why.endswith(" is gone") and (moved := find_moved(anchor, root)):
        return f"{anchor.path} is now {moved.path}"
    if (
        why
        and not why.endswith(" is gone")
        and (since := _find_commit(str(anchor), str(root), _stamp(root / anchor.path)))
    ):
        return f"{why} since {since}"
    return why


def pin_now(texts: Iterable[str], root: Path) -> tuple[str, ...]:
    """Return the anchors *texts* as they fit the repository now: pinned to what is there, without what is gone."""
    found: dict[str, None] = {}
    for text in texts:
        anchor = anchors.parse(text)
        if not anchor.command and not (root / anchors.fixed_path(anchor)).exists():
            anchor = find_moved(anchor, root) or anchor
        path = anchors.fixed_path(anchor)
        if anchor.command:
            found[text] = None
        elif anchors.is_inside(path, root) and (root / path).exists():
            why = anchors.explain_change(anchor, root)
            has_symbol = anchor.symbol and anchors.hash_symbol(root / anchor.path, anchor.symbol)
            if not why:
                found[str(anchor)] = None
            else:
                found[str(anchors.pin_anchor(anchor if has_symbol else Anchor(anchor.path), root))] = None
    return tuple(found)


def find_stale(texts: Iterable[str], root: Path) -> tuple[str, ...]:
    """Return what has changed in the repository since the anchors *texts* were set; git is asked about the first of them alone."""
    found: list[str] = []
    for anchor in map(anchors.parse, texts):
        if anchors.is_inside(anchors.fixed_path(anchor), root):
            tell = explain if len(found) < _ASKED else anchors.explain_change
            found += filter(None, [tell(anchor, root)])
    return tuple(dict.fromkeys(found))


def is_gone(texts: Iterable[str], root: Path) -> bool:
    """Tell whether nothing is left of what the anchors *texts* name, nor was it moved."""
    known = [anchors.parse(text) for text in texts]
    if not known or not all(_is_missing(one, root) for one in known):
        return False
    return not any(find_moved(one, root) for one in known[:_ASKED])


def has_missing(texts: Iterable[str], root: Path) -> bool:
    """Tell whether something that the anchors *texts* name is not there."""
    fixed = (anchors.fixed_path(anchors.parse(text)) for text in texts)
    return any(not os.path.lexists(f"{root}/{path}") for path in fixed if "\0" not in path)


def rewrite_moved(texts: Sequence[str], root: Path) -> tuple[str, ...]:
    """Return the anchors *texts* with what was moved at its new place; nothing if none was."""
    known = [anchors.parse(text) for text in texts]
    new = [find_moved(one, root) if at < _ASKED and _is_missing(one, root) else None for at, one in enumerate(known)]
    changed = (str(after or before) for before, after in zip(known, new, strict=True))
    return tuple(dict.fromkeys(changed)) if any(new) else ()


def _is_missing(anchor: Anchor, root: Path) -> bool:
    path = anchors.fixed_path(anchor)
    return anchors.is_inside(path, root) and not (root / path).exists()


def find_moved(anchor: Anchor, root: Path) -> Anchor | None:
    """Return *anchor* where git says that its file was moved to; None if it was not, or nobody knows."""
    path = anchor.path.rstrip("/")
    if anchor.command or anchor.is_glob or not path or not anchors.is_inside(path, root) or anchor.path.endswith("/"):
        return None
    for _ in range(_MOVES):
        new = _find_rename(path, str(root))
        if not new or not anchors.is_inside(new, root):
            return None
        if (root / new).exists():
            return anchor._replace(path=new)
        path = new
    return None


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=256)
def _find_rename(path: str, root: str) -> str:
    """Return what *path*, below *root*, was renamed to: not committed yet, or in the last commit that had it; "" if it was not."""
    git, prefix = _open(root)
    if git is None:
        return ""
    named = prefix + path
    found = git.run("diff", "-M", "-z", "--name-status", "--diff-filter=R", "HEAD", patience=_PATIENCE)
    last = git.run("log", "-1", "--format=%H", "--", named, patience=_PATIENCE).text
    shown = (
        git.run("show", "-M", "-z", "--name-status", "--diff-filter=R", "--format=", last, patience=_PATIENCE)
        if last
        else None
    )
    for done in filter(None, (found, shown)):
        parts = done.paths if done.code == 0 else []
        for old, new in zip(parts[1::3], parts[2::3], strict=False):
            if old == named and new.startswith(prefix):
                return new.removeprefix(prefix)
    return ""


@lru_cache(maxsize=256)
def _find_commit(text: str, root: str, _: int) -> str:
    """Return the first commit since which the anchor *text* is different; "not committed" words where the work tree alone is."""
    anchor = anchors.parse(text)
    git, prefix = _open(root)
    if git is None:
        return ""
    path = prefix + anchor.path
    commits = git.run("log", f"-{_COMMITS}", "--format=%h", "--", path, patience=_PATIENCE).text.split()
    since = ""
    for commit in commits:
        done = git.run("show", f"{commit}:{path}", patience=_PATIENCE)
        if done.code or _is_same(anchor, done.out):
            break
        since = commit
    return since or ("a change that is not committed" if commits else "")


def _is_same(anchor: Anchor, data: bytes) -> bool:
    if not anchor.symbol:
        return anchors.name_of(data.replace(b"\r\n", b"\n")) == anchor.blob
    rows = data.decode("utf-8", "replace").splitlines()
    return (
        anchors.hash_lines(rows, anchor.symbol) == anchor.blob
        if anchor.blob
        else anchors.has_symbol(rows, anchor.symbol)
    )


def _open(root: str) -> tuple[Checkout | None, str]:
    """Return git at the top of the checkout that *root* is in, and what comes before a path of ours there."""
    found = find_git(Path(root))
    if found is None:
        return None, ""
    inner = Path(root).relative_to(found.root).as_posix()
    return Checkout(found.root), "" if inner == "." else f"{inner}/"
