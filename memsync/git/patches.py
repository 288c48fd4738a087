"""What one commit did to the lines of a file, as git's own patch says it: no version of the file is read for it.

Of a large file whose lines change here and there that is a few kilobytes instead of two versions of many megabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from memsync.errors import MemsyncError, NoHistory, Remedy
from memsync.git.history import PLAIN, Commit, Step, resolve, steps
from memsync.git.rows import combine
from memsync.store.checkout import Checkout
from memsync.store.filters import find_filter, may_be_stored

# Whatever the user's settings or attributes say of patches: whole rows, and nothing that a program makes of them.
_FORM: Final = (
    "-p", "-U0", "--text", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--no-relative",
    "--src-prefix=a/", "--dst-prefix=b/", "--inter-hunk-context=0",
)  # fmt: skip
_MOST: Final = 200  # rows of a commit; of more only how many they are is known


class Patch(NamedTuple):
    """What a commit did to the file, and how many rows more it added or removed than were read."""

    step: Step
    left: int


def read_commit(root: Path, commit: str, names: tuple[str, ...]) -> Patch:
    """Return what *commit*, a whole name, did to the file that has had *names*.

    Raises:
        NoHistory: git does not have it.
        StoreUnreadable: the filter of the file does not give its text here.
    """
    words = (
        "diff-tree",
        "-c",
        "--root",
        "--no-commit-id",
        *_FORM,
        commit,
        "--",
        *(f":(top,literal){n}" for n in names),
    )
    found: Commit = resolve(root, commit)
    checkout = Checkout(root)
    fresh, gone, left = _read(checkout.stream(*PLAIN, *words))
    if any(may_be_stored(names[0], b"\n".join(rows)) for rows in (*fresh, *gone)) and find_filter(checkout, names[0]):
        nothing = Step(
            found, names[0], (), (), ()
        )  # the patch is one of what the filter made, so both versions are read
        return Patch(next(steps(root, names, revs=["--no-walk=unsorted", commit]), nothing), 0)
    added, removed, replaced = combine(fresh, gone)
    return Patch(Step(found, names[0], added, removed, replaced), left)


def rows_now(root: Path, path: str, commit: str) -> list[bytes] | None:
    """Return the rows that the work tree's file has and *commit*'s has not, and the other way round; None: too many, or git cannot say."""
    top = Checkout(root)
    if not (top.ask("ls-files", "-v", "--", f":(top,literal){path}") or "").startswith("H "):
        return None  # git does not know it, or was told not to look at it
    fresh, gone, left = _read(top.stream(*PLAIN, "diff", *_FORM, commit, "--", f":(top,literal){path}"))
    return None if left else [row for side in (*fresh, *gone) for row in side]


def _read(lines: Iterator[bytes]) -> tuple[list[list[bytes]], list[list[bytes]], int]:
    """Return the rows that the result has and each parent had not, those that each had and it has not, and how many more there are."""
    fresh, gone = [list[bytes]()], [list[bytes]()]
    try:  # what fails here has a version that git lost
        rows = _read_rows(lines)
        for signs, row in islice(rows, _MOST):
            for kept, sign in ((fresh, b"+"), (gone, b"-")):
                kept += [[] for _ in range(len(signs) - len(kept))]
                for side in range(len(signs)):
                    if row and signs[side : side + 1] == sign:
                        kept[side].append(row)
        return fresh, gone, sum(1 for _ in rows)
    except MemsyncError:
        raise NoHistory(
            "git cannot read a version of the memory file; `git fsck`, or where a filter is on it ",
            Remedy("doctor"),
            ", says more",
        ) from None
    finally:
        lines.close()  # type: ignore[attr-defined]


def _read_rows(lines: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the rows of a patch, each with a sign for every parent."""
    sides = 0
    for line in lines:
        if line.startswith(b"@@"):
            sides = len(line) - len(line.lstrip(b"@")) - 1
        elif line.startswith(b"diff "):
            sides = 0
        elif sides and not line.startswith(b"\\"):  # which tells of a last newline
            yield line[:sides], line[sides:].removesuffix(b"\n")
