"""Several files as git has them, from one git process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from memsync.store.checkout import Checkout

_KINDS: Final = frozenset({b"blob", b"tree", b"commit", b"tag"})


def read_blobs(checkout: Checkout, names: Sequence[str]) -> list[bytes | None]:
    """Return the bytes of each of *names*, an object or `REV:PATH`; None: git has no such file."""
    stdin = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
    if stdin.count(b"\n") == len(names) and (done := checkout.run("cat-file", "--batch", stdin=stdin)).code == 0:
        return list(_split(done.out, len(names)))
    found = [checkout.run("cat-file", "blob", name) for name in names]  # a name of two lines, or a damaged object
    return [one.out if one.code == 0 else None for one in found]


def _split(out: bytes, count: int) -> Iterator[bytes | None]:
    """Yield the *count* files in what `git cat-file --batch` printed: each behind a line `OBJECT KIND SIZE`, before a newline."""
    at = 0
    for _ in range(count):
        end = out.index(b"\n", at)
        words = out[at:end].split()
        at = end + 1
        if len(words) != 3 or words[1] not in _KINDS or not words[2].isdigit():  # such as `NAME missing`
            yield None
            continue
        size = int(words[2])
        yield out[at : at + size] if words[1] == b"blob" else None
        at += size + 1
