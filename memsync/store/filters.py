"""What git stores of a memory file, as a user reads it, where a filter (git-lfs, git-crypt, …) stands between the two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memsync.errors import StoreUnreadable

if TYPE_CHECKING:
    from memsync.store.checkout import Checkout

_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_LOCKED: Final = b"\0GITCRYPT\0"
NO_NAME: Final = frozenset({"unspecified", "unset", "set"})
_WORDS: Final = (b'"content"', b'"deleted_at"')  # of which a record or a removal has one


def is_stored(head: bytes) -> bool:
    """Tell whether a file that begins with *head* is what git-lfs or git-crypt gave git, and nothing else."""
    return head.startswith(_LOCKED) or (head.startswith(_POINTER) and b"\n{" not in head and b"\n<<<<" not in head)


def find_filter(checkout: Checkout, path: str) -> str:
    """Return the name of the filter that the attributes give *path*, from the top; "" for none."""
    said = checkout.run("check-attr", "-z", "filter", "--", path).paths
    return said[2] if len(said) > 2 and said[2] not in NO_NAME else ""


def gives_bytes(name: str) -> bool:
    """Tell whether the filter *name* gives git what is no text: of all, only the pointers of git-lfs surely are."""
    return name not in ("", "lfs")


def _may_be_stored(data: bytes) -> bool:
    return bool(data) and not any(word in data for word in _WORDS)


def smudge(checkout: Checkout, path: str, data: bytes) -> bytes:
    """Return *data*, what git stores of the memory file *path*, as a user reads it. What is readable stays as it is.

    Raises:
        StoreUnreadable: the filter of the file does not give its text here.
    """
    if not _may_be_stored(data) or not (name := find_filter(checkout, path)):
        return data
    blob = checkout.run("hash-object", "-w", "--no-filters", "--stdin", stdin=data).text
    done = checkout.run("cat-file", "--filters", f"--path={path}", blob)
    if done.code or _may_be_stored(done.out):
        raise _explain(checkout, path, name)
    return done.out


def clean(checkout: Checkout, path: str, data: bytes) -> bytes:
    """Return *data*, the memory file *path* as a user reads it, as git is to store it.

    Raises:
        StoreUnreadable: the filter of the file does not take it here, or leaves it as it is: what others have encrypted must not become plain.
    """
    blob = checkout.run("hash-object", "-w", f"--path={path}", "--stdin", stdin=data).text
    done = checkout.run("cat-file", "blob", blob)
    if done.code or done.out == data:
        raise _explain(checkout, path, find_filter(checkout, path))
    return done.out


def refuse_stored(checkout: Checkout, path: str, data: bytes) -> None:
    """Do nothing, unless *data*, the file *path* in the work tree, is what its filter gave git.

    Raises:
        StoreUnreadable: it is, so that nothing may be added to it.
    """
    if _may_be_stored(data) and (name := find_filter(checkout, path)):
        raise _explain(checkout, path, name)


def _explain(checkout: Checkout, path: str, name: str) -> StoreUnreadable:
    return StoreUnreadable(
        checkout.top / path,
        f"git's filter {name} does not give its text here",
        name_remedy(name),
    )


def name_remedy(name: str) -> str:
    """Return what to do in a clone that lacks the filter *name*."""
    return {
        "lfs": "install git-lfs and run `git lfs install; git lfs pull`",
        "git-crypt": "run `git-crypt unlock`",
    }.get(name, f"set filter.{name}.smudge and filter.{name}.clean as in the other clones")
