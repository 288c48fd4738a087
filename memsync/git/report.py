"""What changed in the memories between two commits, in a line."""

from __future__ import annotations

from collections.abc import Iterable

from memsync.format import jsonl, merge
from memsync.records import Change, Memory
from memsync.store import changes
from memsync.store.checkout import Checkout
from memsync.store.places import Place


def describe_changes(checkout: Checkout, place: Place, before: str, after: str) -> str:
    """Say what *after* has that *before* had not: "+3 memories, 1 changed"; "" if nothing."""
    path = place.memories.relative_to(checkout.top).as_posix()
    old, new = (read_memories(checkout, rev, path) for rev in (before, after))
    return format_counts(changes.compare_memories(old, new))


def read_memories(checkout: Checkout, rev: str, path: str) -> dict[str, Memory]:
    """Return the memories of *path* in the commit or tree *rev*; none if it is not there."""
    data = checkout.run("cat-file", "blob", f"{rev}:{path}").out
    lines = merge.current(jsonl.read_lines(data))
    return {id_: line.memory for id_, line in lines.items() if line.memory}


def format_counts(changes: Iterable[Change]) -> str:
    """Return how many memories were added, changed and removed, in words; "" if none."""
    kinds = ["+" if change.before is None else "-" if change.after is None else "~" for change in changes]
    added, gone, edited = (kinds.count(kind) for kind in "+-~")
    noun = "memory" if added in (0, 1) and gone in (0, 1) else "memories"
    parts = [f"+{added}" if added else "", f"-{gone}" if gone else ""]
    counts = " ".join(filter(None, parts))
    return ", ".join(filter(None, (f"{counts} {noun}" if counts else "", f"{edited} changed" if edited else "")))
