"""Writing a memory file clean that git left in conflict."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from memsync.format import jsonl, merge
from memsync.format.codec import Line
from memsync.store import checkout
from memsync.store.changes import Exported
from memsync.store.store import Store


def resolve(store: Store) -> Exported:
    """Write the file of *store* without conflict markers, by the versions that git's index holds where it has them.

    What was changed in the file since git left it is kept. Nothing is staged.
    A file without markers is exported as always.

    Raises:
        StoreError: nothing was changed.
    """
    found = checkout.read_stages(store.path)
    if not {2, 3} <= found.keys():
        return store.export(settle=merge.settle)
    return store.export(
        settle=partial(_merge_stages, store.path.parent, [found.get(stage, b"") for stage in (1, 2, 3)])
    )


def _merge_stages(directory: Path, versions: Sequence[bytes], lines: Sequence[Line]) -> list[Line]:
    """Merge the three versions, and put on top what *lines* have that git did not leave there."""
    if not jsonl.in_conflict(lines):
        return list(lines)  # somebody has resolved it
    try:
        left = jsonl.read_lines(checkout.merge_text(directory, versions)[1])
    except OSError:
        left = []
    merged = merge.merge_lines(*(merge.settle(jsonl.read_lines(data)) for data in versions))
    return merge.merge_lines(merge.settle(left), merge.settle(lines), merged)
