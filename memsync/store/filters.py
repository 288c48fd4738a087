"""What git stores of a memory file, as a user reads it, where a filter (git-lfs, git-crypt, …) stands between the two."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memsync.errors import StoreUnreadable

if TYPE_CHECKING:
    from memsync.store.checkout import Checkout, Done

_MARKS: Final = {b"version https://git-lfs.github.com/spec/": "lfs", b"\0GITCRYPT\0": "git-crypt"}
NO_NAME: Final = frozenset({"unspecified", "unset", "set"})
_WORDS: Final = (b'"content"', b'"deleted_at"')  # of which a record or a removal has one


def find_maker(head: bytes) -> str:
    """Return the filter that made a file that begins with *head*, git-lfs or git-crypt, and nothing else; "" for neither."""
    name = next((name for mark, name in _MARKS.items() if head.startswith(mark)), "")
    return "" if name == "lfs" and (b"\n{" in head or b"\n<<<<" in head) else name


@lru_cache(8)  # one Checkout asks once for each path
def read_conversions(checkout: Checkout, path: str) -> tuple[str, str]:
    """Return the names of the filter and of the encoding that the attributes give *path*, from the top; "" for none."""
    said = checkout.run("check-attr", "-z", "filter", "working-tree-encoding", "--", path).paths[2::3]
    filter_, encoding = ("" if name in NO_NAME else name for name in said or ["unset"] * 2)
    return filter_, encoding


def find_filter(checkout: Checkout, path: str) -> str:
    """Return the name of the filter that the attributes give *path*, from the top; "" for none."""
    return read_conversions(checkout, path)[0]


def explain_encoding(path: str, name: str) -> str:
    """Return what is wrong where git converts the memory file *path* to the encoding *name*, and what to do."""
    return (
        f"git converts {path} to {name} (working-tree-encoding), and memories are UTF-8; "
        f"add the line `{path} !working-tree-encoding` at the end of .gitattributes"
    )


def lacks_filter(checkout: Checkout, path: str, name: str) -> bool:
    """Tell whether this clone has no commands for the filter *name* of *path*, or its programs do not run."""
    if not has_filter(checkout, name):
        return True
    done = checkout.run("hash-object", f"--path={path}", "--stdin")
    return bool(done.code) or "external filter" in done.err  # which git only mentions where the filter is not required


def has_filter(checkout: Checkout, name: str) -> bool:
    """Tell whether this clone has commands for the filter *name*; one that only cleans leaves what it gives git readable."""
    return checkout.ask("config", "--get-regexp", rf"^filter\.{re.escape(name)}\.(clean|smudge|process)$") is not None


def gives_bytes(name: str) -> bool:
    """Tell whether the filter *name* gives git what is no text: of all, only the pointers of git-lfs surely are."""
    return name not in ("", "lfs")


def may_be_stored(path: str, data: bytes) -> bool:
    """Tell whether *data*, the file *path* or its beginning, may be what a filter made of it: of memories, what has no record."""
    if not path.endswith(".jsonl"):
        return bool(find_maker(data))
    return bool(data) and not any(word in data for word in _WORDS)


def smudge(checkout: Checkout, path: str, data: bytes, name: str = "") -> bytes:
    """Return *data*, what git stores of the file *path*, as a user reads it. What is readable stays as it is.

    *name* is what git calls it, an object or REV:PATH, where the caller knows. What git-lfs or git-crypt made is
    read by that, where the attributes of today give the file no filter any more.
    """
    if not may_be_stored(path, data):
        return data
    wanted = find_filter(checkout, path)
    filter_ = wanted or find_maker(data)
    if not filter_:
        return data
    name = name or checkout.run("hash-object", "-w", "--no-filters", "--stdin", stdin=data).text
    done = _apply(checkout, path, name) if wanted else _apply_alone(checkout, filter_, name)
    is_same = done.out == data and (bool(done.err) or not has_filter(checkout, filter_))
    if done.code or is_same or find_maker(done.out):
        raise _explain(checkout, path, filter_)
    return done.out


def _apply(checkout: Checkout, path: str, name: str, *words: str) -> Done:
    return checkout.run(*words, "cat-file", "--filters", f"--path={path}", name)


def _apply_alone(checkout: Checkout, filter_: str, name: str) -> Done:
    """Apply one filter, whatever the attributes of the work tree say: in another with only that."""
    from tempfile import TemporaryDirectory

    git = checkout.ask("rev-parse", "--absolute-git-dir") or ""
    with TemporaryDirectory(prefix="memsync-") as top:
        Path(top, ".gitattributes").write_text(f"* filter={filter_}\n", encoding="utf-8")
        return _apply(checkout, "memories", name, "-C", top, f"--git-dir={git}", f"--work-tree={top}")


def clean(checkout: Checkout, path: str, data: bytes) -> bytes:
    """Return *data*, the memory file *path* as a user reads it, as git is to store it.

    Raises:
        StoreUnreadable: the filter of the file does not take it here, or leaves it as it is: what others have encrypted must not become plain.
    """
    if not (name := find_filter(checkout, path)):
        return data
    blob = checkout.run("hash-object", "-w", f"--path={path}", "--stdin", stdin=data).text
    done = checkout.run("cat-file", "blob", blob)
    if done.code or done.out == data:
        raise _explain(checkout, path, name)
    return done.out


def _explain(checkout: Checkout, path: str, name: str) -> StoreUnreadable:
    return StoreUnreadable(checkout.top / path, f"git's filter {name} does not give its text here", name_remedy(name))


def name_remedy(name: str) -> str:
    """Return what to do in a clone that lacks the filter *name*."""
    return {
        "lfs": "install git-lfs, unset GIT_LFS_SKIP_SMUDGE and run `git lfs install; git lfs pull`",
        "git-crypt": "run `git-crypt unlock`",
    }.get(name, f"set filter.{name}.smudge and filter.{name}.clean as in the other clones")
