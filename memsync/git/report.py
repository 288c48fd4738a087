"""What changed in the memories between two commits, in a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memsync.format import jsonl, merge
from memsync.records import Change, Memory
from memsync.store import changes
from memsync.store.checkout import Checkout, read_blobs
from memsync.store.filters import smudge
from memsync.store.places import Place


def describe_changes(checkout: Checkout, place: Place, before: str, after: str) -> str:
    """Say what *after* has that *before* had not: "+3 memories, 1 changed"; "" if nothing."""
    if before == after:
        return ""
    old, new = read_memories(checkout, (before, after), place.memories.relative_to(checkout.top).as_posix())
    return format_counts(changes.compare_memories(old, new))


def read_memories(checkout: Checkout, revs: Sequence[str], path: str) -> list[dict[str, Memory]]:
    """Return the memories of *path* in each of the commits or trees *revs*; none where it is not there."""
    found = read_blobs(checkout, [f"{rev}:{path}" for rev in revs])
    texts = [smudge(checkout, path, data) if data else b"" for data in found]
    return [
        {id_: line.memory for id_, line in merge.current(jsonl.read_lines(data)).items() if line.memory}
        for data in texts
    ]


def format_counts(changes: Iterable[Change]) -> str:
    """Return how many memories were added, changed and removed, in words; "" if none."""
    kinds = ["+" if change.before is None else "-" if change.after is None else "~" for change in changes]
    added, gone, edited = (kinds.count(kind) for kind in "+-~")
    noun = "memory" if added in (0, 1) and gone in (0, 1) else "memories"
    parts = [f"+{added}" if added else "", f"-{gone}" if gone else ""]
    counts = " ".join(filter(None, parts))
    return ", ".join(filter(None, (f"{counts} {noun}" if counts else "", f"{edited} changed" if edited else "")))
